"""Columns that segmentation tools write beside the regions and that are not regions."""

from __future__ import annotations

from sgbn.atlases.names import SIDES, key, readings, with_side, words

# Totals of FreeSurfer, ENIGMA and CAT12, as written.
_TOTALS = """
BrainSegVol BrainSegVolNotVent BrainSegVolNotVentSurf BrainSegVol-to-eTIV
BrainSeg BrainSegNotVent BrainSegNotVentSurf MaskVol MaskVol-to-eTIV
SubCortGrayVol SubCortGray TotalGrayVol TotalGray
SupraTentorialVol SupraTentorialVolNotVent SupraTentorialVolNotVentVox
SupraTentorial SupraTentorialNotVent SupraTentorialNotVentVox VentricleChoroidVol
EstimatedTotalIntraCranialVol eTIV ICV IntraCranialVol TotalIntraCranialVol
WMH TotalGM TotalWM TotalCSF TotalGMV TotalWMV
"""
# Those of CAT12 and SPM. A CSF beside them is that of the whole head.
_WHOLE_HEAD = "TIV GM WM GMV WMV"
# Those of a hemisphere, also written without one.
_SIDED = """
MeanThickness WhiteSurfArea PialSurfArea SurfArea TotalSurfArea SurfaceHoles CortexVol
CerebralWhiteMatterVol CorticalWhiteMatterVol CerebralWhiteMatter CorticalWhiteMatter CerebralCortex
"""
# Of a hemisphere only: without one these words are not names of a total.
_WITH_SIDE = "Thickness Cortex unknown corpuscallosum vessel"
# Labels that are not regions: lesions, the hole of the surface, a cavity that few brains have.
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
    """Whether a column is a total or another value that is never a region.

    Totals of FreeSurfer, ENIGMA and CAT12 (MeanThickness, BrainSegVol, eTIV, SurfaceHoles,
    LSurfArea, TIV, ...), and the labels of FreeSurfer that are not regions (WM-hypointensities,
    unknown, Medial_wall, ...). ``CSF`` is not: it may be a structure of FreeSurfer's aseg.
    """
    return any(name in _KEYS for name, _ in readings(column))


def is_csf(column: str) -> bool:
    """Whether a column is called CSF: FreeSurfer's structure, or the total of CAT12 and SPM."""
    return any(name == "csf" for name, _ in readings(column))


def is_whole_head(column: str) -> bool:
    """Whether a column is a total as CAT12 and SPM write it: TIV, GM, WM."""
    return any(name in _WHOLE_HEAD_KEYS for name, _ in readings(column))
