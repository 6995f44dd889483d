"""How a column's name is read."""

from __future__ import annotations

import pytest

from sgbn.cohort.atlas import key, load_atlas, readings, stem, words


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lh_G&S_frontomargin", ["lh", "g", "s", "frontomargin"]),
        ("lh_G_and_S_frontomargin", ["lh", "g", "s", "frontomargin"]),
        ("X3rd.Ventricle", ["3rd", "ventricle"]),
        ("ctx-lh-insula", ["lh", "insula"]),
        ("Cerebelum_4_5_L", ["cerebellum", "4", "5", "l"]),
        ("xanthoma", ["xanthoma"]),
        (" - ", []),
    ],
)
def test_words(name, expected):
    assert words(name) == expected


def test_the_longest_reading_is_first():
    assert list(readings("Left-Accumbens-area")) == [
        ("leftaccumbensarea", ""),
        ("leftaccumbens", "area"),
    ]


def test_measures_are_taken_from_both_ends():
    found = dict(readings("mean_thickness_lh_insula_mm"))
    assert found["lhinsula"] == "thickness"
    assert len(found) == 6  # none, one or two words before, none or one after


def test_a_name_of_measures_only_keeps_one_word_at_least():
    assert all(found for found, _ in readings("mean_area"))


def test_short_keys_and_digits_stay_cut():
    assert key(["lc", "r"]) == "lc_r"
    assert key(["lcr"]) == "lcr"
    assert key(["vermis", "1", "2"]) == "vermis1_2"
    assert key(["lh", "insula"]) == "lhinsula"


def test_twins_have_one_stem():
    assert stem("lh_G_and_S_frontomargin", "L") == stem("R_G&S_frontomargin", "R")
    assert stem("Left-Caudate", "L") == stem("Caudate_R", "R") == "caudate"
    assert stem("L_shaped", "") == "lshaped"


def test_a_long_row_of_measures_is_read_in_few_ways():
    assert len(list(readings("thickness_" * 3000))) == 16


@pytest.mark.parametrize(
    "column", ["insula_thickness_lh", "insula_thickness_left", "L_thickness_insula"]
)
def test_a_measure_may_stand_between_region_and_side(column):
    region, measure = load_atlas("dk").read(column)
    assert (region.name, measure) == ("lh_insula", "thickness")


def test_the_name_of_a_segmentation_may_follow_the_side():
    assert words("lh.aparc.insula") == ["lh", "insula"]
    assert load_atlas("dk").find("lh.aparc.insula").name == "lh_insula"
