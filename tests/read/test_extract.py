import os
import time
from functools import partial

import joblib
import nibabel as nib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.codes import refused, warned

from sgbn.core.problems import InputError, StudyError
from sgbn.read import extract
from sgbn.read.extract import (
    extract_regions,
    extract_time_series,
    measure_image,
    place,
    region_sums,
    region_table,
    subject_table,
    task_name,
    write_time_series,
)
from sgbn.read.label_atlas import load_label_atlas
from sgbn.read.volumes import Grid, grid_of

AFFINE = np.array([[-2.0, 0, 0, 20], [0, 2, 0, -20], [0, 0, 2, -20], [0, 0, 0, 1]])
NAMES = {1: "L hippocampus", 2: "G&S_frontomargin", 3: "insula"}


def blocks():
    """Labels 1, 2, 3 as boxes that keep away from the edge."""
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
        data[blocks() == r] = (k + 1) / (10 * r)
    return data


@pytest.fixture
def atlas(tmp_path):
    (tmp_path / "atlas.tsv").write_text(
        "index\tname\n" + "".join(f"{k}\t{name}\n" for k, name in NAMES.items())
    )
    return save(tmp_path / "atlas.nii.gz", blocks())


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
    assert found.table().columns.tolist() == ["subject_id", *NAMES.values()]
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
    with refused("image.unreadable"):
        extract_regions(images, atlas, progress=False)
    measured = extract_regions(images, atlas, on_error="skip", progress=False)
    assert measured.ids == ["sub-00", "sub-02"]
    assert list(measured.failures) == ["sub-01", "sub-09"]
    assert measured.failures["sub-09"].code == "image.unreadable"
    np.testing.assert_allclose(measured.values, VOLUMES[[0, 2]], rtol=1e-6)
    with refused("images.unusable"):
        extract_regions([images[1]], atlas, on_error="skip", progress=False)


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
    with refused("study.settings", kind=StudyError):
        extract_regions(images, atlas, measure="mean", **settings)
    extract_regions(images, load_label_atlas(str(atlas)), **settings)
    with refused("study.settings", kind=StudyError):
        extract_regions(images, atlas, labels={1: "other"}, **settings)


def test_ids_are_kept_as_text_whatever_they_are(tmp_path, images, atlas):
    ids = ["007", "a/b", "ä ö"]
    found = extract_regions(images, atlas, ids=ids, folder=tmp_path / "kept", progress=False)
    assert found.ids == ids


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (None, "images.list"),
        (5, "images.list"),
        ({"a": None}, "images.type"),
        ([nib.Nifti1Image(np.ones((2, 2, 2)), None)], "images.type"),
    ],
)
def test_what_is_no_image_is_named(atlas, bad, code):
    with refused(code):
        extract_regions(bad, atlas, progress=False)


@pytest.mark.parametrize(
    "wrong",
    [
        {"measure": "median"},
        *({"min_coverage": share} for share in (1.5, -1, "half", np.nan)),
        *({"n_jobs": jobs} for jobs in (0, "all")),
    ],
)
def test_parameters_are_checked(images, atlas, wrong):
    with refused("argument"):
        extract_regions(images, atlas, **wrong)


def test_a_folder_that_no_system_can_make_is_refused(images, atlas):
    with refused("path.nul"):
        write_time_series(images, atlas, "o\0")


N, M = 20, 4


@pytest.fixture
def quality_atlas():
    data = np.zeros((4, 4, 4), np.int16)
    data[0], data[1], data[2], data[3, 0] = 1, 2, 3, 4
    names = {1: "a", 2: "b", 3: "c", 4: "d", 9: "gone"}
    with warned("atlas.absent"):
        return load_label_atlas(nib.Nifti1Image(data, np.diag([2.0, 2, 2, 1])), names)


def results(values, coverage=None):
    coverage = np.ones_like(values) if coverage is None else coverage
    single = {"grid": "4 x 4 x 4", "resampled": False, "zeros": 0.1, "minimum": 0, "maximum": 1}
    return [
        {k: np.asarray(v) for k, v in {"values": v, "coverage": c, "note": "", **single}.items()}
        for v, c in zip(values, coverage, strict=True)
    ]


def draws():
    return 100 + np.random.default_rng(0).standard_normal((N, M))


def subjects(atlas, values, coverage=None, measure="volume"):
    ids = [f"s{k}" for k in range(len(values))]
    return subject_table(ids, ids, results(values, coverage), atlas, measure)


