import os
import sys
import time

import joblib
import nibabel as nib
import numpy as np
import pandas as pd
import pytest

from sgbn.core.exceptions import InputError, StudyError
from sgbn.read import extract
from sgbn.read.extract import extract_regions, task_name
from sgbn.read.label_atlas import load_label_atlas

AFFINE = np.array([[-2.0, 0, 0, 20], [0, 2, 0, -20], [0, 0, 2, -20], [0, 0, 0, 1]])
NAMES = {1: "L hippocampus", 2: "G&S_frontomargin", 3: "insula"}


def labels():
    data = np.zeros((20, 20, 20), np.int16)
    data[3:9, 3:9, 3:9], data[10:16, 3:9, 3:9], data[3:9, 10:16, 10:16] = 1, 2, 3
    return data


def save(path, data, affine=AFFINE):
    nib.save(nib.Nifti1Image(data, affine), path)
    return path


def subject(k):
    """Map whose region r has the value (k + 1) / (10 r) everywhere."""
    data = np.zeros((20, 20, 20), np.float32)
    for r in NAMES:
        data[labels() == r] = (k + 1) / (10 * r)
    return data


@pytest.fixture
def atlas(tmp_path):
    (tmp_path / "atlas.tsv").write_text(
        "index\tname\n" + "".join(f"{k}\t{name}\n" for k, name in NAMES.items())
    )
    return save(tmp_path / "atlas.nii.gz", labels())


@pytest.fixture
def images(tmp_path):
    (tmp_path / "data").mkdir()
    return [save(tmp_path / "data" / f"sub-{k:02d}_probseg.nii.gz", subject(k)) for k in range(3)]


MEANS = np.array([[(k + 1) / (10 * r) for r in NAMES] for k in range(3)])
VOLUMES = MEANS * 216 * 8


@pytest.fixture
def measured(monkeypatch):
    """Names of the images that are measured."""
    seen = []

    def counted(path, **arguments):
        seen.append(path.name[:6])
        return measure(path, **arguments)

    measure = extract.measure_image
    monkeypatch.setattr(extract, "measure_image", counted)
    return seen


def test_known_volumes_and_means_are_found(images, atlas):
    before = [path.read_bytes() for path in (*images, atlas)]
    found = extract_regions(images, atlas, progress=False)
    np.testing.assert_allclose(found.values, VOLUMES, rtol=1e-6)
    assert found.ids == ["sub-00", "sub-01", "sub-02"]
    assert found.regions == list(NAMES.values())
    assert found.failures == {}
    mean = extract_regions(images, atlas, measure="mean", progress=False)
    np.testing.assert_allclose(mean.values, MEANS, rtol=1e-6)
    assert [path.read_bytes() for path in (*images, atlas)] == before


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.long)])
def test_the_number_of_workers_changes_nothing(images, atlas, backend):
    # Threads too load the function and its atlas from a file, but no libraries anew.
    with joblib.parallel_config(backend=backend):
        first, second = (extract_regions(images, atlas, n_jobs=n, progress=False) for n in (1, 2))
    assert np.array_equal(first.values, second.values)
    pd.testing.assert_frame_equal(first.quality.subjects, second.quality.subjects)


def test_the_table_begins_with_the_subject(images, atlas):
    table = extract_regions(images, atlas, progress=False).table()
    assert table.columns.tolist() == ["subject_id", *NAMES.values()]
    assert table["subject_id"].tolist() == ["sub-00", "sub-01", "sub-02"]


