import csv

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sgbn.core.exceptions import InputError
from sgbn.write.tables import FORMULA_STARTS, write_csv

RISKY = tuple("=+-@\t\r\n")
TEXT = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=6),
    st.builds(str.__add__, st.sampled_from(FORMULA_STARTS), st.text("a1\r\n\",'", max_size=4)),
)


def cells(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_what_a_spreadsheet_would_run_is_shown_instead(tmp_path):
    table = pd.DataFrame({"=cmd()": ["+1", "-a", "@SUM(1)", "\tx", "＝1", "a=b", "'"], "n": -1.5})
    before = table.copy()
    path = write_csv(table, tmp_path / "a.csv")
    assert cells(path)[0] == ["'=cmd()", "n"]
    shown = [row[0] for row in cells(path)[1:]]
    assert shown == ["'+1", "'-a", "'@SUM(1)", "'\tx", "'＝1", "a=b", "'"]
    assert {row[1] for row in cells(path)[1:]} == {"-1.5"}
    pd.testing.assert_frame_equal(table, before)


@given(names=st.lists(TEXT, min_size=1, max_size=4, unique=True), text=st.lists(TEXT, max_size=4))
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_cell_begins_like_a_formula_and_none_is_lost(tmp_path, names, text):
    table = pd.DataFrame({name: np.array(text, dtype=object) for name in names})
    read = cells(write_csv(table, tmp_path / "a.csv"))
    # an empty line is an empty cell of a table with one column
    read = [row or [""] for row in read]
    assert [len(row) for row in read] == [len(names)] * (len(text) + 1)
    assert not any(cell.startswith(FORMULA_STARTS) for row in read for cell in row)
    for cell, written in zip(text, (row[0] for row in read[1:]), strict=True):
        wanted = cell.replace("\r\n", "\n").replace("\r", "\n")
        assert written == ("'" + wanted if cell.startswith(RISKY + FORMULA_STARTS) else wanted)


def test_numbers_keep_all_digits_and_mixed_columns_their_numbers(tmp_path):
    table = pd.DataFrame(
        {
            "x": [-1 / 3, np.nan, 1e-300],
            "mixed": pd.Series([-1, None, "-1"], dtype=object),
            "kind": pd.Categorical(["=a", "b", "=a"]),
            "ok": [True, False, True],
        }
    )
    read = cells(write_csv(table, tmp_path / "a.csv"))
    assert [float(row[0] or "nan") for row in read[1:]] == pytest.approx(
        table["x"].tolist(), rel=0, abs=0, nan_ok=True
    )
    assert [row[1:] for row in read[1:]] == [
        ["-1", "'=a", "True"],
        ["", "b", "False"],
        ["'-1", "'=a", "True"],
    ]


def test_names_that_are_alike_are_written_each(tmp_path):
    table = pd.DataFrame([["=a", "=b"]], columns=["x", "x"])
    assert cells(write_csv(table, tmp_path / "a.csv")) == [["x", "x"], ["'=a", "'=b"]]


def test_what_is_no_table_is_told_apart(tmp_path):
    with pytest.raises(InputError, match="table is a list"):
        write_csv([[1]], tmp_path / "a.csv")
