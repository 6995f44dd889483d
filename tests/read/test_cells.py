from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from tests.codes import refused

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
    of_file,
    parse,
    region_values,
    shown_cell,
    text_labels,
)
from sgbn.read.files import from_frame, load_table


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
    other = Origin(of_file("g"), np.array([9, 8, 7]))
    origin = Origin(of_file("f"), np.array([2, 3, 5]))
    table = RawTable(frame, origin, {"b": other}, ids=("x", "y", "z"))
    kept = table.keep(np.array([False, True, True]))
    assert str(kept.where(1, "a")) == "'f': row 5 (subject 'z'), column 'a':"
    assert str(kept.where(0, "b")) == "'g': row 8 (subject 'y'), column 'b':"
    assert kept.frame["a"].tolist() == [2, 3]
    assert len(table.frame) == 3


def test_columns_without_name_and_cells_are_dropped():
    frame = pd.DataFrame([["x", 1, None], ["y", 2, "NA"]])
    assert name_columns(frame, ["", "a", ""], "f").columns.tolist() == [ROW_NAMES, "a"]
    with refused("header.gap"):
        name_columns(frame, ["a", "", "b"], "f")
    with refused("header.twice"):
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
        ([["", "s1", "s2"], ["dx", "a", "a"], ["age", "1", "2"]], 0),  # transposed
        ([["title"]] * 6 + [["id", "a"], ["x", "1"]], 0),
        ([], 0),
    ],
)
def test_the_header_below_titles(rows, header):
    assert later_header(rows) == header


def table(decimal=None, **columns):
    frame = pd.DataFrame(columns)
    frame.insert(0, "k", range(len(frame)))
    return from_frame(frame, "t", decimal)


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
        ([1j, pd.Timestamp("2020-01-01")], "text"),
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


@pytest.mark.parametrize(
    ("cells", "asks"),
    [
        (["1.875", "909", "2.449"], True),
        (["-1.875", " 909 ", "NA"], True),
        (["1.875", 909, None], True),
        (["1.875", "909", "n.b."], True),
        (["1.875", "909", "2.5"], False),
        (["1.875", "-909", "0.449"], False),
        (["1.875", "0", "2.000"], False),
        (["1.875", "x 909", "-"], False),
        ([1.875, 909, "NA"], False),
    ],
)
@pytest.mark.parametrize("is_file", [False, True])
def test_points_in_cells_of_text_are_asked_for_in_any_source(tmp_path, cells, asks, is_file):
    source = pd.DataFrame({"id": list("xyz"), "a": cells})
    if is_file:
        source.to_excel(tmp_path / "t.xlsx", index=False)
        source = tmp_path / "t.xlsx"
    with refused("marks.point") if asks else nullcontext():
        parse(load_table(source, lambda _: {"id"}), "a", Missing())
    parsed = parse(load_table(source, lambda _: {"id"}, decimal="."), "a", Missing())
    assert abs(parsed.values[0]) == 1.875


def test_markers_are_no_whole_numbers_beside_points():
    made = table(a=["2.449", "777", "2.002"])
    assert parse(made, "a", Missing.of(777)).values[[0, 2]].tolist() == [2.449, 2.002]
    made = table(a=["51", "unknown", "52"])
    np.testing.assert_array_equal(covariate(made, "a", Missing.of("unknown")), [51, np.nan, 52])


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
    with refused("cells.infinite"):
        region_values(made, ["b", "a"], Missing())