def test_flipped_images_give_the_same_volumes(tmp_path, images, atlas):
    """The first axis stored the other way round, with the affine that says so."""
    flip = AFFINE @ np.array([[-1.0, 0, 0, 19], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    paths = {f"s{k}": save(tmp_path / f"{k}.nii", subject(k)[::-1], flip) for k in range(3)}
    found = extract_regions(paths, atlas, progress=False)
    np.testing.assert_allclose(found.values, VOLUMES, rtol=1e-6)
    assert found.quality.subjects["resampled"].all()


def test_images_on_a_finer_grid_give_the_same_volumes(tmp_path, atlas):
    """Each voxel split in eight: the voxels of 1 mm lie inside those of 2 mm."""
    fine = AFFINE @ np.array(
        [[0.5, 0, 0, -0.25], [0, 0.5, 0, -0.25], [0, 0, 0.5, -0.25], [0, 0, 0, 1]]
    )
    paths = {}
    for k in range(3):
        split = subject(k).repeat(2, axis=0).repeat(2, axis=1).repeat(2, axis=2)
        paths[f"s{k}"] = save(tmp_path / f"{k}.nii.gz", split, fine)
    found = extract_regions(paths, atlas, progress=False)
    np.testing.assert_allclose(found.values, VOLUMES, rtol=1e-6)
    assert found.quality.subjects["grid"][0] == "40 x 40 x 40 voxels of 1 x 1 x 1 mm"
    assert (found.coverage == 1).all()


def test_a_bad_image_ends_the_run_or_is_left_out(tmp_path, images, atlas):
    images[1].write_bytes(images[1].read_bytes()[:200])
    images.append(tmp_path / "sub-09_gone.nii.gz")
    with pytest.raises(InputError, match=r"sub-01_probseg\.nii\.gz cannot be read"):
        extract_regions(images, atlas, progress=False)
    measured = extract_regions(images, atlas, on_error="skip", progress=False)
    assert measured.ids == ["sub-00", "sub-02"]
    assert list(measured.failures) == ["sub-01", "sub-09"]
    assert "does not exist" in measured.failures["sub-09"]
    np.testing.assert_allclose(measured.values, VOLUMES[[0, 2]], rtol=1e-6)


def test_when_no_image_can_be_used_the_first_reason_is_given(images, atlas):
    for path in images:
        path.write_bytes(b"")
    with pytest.raises(InputError, match=r"none of the 3 images .*sub-00_probseg"):
        extract_regions(images, atlas, on_error="skip", progress=False)


def test_a_second_start_does_only_what_is_missing(tmp_path, images, atlas, measured):
    good = images[1].read_bytes()
    images[1].write_bytes(good[:100])
    settings = {"folder": tmp_path / "kept", "on_error": "skip", "progress": False}
    assert list(extract_regions(images, atlas, **settings).failures) == ["sub-01"]
    measured.clear()
    images[1].write_bytes(good)
    extra = save(images[0].with_name("sub-07.nii"), subject(5))
    found = extract_regions([*images, extra], atlas, **settings)
    assert measured == ["sub-01", "sub-07"]
    np.testing.assert_allclose(found.values[:3], VOLUMES, rtol=1e-6)
    measured.clear()
    extract_regions([*images, extra], atlas, **settings)
    assert measured == []


def test_a_changed_image_is_measured_again(tmp_path, images, atlas, measured):
    settings = {"folder": tmp_path / "kept", "progress": False}
    extract_regions(images, atlas, **settings)
    measured.clear()
    save(images[2], subject(7))
    os.utime(images[2], (time.time() + 10,) * 2)
    found = extract_regions(images, atlas, **settings)
    assert measured == ["sub-02"]
    np.testing.assert_allclose(found.values[2], VOLUMES[0] * 8, rtol=1e-6)


def test_an_image_that_changed_in_time_alone_is_measured_again(tmp_path, atlas):
    """An image that is not compressed has the same size whatever its values."""
    path = save(tmp_path / "sub-1.nii", subject(0))
    os.utime(path, (1e9, 1e9))
    first = extract_regions([path], atlas, folder=tmp_path / "kept", progress=False)
    save(path, subject(4))
    os.utime(path, (1e9 + 1, 1e9 + 1))
    second = extract_regions([path], atlas, folder=tmp_path / "kept", progress=False)
    np.testing.assert_allclose(second.values, first.values * 5, rtol=1e-6)


def test_names_of_results_begin_with_what_is_the_subjects_alone(images):
    names = [task_name(s, path) for s in ("a.b", "a_b", "a/b") for path in images]
    owners = [name.rpartition(".")[0] for name in names]
    assert len(set(names)) == 9
    assert [owners.index(owner) for owner in owners] == [0, 0, 0, 3, 3, 3, 6, 6, 6]


def test_zeros_are_no_values_of_a_mean_and_flag_the_subject(tmp_path, images, atlas):
    data = subject(2)
    data[:, :5] = 0  # a third of the regions 1 and 2
    images[2] = save(images[2], data)
    found = extract_regions(images, atlas, measure="mean", progress=False)
    np.testing.assert_allclose(found.values, MEANS, rtol=1e-6)
    np.testing.assert_allclose(found.coverage, [[1, 1, 1], [1, 1, 1], [2 / 3, 2 / 3, 1]])
    assert found.quality.subjects["flagged"].tolist() == [False, False, True]
    volumes = extract_regions(images, atlas, progress=False)
    np.testing.assert_allclose(volumes.values[2], VOLUMES[2] * [2 / 3, 2 / 3, 1], rtol=1e-6)
    assert (volumes.coverage == 1).all()


def test_a_folder_begun_with_another_atlas_or_measure_is_refused(tmp_path, images, atlas):
    settings = {"folder": tmp_path / "kept", "progress": False}
    extract_regions(images, atlas, **settings)
    with pytest.raises(StudyError, match="measure: volume there, mean now"):
        extract_regions(images, atlas, measure="mean", **settings)
    extract_regions(images, load_label_atlas(str(atlas)), **settings)
    with pytest.raises(
        StudyError,
        match=r"atlas: atlas\.nii\.gz \(3 regions: 'L hippocampus', .* there, "
        r"atlas\.nii\.gz \(3 regions: 'other', 'label_2', 'label_3'; sha256 ",
    ):
        extract_regions(images, atlas, labels={1: "other"}, **settings)


def test_a_series_is_no_map(tmp_path, atlas):
    path = save(tmp_path / "run.nii.gz", np.ones((20, 20, 20, 4), np.float32))
    with pytest.raises(InputError, match=r"run\.nii\.gz has 4 volumes. Use extract_time_series"):
        extract_regions([path], atlas, progress=False)


def test_two_images_of_a_subject_are_refused(images, atlas):
    twin = save(images[0].with_name("sub-00_other.nii"), subject(0))
    with pytest.raises(InputError, match=r"sub-00_probseg.* and .*sub-00_other"):
        extract_regions([*images, twin], atlas)


def test_ids_are_kept_as_text_whatever_they_are(tmp_path, images, atlas):
    ids = ["007", "a/b", "ä ö"]
    found = extract_regions(images, atlas, ids=ids, folder=tmp_path / "kept", progress=False)
    assert found.ids == ids


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (None, "images is a NoneType. Give a list"),
        (5, "images is a int. Give a list"),
        ([5], "is a int, not the path"),
        ({"a": None}, "is a NoneType, not the path"),
        (
            [nib.Nifti1Image(np.ones((2, 2, 2)), None)],
            "is a Nifti1Image, not the path.*nibabel.save",
        ),
        (nib.Nifti1Image(np.ones((2, 2, 2)), None), "images is a Nifti1Image. Give a list"),
    ],
)
def test_what_is_no_image_is_named(atlas, bad, message):
    with pytest.raises(InputError, match=message):
        extract_regions(bad, atlas, progress=False)


def test_parameters_are_checked(images, atlas, monkeypatch):
    with pytest.raises(InputError, match="'volume' or 'mean'"):
        extract_regions(images, atlas, measure="median")
    for share in (1.5, -1, "half", np.nan):
        with pytest.raises(InputError, match="min_coverage"):
            extract_regions(images, atlas, min_coverage=share)
    for jobs in (0, "all"):
        with pytest.raises(InputError, match="n_jobs"):
            extract_regions(images, atlas, n_jobs=jobs)
    monkeypatch.setitem(sys.modules, "nibabel", None)
    with pytest.raises(InputError, match="pip install"):
        extract_regions(images, atlas)
