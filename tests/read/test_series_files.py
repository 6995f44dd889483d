import gzip

import numpy as np
import pandas as pd
import pytest
from tests.codes import refused

from sgbn.read.cells import Missing, Origin, RawTable
from sgbn.read.series_files import (
    Marks,
    check_same_columns,
    confounds_among,
    ending,
    first_row_kind,
    from_array,
    label_of,
    load_series,
    read_volumes,
    region_names,
    time_columns,
)

X = np.round(np.random.default_rng(0).standard_normal((12, 3)), 3)
NAMES = ["r1", "r2", "r3"]


FSL = "".join(" ".join(f"{value:.3f}" for value in row) + " \n" for row in X)
WRITTEN = {
    "fsl.txt": lambda path: path.write_text(FSL),
    "numpy.csv": lambda path: np.savetxt(path, X, fmt="%.3f", delimiter=","),
    "pandas numbered.csv": lambda path: pd.DataFrame(X).to_csv(path),
    "pandas without index.csv": lambda path: pd.DataFrame(X).to_csv(path, index=False),
    "afni.1D": lambda path: np.savetxt(path, X, fmt="%.3f", header="made by 3dROIstats of a run"),
    "decimal commas.txt": lambda path: path.write_text(FSL.replace(".", ",").replace(" \n", "\n")),
    "gzipped.txt.gz": lambda path: path.write_bytes(gzip.compress(FSL.encode())),
    "numpy.npy": lambda path: np.save(path, X),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_series_without_names_of_regions_are_read(tmp_path, name):
    WRITTEN[name](tmp_path / name)
    table = load_series(tmp_path / name, Marks())
    assert table.columns == NAMES
    assert np.array_equal(table.frame.to_numpy(float), X)


def test_names_of_regions_are_kept(tmp_path):
    pd.DataFrame(X, columns=["#1", "#2", "#7"]).to_csv(tmp_path / "a.1D", sep="\t", index=False)
    assert load_series(tmp_path / "a.1D", Marks()).columns == ["#1", "#2", "#7"]


def test_numbers_of_an_atlas_are_names(tmp_path):
    pd.DataFrame(X, columns=[2001, 2002, 2101]).to_csv(tmp_path / "a.csv", index=False)
    assert load_series(tmp_path / "a.csv", Marks()).columns == ["2001", "2002", "2101"]
    np.savetxt(tmp_path / "b.csv", np.arange(40).reshape(10, 4), fmt="%d", delimiter=",")
    assert len(load_series(tmp_path / "b.csv", Marks()).frame) == 9  # 0,1,2,3 count columns
    np.savetxt(tmp_path / "c.csv", 7 * np.arange(40).reshape(10, 4), fmt="%d", delimiter=",")
    assert len(load_series(tmp_path / "c.csv", Marks()).frame) == 10


@pytest.mark.parametrize(
    ("first", "below", "kind"),
    [
        ("0 1 2", "0.5 1.5 2.5", "names"),
        ("1 2 3", "0.5 1.5 2.5", "names"),
        ("0 1 2", "7 9 4", "names?"),
        ("2001 2002 2101", "0.5 -1.5 2.5", "names"),
        ("100 102 103", "101.5 99.25 104", "names?"),
        ("103 100 102", "101.5 99.25 104", "volume?"),
        ("100 100 102", "101.5 99.25 104", "volume"),
        ("100 102 103", "101 99 104", "volume"),
        ("100 102 103 107", "101 99 104 98", "volume?"),
        ("100 -102 103", "101.5 99.25 104", "volume"),
    ],
)
def test_a_first_row_of_whole_numbers_holds_names_only_if_they_count_or_grow(first, below, kind):
    assert first_row_kind(first.split(), below.split()) == kind


def test_no_volume_is_lost_to_a_first_row_of_whole_numbers(tmp_path):
    (tmp_path / "a.txt").write_text("103 100 102\n" + "101.5 99.25 104\n" * 11)
    table = load_series(tmp_path / "a.txt", Marks())
    assert table.frame.iloc[0].tolist() == [103, 100, 102]
    assert len(table.frame) == 12


def test_rows_of_numbers_alone_have_the_numbers_of_their_lines(tmp_path):
    (tmp_path / "a.txt").write_text("1.5 2.5\n1.5 oops\n")
    table = load_series(tmp_path / "a.txt", Marks())
    assert table.where(1, "r2").values["row"] == 2


@pytest.mark.parametrize(
    ("array", "code"),
    [
        (np.zeros((2, 3, 4)), "series.array"),
        (np.array([["a", "b"]]), "series.array"),
        (np.zeros((4, 3)), "series.count"),
    ],
)
def test_an_array_that_is_no_series_is_refused(array, code):
    with refused(code):
        from_array(array, "'x.npz', array 's1'", ["a", "b"])


def test_objects_are_never_loaded(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object))
    with refused("series.npy"):
        load_series(tmp_path / "a.npy", Marks())


