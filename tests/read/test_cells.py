import numpy as np
import pandas as pd
import pytest

from sgbn.core.problems import InputError
from sgbn.read.cells import (
    ROW_NAMES,
    SENTINELS,
    Missing,
    Origin,
    RawTable,
    cell_text,
    check_label_sentinels,
    check_sentinels,
    covariate,
    filled_rows,
    labels,
    later_header,
    name_columns,
    parse,
    region_values,
    text_labels,
)
from sgbn.read.files import from_frame


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


def table(decimal=None, **columns):
    return from_frame(
        pd.DataFrame({"k": range(len(next(iter(columns.values()))))} | columns), "t", decimal
    )


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([1, 2.5, None], "number"),
        (["1", " 2.5 ", "NA"], "number"),
        (["1e3", "-.5", "+7."], "number"),
        (["1", "2", "3", "4", "x"], "mixed"),
        (["1", "x", "y"], "text"),
        ([True, False], "text"),
        (["0x1F", "1_000"], "text"),
        (["٣", "1,5"], "text"),
        ([None, "", "."], "empty"),
        (pd.array([1, None], dtype="Int64"), "number"),
        (pd.Categorical(["1", "2"]), "number"),
    ],
)
def test_kinds_of_columns(cells, kind):
    assert parse(table(a=cells), "a", Missing()).kind == kind


def test_a_decimal_comma_is_read_where_it_was_found():
    parsed = parse(table(a=["2,5", "1.234", "7"], decimal=","), "a", Missing())
    assert parsed.values[[0, 2]].tolist() == [2.5, 7]
    assert parsed.bad.tolist() == [False, True, False]


def test_covariates_are_numbers_or_labels():
    made = table(age=["20", "", "30"], sex=["M", " F", None], none=[None, None, None])
    np.testing.assert_array_equal(covariate(made, "age", Missing()), [20, np.nan, 30])
    assert covariate(made, "sex", Missing()).tolist() == ["M", "F", ""]
    assert np.isnan(covariate(made, "none", Missing())).all()


@pytest.mark.parametrize(
    "column", [[1e400, 1.0], ["-inf", "2"], pd.Series([10**400, 1], dtype=object)]
)
def test_infinity_is_refused_everywhere(column):
    made = table(a=column, b=[1.0, 2.0])
    with pytest.raises(InputError, match=r"row 0 .*'a'.*infinite"):
        covariate(made, "a", Missing())
    with pytest.raises(InputError, match=r"row 0 .*'a'.*infinite"):
        region_values(made, ["b", "a"], Missing())


@pytest.mark.parametrize("sentinel", SENTINELS)
def test_sentinels_far_away_are_refused_and_near_ones_are_values(sentinel):
    far = np.array([2.1, 2.5, sentinel, 2.4, 2.2])
    with pytest.raises(InputError, match=f"row 2 .*missing=\\[{sentinel:g}\\]"):
        check_sentinels(table(a=far), "a", far, Missing())
    check_sentinels(table(a=far), "a", far, Missing.of([]))
    near = sentinel + np.array([-1.5, 0, 2.5, 1.0, -3.0]) * abs(sentinel) * 0.7 - 1.0
    near[1] = sentinel
    check_sentinels(table(a=near), "a", near, Missing())


def test_values_of_many_columns_come_in_the_order_asked_for():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(7, 100))
    made = table(**{f"r{k}": X[:, k] for k in range(100)})
    order = rng.permutation(100)
    np.testing.assert_array_equal(
        region_values(made, [f"r{k}" for k in order], Missing()), X[:, order]
    )


