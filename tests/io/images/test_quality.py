import nibabel as nib
import numpy as np
import pytest

from sgbn.core.exceptions import DataWarning
from sgbn.read.extract import region_table, subject_table
from sgbn.read.label_atlas import load_label_atlas

N, M = 20, 4


@pytest.fixture
def atlas():
    data = np.zeros((4, 4, 4), np.int16)
    data[0], data[1], data[2], data[3, 0] = 1, 2, 3, 4
    names = {1: "a", 2: "b", 3: "c", 4: "d", 9: "gone"}
    with pytest.warns(DataWarning, match="gone"):
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


def test_good_subjects_are_not_flagged(atlas):
    table = subjects(atlas, draws())
    assert not table["flagged"].any()
    np.testing.assert_allclose(table["total"], draws().sum(axis=1))
    np.testing.assert_allclose(subjects(atlas, draws(), measure="mean")["total"], draws().mean(1))


@pytest.mark.parametrize("what", ["coverage", "empty", "missing", "total", "region", "twin"])
def test_what_is_odd_about_a_subject_flags_it_alone(atlas, what):
    values, coverage = draws(), np.ones((N, M))
    if what == "coverage":
        coverage[7, 0] = 0.5
    elif what == "empty":
        values[7, 1] = 0
    elif what == "missing":
        values[7, 1] = np.nan
    elif what == "total":
        values[7] *= 3
    elif what == "region":
        values[7, 2] = 150
    else:
        values[7] = values[3]
    table = subjects(atlas, values, coverage)
    assert table.index[table["flagged"]].tolist() == [7]
    if what == "twin":
        assert table["note"][7] == "same values as s3"


def test_coverage_is_that_of_voxels(atlas):
    coverage = np.ones((N, M))
    coverage[0, 3] = 0  # 4 of 52 voxels
    assert subjects(atlas, draws(), coverage)["coverage"][0] == pytest.approx(48 / 52)


def test_regions_are_summed_up_and_absent_ones_listed(atlas):
    values, coverage = draws(), np.ones((N, M))
    coverage[:5, 1] = 0.5
    values[2, 1] = np.nan
    values[4, 0] = 1000
    table = region_table(atlas, results(values, coverage)).set_index("region")
    assert table.index.tolist() == ["a", "b", "c", "d", "gone"]
    assert table["voxels"].tolist() == [16, 16, 16, 4, 0]
    assert table["volume_mm3"].tolist() == [128, 128, 128, 32, 0]
    assert table.loc["b", ["coverage", "n_low", "n_missing"]].tolist() == [0.875, 5, 1]
    assert table["n_outlying"].tolist() == [1, 0, 0, 0, 0]
    assert table["in_atlas"].tolist() == [True] * 4 + [False]


@pytest.mark.parametrize("value", [0, np.nan])
def test_an_empty_region_flags_where_outliers_cannot_be_told(atlas, value):
    values = draws()[:5]
    values[3, 1] = value
    table = subjects(atlas, values)
    assert not table["regions_outlying"].any()
    assert table["flagged"].tolist() == [False, False, False, True, False]


def test_a_total_that_is_odd_flags_though_no_region_is(atlas):
    values = draws()
    values[7] = np.median(values, axis=0) + 3.5
    table = subjects(atlas, values)
    assert not table["regions_outlying"].any()
    assert table["total_z"][7] > 5
    assert table.index[table["flagged"]].tolist() == [7]
