"""Empirical Bayes of site effects, on arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgbn.prepare.sites import fit_combat, remove_sites, shrink


@pytest.fixture
def effects():
    rng = np.random.default_rng(0)
    counts = np.array([40, 12, 5, 2])
    gamma = rng.normal(size=(4, 30)) + np.array([[0.5], [-0.5], [1], [0]])
    return gamma, rng.chisquare(5, size=(4, 30)) / 5, counts


def test_the_posterior_equations_hold(effects):
    """With the inverse-gamma parameters as Johnson et al. write them."""
    gamma, variance, counts = effects
    location, delta = shrink(gamma, variance, counts)
    n = counts[:, None]
    centre, tau2 = gamma.mean(1, keepdims=True), gamma.var(1, ddof=1, keepdims=True)
    m, s2 = variance.mean(1, keepdims=True), variance.var(1, ddof=1, keepdims=True)
    a, b = (2 * s2 + m**2) / s2, (m * s2 + m**3) / s2
    expected = (tau2 * n * gamma + delta * centre) / (tau2 * n + delta)
    squares = (n - 1) * variance + n * (gamma - location) ** 2
    np.testing.assert_allclose(location, expected, atol=1e-10)
    np.testing.assert_allclose(delta, (squares / 2 + b) / (n / 2 + a - 1), rtol=1e-10)


def test_small_sites_are_shrunk_more(effects):
    gamma, variance, _ = effects
    few, many = (shrink(gamma, variance, np.full(4, n))[0] for n in (3, 300))
    spread = gamma.std(axis=1)
    assert (few.std(axis=1) < 0.9 * spread).all()
    np.testing.assert_allclose(many, gamma, atol=0.1)


def test_a_site_of_one_subject_is_shrunk_in_location_and_keeps_scale_one():
    rng = np.random.default_rng(0)
    gamma, variance = rng.normal(size=(2, 20)), rng.uniform(0.5, 2, (2, 20))
    variance[1] = 0.0
    location, delta = shrink(gamma, variance, np.array([10, 1]))
    np.testing.assert_array_equal(delta[1], 1.0)
    tau2, centre = gamma[1].var(ddof=1), gamma[1].mean()
    np.testing.assert_allclose(location[1], (tau2 * gamma[1] + centre) / (tau2 + 1))


def test_equal_variances_and_equal_shifts_are_their_own_prior():
    gamma, variance = np.full((2, 5), 0.7), np.full((2, 5), 1.5)
    location, delta = shrink(gamma, variance, np.array([8, 9]))
    np.testing.assert_allclose(location, 0.7)
    np.testing.assert_allclose(delta, 1.5)


def test_without_shrinkage_sites_end_with_equal_means_and_spreads():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [30, 20, 10])
    values = rng.normal(size=(60, 4)) * np.array([1, 2, 3])[codes][:, None] + 5 * codes[:, None]
    D = np.zeros((60, 0))
    out = remove_sites(values, D, codes, fit_combat(values, D, codes, empirical_bayes=False))
    means = [out[codes == k].mean(axis=0) for k in range(3)]
    spreads = [out[codes == k].std(axis=0, ddof=1) for k in range(3)]
    np.testing.assert_allclose(means, np.tile(values.mean(axis=0), (3, 1)), atol=1e-10)
    np.testing.assert_allclose(spreads, np.tile(spreads[0], (3, 1)), rtol=1e-10)


def test_an_unknown_site_changes_nothing_to_the_bit():
    rng = np.random.default_rng(0)
    values, codes, D = rng.normal(size=(20, 3)), np.repeat([0, 1], 10), rng.normal(size=(20, 1))
    fitted = fit_combat(values, D, codes)
    out = remove_sites(values, D, np.full(20, -1), fitted)
    np.testing.assert_array_equal(out, values)


@given(st.integers(0, 10_000), st.integers(1, 5), st.booleans())
def test_answers_are_finite_whatever_the_sites(seed, m, empirical_bayes):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([[0, 0], np.arange(4), rng.integers(0, 4, rng.integers(0, 8))])
    values = rng.integers(0, 3, (len(codes), m)).astype(float)  # with ties and constant regions
    values *= 10.0 ** rng.integers(-8, 8)
    D = np.zeros((len(codes), 0))
    fitted = fit_combat(values, D, codes, empirical_bayes=empirical_bayes)
    assert np.isfinite(remove_sites(values, D, codes, fitted)).all()
    assert (fitted.scale > 0).all()
