"""Totals and labels that are never regions."""

from __future__ import annotations

import pytest

from sgbn.cohort.atlas import ATLASES, load_atlas
from sgbn.cohort.region_names import is_total

TOTALS = [
    *("lh_MeanThickness_thickness", "rh_WhiteSurfArea_area", "lh.MeanThickness.thickness"),
    *("BrainSegVol", "BrainSegVolNotVent", "BrainSegVolNotVentSurf", "BrainSegVol-to-eTIV"),
    *("BrainSegVol.to.eTIV", "MaskVol", "MaskVol-to-eTIV", "SurfaceHoles", "lhSurfaceHoles"),
    *("eTIV", "EstimatedTotalIntraCranialVol", "EstimatedTotalIntraCranialVol_mm3", "ICV", "TIV"),
    *("lhCortexVol", "rhCortexVol", "CortexVol", "lhCerebralWhiteMatterVol"),
    *("CerebralWhiteMatterVol", "CorticalWhiteMatterVol", "TotalGrayVol", "SubCortGrayVol"),
    *("SupraTentorialVol", "SupraTentorialVolNotVent", "SupraTentorialVolNotVentVox"),
    *("LThickness", "RThickness", "LSurfArea", "RSurfArea", "VentricleChoroidVol"),
    *("GM", "WM", "WMH", "GMV", "total_GM", "Left-Cerebral-White-Matter", "Right-Cerebral-Cortex"),
    *("WM-hypointensities", "non-WM-hypointensities", "Left-WM-hypointensities", "5th-Ventricle"),
    *("X5th.Ventricle", "Left-vessel", "lh_unknown_thickness", "runknown", "lUnknown"),
    *("lh_Medial_wall_thickness", "rMedial_wall", "lh_corpuscallosum_area"),
    *("MeanThickness_lh", "SurfArea_right"),
]


@pytest.mark.parametrize("column", TOTALS)
def test_totals(column):
    assert is_total(column)
    assert is_total(column.lower())
    assert [name for name in ATLASES if load_atlas(name).find(column)] == []


@pytest.mark.parametrize("name", ATLASES)
def test_no_region_is_a_total(name):
    assert [region.name for region in load_atlas(name).regions if is_total(region.name)] == []


@pytest.mark.parametrize(
    "column",
    [
        *(
            "age",
            "sex",
            "IQ",
            "site",
            "group",
            "euler_mean",
            "thickness",
            "area",
            "unknown",
            "mask",
        ),
        *("CSF", "volume", "", "lh", "total", "cortex", "vessel", "lh_insula_thickness", "gmail"),
    ],
)
def test_other_columns_are_no_totals(column):
    assert not is_total(column)
