import numpy as np
import pytest

from sgbn.atlases import load_atlas
from sgbn.cohort import Cohort
from sgbn.report.names import file_names, labels, plain_names


def test_names_are_safe_and_differ_whatever_the_case():
    groups = ["a/b", "a b", "A_B", "../x", "=", "con trol"]
    names = file_names(groups)
    assert list(names) == groups
    assert len({name.lower() for name in names.values()}) == len(groups)
    assert all(
        set(name) <= set("abcdefghijklmnopqrstuvwxyzABX0123456789_-") for name in names.values()
    )


def test_a_plain_name_stays():
    assert file_names(["control"]) == {"control": "control"}


@pytest.mark.parametrize(
    ("names", "plain"),
    [
        (["lh_insula_thickness", "rh_cuneus_thickness"], ["L insula", "R cuneus"]),
        (["lh_insula_thickness", "lh_cuneus_thickness"], ["L insula", "L cuneus"]),
        (["Parcel_A_L", "Parcel_B_R"], ["L A", "R B"]),
        (["vol.a", "vol.b"], ["a", "b"]),
        (["region1", "region2"], ["region1", "region2"]),  # a part of a word says something
        (["r_value", "l_value"], ["r", "l"]),  # no side: R and L are
        (["a_x", "a_x_x"], ["x", "x x"]),
        (["a_", "a_b"], ["a", "a b"]),  # nothing would be left of the first
        (["only_one"], ["only one"]),
        (["_", "x"], ["_", "x"]),
        ([], []),
    ],
)
def test_plain_names_have_the_side_first_and_not_what_all_share(names, plain):
    assert plain_names(names) == plain


def cohort_of(names, atlas=None):
    values = np.random.default_rng(0).normal(size=(3, len(names)))
    return Cohort(values, names, ["a", "b", "c"], atlas=atlas and load_atlas(atlas))


@pytest.mark.parametrize(
    ("names", "atlas", "expected"),
    [
        (
            ["rh_S_oc-temp_lat_thickness", "Left-Amygdala", "my_own_region"],
            "destrieux",
            ("R lat. occ.-temp. sulcus", "L amygdala", "my own region"),
        ),
        (
            ["lh_insula_thickness", "lh_insula_area", "Left-Amygdala", "lh_cuneus"],
            "dk",
            ("L insula (thickness)", "L insula (area)", "L amygdala", "L cuneus (no measure)"),
        ),
        (
            ["lh_insula_thickness", "rh_insula_thickness", "rh_cuneus_thickness"],
            None,
            ("L insula", "R insula", "R cuneus"),
        ),
        # two columns of one region keep their names
        (
            ["Left-Amygdala", "Left-Amygdala_mean", "lh_insula"],
            "dk",
            ("Left-Amygdala", "Left-Amygdala_mean", "L insula"),
        ),
        (["a_b", "a b"], None, ("a_b", "a b")),
        # what one falls back to is the label of another: all keep their names
        (["a_b c", "a b_c", "a b c"], None, ("a_b c", "a b_c", "a b c")),
    ],
)
def test_labels_are_readable_and_differ(names, atlas, expected):
    assert labels(cohort_of(names, atlas)) == expected
    assert len(set(expected)) == len(names)


def test_labels_of_nasty_names_differ(nasty):
    assert len(set(labels(nasty.cohort))) == len(nasty.cohort.regions)
