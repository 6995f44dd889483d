import nibabel as nib
import numpy as np
import pandas as pd
import pytest

from sgbn import InputError
from sgbn.io.images.time_series import extract_time_series, write_time_series

AFFINE = np.diag([3.0, 3, 3, 1])
T = 7


@pytest.fixture
def atlas():
    data = np.zeros((6, 6, 6), np.int16)
    data[:2], data[2:4], data[4, :3] = 1, 2, 3
    return nib.Nifti1Image(data, AFFINE)


def run(path, seed, dtype=np.float32):
    data = (1000 * np.random.default_rng(seed).random((6, 6, 6, T))).astype(dtype)
    image = nib.Nifti1Image(data, AFFINE)
    image.header.set_zooms((3, 3, 3, 2.5))
    image.header.set_xyzt_units("mm", "sec")
    nib.save(image, path)
    return path, data


def signals(data, atlas):
    labels = np.asanyarray(atlas.dataobj)
    return np.stack([data[labels == k].mean(axis=0, dtype=float) for k in (1, 2, 3)], axis=1)


@pytest.mark.parametrize("name", ["run.nii", "run.nii.gz"])
@pytest.mark.parametrize("dtype", [np.float32, np.int16])
def test_signals_are_means_of_each_volume(tmp_path, atlas, name, dtype):
    path, data = run(tmp_path / name, 0, dtype)
    series = extract_time_series(path, atlas, labels={1: "a", 2: "b", 3: "c"})
    assert series.table().columns.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(series.values, signals(data, atlas), rtol=1e-10)
    assert series.coverage.tolist() == [1, 1, 1]
    assert series.step == 2.5


def test_units_that_mean_nothing_leave_the_step_unknown(tmp_path, atlas):
    path, data = run(tmp_path / "run.nii", 0)
    content = bytearray(path.read_bytes())
    content[123] = 255  # xyzt_units
    path.write_bytes(content)
    series = extract_time_series(path, atlas)
    assert np.isnan(series.step)
    np.testing.assert_allclose(series.values, signals(data, atlas), rtol=1e-10)


def test_signals_are_those_of_nilearn(tmp_path, atlas):
    from nilearn.maskers import NiftiLabelsMasker

    path, _ = run(tmp_path / "run.nii.gz", 0)
    expected = NiftiLabelsMasker(atlas, resampling_target=None, standardize=None).fit_transform(
        path
    )
    np.testing.assert_allclose(extract_time_series(path, atlas).values, expected, rtol=1e-5)


def test_voxels_without_a_value_are_left_out_and_counted(tmp_path, atlas):
    path, data = run(tmp_path / "run.nii.gz", 0)
    data[0, :, :, 3] = np.nan
    nib.save(nib.Nifti1Image(data, AFFINE), path)
    series = extract_time_series(path, atlas)
    np.testing.assert_allclose(series.values[3, 0], data[1, :, :, 3].mean(), rtol=1e-6)
    assert series.coverage.tolist() == [0.5, 1, 1]


def test_a_map_is_no_series(tmp_path, atlas):
    nib.save(nib.Nifti1Image(np.ones((6, 6, 6), np.float32), AFFINE), tmp_path / "map.nii")
    with pytest.raises(InputError, match=r"map\.nii has one volume"):
        extract_time_series(tmp_path / "map.nii", atlas)


def test_a_run_that_ends_too_early_is_named(tmp_path, atlas):
    path, _ = run(tmp_path / "run.nii", 0)
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(InputError, match=r"run\.nii .* ends within volume 5 of 7"):
        extract_time_series(path, atlas)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_one_table_a_subject_and_a_second_start_does_what_is_missing(tmp_path, atlas, n_jobs):
    data = dict(run(tmp_path / f"sub-{k}_bold.nii.gz", k) for k in range(3))
    bad = tmp_path / "sub-9_bold.nii.gz"
    bad.write_bytes(b"nothing")
    out = tmp_path / "out"
    settings = {"on_error": "skip", "n_jobs": n_jobs, "progress": False}
    subjects, failures = write_time_series([*data, bad], atlas, out, **settings)
    assert list(failures) == ["sub-9"]
    assert subjects["file"].tolist() == [f"sub-{k}_timeseries.tsv" for k in range(3)]
    assert subjects["volumes"].tolist() == [T] * 3
    for path, file in zip(data, subjects["file"], strict=True):
        table = pd.read_csv(out / file, sep="\t")
        np.testing.assert_allclose(table, signals(data[path], atlas), rtol=1e-6)
    times = {path.name: path.stat().st_mtime_ns for path in out.glob("*.tsv")}
    (out / "sub-1_timeseries.tsv").unlink()
    write_time_series([*data, bad], atlas, out, **settings)
    again = {path.name: path.stat().st_mtime_ns for path in out.glob("*.tsv")}
    assert again.keys() == times.keys()
    assert {k for k in times if times[k] != again[k]} == {"sub-1_timeseries.tsv"}


def test_two_subjects_never_share_a_table(tmp_path, atlas):
    path, _ = run(tmp_path / "run.nii.gz", 0)
    with pytest.raises(InputError, match=r"'a_b' would be written to a_b_timeseries\.tsv"):
        write_time_series({"a/b": path, "a_b": path}, atlas, tmp_path / "out", progress=False)


def test_signals_that_never_change_are_counted(tmp_path, atlas):
    path, data = run(tmp_path / "sub-1.nii.gz", 0)
    data[:2] = 4
    nib.save(nib.Nifti1Image(data, AFFINE), path)
    subjects, _ = write_time_series([path], atlas, tmp_path / "out", progress=False)
    assert subjects["regions_constant"].tolist() == [1]
