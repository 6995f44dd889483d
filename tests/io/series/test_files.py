import gzip

import numpy as np
import pandas as pd
import pytest

from sgbn.core.exceptions import InputError
from sgbn.read.cells import Origin, RawTable
from sgbn.read.series_files import (
    Marks,
    ending,
    first_row_kind,
    from_array,
    label_of,
    load_series,
    region_names,
    time_columns,
)

X = np.round(np.random.default_rng(0).standard_normal((12, 3)), 3)
NAMES = ["r1", "r2", "r3"]


def fsl(path):
    np.savetxt(path, X, fmt="%.3f ")


def savetxt_comma(path):
    np.savetxt(path, X, fmt="%.3f", delimiter=",")


def pandas_numbered(path):
    pd.DataFrame(X).to_csv(path)


def pandas_without_index(path):
    pd.DataFrame(X).to_csv(path, index=False)


def afni(path):
    np.savetxt(path, X, fmt="%.3f", header="made by 3dROIstats of a long run")


def decimal_commas(path):
    lines = [" ".join(f"{value:.3f}".replace(".", ",") for value in row) for row in X]
    path.write_text("\n".join(lines))


def gzipped(path):
    plain = path.with_suffix(".plain")
    fsl(plain)
    path.write_bytes(gzip.compress(plain.read_bytes()))


def numpy_array(path):
    np.save(path, X)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.txt", fsl),
        ("a.csv", savetxt_comma),
        ("b.csv", pandas_numbered),
        ("c.csv", pandas_without_index),
        ("a.1D", afni),
        ("b.txt", decimal_commas),
        ("c.txt.gz", gzipped),
        ("a.npy", numpy_array),
    ],
    ids=lambda one: getattr(one, "__name__", one),
)
def test_series_without_names_of_regions_are_read(tmp_path, name, write):
    write(tmp_path / name)
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
    assert table.where(1, "r2").endswith("row 2, column 'r2'")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 3, 4)), r"has 3 dimensions \(shape \(2, 3, 4\)\)"),
        (np.array([["a", "b"]]), "not real numbers"),
        (np.zeros((4, 3)), "has 3 columns, but 2 regions are named"),
    ],
)
def test_an_array_that_is_no_series_is_refused(array, message):
    with pytest.raises(InputError, match=message):
        from_array(array, "'x.npz', array 's1'", ["a", "b"])


def test_objects_are_never_loaded(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object))
    with pytest.raises(InputError, match=r"a\.npy' cannot be read as a numpy array"):
        load_series(tmp_path / "a.npy", Marks())


def test_an_empty_file_is_named(tmp_path):
    (tmp_path / "a.tsv").touch()
    with pytest.raises(InputError, match=r"a\.tsv' is empty"):
        load_series(tmp_path / "a.tsv", Marks())


def test_names_without_endings(tmp_path):
    path = tmp_path / "sub-01_timeseries.TSV.gz"
    assert (ending(path), label_of(path)) == (".tsv", "sub-01_timeseries")
    assert region_names(10)[0] == "r01"


def test_only_columns_that_grow_are_times():
    frame = pd.DataFrame({"time": [1, 2, 3], "TR": [2, 2, 2], "volume": [3, 1, 2], "x": [1, 2, 3]})
    assert time_columns(RawTable(frame, Origin("t", np.arange(3)))) == ["time"]
