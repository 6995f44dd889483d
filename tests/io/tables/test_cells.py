import numpy as np
import pandas as pd
import pytest

from sgbn import InputError
from sgbn.io.tables.cells import (
    SENTINELS,
    Missing,
    check_sentinels,
    covariate,
    parse,
    region_values,
)
from sgbn.io.tables.files import from_frame


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


@pytest.mark.parametrize("column", [[1e400, 1.0], ["-inf", "2"], [10**400, 1]])
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
