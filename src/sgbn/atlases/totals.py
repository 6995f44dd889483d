"""Recognise the columns of segmentation tools that are not regions, such as totals."""

from __future__ import annotations

from sgbn.atlases.names import SIDES, key, readings, with_side, words

# Totals of FreeSurfer, ENIGMA and CAT12, in their own spelling
_TOTALS = """
BrainSegVol BrainSegVolNotVent BrainSegVolNotVentSurf BrainSegVol-to-eTIV
BrainSeg BrainSegNotVent BrainSegNotVentSurf MaskVol MaskVol-to-eTIV
SubCortGrayVol SubCortGray TotalGrayVol TotalGray
SupraTentorialVol SupraTentorialVolNotVent SupraTentorialVolNotVentVox
SupraTentorial SupraTentorialNotVent SupraTentorialNotVentVox VentricleChoroidVol
EstimatedTotalIntraCranialVol eTIV ICV IntraCranialVol TotalIntraCranialVol
WMH TotalGM TotalWM TotalCSF TotalGMV TotalWMV
"""
# Totals of CAT12 and SPM. A column CSF in the same table is the CSF of the whole head.
_WHOLE_HEAD = "TIV GM WM GMV WMV"
# Totals of a hemisphere. They also occur without a side.
_SIDED = """
MeanThickness WhiteSurfArea PialSurfArea SurfArea TotalSurfArea SurfaceHoles CortexVol
CerebralWhiteMatterVol CorticalWhiteMatterVol CerebralWhiteMatter CorticalWhiteMatter CerebralCortex
"""
# Totals of a hemisphere that need their side: without it these words do not name a total.
_WITH_SIDE = "Thickness Cortex unknown corpuscallosum vessel"
# Labels that are not regions: lesions, the medial wall, and a cavity that few brains have
_LABELS = "WM-hypointensities non-WM-hypointensities 5th-Ventricle Medial_wall medialwall"


def _with_sides(names: str) -> set[str]:
    return {k for name in names.split() for side in SIDES for k in with_side(words(name), side)}


def _keys(names: str) -> set[str]:
    return {key(words(name)) for name in names.split()}


_WHOLE_HEAD_KEYS = _keys(_WHOLE_HEAD)
_KEYS = _keys(f"{_TOTALS} {_WHOLE_HEAD} {_SIDED} {_LABELS}") | _with_sides(
    f"{_SIDED} {_WITH_SIDE} {_LABELS}"
)


def is_total(column: str) -> bool:
    """Return whether a column is a total or another value that is never a region.

    These are the totals of FreeSurfer, ENIGMA and CAT12 (MeanThickness, BrainSegVol, eTIV,
    SurfaceHoles, LSurfArea, TIV, ...), and the labels of FreeSurfer that are not regions
    (WM-hypointensities, unknown, Medial_wall, ...). ``CSF`` is not among them, because it may be a
    structure of FreeSurfer's aseg.

    Parameters
    ----------
    column : str
        Name of the column.
    """
    return any(name in _KEYS for name, _ in readings(column))


def is_csf(column: str) -> bool:
    """Return whether a column is called CSF: FreeSurfer's structure, or a total of CAT12 or SPM."""
    return any(name == "csf" for name, _ in readings(column))


def is_whole_head(column: str) -> bool:
    """Return whether a column is a total in the spelling of CAT12 and SPM, such as TIV or GM."""
    return any(name in _WHOLE_HEAD_KEYS for name, _ in readings(column))
