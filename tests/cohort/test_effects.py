"""Effects that are held fixed: covariates as numbers and curves, and sites."""

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.interpolate import BSpline
from tests.codes import refused, warned

from sgbn.cohort.design import Design
from sgbn.cohort.effects import design_of, learn_spline, without_nuisance


def nuisance_of(codes, covariates, site=None):
    group = np.array(["a", "b"])[codes]
    labels = {"group": group, "site": site, "covariates": covariates}
    return Design.of(range(len(codes)), **labels).nuisance()


def test_residuals_are_those_of_least_squares(design):
    codes, covariates, sites = design
    Y = np.random.default_rng(1).normal(size=(40, 3))
    groups, others = codes[:, None] == [0, 1], sites[:, None] == ["b", "c"]
    sex = covariates["sex"] == "M"
    N = np.column_stack([groups, covariates["age"], sex, others]).astype(float)
    expected = Y - N @ np.linalg.lstsq(N, Y)[0]
    found = nuisance_of(codes, covariates, sites)
    np.testing.assert_allclose(found.residuals(Y), expected, atol=1e-10)
    assert found.rank == 6  # one indicator of the sites follows from those of the groups


@pytest.mark.parametrize(
    "make",
    [
        lambda age: np.full(40, 0.1),
        lambda age: 7 + 2 * age,
        lambda age: np.repeat([3.0, 5.0], 20),  # the group
        lambda age: np.repeat("a", 40),
    ],
)
def test_a_column_that_others_determine_changes_nothing_wherever_it_stands(design, make):
    codes, covariates, sites = design
    useless = {"useless": make(covariates["age"])}
    Y = np.random.default_rng(1).normal(size=(40, 3))
    expected = nuisance_of(codes, covariates, sites)
    for more in (useless | covariates, covariates | useless):
        found = nuisance_of(codes, more, sites)
        assert found.rank == expected.rank
        np.testing.assert_allclose(found.residuals(Y), expected.residuals(Y), atol=1e-10)


@pytest.mark.parametrize(
    ("column", "code"),
    [
        (np.where(np.arange(40) == 3, np.nan, 1.0), "covariate.gaps"),
        (np.array(["F", None] * 20, dtype=object), "covariate.gaps"),
        (["F", np.nan] * 20, "covariate.gaps"),
        (np.array([""] * 40), "covariate.gaps"),
        ([1.0, None] * 20, "covariate.gaps"),
        (np.append(np.arange(39.0), np.inf), "covariate.large"),
        (np.ones(39), "labels.count"),
        (np.empty((40, 0)), "labels.count"),
        (np.array([{}] * 40, dtype=object), "covariate.type"),
    ],
)
def test_covariates_that_cannot_be_used_are_named(design, column, code):
    with refused(code):
        nuisance_of(design[0], {"c": column})


@pytest.mark.parametrize("gap", [np.nan, np.inf])
def test_a_gap_in_the_columns_of_a_curve_is_named(gap):
    with refused("covariate.gaps"):
        design_of(40, {"c": np.append(np.arange(39.0), gap)[:, None]})


def test_numbers_that_come_as_objects_are_numbers(design):
    codes, covariates, _ = design
    Y = np.random.default_rng(1).normal(size=(40, 3))
    plain, objects = (
        nuisance_of(codes, {"age": age})
        for age in (covariates["age"], covariates["age"].astype(object))
    )
    np.testing.assert_array_equal(plain.residuals(Y), objects.residuals(Y))


def test_nuisance_effects_are_gone_and_means_stay():
    rng = np.random.default_rng(0)
    N = np.column_stack([rng.standard_normal(50), np.ones(50), np.repeat([0.0, 1.0], 25)])
    X = rng.standard_normal((50, 2)) + N @ rng.standard_normal((3, 2))
    left, lost = without_nuisance(X, N)
    assert lost == 2
    assert np.allclose(left.mean(axis=0), X.mean(axis=0))
    assert np.allclose((N - N.mean(axis=0)).T @ left, 0, atol=1e-9)
    fitted = np.linalg.lstsq(np.column_stack([N, np.ones(50)]), X)[0]
    assert np.allclose(left - left.mean(axis=0), X - np.column_stack([N, np.ones(50)]) @ fitted)


