"""Covariates as numbers, and slopes within groups."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgbn.cohort.effects import (
    group_means,
    is_categorical,
    learn_design,
    level_codes,
    sorted_levels,
    within_group_slopes,
)
from sgbn.core.exceptions import DataWarning, InputError


def test_numbers_enter_as_they_are_and_levels_by_one_indicator_but_the_first():
    named = pd.DataFrame({"age": [20, 30, 40, 50], "hand": ["R", "L", "R", "A"]})
    design = learn_design(named)
    assert design.names == ["age", "hand=L", "hand=R"]
    np.testing.assert_allclose(design.means, [35, 0.25, 0.5])
    np.testing.assert_allclose(
        design.rows(named) + design.means, [[20, 0, 1], [30, 1, 0], [40, 0, 1], [50, 0, 0]]
    )


@pytest.mark.parametrize(
    ("cells", "categorical"),
    [
        (pd.Series([0, 1, 1]), False),
        (pd.Series([0, 1, None], dtype="Int64"), False),
        (pd.Series([0.5, 1, None], dtype=object), False),
        (pd.Series([True, False]), True),
        (pd.Series(["a", "b", None]), True),
        (pd.Series([1, 2, 1], dtype="category"), True),
    ],
)
def test_text_truth_values_and_categories_are_categorical(cells, categorical):
    assert is_categorical(cells) == categorical


def test_levels_are_compared_by_value_and_mixed_ones_sorted_by_text():
    assert sorted_levels(pd.Series([3, 1, 2, 1])) == (1, 2, 3)
    assert sorted_levels(pd.Series(["b", 1, None], dtype=object)) == (1, "b")
    assert level_codes(pd.Series([2.0, 9.0, 1.0]), (1, 2)).tolist() == [1, -1, 0]


def test_an_unseen_category_is_the_training_average_with_a_warning():
    design = learn_design(pd.DataFrame({"hand": ["R", "L", "R", "A"]}))
    with pytest.warns(DataWarning, match=r"'hand'.*'X' \(2\)"):
        rows = design.rows(pd.DataFrame({"hand": ["X", "R", "X"]}))
    np.testing.assert_array_equal(rows[[0, 2]], 0.0)
    assert rows[1].any()


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([20, None, 40], r"'age' is missing \(NaN\) in row 1 .*Impute it with RegionImputer"),
        ([20, np.inf, 40], r"'age' is inf in row 1"),
        ([20, "old", 40], r"'age' is 'old' in row 1"),
    ],
)
def test_cells_that_cannot_be_used_are_named(cells, message):
    design = learn_design(pd.DataFrame({"age": [20.0, 30.0]}))
    with pytest.raises(InputError, match=message):
        design.rows(pd.DataFrame({"age": cells}))


def test_group_means_are_those_of_pandas():
    rng = np.random.default_rng(0)
    values, codes = rng.normal(size=(30, 4)), rng.permutation(np.resize([0, 1, 2], 30))
    expected = pd.DataFrame(values).groupby(codes).mean().to_numpy()
    np.testing.assert_allclose(group_means(values, codes), expected, rtol=1e-13)


def test_slopes_within_groups_equal_least_squares_with_an_intercept_a_group():
    rng = np.random.default_rng(0)
    D, Y = rng.normal(size=(40, 3)), rng.normal(size=(40, 5))
    codes = rng.permutation(np.resize([0, 1, 2], 40))
    full = np.hstack([D, np.eye(3)[codes]])
    expected = np.linalg.lstsq(full, Y, rcond=None)[0][:3]
    slopes = within_group_slopes(D, Y, codes)
    np.testing.assert_allclose(slopes.coef, expected, rtol=1e-10)
    assert not len(slopes.constant)
    assert not len(slopes.collinear)


@given(st.floats(1e-6, 1e6), st.integers(0, 10))
def test_collinear_columns_are_named_and_share_the_slope_whatever_the_unit(unit, seed):
    rng = np.random.default_rng(seed)
    age, other = rng.normal(50, 10, 30), rng.normal(size=30)
    Y = rng.normal(size=(30, 2)) + age[:, None]
    codes = np.zeros(30, np.intp)
    D = np.column_stack([age, other, unit * age + 3, np.full(30, 7.0)])
    slopes = within_group_slopes(D, Y, codes)
    assert slopes.constant.tolist() == [3]
    assert slopes.collinear.tolist() == [0, 2]
    alone = within_group_slopes(D[:, :2], Y, codes)
    np.testing.assert_allclose(slopes.coef[0] + unit * slopes.coef[2], alone.coef[0], rtol=1e-6)
    np.testing.assert_allclose(slopes.coef[3], 0, atol=1e-12)