def test_good_subjects_are_not_flagged(quality_atlas):
    table = subjects(quality_atlas, draws())
    assert not table["flagged"].any()
    np.testing.assert_allclose(table["total"], draws().sum(axis=1))
    np.testing.assert_allclose(
        subjects(quality_atlas, draws(), measure="mean")["total"], draws().mean(1)
    )


@pytest.mark.parametrize(
    ("at", "value"),
    [((7, 1), 0), ((7, 1), np.nan), (7, 3 * draws()[7]), ((7, 2), 150), (7, draws()[3])],
    ids=["empty", "missing", "total", "region", "twin"],
)
def test_what_is_odd_about_the_values_of_a_subject_flags_it_alone(quality_atlas, at, value):
    values = draws()
    values[at] = value
    table = subjects(quality_atlas, values)
    assert table.index[table["flagged"]].tolist() == [7]
    twin = np.array_equal(value, draws()[3])
    assert (table["note"][7] == "same values as s3") == twin


def test_coverage_is_that_of_voxels_and_flags_its_subjects_alone(quality_atlas):
    coverage = np.ones((N, M))
    coverage[0, 3] = 0  # 4 of 52 voxels
    coverage[7, 0] = 0.5
    table = subjects(quality_atlas, draws(), coverage)
    assert table["coverage"][0] == pytest.approx(48 / 52)
    assert table.index[table["flagged"]].tolist() == [0, 7]


def test_regions_are_summed_up_and_absent_ones_listed(quality_atlas):
    values, coverage = draws(), np.ones((N, M))
    coverage[:5, 1] = 0.5
    values[2, 1] = np.nan
    values[4, 0] = 1000
    table = region_table(quality_atlas, results(values, coverage)).set_index("region")
    assert table.index.tolist() == ["a", "b", "c", "d", "gone"]
    assert table["voxels"].tolist() == [16, 16, 16, 4, 0]
    assert table["volume_mm3"].tolist() == [128, 128, 128, 32, 0]
    assert table.loc["b", ["coverage", "n_low", "n_missing"]].tolist() == [0.875, 5, 1]
    assert table["n_outlying"].tolist() == [1, 0, 0, 0, 0]
    assert table["in_atlas"].tolist() == [True] * 4 + [False]


@pytest.mark.parametrize("value", [0, np.nan])
def test_an_empty_region_flags_where_outliers_cannot_be_told(quality_atlas, value):
    values = draws()[:5]
    values[3, 1] = value
    table = subjects(quality_atlas, values)
    assert not table["regions_outlying"].any()
    assert table["flagged"].tolist() == [False, False, False, True, False]


def test_a_total_that_is_odd_flags_though_no_region_is(quality_atlas):
    values = draws()
    values[7] = np.median(values, axis=0) + 3.5
    table = subjects(quality_atlas, values)
    assert not table["regions_outlying"].any()
    assert table["total_z"][7] > 5
    assert table.index[table["flagged"]].tolist() == [7]


RUN_AFFINE = np.diag([3.0, 3, 3, 1])
T = 7


@pytest.fixture
def parcels():
    data = np.zeros((6, 6, 6), np.int16)
    data[:2], data[2:4], data[4, :3] = 1, 2, 3
    return nib.Nifti1Image(data, RUN_AFFINE)


def run(path, seed, dtype=np.float32):
    data = (1000 * np.random.default_rng(seed).random((6, 6, 6, T))).astype(dtype)
    image = nib.Nifti1Image(data, RUN_AFFINE)
    image.header.set_zooms((3, 3, 3, 2.5))
    image.header.set_xyzt_units("mm", "sec")
    nib.save(image, path)
    return path, data


@pytest.fixture
def extracted(tmp_path, parcels):
    """Function images -> what write_time_series returns, in the folder `out`."""
    return partial(write_time_series, atlas=parcels, out=tmp_path / "out", progress=False)


def table_of(tmp_path, subject):
    return pd.read_csv(tmp_path / "out" / f"{subject}_timeseries.tsv", sep="\t")


def signals(data, atlas):
    labels = np.asanyarray(atlas.dataobj)
    return np.stack([data[labels == k].mean(axis=0, dtype=float) for k in (1, 2, 3)], axis=1)