@pytest.fixture
def age():
    return np.random.default_rng(0).uniform(18, 85, 120).round(1)


@pytest.mark.parametrize("df", [5, 6, 10])
def test_the_columns_and_a_constant_span_the_cubic_splines(age, df):
    spline = learn_spline(age, df=df)
    columns = np.column_stack([np.ones(len(age)), spline.columns(age)])
    unit = (age - age.min()) / np.ptp(age)
    functions = BSpline.design_matrix(unit, spline.knots, 3).toarray()
    assert columns.shape == functions.shape == (120, df)
    for one, other in ((columns, functions), (functions, columns)):
        left = one - other @ np.linalg.lstsq(other, one, rcond=None)[0]
        np.testing.assert_allclose(left, 0, atol=1e-9)


def test_squared_coefficients_are_the_integral_of_the_squared_bend(age):
    spline = learn_spline(age)
    coefficients = np.random.default_rng(1).normal(size=spline.turn.shape[1])
    curve = BSpline(spline.knots, spline.turn @ coefficients, 3)
    edges = np.unique(spline.knots)
    parts = [
        quad(lambda x: curve(x, nu=2) ** 2, low, high)[0] for low, high in itertools.pairwise(edges)
    ]
    np.testing.assert_allclose(np.sum(parts), coefficients @ coefficients, rtol=1e-10)


def test_the_curve_does_not_depend_on_units(age):
    years, days = learn_spline(age), learn_spline(age * 365.25)
    np.testing.assert_allclose(years.columns(age), days.columns(age * 365.25), atol=1e-10)


def test_beyond_the_range_the_curve_stays_at_its_end_and_a_gap_is_a_gap(age):
    spline = learn_spline(age)
    ends = spline.columns(np.array([age.min(), age.max(), -5.0, 500.0, np.nan]))
    np.testing.assert_array_equal(ends[:2], ends[2:4])
    assert np.isnan(ends[4]).all()


def test_knots_that_coincide_count_once():
    many_of_one = np.r_[np.full(90, 30.0), np.linspace(20, 60, 30)]
    spline = learn_spline(many_of_one, df=10)
    inner = spline.knots[4:-4]
    assert len(inner) == len(np.unique(inner)) < 6
    assert np.linalg.matrix_rank(spline.columns(many_of_one)) == spline.n_columns


def test_few_values_make_no_curve():
    with refused("smooth.values"):
        learn_spline(np.resize([1.0, 2.0, 3.0], 50), "grade")


def test_a_design_holds_the_curves_fixed(age):
    codes, iq = np.resize([0, 1], 120), np.random.default_rng(1).normal(size=120)
    covariates = {"age": age, "iq": iq}
    design = Design.of(range(120), group=codes, covariates=covariates, smooth="age")
    fixed, nuisance = design.fixed(), design.nuisance()
    assert (design.effect_names, fixed.effect_names) == (["age (a curve)", "iq"], ["age", "iq"])
    curve = fixed.covariates["age"]
    assert curve.shape == (120, 5)
    assert nuisance.rank == 2 + 5 + 1
    np.testing.assert_array_equal(fixed.columns(), np.column_stack([curve, iq]))
    np.testing.assert_array_equal(fixed.subset(codes == 1).columns()[:, :5], curve[codes == 1])
    bend = np.where(codes, 3.0, 0) + curve @ np.arange(5.0) - 2 * iq
    np.testing.assert_allclose(nuisance.residuals(bend[:, None]), 0, atol=1e-10)
    curved = np.sin(age / 15)[:, None]
    linear = nuisance_of(codes, covariates).residuals(curved)
    assert np.std(nuisance.residuals(curved)) < 0.2 * np.std(linear)


def test_a_part_with_few_values_has_a_line_in_place_of_the_curve(age):
    covariates = {"age": age, "grade": np.r_[np.resize([1.0, 2.0, 3.0], 60), age[:60]]}
    design = Design.of(range(120), covariates=covariates, smooth=("age", "grade"))
    assert design.curves_that_fit() == design.smooth
    part = design.subset(np.arange(60))
    with warned("smooth.part"):
        assert part.curves_that_fit() == ("age",)
    with refused("smooth.values"):
        part.fixed()