def test_markers_of_every_kind():
    assert Missing.of(None) == Missing()
    assert Missing.of(-9).numbers == (-9.0,)
    assert Missing.of("-9.0").numbers == Missing.of([-9]).numbers
    parsed = parse(table(a=[1, -9, 3]), "a", Missing.of(-9))
    assert parsed.missing.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("cells", "decimal", "message"),
    [
        (["60,1", "61,25", "n.a."], None, r"row 0 .*'60,1'.*decimal=',' \(--decimal ,\)"),
        (["60,5", "1.510", "61,5"], ",", r"row 1 .*'1\.510'.*--decimal"),
        (["1.523.456,7", "1,5", "2,5"], ",", r"row 0 .*'1\.523\.456,7'.*Thousands"),
        (["1 500 000", "1 600 000", "x"], None, r"row 0 .*'1 500 000'.*Thousands"),
        (["1\u202f500", "x", "x"], None, "row 0 .*Thousands"),
        (["51", "unknown", "52"], None, r"row 1 .*'unknown'.*missing= \(--missing\)"),
        (["low", "7", "low", "high"], None, r"row 0 .*'low'.*\(3 such cells"),
        (["1", "#DIV/0!", "2"], None, "row 1 .*'#DIV/0!'.*Correct the formula"),
        (["a", "#REF!", "b"], None, "row 1 .*'#REF!'.*Correct the formula"),
    ],
)
def test_numbers_written_otherwise_never_become_labels(cells, decimal, message):
    with pytest.raises(InputError, match=message):
        covariate(table(decimal, a=cells), "a", Missing())


def test_a_third_of_unknowns_is_read_once_it_is_named():
    made = table(a=["51", "unknown", "52"])
    np.testing.assert_array_equal(covariate(made, "a", Missing.of("unknown")), [51, np.nan, 52])


def test_labels_that_few_rows_share_are_no_covariate():
    dates = [f"2020-01-{k:02}" for k in range(1, 11)]
    with pytest.raises(InputError, match=r"'a' has 10 different labels in 10 rows.*--covariates"):
        covariate(table(a=dates), "a", Missing())
    assert len(covariate(table(a=dates[:9]), "a", Missing())) == 9
    assert len(covariate(table(a=dates[:5] * 2), "a", Missing())) == 10
    with pytest.raises(InputError, match="10 different labels in 10 rows"):
        covariate(table(a=[*dates, *[None] * 30]), "a", Missing())


@pytest.mark.parametrize("markers", ["unknown", [-777], ["unknown", 0]])
def test_other_markers_leave_the_guard_on(markers):
    values = np.array([2.1, 2.5, -999, 2.4])
    with pytest.raises(InputError, match=r"missing=\[-999\] \(--missing -999\)"):
        check_sentinels(table(a=values), "a", values, Missing.of(markers))


@pytest.mark.parametrize(
    ("labels", "row"),
    [
        (["CTR", "SCZ", "-999", "CTR"], 2),
        (["M", "F", "99", "F"], 2),
        (["0", "1", "1", "0", "99"], 4),
        (["1", "2", "1", "-9"], 3),
    ],
)
def test_a_label_that_stands_for_missing_is_refused(labels, row):
    made = table(a=labels)
    with pytest.raises(InputError, match=f"row {row} .*looks like a mark for a missing cell"):
        check_label_sentinels(made, "a", labels, Missing())
    check_label_sentinels(made, "a", labels, Missing.of([]))


def test_numbers_among_numbers_are_labels():
    sites = [str(k) for k in range(60, 120)]
    check_label_sentinels(table(a=sites), "a", sites, Missing())


def test_a_number_that_is_missing_is_so_however_it_is_written():
    made = table(a=["M", "-9.0", "-9", "F"], b=["1", "-9.0", -9, "2"])
    assert text_labels(made, "a", Missing.of(-9)) == ["M", "", "", "F"]
    parsed = parse(made, "b", Missing.of("-9"))
    assert parsed.missing.tolist() == [False, True, True, False]


def test_a_number_within_three_ranges_is_a_value():
    for value, far in ((99, False), (999, True)):
        values = np.array([30.0, 40, 50, value])  # 99 lies 2.45 ranges above
        if far:
            with pytest.raises(InputError, match="999"):
                check_sentinels(table(a=values), "a", values, Missing())
        else:
            check_sentinels(table(a=values), "a", values, Missing())
    values = np.array([30.0, 35, 45, 99])  # 3.6 ranges above
    with pytest.raises(InputError, match="99"):
        check_sentinels(table(a=values), "a", values, Missing())


def test_a_range_that_no_float_holds_is_no_error_of_sgbn():
    made = table(a=[0.0, 1.0, 2.0, 5.9e307, -9.0])
    with pytest.raises(InputError, match=r"'a'.*-9"):
        covariate(made, "a", Missing())
