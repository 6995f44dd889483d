import csv
from importlib.resources import files

import pytest

from sgbn.cohort.atlas import ATLASES, Region, load_atlas, stem
from sgbn.cohort.region_names import label_of, plain_names, region_labels

LONGEST = 32  # letters: more leave no room in a figure


@pytest.mark.parametrize("name", ATLASES)
def test_each_region_of_an_atlas_has_a_label_of_its_own(name):
    regions = load_atlas(name).regions
    labels = [label_of(region) for region in regions]
    assert len(set(labels)) == len(regions)
    for region, label in zip(regions, labels, strict=True):
        assert label.startswith(f"{region.hemisphere} ".lstrip())
        assert len(region.hemisphere) < len(label) <= LONGEST
        assert "_" not in label


@pytest.mark.parametrize(
    ("column", "atlas", "label"),
    [
        ("rh_S_oc-temp_lat_thickness", "destrieux", "R lat. occ.-temp. sulcus"),
        ("Left-Thalamus-Proper", "destrieux", "L thalamus"),
        ("lh_bankssts", "desikan_killiany", "L banks of STS"),
        ("Cerebelum_4_5_R", "aal", "R cerebellum IV-V"),
        ("Vermis_9", "aal3", "vermis IX"),
        ("rh_insula", "dkt", "R insula"),
        ("Left Planum Polare", "harvard_oxford", "L planum polare"),
        ("A8m_L", "brainnetome", "L A8m"),
        ("L_p9-46v", "glasser", "L p9-46v"),
        ("Right ACgG anterior cingulate gyrus", "neuromorphometrics", "R ant. cingulate gyrus"),
        ("lSupFroG", "lpba40", "L sup. frontal gyrus"),
        ("LH_Vis_1", "schaefer_200_7", "L visual 1"),
        ("RH_Default_Par_2", "schaefer_200_7", "R default Par 2"),
        ("LH_SomMotB_S2_1", "schaefer_200_17", "L somatomotor B S2 1"),
        ("RH_TempPar_1", "schaefer_100_17", "R temp. parietal 1"),
    ],
)
def test_labels_are_words_with_the_side_first(column, atlas, label):
    assert label_of(load_atlas(atlas).find(column)) == label


def test_a_region_that_is_not_known_has_none():
    assert label_of(Region("parcel_17", "L", "frontal", 0, 0, 0, 1)) == ""


def test_no_row_is_lost_to_another():
    text = (files("sgbn.cohort") / "atlases" / "labels.csv").read_text(encoding="utf-8")
    names = [stem(row["region"], "") for row in csv.DictReader(text.splitlines())]
    assert len(set(names)) == len(names)
    known = {stem(r.name, r.hemisphere) for name in ATLASES for r in load_atlas(name).regions}
    assert set(names) < known  # none that no atlas has; others have a label by a rule


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
    assert region_labels(tuple(names), atlas and load_atlas(atlas)) == expected
    assert len(set(expected)) == len(names)


def test_numbered_regions_keep_a_word_before_the_number():
    assert plain_names(["ROI_005", "ROI_107"]) == ["ROI 005", "ROI 107"]
