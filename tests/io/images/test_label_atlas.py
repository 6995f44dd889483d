from types import SimpleNamespace

import nibabel as nib
import numpy as np
import pandas as pd
import pytest

from sgbn.core.exceptions import DataWarning, InputError
from sgbn.read.label_atlas import load_label_atlas

AFFINE = np.diag([2.0, 2, 2, 1])


@pytest.fixture
def labels():
    data = np.zeros((4, 4, 4), np.int16)
    data[0], data[1], data[2, 0] = 5, 12, 40
    return data


@pytest.fixture
def path(tmp_path, labels):
    nib.save(nib.Nifti1Image(labels, AFFINE), tmp_path / "atlas.nii.gz")
    return tmp_path / "atlas.nii.gz"


def test_labels_become_regions_by_rising_value(path, labels):
    atlas = load_label_atlas(path, {5: "a", 40: "c d"})
    assert atlas.regions == ("a", "label_12", "c d")
    assert atlas.n_voxels.tolist() == [16, 16, 4]
    assert np.array_equal(np.array([0, 5, 12, 40])[atlas.index], labels)
    assert atlas.grid.voxel_volume == pytest.approx(8)
    assert load_label_atlas(str(path)).regions == ("label_5", "label_12", "label_40")
    assert load_label_atlas(atlas) is atlas


def test_names_are_found_beside_the_image(path):
    path.with_name("atlas.tsv").write_text("index\tname\n0\tBackground\n5\ta\n12\tb\n40\tc\n")
    assert load_label_atlas(path).regions == ("a", "b", "c")
    path.with_name("other.csv").write_text("5,x\n12,y\n40,z\n")
    assert load_label_atlas(path, path.with_name("other.csv")).regions == ("x", "y", "z")


def test_a_listed_region_without_voxels_is_named_and_left_out(path):
    with pytest.warns(DataWarning, match=r"1 region .*voxel .*: 'gone'"):
        atlas = load_label_atlas(path, {5: "a", 12: "b", 40: "c", 41: "gone"})
    assert atlas.regions == ("a", "b", "c")
    assert atlas.absent == ("gone",)


def test_many_regions_without_voxels_are_counted(tmp_path):
    data = np.arange(1, 28, dtype=np.int16).reshape(3, 3, 3)
    names = {value: f"r{value}" for value in range(1, 38)}
    with pytest.warns(DataWarning, match="'r28', .*'r35' and 2 more"):
        load_label_atlas(nib.Nifti1Image(data, AFFINE), names)


def test_a_table_of_all_that_a_program_knows_warns_of_nothing(path, recwarn):
    atlas = load_label_atlas(path, {value: f"region {value}" for value in range(1000)})
    assert atlas.absent == ()
    assert not [w for w in recwarn if issubclass(w.category, DataWarning)]


def test_the_background_can_be_several_values(path):
    assert load_label_atlas(path, background=[0, 12]).regions == ("label_5", "label_40")
    assert load_label_atlas(path, background=5).regions == ("label_0", "label_12", "label_40")
    with pytest.raises(InputError, match="no label except the background"):
        load_label_atlas(path, background=[0, 5, 12, 40])


@pytest.mark.parametrize("bad", ["x", None, 0.5, np.nan, [0, "x"], [np.inf]])
def test_a_background_that_is_no_label_is_refused(path, bad):
    with pytest.raises(InputError, match=r"background is .* Give the label"):
        load_label_atlas(path, background=bad)
    assert load_label_atlas(path, background={0, 12}).regions == ("label_5", "label_40")
    assert load_label_atlas(path, background=np.array([0, 12])).regions == ("label_5", "label_40")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (5, "labels is 5, not names. Give a file of names"),
        ({"a": "x"}, "labels has the key 'a', which is not a label"),
        ({5.5: "x"}, "labels has the key 5.5"),
        ({None: "x"}, "labels has the key None"),
    ],
)
def test_names_that_are_none_are_refused(path, bad, message):
    with pytest.raises(InputError, match=message):
        load_label_atlas(path, bad)


def test_two_labels_of_the_same_name_are_named(path):
    with pytest.raises(InputError, match=r"labels 5 and 40 .* both called 'a'"):
        load_label_atlas(path, {5: "a", 40: "a"})


