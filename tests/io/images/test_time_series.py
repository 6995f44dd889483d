import nibabel as nib
import numpy as np
import pandas as pd
import pytest

from sgbn.core.exceptions import InputError, StudyError
from sgbn.read.extract import extract_time_series, write_time_series

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
    with pytest.raises(InputError, match=r"map\.nii has only one volume"):
        extract_time_series(tmp_path / "map.nii", atlas)


def test_a_run_that_ends_too_early_is_named(tmp_path, atlas):
    path, _ = run(tmp_path / "run.nii", 0)
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(InputError, match=r"run\.nii .* ends within volume 5 of 7"):
        extract_time_series(path, atlas)


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.long)])
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


def test_the_table_is_that_of_the_image_given_last(tmp_path, atlas):
    runs = {}
    for name in "ab":
        (tmp_path / name).mkdir()
        runs[name] = run(tmp_path / name / "sub-01_bold.nii.gz", ord(name))
    for name in "aba":
        path, data = runs[name]
        write_time_series([path], atlas, tmp_path / "out", progress=False)
        table = pd.read_csv(tmp_path / "out" / "sub-01_timeseries.tsv", sep="\t")
        np.testing.assert_allclose(table, signals(data, atlas), rtol=1e-6)


def test_a_bad_image_leaves_no_table_of_another(tmp_path, atlas):
    good, other = (run(tmp_path / f"{k}.nii.gz", k)[0] for k in range(2))
    settings = {"on_error": "skip", "progress": False}
    write_time_series({"s": good, "t": other}, atlas, tmp_path / "out", **settings)
    bad = tmp_path / "bad.nii.gz"
    bad.write_bytes(b"nothing")
    _, failures = write_time_series({"s": bad, "t": other}, atlas, tmp_path / "out", **settings)
    assert list(failures) == ["s"]
    assert [path.name for path in (tmp_path / "out").glob("*.tsv")] == ["t_timeseries.tsv"]


def test_a_refused_start_loses_no_table(tmp_path, atlas):
    good, other = (run(tmp_path / f"{k}.nii.gz", k)[0] for k in range(2))
    write_time_series({"s": good}, atlas, tmp_path / "out", progress=False)
    before = (tmp_path / "out" / "s_timeseries.tsv").read_bytes()
    with pytest.raises(StudyError, match="atlas"):
        write_time_series(
            {"s": other}, atlas, tmp_path / "out", labels=["x", "y", "z"], progress=False
        )
    assert (tmp_path / "out" / "s_timeseries.tsv").read_bytes() == before


def test_ids_that_look_alike_as_file_names_keep_their_own_tables(tmp_path, atlas):
    runs = {s: run(tmp_path / f"{k}.nii.gz", k) for k, s in enumerate(("a.b", "a_b"))}
    paths = {s: path for s, (path, _) in runs.items()}
    write_time_series(paths, atlas, tmp_path / "out", progress=False)
    for s, (_, data) in runs.items():
        table = pd.read_csv(tmp_path / "out" / f"{s}_timeseries.tsv", sep="\t")
        np.testing.assert_allclose(table, signals(data, atlas), rtol=1e-6)


def test_voxels_that_are_0_at_all_times_are_outside_the_mask(tmp_path, atlas):
    path, data = run(tmp_path / "run.nii.gz", 0)
    data[0], data[4, :3] = 0, 0  # half of region 1, all of region 3
    data[2, :, :, 3] = 0  # half of region 2, once
    nib.save(nib.Nifti1Image(data, AFFINE), path)
    series = extract_time_series(path, atlas)
    assert series.coverage.tolist() == [0.5, 1, 0]
    np.testing.assert_allclose(series.values[:, 0], data[1].mean(axis=(0, 1)), rtol=1e-6)
    np.testing.assert_allclose(series.values[:, 1], data[2:4].mean(axis=(0, 1, 2)), rtol=1e-6)
    assert np.isnan(series.values[:, 2]).all()


def test_coverage_counts_the_voxels_that_have_a_value_in_all_volumes(tmp_path, atlas):
    path, data = run(tmp_path / "run.nii.gz", 0)
    data[0, :3, :, 2] = np.nan  # two quarters of region 1, each once
    data[0, 3:, :, 4] = np.nan
    nib.save(nib.Nifti1Image(data, AFFINE), path)
    assert extract_time_series(path, atlas).coverage.tolist() == [0.5, 1, 1]


@pytest.mark.parametrize(("value", "reason"), [(np.nan, "are NaN"), (0, "are 0")])
def test_a_run_without_values_says_what_its_voxels_are(tmp_path, atlas, value, reason):
    path = tmp_path / "run.nii"
    nib.save(nib.Nifti1Image(np.full((6, 6, 6, T), value, np.float32), AFFINE), path)
    with pytest.raises(InputError, match=rf"run\.nii .* all its voxels in the atlas {reason}"):
        extract_time_series(path, atlas)


def test_what_is_no_path_is_named(atlas):
    with pytest.raises(InputError, match="is a Nifti1Image, not the path"):
        extract_time_series(atlas, atlas)


def test_two_subjects_never_share_a_table(tmp_path, atlas):
    path, _ = run(tmp_path / "run.nii.gz", 0)
    with pytest.raises(
        InputError, match=r"'a_b' and .* would both be written to a_b_timeseries\.tsv"
    ):
        write_time_series({"a/b": path, "a_b": path}, atlas, tmp_path / "out", progress=False)


def test_signals_that_never_change_are_counted(tmp_path, atlas):
    path, data = run(tmp_path / "sub-1.nii.gz", 0)
    data[:2] = 4
    nib.save(nib.Nifti1Image(data, AFFINE), path)
    subjects, _ = write_time_series([path], atlas, tmp_path / "out", progress=False)
    assert subjects["regions_constant"].tolist() == [1]


@pytest.mark.parametrize("what", ["nothing", "zeros", "empty", "constant"])
def test_a_run_with_little_coverage_or_without_signals_is_flagged(tmp_path, atlas, what):
    path, data = run(tmp_path / "sub-1.nii.gz", 0)
    if what == "zeros":
        data[0, :3] = 0  # 18 of 162 voxels
    elif what == "empty":
        data = data[4:]  # no voxel of the regions 1 and 2: see min_coverage
    elif what == "constant":
        data[:2] = 4
    affine = AFFINE.copy()
    affine[0, 3] = 12 if what == "empty" else 0
    nib.save(nib.Nifti1Image(data, affine), path)
    subjects, _ = write_time_series(
        [path], atlas, tmp_path / "out", min_coverage=0.05, progress=False
    )
    assert subjects["flagged"].tolist() == [what != "nothing"]