@pytest.mark.parametrize("sentinel", SENTINELS)
def test_sentinels_far_away_are_refused_and_near_ones_are_values(sentinel):
    far = np.array([2.1, 2.5, sentinel, 2.4, 2.2])
    with refused("cells.sentinel"):
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
    ("cells", "decimal", "code"),
    [
        (["60,1", "61,25", "n.a."], None, "cells.comma"),
        (["60,5", "1.510", "61,5"], ",", "cells.grouped"),
        (["1.234.567", "2.449", "2.002"], None, "cells.grouped"),
        (["1 500 000", "1 600 000", "x"], None, "cells.grouped"),
        (["1\u202f500", "x", "x"], None, "cells.grouped"),
        (["51", "unknown", "52"], None, "cells.mixed"),
        (["low", "7", "low", "high"], None, "cells.mixed"),
        (["a", "#REF!", "b"], None, "cells.excel"),
    ],
)
def test_numbers_written_otherwise_never_become_labels(cells, decimal, code):
    with refused(code):
        covariate(table(decimal, a=cells), "a", Missing())


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["José"], False),
        (["maria", "Ann", "Ann"], False),
        (["fair", "fair", "good", "good"], True),
        (["12.5 mm", "13.5 mm"], True),
        (["missing"], True),
        (["<5", "<6"], True),
    ],
)
def test_cells_that_may_be_names_are_not_shown(words, shown):
    made = table(a=[1.5, 2.5, *words])
    with refused("cells.text") as caught:
        region_values(made, ["a"], Missing())
    assert (words[0] in str(caught.value)) == shown


def test_a_number_that_is_infinite_is_shown():
    assert shown_cell(table(a=[1.5, -np.inf]), "a", np.array([False, True])) == "-inf"


def test_a_column_that_the_user_listed_is_not_to_be_left_out():
    for may_leave_out in (True, False):
        with refused("cells.text") as caught:
            region_values(table(a=[1.5, "x"]), ["a"], Missing(), may_leave_out)
        assert ("exclude=" in str(caught.value)) == may_leave_out


@pytest.mark.parametrize(("other", "code"), [(1.5, "cells.marks"), (2, "cells.comma")])
def test_a_column_of_decimal_commas_among_points_is_told(other, code):
    with refused(code):
        region_values(table(a=[1, "2,5"], b=[other, 3]), ["a"], Missing())


def test_labels_that_few_rows_share_are_no_covariate():
    dates = [f"2020-01-{k:02}" for k in range(1, 11)]
    for few in (dates, [*dates, *[None] * 30]):
        with refused("labels.many"):
            covariate(table(a=few), "a", Missing())
    for enough in (dates[:9], dates[:5] * 2):
        assert len(covariate(table(a=enough), "a", Missing())) == len(enough)


@pytest.mark.parametrize("markers", ["unknown", [-777], ["unknown", 0]])
def test_other_markers_leave_the_guard_on(markers):
    values = np.array([2.1, 2.5, -999, 2.4])
    with refused("cells.sentinel"):
        check_sentinels(table(a=values), "a", values, Missing.of(markers))


@pytest.mark.parametrize(
    ("labels", "code"),
    [
        (["CTR", "SCZ", "-999", "CTR"], "labels.sentinel"),
        (["M", "F", "99", "F"], "labels.sentinel"),
        (["0", "1", "1", "0", "99"], "cells.sentinel"),
        (["1", "2", "1", "-9"], "cells.sentinel"),
    ],
)
def test_a_label_that_stands_for_missing_is_refused(labels, code):
    made = table(a=labels)
    with refused(code):
        check_label_sentinels(made, "a", labels, Missing())
    check_label_sentinels(made, "a", labels, Missing.of([]))
    sites = [str(k) for k in range(60, 120)]  # 99 is one of many
    check_label_sentinels(table(a=sites), "a", sites, Missing())


def test_a_number_that_is_missing_is_so_however_it_is_written():
    made = table(a=["M", "-9.0", "-9", "F"], b=["1", "-9.0", -9, "2"])
    assert text_labels(made, "a", Missing.of(-9)) == ["M", "", "", "F"]
    parsed = parse(made, "b", Missing.of("-9"))
    assert parsed.missing.tolist() == [False, True, True, False]


def test_a_number_within_three_ranges_is_a_value():
    values = np.array([30.0, 40, 50, 99])  # 2.45 ranges above
    check_sentinels(table(a=values), "a", values, Missing())
    values = np.array([30.0, 35, 45, 99])  # 3.6 ranges above
    with refused("cells.sentinel"):
        check_sentinels(table(a=values), "a", values, Missing())
    # No float holds this range.
    with refused("cells.sentinel"):
        covariate(table(a=[0.0, 1.0, 2.0, 5.9e307, -9.0]), "a", Missing())
