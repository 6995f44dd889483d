"""Places of the regions of a label image."""

from __future__ import annotations

import nibabel as nib
import numpy as np
import pytest

from sgbn.cohort.atlas import read_atlas
from sgbn.core.exceptions import DataWarning
from sgbn.read.label_atlas import load_label_atlas, places_of, write_places

AFFINE = np.array([[-2.0, 0, 0, 19], [0, 3, 0, -20], [0, 0, 2, -10], [0, 0, 0, 1]])  # x falls


def atlas_of(data, labels, affine=AFFINE):
    return load_label_atlas(nib.Nifti1Image(data.astype(np.int16), affine), labels)


def ball(centre, radius, shape=(20, 12, 12)):
    steps = np.stack(np.indices(shape), axis=-1) - centre
    return (steps**2).sum(axis=-1) <= radius**2


def test_centre_and_volume_are_those_of_the_voxels():
    data = np.zeros((20, 12, 12))
    data[ball((14, 6, 5), 2)] = 4
    data[2, 3, 4] = 9
    first, second = places_of(atlas_of(data, {4: "ball", 9: "one voxel"})).regions
    assert first[:6] == ("ball", "L", "unknown", -9.0, -2.0, 0.0)
    assert first.volume_mm3 == (data == 4).sum() * 12
    assert second[:7] == ("one voxel", "R", "unknown", 15.0, -11.0, -2.0, 12.0)


def test_a_region_around_its_mean_has_a_voxel_of_its_own_as_centre():
    data = np.zeros((20, 12, 12))
    data[ball((9, 6, 5), 4) & ~ball((9, 6, 5), 3)] = 1
    data[9, 6, 5] = 2  # in the middle of the shell
    shell = places_of(atlas_of(data, {1: "shell", 2: "core"})).regions[0]
    voxel = np.linalg.inv(AFFINE) @ [*shell[3:6], 1]
    assert data[tuple(np.rint(voxel[:3]).astype(int))] == 1
    distances = [np.linalg.norm(AFFINE[:3, :3] @ (v - (9, 6, 5))) for v in np.argwhere(data == 1)]
    own = np.linalg.norm(np.array(shell[3:6]) - (AFFINE @ [9, 6, 5, 1])[:3])
    assert own == pytest.approx(min(distances))


def test_hemispheres_are_as_the_names_say_else_as_the_voxels_lie():
    data = np.zeros((20, 12, 12))
    data[1:4, 0], data[15:18, 2], data[8:12, 4], data[12:14, 6] = 1, 2, 3, 4
    names = {1: "a", 2: "b", 3: "bridge", 4: "insula_L"}
    assert [one.hemisphere for one in places_of(atlas_of(data, names)).regions] == [
        "R",
        "L",
        "",
        "L",
    ]


def test_names_of_the_other_side_are_warned_about():
    data = np.zeros((20, 12, 12))
    data[1:4], data[15:18] = 1, 2
    with pytest.warns(DataWarning, match="2 regions are not on the side.*'lh_a', 'rh_a'"):
        places_of(atlas_of(data, {1: "lh_a", 2: "rh_a"}))


def test_lobes_are_of_the_labels_else_of_the_name_else_of_the_package(tmp_path):
    data = np.zeros((20, 12, 12))
    for k in range(1, 6):
        data[12 + k, k] = k
    (tmp_path / "dseg.tsv").write_text(
        "index\tname\tnetwork\n1\tInsula_L\tSalience\n2\tPrecentral_L\tn/a\n3\tPostcentral_L\t\n"
        "4\t17Networks_LH_DefaultA_PFCd_1\t\n5\tlh of mine\t\n"
    )
    places = places_of(atlas_of(data, tmp_path / "dseg.tsv"))
    lobes = [one.lobe for one in places.regions]
    assert lobes == ["Salience", "frontal", "parietal", "DefaultA", "unknown"]


def test_what_is_written_is_read_again(tmp_path):
    rng = np.random.default_rng(0)
    data = rng.integers(0, 9, (20, 12, 12))
    rotated = AFFINE.copy()
    rotated[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0] * 1.7
    places = places_of(atlas_of(data, {k: f'area, "{k}"' for k in range(1, 9)}, rotated))
    write_places(places, tmp_path / "atlas.csv")
    read = read_atlas(tmp_path / "atlas.csv")
    assert read.regions == places.regions
    assert (read.name, read.title) == (places.name, places.title)
    assert read.file.label_image == "given as an image"
