import numpy as np
import pytest

from sgbn.cohort.simulate_series import (
    HIDDEN_SHARE,
    HIDDEN_TARGETS,
    MOST_EXPLAINED,
    Signal,
    hidden_loadings,
    own_series,
    own_weights,
    smoothing_filters,
)

CHAIN = np.array([[0, 0.6, 0, 0], [0, 0, 0.5, 0.4], [0, 0, 0, 0.3], [0, 0, 0, 0]])
NO_INPUT = np.zeros((0, 4))


def rng():
    return np.random.default_rng(0)


def signal(smoothed=0.5, delays=(0, 0, 0, 0), loadings=NO_INPUT):
    return Signal(smoothed, smoothing_filters(2.0, np.array(delays, float), 0.3), 0.3, loadings)


def implied(weights):
    covariance = np.eye(len(weights))
    for j in range(1, len(weights)):
        covariance[:j, j] = covariance[j, :j] = covariance[:j, :j] @ weights[:j, j]
    return covariance


def test_autoregression_and_smoothing_preserve_the_correlations_of_the_network():
    series = own_series(CHAIN, signal(), 100_000, 0.0, rng())
    np.testing.assert_allclose(np.cov(series.T), implied(CHAIN), atol=0.03)


def test_delays_and_noise_do_not():
    delayed = np.corrcoef(own_series(CHAIN, signal(1.0, (0, 3, 0, 0)), 100_000, 0.0, rng()).T)
    assert delayed[0, 1] < 0.8 * CHAIN[0, 1]
    noisy = np.corrcoef(own_series(CHAIN, signal(), 100_000, 0.5, rng()).T)
    np.testing.assert_allclose(noisy[0, 1], 0.5 * CHAIN[0, 1], atol=0.02)


def test_an_unmeasured_input_joins_the_regions_that_it_drives():
    loadings = np.array([[np.sqrt(HIDDEN_SHARE), 0, np.sqrt(HIDDEN_SHARE), 0]])
    nothing = np.zeros((4, 4))
    series = own_series(nothing, signal(loadings=loadings), 100_000, 0.0, rng())
    expected = np.eye(4)
    expected[0, 2] = expected[2, 0] = HIDDEN_SHARE
    np.testing.assert_allclose(np.cov(series.T), expected, atol=0.03)


def test_loadings_have_the_share_that_is_said():
    loadings = hidden_loadings(3, 10, rng())
    assert (np.count_nonzero(loadings, axis=1) == HIDDEN_TARGETS).all()
    share = np.sum(loadings**2, axis=0)
    np.testing.assert_allclose(share[share > 0], HIDDEN_SHARE)
    assert hidden_loadings(0, 10, rng()).shape == (0, 10)


def test_weights_vary_around_those_of_the_group_on_the_same_edges():
    stream = rng()
    drawn = np.array([own_weights(CHAIN, 0.1, np.ones((4, 4)), stream) for _ in range(800)])
    assert not drawn[:, CHAIN == 0].any()
    np.testing.assert_allclose(drawn.mean(axis=0), CHAIN, atol=0.01)
    np.testing.assert_allclose(drawn.std(axis=0)[CHAIN != 0], 0.1, atol=0.01)
    same = own_weights(CHAIN, 0.0, np.full((4, 4), 0.5), rng())
    np.testing.assert_allclose(same, CHAIN / 2)


def test_parents_never_explain_all_of_a_region():
    weights = own_weights(CHAIN, 0.0, np.full((4, 4), 5.0), rng())
    explained = 1 - 1 / np.diag(np.linalg.inv(implied(weights)[:2, :2]))[1]
    assert explained == pytest.approx(MOST_EXPLAINED)
    series = own_series(weights, signal(), 20_000, 0.0, rng())
    np.testing.assert_allclose(series.var(axis=0), 1, atol=0.1)
