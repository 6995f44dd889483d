"""CovariateRegressor, and the design columns of covariates."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.codes import refused, warned

from sgbn.prepare.covariates import (
    CovariateRegressor,
    is_categorical,
    learn_design,
    level_codes,
    sorted_levels,
)


@parametrize_with_checks([CovariateRegressor()])
def test_follows_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture
def cohort(table):
    X, y = table
    return X.drop(columns="site"), y


def test_residuals_are_those_of_least_squares_about_the_mean(cohort):
    X, _ = cohort
    out = CovariateRegressor(["age", "sex"]).fit_transform(X)
    regions = X.filter(like="region").to_numpy()
    D = np.column_stack([np.ones(len(X)), X["age"], X["sex"] == "M"])
    residuals = regions - D @ np.linalg.lstsq(D, regions, rcond=None)[0]
    np.testing.assert_allclose(out.to_numpy(), residuals + regions.mean(axis=0), atol=1e-12)


@settings(max_examples=settings.default.max_examples // 5)
@given(
    st.integers(0, 1000), st.integers(12, 40), st.floats(1e-3, 1e6), st.sampled_from([0, 5, 1e4])
)
def test_residuals_are_uncorrelated_with_covariates_and_means_stay(seed, n, unit, ratio):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    age, hand = rng.normal(ratio * unit, unit, n), rng.permutation(np.resize(["L", "R", "A"], n))
    out = CovariateRegressor(["age", "hand"]).fit_transform(X.assign(age=age, hand=hand))
    np.testing.assert_allclose(out.mean(), X.mean(), atol=1e-9)
    standard = (age - age.mean()) / age.std()
    np.testing.assert_allclose(standard @ (out - out.mean()).to_numpy() / n, 0, atol=1e-7)
    np.testing.assert_allclose(out.groupby(hand).mean() - out.mean(), 0, atol=1e-7)


def test_known_slopes_are_found():
    age = np.arange(10.0)
    X = pd.DataFrame({"a": 2 * age + 1, "b": 5 - age, "age": age})
    regressor = CovariateRegressor("age").fit(X)
    np.testing.assert_allclose(regressor.coef_, [[2, -1]])
    assert regressor.design_names_ == ["age"]
    assert regressor.design_mean_.tolist() == [4.5]


def test_reference_learns_from_that_group_only(cohort):
    X, y = cohort
    regressor = CovariateRegressor(["age", "sex"], reference="CTR").fit(X, y)
    controls = CovariateRegressor(["age", "sex"]).fit(X[y == "CTR"])
    np.testing.assert_allclose(regressor.coef_, controls.coef_, rtol=1e-9)
    assert regressor.n_rows_ == (y == "CTR").sum()
    out, regions = regressor.transform(X), X.filter(like="region")
    np.testing.assert_allclose(out.mean(), regions.mean())
    other = X.copy()
    other.loc[y == "SCZ", "region0"] *= 100
    np.testing.assert_array_equal(regressor.fit(other, y).coef_, regressor.fit(X, y).coef_)


def test_within_groups_leaves_the_difference_of_group_means(make_table):
    X = make_table(n=400, shift=0.0)[0].drop(columns="site")
    y = np.where(X["age"] + np.random.default_rng(0).normal(0, 5, len(X)) > 45, "SCZ", "CTR")
    X = X.assign(region0=X["region0"] + 3.0 * (y == "SCZ"))

    def difference(**options):
        out = CovariateRegressor(["age", "sex"], **options).fit(X, y).transform(X)["region0"]
        return out[y == "SCZ"].mean() - out[y == "CTR"].mean()

    assert difference(within_groups=True) == pytest.approx(3.0, abs=0.5)
    assert difference() < 2.0


def test_y_plays_no_part_unless_asked_for(cohort):
    X, y = cohort
    plain = CovariateRegressor(["age", "sex"]).fit(X).coef_
    np.testing.assert_array_equal(CovariateRegressor(["age", "sex"]).fit(X, y).coef_, plain)
    within = CovariateRegressor(["age", "sex"], within_groups=True).fit(X, y).coef_
    assert not np.allclose(within, plain)


def test_more_rows_than_design_columns_are_needed(cohort):
    X, y = cohort
    few = np.r_[np.flatnonzero(y == "CTR")[:3], np.flatnonzero(y == "SCZ")]
    with refused("design.rows"):
        CovariateRegressor(["age", "sex"], reference="CTR").fit(X.iloc[few], y[few])


def test_a_constant_covariate_is_named_and_harmless(cohort):
    X, _ = cohort
    expected = CovariateRegressor(["age", "sex"]).fit_transform(X)
    with warned("covariate.constant"):
        out = CovariateRegressor(["age", "sex", "scanner"]).fit_transform(X.assign(scanner=3.0))
    pd.testing.assert_frame_equal(out, expected)


def test_collinear_covariates_are_named_and_removed_once(cohort):
    X, _ = cohort
    expected = CovariateRegressor(["age", "sex"]).fit_transform(X)
    months = X.assign(months=12 * X["age"])
    with warned("covariate.collinear"):
        out = CovariateRegressor(["age", "sex", "months"]).fit_transform(months)
    pd.testing.assert_frame_equal(out, expected, rtol=1e-9)


def test_an_unseen_category_is_warned_of_and_only_age_is_removed(cohort):
    X, _ = cohort
    regressor = CovariateRegressor(["age", "sex"]).fit(X)
    test = X[:2].assign(sex=["X", "F"])
    with warned("covariate.unseen"):
        out = regressor.transform(test)
    age = (test["age"].iloc[0] - X["age"].mean()) * regressor.coef_[0]
    np.testing.assert_allclose(out.iloc[0], test.filter(like="region").iloc[0] - age)


@pytest.mark.parametrize("name", ["A", "Z"])
def test_a_level_that_the_reference_lacks_is_the_average_whatever_its_name(name):
    """Controls have levels M and N only; nothing is known of the third, wherever it is sorted."""
    rng = np.random.default_rng(0)
    y = np.repeat(["CTR", "SCZ"], 60)
    level = np.where(y == "CTR", np.resize(["M", "N"], 120), np.resize(["M", "N", name], 120))
    X = pd.DataFrame({"a": rng.normal(size=120) + 2.0 * (level == "N"), "h": level})
    fitted = CovariateRegressor(["h"], reference="CTR").fit(X, y)
    with warned("covariate.unseen"):
        adjusted = fitted.transform(X)
    np.testing.assert_array_equal(adjusted["a"][level == name], X["a"][level == name])


def test_columns_named_by_numbers_must_stay_in_their_order():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 3)))
    fitted = CovariateRegressor([2]).fit(X)
    with refused("table.columns"):
        fitted.transform(X[[2, 0, 1]])


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
    with warned("covariate.unseen"):
        rows = design.rows(pd.DataFrame({"hand": ["X", "R", "X"]}))
    np.testing.assert_array_equal(rows[[0, 2]], 0.0)
    assert rows[1].any()
    with warned("covariate.unseen") as caught:
        design.rows(pd.DataFrame({"hand": [f"Ann {k}" for k in range(9)]}))
    assert "Ann" not in str(caught[0].message)


@pytest.mark.parametrize(
    ("cell", "code"),
    [(None, "covariate.gaps"), (np.inf, "covariate.cell"), ("old", "covariate.cell")],
)
def test_cells_that_cannot_be_used_are_named(cell, code):
    design = learn_design(pd.DataFrame({"age": [20.0, 30.0]}))
    with refused(code):
        design.rows(pd.DataFrame({"age": [20, cell, 40]}))
