"""Columns of a spline."""

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.interpolate import BSpline

from sgbn import Cohort
from sgbn.cohort.effects import (
    check_curves,
    held_fixed,
    learn_spline,
    nuisance_of,
    with_curves_that_fit,
)
from sgbn.core.exceptions import DataWarning, InputError


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
    with pytest.raises(
        InputError, match=r"'grade' has 3 different values.*leave the covariate out of smooth"
    ):
        learn_spline(np.resize([1.0, 2.0, 3.0], 50), "grade")


def test_a_cohort_holds_the_curves_fixed(age):
    values = np.random.default_rng(1).normal(size=(120, 2))
    cohort = Cohort(
        values,
        ("a", "b"),
        tuple(map(str, range(120))),
        group=np.resize(["x", "y"], 120),
        covariates={"age": age, "iq": values[:, 0]},
        smooth=("age",),
    )
    fixed = held_fixed(cohort)
    assert fixed["age"].shape == (120, 5)
    assert fixed["iq"].shape == (120,)
    codes = np.resize([0, 1], 120)
    nuisance = nuisance_of(codes, fixed)
    assert nuisance.rank == 2 + 5 + 1
    bend = np.where(codes, 3.0, 0) + fixed["age"] @ np.arange(5.0) - 2 * values[:, 0]
    np.testing.assert_allclose(nuisance.residuals(bend[:, None]), 0, atol=1e-10)
    curved = np.sin(age / 15)
    linear = nuisance_of(codes, cohort.covariates).residuals(curved[:, None])
    assert np.std(nuisance.residuals(curved[:, None])) < 0.2 * np.std(linear)


def test_a_part_with_few_values_has_a_line_in_place_of_the_curve(age):
    cohort = Cohort(
        np.random.default_rng(1).normal(size=(120, 1)),
        ("a",),
        tuple(map(str, range(120))),
        covariates={"age": age, "grade": np.r_[np.resize([1.0, 2.0, np.nan], 60), age[:60]]},
        smooth=("age", "grade"),
    )
    assert with_curves_that_fit(cohort) is cohort
    with pytest.warns(DataWarning, match=r"'grade' has 2 different values.*effect is linear"):
        part = with_curves_that_fit(cohort.subset(np.arange(120) < 60))
    assert part.smooth == ("age",)
    with pytest.raises(InputError, match=r"'grade' has 2 different values"):
        check_curves(cohort.subset(np.arange(120) < 60))
