import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgbn.write import page
from sgbn.write.page import Field, cell, make_table, number_text, p_value


@given(st.floats(-1e8, 1e8, allow_subnormal=False))
def test_a_number_shows_three_digits_and_is_sorted_by_more(value):
    shown = cell(value, "number")
    assert float(shown.text.replace("−", "-")) == pytest.approx(value, rel=6e-3, abs=1e-300)
    assert float(shown.exact) == pytest.approx(value, rel=1e-5, abs=1e-300)


def test_numbers_as_one_reads_them():
    assert number_text(0.1234567) == "0.123"
    assert number_text(-1234.5) == "−1234"
    assert number_text(0) == "0"
    assert p_value(0.0371) == "0.037"
    assert p_value(0.00005) == "< 0.001"


def test_there_is_no_minus_zero():
    for kind in ("number", "share", "count", "p"):
        assert cell(-0.0, kind).exact == "0"
        assert "−" not in cell(-0.0, kind).text
        assert "-" not in cell(-0.0, kind).text
    assert cell(-0.3, "count").text == "0"
    assert page.interval_text(-0.001, -0.002, 0.3) == "0.00 (0.00 to 0.30)"
    assert page.interval_text(-0.001, np.nan, np.nan) == "0.00"


def test_a_missing_number_is_a_dash_without_a_place():
    assert cell(np.nan, "share") == (page.DASH, "")


def test_text_is_kept_as_it_is():
    assert cell("<b>", "text") == ("<b>", None)


def test_only_columns_that_are_there_and_rows_marked():
    frame = pd.DataFrame({"a": ["x", "y"], "p": [0.01, 0.5]})
    fields = [Field("a", "A"), Field("p", "P", "p"), Field("gone", "Gone")]
    table = make_table("key", "Caption", frame, fields, mark=lambda r: "m" * (r["p"] < 0.05))
    assert [field.title for field in table.fields] == ["A", "P"]
    assert [row.mark for row in table.rows] == ["m", ""]
    assert [c.text for c in table.rows[0].cells] == ["x", "0.010"]


def test_a_long_table_is_cut_and_knows_its_length():
    frame = pd.DataFrame({"a": range(page.MAX_CELLS), "b": 0})
    fields = [Field("a", "A", "count"), Field("b", "B", "count")]
    table = make_table("key", "", frame, fields)
    assert len(table.rows) == page.MAX_CELLS // 2
    assert table.total == page.MAX_CELLS


def test_an_interval_that_is_unknown_is_not_shown():
    assert page.interval_text(0.5, np.nan, np.nan) == "0.50"
    assert page.interval_text(0.5, -0.1, 0.7) == "0.50 (−0.10 to 0.70)"
    assert page.interval_text(np.nan, 0, 1) == page.DASH


def test_columns_with_one_hint_share_a_line():
    fields = [Field("x_a", "one", hint="same"), Field("x_b", "two", hint="same"), Field("c", "c")]
    table = make_table("k", "", pd.DataFrame({"x_a": [1], "x_b": [2], "c": [3]}), fields)
    assert table.hints == [("one; two", "same")]
