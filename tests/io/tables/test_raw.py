import numpy as np
import pandas as pd
import pytest

from sgbn.core.exceptions import InputError
from sgbn.read.cells import (
    ROW_NAMES,
    Origin,
    RawTable,
    cell_text,
    filled_rows,
    labels,
    later_header,
    name_columns,
)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, ""),
        (np.nan, ""),
        (pd.NaT, ""),
        (pd.NA, ""),
        (" a ", "a"),
        (51456.0, "51456"),
        (np.float64(2.5), "2.5"),
        (7, "7"),
        (True, "True"),
        (-0.0, "0"),
        (1e300, "1e+300"),
        (np.inf, "inf"),
    ],
)
def test_text_of_a_cell(cell, text):
    assert cell_text(cell) == text


def test_labels_lose_a_fraction_only_where_all_are_whole():
    assert labels(pd.Series(["1.0", "2", None])) == ["1", "2", ""]
    assert labels(pd.Series(["1.0", "1.5"])) == ["1.0", "1.5"]
    assert labels(pd.Series(["007", "08"])) == ["007", "08"]


def test_rows_keep_their_places():
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6]})
    other = Origin("g", np.array([9, 8, 7]))
    table = RawTable(frame, Origin("f", np.array([2, 3, 5])), {"b": other}, ids=("x", "y", "z"))
    kept = table.keep(np.array([False, True, True]))
    assert kept.where(1) == "f, row 5 (subject 'z')"
    assert kept.where(0, "b") == "g, row 8 (subject 'y'), column 'b'"
    assert kept.frame["a"].tolist() == [2, 3]
    assert len(table.frame) == 3


def test_columns_without_name_and_cells_are_dropped():
    frame = pd.DataFrame([["x", 1, None], ["y", 2, "NA"]])
    assert name_columns(frame, ["", "a", ""], "f").columns.tolist() == [ROW_NAMES, "a"]
    with pytest.raises(InputError, match=r"f: column 2 has cells \('1'\)"):
        name_columns(frame, ["a", "", "b"], "f")
    with pytest.raises(InputError, match="columns 1 and 3 are both called 'a'"):
        name_columns(frame, ["a", "b", "a"], "f")


def test_rows_of_markers_alone_are_empty():
    frame = pd.DataFrame({"a": [None, "x", "."], "b": [np.nan, np.nan, np.nan]})
    assert filled_rows(frame).tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("rows", "header"),
    [
        ([["title"], ["id", "a"], ["x", "1"]], 1),
        ([["title", ""], ["by", ""], ["id", "a"], ["x", "1,5"]], 2),
        ([["id", "a"], ["x", "1"], ["y", "2"]], 0),
        ([["id", ""], ["x", "1"], ["y", "2"]], 0),
        ([["id", ""], ["x", "NA"], ["y", "2"]], 0),
        ([["id", "", "n"], ["x", "u", "v"], ["y", "u", "v"]], 0),
        ([["title"]] * 6 + [["id", "a"], ["x", "1"]], 0),
        ([], 0),
    ],
)
def test_the_header_below_titles(rows, header):
    assert later_header(rows) == header
