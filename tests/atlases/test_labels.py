import csv
from importlib.resources import files

import pytest

from sgbn.atlases import ATLASES, Region, load_atlas
from sgbn.atlases.labels import label_of
from sgbn.atlases.names import stem

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
    ],
)
def test_labels_are_words_with_the_side_first(column, atlas, label):
    assert label_of(load_atlas(atlas).find(column)) == label


def test_a_region_that_is_not_known_has_none():
    assert label_of(Region("parcel_17", "L", "frontal", 0, 0, 0, 1)) == ""


def test_no_row_is_lost_to_another():
    text = (files("sgbn.atlases") / "labels.csv").read_text(encoding="utf-8")
    names = [stem(row["region"], "") for row in csv.DictReader(text.splitlines())]
    assert len(set(names)) == len(names)
    known = {stem(r.name, r.hemisphere) for name in ATLASES for r in load_atlas(name).regions}
    assert set(names) == known  # none that no atlas has