def test_names_without_endings(tmp_path):
    path = tmp_path / "sub-01_timeseries.TSV.gz"
    assert (ending(path), label_of(path)) == (".tsv", "sub-01_timeseries")
    assert region_names(10)[0] == "r01"


def test_only_columns_that_grow_are_times():
    frame = pd.DataFrame({"time": [1, 2, 3], "TR": [2, 2, 2], "volume": [3, 1, 2], "x": [1, 2, 3]})
    assert time_columns(RawTable(frame, Origin("t", np.arange(3)))) == ["time"]


@pytest.fixture
def table(signals):
    def made(change=None, **shape):
        array = signals(**shape)
        for place, value in (change or {}).items():
            array[place] = value
        found = from_array(array, "'s1.npy'", [f"x{j}" for j in range(array.shape[1])])
        return pd.DataFrame(found.frame), found

    return made


def volumes(found, regions=("x0", "x1", "x2")):
    return read_volumes(found, regions, Missing())


def test_volumes_without_any_value_cut_the_run(table, signals):
    read = volumes(table({(row,): np.nan for row in (3, 4, 15, 29)})[1])
    assert (read.lengths, read.censored, read.short) == ((10, 13), 4, 3)
    assert np.array_equal(read.values, np.delete(signals(), [0, 1, 2, 3, 4, 15, 29], axis=0))
    assert not read.empty.any()


@pytest.mark.parametrize("separate", ["\n", "\n\n"], ids=["lines", "blank lines between"])
def test_lines_of_a_text_file_without_any_value_cut_the_run(tmp_path, separate):
    lines = [f"{k}.5\t{k * k}.25" for k in range(30)]
    lines[12] = "n/a\tn/a"
    (tmp_path / "a.tsv").write_text(separate.join(lines))
    read = volumes(load_series(tmp_path / "a.tsv", Marks()), ("r1", "r2"))
    assert (read.lengths, read.censored) == ((12, 17), 1)


def test_a_region_without_values_is_empty_and_so_is_a_constant_one(table):
    change = {(..., 0): np.nan, (..., 2): 7.0}
    assert volumes(table(change)[1]).empty.tolist() == [True, False, True]


def test_nothing_is_left_of_a_run_without_ten_volumes_in_a_row(table):
    read = volumes(table({(row,): np.nan for row in (9, 19, 29)})[1])
    assert (read.values.shape, read.lengths, read.censored, read.short) == ((0, 3), (), 3, 27)


@pytest.mark.parametrize(
    ("change", "regions", "code"),
    [
        ({(5,): np.nan, (8, 1): np.nan}, ("x0", "x1", "x2"), "series.hole"),
        ({(2, 1): np.inf}, ("x0", "x1", "x2"), "cells.text"),
        ({(2, 1): 1e200}, ("x0", "x1", "x2"), "cells.text"),
        ({}, ("x0", "x3"), "series.regions"),
    ],
)
def test_cells_that_cannot_be_read_are_refused(table, change, regions, code):
    with refused(code):
        volumes(table(change)[1], regions)


def test_regions_are_taken_by_name(table):
    _, found = table()
    assert np.array_equal(volumes(found, ("x2", "x0")).values, found.frame[["x2", "x0"]])


def test_a_region_that_is_new_is_named(table):
    (_, first), (_, wider) = table(), table(regions=4)
    with refused("series.regions"):
        check_same_columns(first, wider, [])
    check_same_columns(first, wider, ["x3"])


FMRIPREP = [
    *("framewise_displacement", "global_signal", "global_signal_derivative1_power2", "csf"),
    *("white_matter", "dvars", "std_dvars", "rmsd", "trans_x", "trans_y_derivative1"),
    *("rot_z", "rot_z_power2", "a_comp_cor_00", "t_comp_cor_05", "w_comp_cor_01", "cosine00"),
    *("motion_outlier05", "non_steady_state_outlier00", "edge_comp_12", "aroma_motion_07", "CSF"),
    *("framewise_displacement_filtered", "linear_trend"),
]
REGIONS = ["rotation_area", "csf_left", "Left-Cerebral-White-Matter", "fdg", "x", "LH_Cont_1", "r1"]


def test_names_of_fmriprep_are_confounds_and_those_of_regions_are_not():
    assert confounds_among([*FMRIPREP, *REGIONS]) == FMRIPREP