@pytest.mark.parametrize("name", ["run.nii", "run.nii.gz"])
@pytest.mark.parametrize("dtype", [np.float32, np.int16])
def test_signals_are_means_of_each_volume(tmp_path, parcels, name, dtype):
    path, data = run(tmp_path / name, 0, dtype)
    series = extract_time_series(path, parcels, labels={1: "a", 2: "b", 3: "c"})
    assert series.table().columns.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(series.values, signals(data, parcels), rtol=1e-10)
    assert series.coverage.tolist() == [1, 1, 1]
    assert series.step == 2.5


def test_units_that_mean_nothing_leave_the_step_unknown(tmp_path, parcels):
    path, data = run(tmp_path / "run.nii", 0)
    content = bytearray(path.read_bytes())
    content[123] = 255  # xyzt_units
    path.write_bytes(content)
    series = extract_time_series(path, parcels)
    assert np.isnan(series.step)
    np.testing.assert_allclose(series.values, signals(data, parcels), rtol=1e-10)


def test_signals_are_those_of_nilearn(tmp_path, parcels):
    from nilearn.maskers import NiftiLabelsMasker

    path, _ = run(tmp_path / "run.nii.gz", 0)
    expected = NiftiLabelsMasker(parcels, resampling_target=None, standardize=None).fit_transform(
        path
    )
    np.testing.assert_allclose(extract_time_series(path, parcels).values, expected, rtol=1e-5)


def test_maps_and_series_are_told_apart_and_a_run_must_be_whole(tmp_path, parcels):
    path, data = run(tmp_path / "run.nii", 0)
    with refused("image.volumes"):
        extract_regions([path], parcels, progress=False)
    with refused("image.volume"):
        extract_time_series(save(tmp_path / "map.nii", data[..., 0]), parcels)
    path.write_bytes(path.read_bytes()[:-2000])
    with refused("image.unreadable"):
        extract_time_series(path, parcels)


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.long)])
def test_one_table_a_subject_and_a_second_start_does_what_is_missing(tmp_path, parcels, n_jobs):
    data = dict(run(tmp_path / f"sub-{k}_bold.nii.gz", k) for k in range(3))
    bad = tmp_path / "sub-9_bold.nii.gz"
    bad.write_bytes(b"nothing")
    out = tmp_path / "out"
    settings = {"on_error": "skip", "n_jobs": n_jobs, "progress": False}
    subjects, failures = write_time_series([*data, bad], parcels, out, **settings)
    assert list(failures) == ["sub-9"]
    assert subjects["file"].tolist() == [f"sub-{k}_timeseries.tsv" for k in range(3)]
    assert subjects["volumes"].tolist() == [T] * 3
    for path, file in zip(data, subjects["file"], strict=True):
        table = pd.read_csv(out / file, sep="\t")
        np.testing.assert_allclose(table, signals(data[path], parcels), rtol=1e-6)
    times = {path.name: path.stat().st_mtime_ns for path in out.glob("*.tsv")}
    (out / "sub-1_timeseries.tsv").unlink()
    write_time_series([*data, bad], parcels, out, **settings)
    again = {path.name: path.stat().st_mtime_ns for path in out.glob("*.tsv")}
    assert again.keys() == times.keys()
    assert {k for k in times if times[k] != again[k]} == {"sub-1_timeseries.tsv"}


def test_the_table_is_that_of_the_image_given_last(tmp_path, parcels, extracted):
    runs = {}
    for name in "ab":
        (tmp_path / name).mkdir()
        runs[name] = run(tmp_path / name / "sub-01_bold.nii.gz", ord(name))
    for name in "aba":
        path, data = runs[name]
        extracted([path])
        np.testing.assert_allclose(table_of(tmp_path, "sub-01"), signals(data, parcels), rtol=1e-6)


def test_a_bad_image_leaves_no_table_of_another(tmp_path, extracted):
    good, other = (run(tmp_path / f"{k}.nii.gz", k)[0] for k in range(2))
    extracted({"s": good, "t": other})
    bad = tmp_path / "bad.nii.gz"
    bad.write_bytes(b"nothing")
    _, failures = extracted({"s": bad, "t": other}, on_error="skip")
    assert list(failures) == ["s"]
    assert [path.name for path in (tmp_path / "out").glob("*.tsv")] == ["t_timeseries.tsv"]


