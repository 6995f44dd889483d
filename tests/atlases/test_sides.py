"""Hemispheres in the names of regions."""

from __future__ import annotations

import pytest

from sgbn.cohort.atlas import ATLASES, load_atlas, side_of


@pytest.mark.parametrize(
    ("name", "side"),
    [
        ("7Networks_LH_Vis_1", "L"),
        ("ctx-rh-insula", "R"),
        ("Left-Thalamus", "L"),
        ("Right Frontal Pole", "R"),
        ("L_V1_ROI", "L"),
        ("SFG_R_7_1", "R"),
        ("G_Frontal_Sup-1-L", "L"),
        ("Vermis_3", ""),
        ("area l", ""),  # a letter in lower case is part of the name
        ("Upright area", ""),
        ("L to R", ""),  # both
    ],
)
def test_a_whole_word_is_a_side(name, side):
    assert side_of(name) == side


def test_names_of_the_package_say_what_their_tables_say():
    regions = [region for name in ATLASES for region in load_atlas(name).regions]
    said = [region for region in regions if side_of(region.name)]
    assert len(said) > 500
    assert all(side_of(region.name) == region.hemisphere for region in said)