def test_a_list_of_names_must_fit_the_values(labels):
    consecutive = nib.Nifti1Image((labels > 0) * (1 + (labels == 12)).astype(np.int16), AFFINE)
    assert load_label_atlas(consecutive, ["a", "b"]).regions == ("a", "b")
    assert load_label_atlas(consecutive, ["Background", "a", "b"]).regions == ("a", "b")
    with pytest.raises(
        InputError, match=r"labels 1 to 2, but the atlas .* has labels from 5 to 40"
    ):
        load_label_atlas(nib.Nifti1Image(labels, AFFINE), ["a", "b"])


def test_labels_stored_as_floats_or_with_nan_are_labels(labels):
    data = labels.astype(np.float32)
    data[3, 3, 3] = np.nan
    data[0] += 1e-5
    assert load_label_atlas(nib.Nifti1Image(data, AFFINE)).n_voxels.tolist() == [16, 16, 4]


@pytest.mark.parametrize("value", [0.37, np.inf, 1e30])
def test_voxels_that_are_no_labels_are_shown(labels, value):
    data = labels.astype(np.float32)
    data[3, 3, 3] = value
    with pytest.raises(
        InputError, match=rf"the value {value:.3g}, .*whole number".replace("+", r"\+")
    ):
        load_label_atlas(nib.Nifti1Image(data, AFFINE))


def test_a_probabilistic_atlas_is_told_apart():
    with pytest.raises(InputError, match="3 volumes, so it seems to be probabilistic"):
        load_label_atlas(nib.Nifti1Image(np.zeros((2, 2, 2, 3), np.float32), AFFINE))


def test_the_fingerprint_changes_with_all_that_counts(path, labels):
    first = load_label_atlas(path)
    assert load_label_atlas(nib.Nifti1Image(labels, AFFINE)) == first
    assert hash(load_label_atlas(path)) == hash(first)
    moved = labels.copy()
    moved[3, 3, 3] = 5
    others = (
        load_label_atlas(path, {5: "a"}),
        load_label_atlas(nib.Nifti1Image(moved, AFFINE)),
        load_label_atlas(nib.Nifti1Image(labels, 1.5 * AFFINE)),
    )
    assert len({first, *others}) == 4


def nilearn_atlases(maps):
    table = pd.DataFrame({"index": [0, 5, 12, 40], "name": ["Background", "a", "b", "c"]})
    return {
        "lut": SimpleNamespace(maps=maps, labels=["?"], lut=table),
        "indices": SimpleNamespace(
            maps=maps, labels=["a", "b", "c"], indices=["5", "12", "40"], lut=None
        ),
        "pairs": SimpleNamespace(maps=maps, labels=[(5, b"a"), (12, b"b"), (40, b"c")]),
    }


@pytest.mark.parametrize("kind", ["lut", "indices", "pairs"])
def test_atlases_of_nilearn_are_read_in_all_their_forms(path, kind):
    assert load_label_atlas(nilearn_atlases(str(path))[kind]).regions == ("a", "b", "c")
    assert load_label_atlas(nilearn_atlases(nib.load(path))[kind]).regions == ("a", "b", "c")


def test_nothing_is_downloaded_unasked(monkeypatch, path):
    asked = []

    def fetch(**arguments):
        asked.append(arguments)
        return nilearn_atlases(path)["lut"]

    from nilearn import datasets

    monkeypatch.setattr(datasets, "fetch_atlas_schaefer_2018", fetch)
    with pytest.raises(InputError, match="--download"):
        load_label_atlas("schaefer200")
    assert not asked
    assert load_label_atlas("Schaefer200", download=True).regions == ("a", "b", "c")
    assert asked[0]["n_rois"] == 200


def test_a_failed_download_is_explained(monkeypatch):
    from nilearn import datasets

    def fetch(**_):
        raise TimeoutError("no route to host")

    monkeypatch.setattr(datasets, "fetch_atlas_aal", fetch)
    with pytest.raises(InputError, match=r"could not fetch .*'aal' \(no route to host\)"):
        load_label_atlas("aal", download=True)


def test_what_is_no_atlas_is_named(tmp_path):
    with pytest.raises(InputError, match=r"gone\.nii does not exist"):
        load_label_atlas(tmp_path / "gone.nii")
    with pytest.raises(InputError, match=r"is a folder\. Give a label image"):
        load_label_atlas(tmp_path)
    with pytest.raises(InputError, match="a int cannot be an atlas"):
        load_label_atlas(3)