def test_a_refused_start_loses_no_table(tmp_path, extracted):
    good, other = (run(tmp_path / f"{k}.nii.gz", k)[0] for k in range(2))
    extracted({"s": good})
    before = (tmp_path / "out" / "s_timeseries.tsv").read_bytes()
    with refused("study.settings", kind=StudyError):
        extracted({"s": other}, labels=["x", "y", "z"])
    assert (tmp_path / "out" / "s_timeseries.tsv").read_bytes() == before


def test_ids_that_look_alike_as_file_names_keep_their_own_tables(tmp_path, parcels, extracted):
    runs = {s: run(tmp_path / f"{k}.nii.gz", k) for k, s in enumerate(("a.b", "a_b"))}
    extracted({s: path for s, (path, _) in runs.items()})
    for s, (_, data) in runs.items():
        np.testing.assert_allclose(table_of(tmp_path, s), signals(data, parcels), rtol=1e-6)


def test_voxels_that_are_0_at_all_times_are_outside_the_mask(tmp_path, parcels):
    path, data = run(tmp_path / "run.nii.gz", 0)
    data[0], data[4, :3] = 0, 0  # half of region 1, all of region 3
    data[2, :, :, 3] = 0  # half of region 2, once
    save(path, data, RUN_AFFINE)
    series = extract_time_series(path, parcels)
    assert series.coverage.tolist() == [0.5, 1, 0]
    np.testing.assert_allclose(series.values[:, 0], data[1].mean(axis=(0, 1)), rtol=1e-6)
    np.testing.assert_allclose(series.values[:, 1], data[2:4].mean(axis=(0, 1, 2)), rtol=1e-6)
    assert np.isnan(series.values[:, 2]).all()


def test_voxels_without_a_value_are_left_out_and_counted(tmp_path, parcels):
    path, data = run(tmp_path / "run.nii.gz", 0)
    data[0, :3, :, 2] = np.nan  # two quarters of region 1, each once
    data[0, 3:, :, 4] = np.nan
    save(path, data, RUN_AFFINE)
    series = extract_time_series(path, parcels)
    assert series.coverage.tolist() == [0.5, 1, 1]
    expected = np.nanmean(data[:2], axis=(0, 1, 2), dtype=float)
    np.testing.assert_allclose(series.values[:, 0], expected, rtol=1e-6)


@pytest.mark.parametrize("value", [np.nan, 0])
def test_a_run_without_values_is_refused(tmp_path, parcels, value):
    path = tmp_path / "run.nii"
    nib.save(nib.Nifti1Image(np.full((6, 6, 6, T), value, np.float32), RUN_AFFINE), path)
    with refused("image.empty"):
        extract_time_series(path, parcels)


def test_two_subjects_never_share_a_table(tmp_path, extracted):
    path, _ = run(tmp_path / "run.nii.gz", 0)
    with refused("tables.same-name"):
        extracted({"a/b": path, "a_b": path})


@pytest.mark.parametrize("what", ["nothing", "zeros", "empty", "constant"])
def test_a_run_with_little_coverage_or_without_signals_is_flagged(tmp_path, extracted, what):
    path, data = run(tmp_path / "sub-1.nii.gz", 0)
    if what == "zeros":
        data[0, :3] = 0  # 18 of 162 voxels
    elif what == "empty":
        data = data[4:]  # no voxel of the regions 1 and 2: see min_coverage
    elif what == "constant":
        data[:2] = 4
    affine = RUN_AFFINE.copy()
    affine[0, 3] = 12 if what == "empty" else 0
    nib.save(nib.Nifti1Image(data, affine), path)
    subjects, _ = extracted([path], min_coverage=0.05)
    assert subjects["flagged"].tolist() == [what != "nothing"]
    assert subjects["regions_constant"].tolist() == [what == "constant"]


@pytest.fixture
def voxels_atlas():
    return load_label_atlas(nib.Nifti1Image(blocks(), AFFINE))


def grid(shape, affine):
    return Grid(shape, tuple(np.asarray(affine, float).ravel().tolist()))


