"""Penalised least squares with intercepts of persons, and slopes within groups."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from sgbn.cohort.effects import learn_spline
from sgbn.prepare.mixed import fit_mixed, group_means, within_group_slopes


@pytest.fixture
def visits():
    """60 persons with 1 to 4 visits at 3 sites: design, values, sites, persons, bent columns."""
    rng = np.random.default_rng(0)
    persons = np.repeat(np.arange(60), np.resize([1, 2, 3, 4], 60))
    n = len(persons)
    codes = rng.integers(0, 3, n)
    age = rng.uniform(20, 80, 60)[persons] + rng.uniform(0, 3, n)
    sex = rng.integers(0, 2, 60)[persons].astype(float)
    D = np.column_stack([sex, learn_spline(age).columns(age)])
    D -= D.mean(axis=0)
    Y = 5 + np.sin(age / 12)[:, None] + 0.4 * codes[:, None] + 0.3 * sex[:, None]
    Y = Y + rng.normal(size=(60, 3))[persons] * [0.5, 1.0, 0.2] + 0.4 * rng.normal(size=(n, 3))
    return D, Y, codes, persons, [np.arange(2, 6)]


def minus_twice_reml(V, X, y):
    """Restricted likelihood with the variance profiled out, by dense matrices."""
    inverse = np.linalg.inv(V)
    A = X.T @ inverse @ X
    rest = y - X @ np.linalg.solve(A, X.T @ inverse @ y)
    dof = len(y) - X.shape[1]
    rss = rest @ inverse @ rest
    return np.linalg.slogdet(V)[1] + np.linalg.slogdet(A)[1] + dof * np.log(rss), rss / dof


def dense(D, y, codes, persons, bent):
    """The optimum by a general minimiser over dense matrices."""
    fixed = np.setdiff1d(np.arange(D.shape[1]), np.concatenate([[], *bent]).astype(int))
    X = np.column_stack([np.eye(codes.max() + 1)[codes], D[:, fixed]])
    parts = [D[:, one] @ D[:, one].T for one in bent]
    parts += [] if persons is None else [(persons[:, None] == persons).astype(float)]

    def covariance(logs):
        return np.eye(len(y)) + sum(np.exp(a) * P for a, P in zip(logs, parts, strict=True))

    found = minimize(
        lambda logs: minus_twice_reml(covariance(logs), X, y)[0],
        np.zeros(len(parts)),
        method="Nelder-Mead",
        options={"xatol": 1e-7, "fatol": 1e-12, "maxiter": 4000},
    )
    V = covariance(found.x)
    inverse = np.linalg.inv(V)
    beta = np.linalg.solve(X.T @ inverse @ X, X.T @ inverse @ y)
    fitted = X @ beta
    for k in range(len(bent)):
        fitted += np.exp(found.x[k]) * parts[k] @ inverse @ (y - X @ beta)
    return fitted, minus_twice_reml(V, X, y)[1], found.x


@pytest.mark.parametrize("which", ["smooth", "persons", "both"])
def test_it_is_the_optimum_of_the_restricted_likelihood(visits, which):
    D, Y, codes, persons, bent = visits
    if which == "smooth":
        persons = None
    elif which == "persons":
        D, bent = D[:, :2], []
    fit = fit_mixed(D, Y, codes, bent, persons)
    ours = fit.intercepts[codes] + D @ fit.slopes.coef
    for j in range(Y.shape[1]):
        fitted, variance, logs = dense(D, Y[:, j], codes, persons, bent)
        np.testing.assert_allclose(ours[:, j], fitted, atol=2e-5)
        np.testing.assert_allclose(fit.variance[j], variance, rtol=2e-5)
        if persons is not None:
            np.testing.assert_allclose(fit.person_ratio[j], np.exp(logs[-1]), rtol=2e-4)


def test_a_given_penalty_solves_its_normal_equations(visits):
    D, Y, codes, _, bent = visits
    fit = fit_mixed(D, Y, codes, bent, weights=[3.0])
    rest = Y - fit.intercepts[codes] - D @ fit.slopes.coef
    np.testing.assert_allclose(np.eye(3)[codes].T @ rest, 0, atol=1e-9)
    np.testing.assert_allclose(D[:, :2].T @ rest, 0, atol=1e-9)
    np.testing.assert_allclose(D[:, 2:].T @ rest, 3.0 * fit.slopes.coef[2:], atol=1e-9)


def test_a_straight_effect_is_left_straight():
    rng = np.random.default_rng(0)
    age = rng.uniform(20, 80, 300)
    D = learn_spline(age).columns(age)
    Y = age[:, None] / 20 + rng.normal(size=(300, 20))
    fit = fit_mixed(D, Y, np.zeros(300, np.intp), [np.arange(1, 5)])
    line = np.array([np.polyval(np.polyfit(age, y, 1), age) for y in Y.T]).T
    gap = np.sqrt(np.mean((fit.intercepts + D @ fit.slopes.coef - line) ** 2, axis=0))
    assert np.median(gap) < 0.05


def test_units_of_regions_change_the_units_of_effects_alone(visits):
    D, Y, codes, persons, bent = visits
    plain, scaled = (fit_mixed(D, Y * c, codes, bent, persons) for c in (1.0, 1e6))
    np.testing.assert_allclose(scaled.slopes.coef, 1e6 * plain.slopes.coef, rtol=1e-5, atol=1e-3)
    np.testing.assert_allclose(scaled.person_ratio, plain.person_ratio, rtol=1e-5)


def test_a_flat_region_and_a_covariate_of_the_site_do_no_harm(visits):
    D, Y, codes, persons, bent = visits
    Y = np.column_stack([Y, np.full(len(Y), 2.0)])
    fit = fit_mixed(np.column_stack([D, codes - 1.0]), Y, codes, bent, persons)
    assert fit.slopes.constant.tolist() == [6]
    np.testing.assert_array_equal(fit.slopes.coef[6], 0)
    np.testing.assert_allclose(fit.slopes.coef[:, 3], 0, atol=1e-12)
    np.testing.assert_allclose(fit.intercepts[:, 3], 2.0)
    assert np.isfinite(fit.slopes.coef).all()


def test_without_intercepts_of_persons_there_are_none():
    """Values that repeat less than chance within persons have a ratio of exactly zero."""
    rng = np.random.default_rng(0)
    persons = np.repeat(np.arange(30), 2)
    noise = rng.normal(size=30)
    Y = np.column_stack([noise, -noise]).reshape(-1, 1) + 0.1 * rng.normal(size=(60, 1))
    fit = fit_mixed(np.empty((60, 0)), Y, np.resize([0, 1, 1], 60), persons=persons)
    assert fit.person_ratio[0] == 0
    np.testing.assert_array_equal(fit.persons, 0)


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