@given(st.data())
@settings(max_examples=settings.default.max_examples // 10)
def test_sums_are_those_of_masked_arrays(data):
    m = data.draw(st.integers(1, 6))
    region = data.draw(hnp.arrays(np.intp, 60, elements=st.integers(0, m - 1)))
    values = data.draw(
        hnp.arrays(np.float32, 60, elements=st.floats(-1e6, 1e6, width=32) | st.just(np.nan))
    )
    before = values.copy()
    sums, counts = region_sums(values, np.isfinite(values), region, m)
    for k in range(m):
        own = values[region == k].astype(np.float64)
        assert counts[k] == np.isfinite(own).sum()
        np.testing.assert_allclose(sums[k], np.nansum(own), rtol=1e-12, atol=1e-6)
    assert np.array_equal(values, before, equal_nan=True)


def labels_at(placed, shape):
    flat = np.zeros(np.prod(shape), int)
    flat[placed.where] = placed.region + 1
    return flat.reshape(shape, order="F")


def test_the_same_grid_is_used_as_it_is(voxels_atlas):
    rounded = grid((20, 20, 20), AFFINE.astype(np.float32) + 1e-4)
    placed = place(voxels_atlas, rounded)
    assert not placed.resampled
    assert np.array_equal(labels_at(placed, (20, 20, 20)), blocks())


TURN = np.array([[0.98, -0.2, 0.02, 0], [0.2, 0.98, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])


@pytest.mark.parametrize(
    "affine",
    [
        AFFINE @ np.diag([0.5, 0.5, 0.5, 1]),
        AFFINE @ np.diag([1.5, 1.5, 1.5, 1]),
        np.array([[2.0, 0, 0, -18], [0, 2, 0, -20], [0, 0, 2, -20], [0, 0, 0, 1]]),
        AFFINE @ TURN,
    ],
    ids=["finer", "coarser", "not flipped", "oblique"],
)
def test_another_grid_gets_the_labels_that_nilearn_gives_it(voxels_atlas, affine):
    from nilearn.image import resample_img

    shape = (40, 41, 42)
    placed = place(voxels_atlas, grid(shape, affine))
    image = nib.Nifti1Image(blocks(), AFFINE)
    expected = resample_img(
        image, target_affine=affine, target_shape=shape, interpolation="nearest"
    ).get_fdata()
    assert placed.resampled
    assert np.mean(labels_at(placed, shape) != expected) < 1e-4
    assert placed.in_view.tolist() == [1, 1, 1]


def test_an_atlas_shifted_by_less_than_a_voxel_is_resampled(voxels_atlas):
    """1.2 mm of 2 mm: the centre of each voxel lies in the next one of the atlas."""
    shifted = AFFINE.copy()
    shifted[1, 3] += 1.2
    placed = place(voxels_atlas, grid((20, 20, 20), shifted))
    assert placed.resampled
    assert np.array_equal(labels_at(placed, (20, 20, 20)), np.roll(blocks(), -1, axis=1))


def test_coverage_counts_what_lies_outside_the_field_of_view(tmp_path, voxels_atlas):
    placed = place(voxels_atlas, grid((20, 20, 13), AFFINE))
    np.testing.assert_allclose(placed.in_view, [1, 1, 0.5])
    assert placed.n_voxels.tolist() == [216, 216, 108]
    path = save(tmp_path / "a.nii.gz", np.ones((20, 20, 13), np.float32))
    for measure in ("volume", "mean"):
        found = measure_image(path, voxels_atlas, measure, 0.5)
        np.testing.assert_allclose(found["coverage"], [1, 1, 0.5])


def test_volumes_and_means_are_exact(tmp_path, voxels_atlas):
    values = np.random.default_rng(0).random((20, 20, 20)).astype(np.float32)
    path = save(tmp_path / "a.nii.gz", values)
    own = [values[blocks() == k].astype(float) for k in (1, 2, 3)]
    volume = measure_image(path, voxels_atlas, "volume", 0.5)
    np.testing.assert_allclose(volume["values"], [8 * v.sum() for v in own], rtol=1e-12)
    mean = measure_image(path, voxels_atlas, "mean", 0.5)
    np.testing.assert_allclose(mean["values"], [v.mean() for v in own], rtol=1e-12)
    assert mean["coverage"].tolist() == [1, 1, 1]


def test_nan_counts_as_0_in_volumes_and_not_at_all_in_means(tmp_path, voxels_atlas):
    values = np.full((20, 20, 20), 0.5, np.float32)
    values[3:6, 3:9, 3:9] = np.nan  # half of region 1
    path = save(tmp_path / "a.nii.gz", values)
    volume = measure_image(path, voxels_atlas, "volume", 0.5)
    assert volume["values"].tolist() == [0.5 * 108 * 8, 0.5 * 216 * 8, 0.5 * 216 * 8]
    assert measure_image(path, voxels_atlas, "mean", 0.5)["values"].tolist() == [0.5, 0.5, 0.5]
    assert volume["coverage"].tolist() == [0.5, 1, 1]


def test_zeros_count_in_volumes_and_not_at_all_in_means(tmp_path, voxels_atlas):
    values = np.full((20, 20, 20), 0.5, np.float32)
    values[3:6, 3:9, 3:9] = 0  # half of region 1
    values[10:16, 3:9, 3:9] = 0  # all of region 2
    path = save(tmp_path / "a.nii.gz", values)
    volume = measure_image(path, voxels_atlas, "volume", 0.5)
    assert volume["values"].tolist() == [0.5 * 108 * 8, 0, 0.5 * 216 * 8]
    assert volume["coverage"].tolist() == [1, 1, 1]
    assert volume["minimum"] == 0
    mean = measure_image(path, voxels_atlas, "mean", 0.5)
    np.testing.assert_equal(mean["values"], [0.5, np.nan, 0.5])
    assert mean["coverage"].tolist() == [0.5, 0, 1]
    assert mean["minimum"] == 0.5
    assert mean["zeros"] == volume["zeros"] == pytest.approx(0.5)
    with refused("image.coverage"):
        measure_image(path, voxels_atlas, "mean", 0.6)


def test_a_region_that_vanishes_on_a_coarse_grid_is_missing(tmp_path):
    labels = blocks()
    labels[18, 18, 18] = 4
    tiny = load_label_atlas(nib.Nifti1Image(labels, AFFINE))
    coarse = AFFINE @ np.diag([4, 4, 4, 1.0])
    path = save(tmp_path / "a.nii.gz", np.ones((5, 5, 5), np.float32), coarse)
    found = measure_image(path, tiny, "volume", 0.0)
    assert np.isnan(found["values"][3])
    assert found["coverage"][3] == 0
    assert np.isfinite(found["values"][:3]).all()


def test_an_image_in_another_space_is_refused(tmp_path, voxels_atlas):
    away = AFFINE.copy()
    away[:3, 3] += 500
    path = save(tmp_path / "a.nii.gz", np.ones((20, 20, 20), np.float32), away)
    with refused("image.coverage"):
        measure_image(path, voxels_atlas, "mean", 0)


@pytest.mark.parametrize("value", [np.nan, 0])
@pytest.mark.parametrize("measure", ["volume", "mean"])
def test_an_image_without_values_is_refused(tmp_path, voxels_atlas, measure, value):
    path = save(tmp_path / "a.nii.gz", np.full((20, 20, 20), value, np.float32))
    with refused("image.empty"):
        measure_image(path, voxels_atlas, measure, 0.5)


def test_values_that_are_no_tissue_are_noted(tmp_path, voxels_atlas):
    path = save(tmp_path / "a.nii.gz", np.full((20, 20, 20), 90, np.int16))
    assert "not tissue" in measure_image(path, voxels_atlas, "volume", 0.5)["note"]
    assert measure_image(path, voxels_atlas, "mean", 0.5)["note"] == ""


@given(place=st.integers(0, 351), byte=st.integers(0, 255))
@settings(max_examples=settings.default.max_examples // 10)
def test_a_damaged_header_gives_a_result_or_names_the_file(tmp_path_factory, place, byte):
    path = tmp_path_factory.getbasetemp() / "damaged.nii"
    small = load_label_atlas(nib.Nifti1Image(np.ones((3, 3, 3), np.int16), AFFINE))
    save(path, np.ones((3, 3, 3), np.float32))
    content = bytearray(path.read_bytes())
    content[place] = byte
    path.write_bytes(content)
    values, message = np.zeros(1), "damaged.nii"
    try:
        values = measure_image(path, small, "mean", 0.5)["values"]
    except InputError as error:
        message = str(error)
    assert "damaged.nii" in message
    assert values.shape == (1,)


def test_a_header_without_orientation_is_noted(tmp_path):
    image = nib.Nifti1Image(np.ones((20, 20, 20), np.float32), None)
    image.set_sform(None, 0)
    image.set_qform(None, 0)
    nib.save(image, tmp_path / "a.nii")
    read = nib.load(tmp_path / "a.nii")
    own = load_label_atlas(nib.Nifti1Image(blocks(), read.affine))
    assert grid_of(read, "a") == own.grid
    assert "orientation" in measure_image(tmp_path / "a.nii", own, "mean", 0.5)["note"]
