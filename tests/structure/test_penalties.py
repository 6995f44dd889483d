import numpy as np
import pytest

from sgbn.core.graph import is_dag
from sgbn.core.moments import moments_of
from sgbn.learn.lasso import lasso_gram, penalty_units
from sgbn.paper.penalised import ABOVE_BOUND, initial_weights, penalty_path, strongest_penalty


def moments(X, bias=False):
    return moments_of(X, [f"x{k}" for k in range(X.shape[1])], bias)


def test_the_bound_is_enough_for_any_order_in_whole_numbers(simulate):
    """Theta solved for an arbitrary integral order has no weight that breaks it."""
    rng = np.random.default_rng(0)
    for seed in range(30):
        X, _ = simulate(8, 40, [30, seed])
        R = moments(X).R
        alpha = rng.uniform(0.01, 0.3)
        mu = strongest_penalty(np.ones(8), alpha)
        o = rng.integers(0, 5, 8)
        shortfall = np.maximum(0, 1 - (o[:, None] - o[None, :]))  # [j, k]: of k -> j
        B = lasso_gram(R, alpha + mu * shortfall).x
        assert not np.any(B[shortfall > 0])
        assert is_dag(B)


def test_the_bound_is_tight():
    """Just below it, a nearly perfect correlation still pays for an edge that breaks the order."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 2))
    X[:, 1] = X[:, 0] + 1e-4 * X[:, 1]
    R = moments(X).R
    mu = strongest_penalty(np.ones(2), 0.1) / ABOVE_BOUND
    assert not np.any(lasso_gram(R, np.full((2, 2), 0.1 + ABOVE_BOUND * mu)).x)
    assert np.any(lasso_gram(R, np.full((2, 2), 0.1 + 0.999 * mu)).x)


def test_in_raw_units_the_two_largest_scales_count():
    units = 1 / np.array([1.0, 4.0, 10.0, 2.0])
    assert strongest_penalty(units, 0.5) == pytest.approx(ABOVE_BOUND * (40.0 - 0.5))
    assert strongest_penalty(units, 1000.0) > 0


def test_units(simulate):
    X, _ = simulate(4, 30, 31)
    X = X * [1, 2, 3, 4]
    assert penalty_units(moments(X), True).tolist() == [1.0] * 4
    m = moments(X)
    np.testing.assert_allclose(penalty_units(m, False), 1 / X.std(axis=0)[m.columns])
    assert penalty_units(moments(X, bias=True), False)[-1] == 1.0


def test_penalties_rise_to_the_strongest():
    path = penalty_path(3.0)
    assert np.all(np.diff(path) > 0)
    assert path[-1] == pytest.approx(3.0)


def test_least_squares_start_is_the_regression_on_all_others(simulate):
    X, _ = simulate(6, 50, 32)
    m = moments(X)
    B = initial_weights("ols", m, np.ones(6), 0.1).x
    Z = ((X - m.mean) / m.scale)[:, m.columns]
    for j in range(6):
        others = np.delete(np.arange(6), j)
        expected = np.linalg.lstsq(Z[:, others], Z[:, j], rcond=None)[0]
        np.testing.assert_allclose(B[j, others], expected, atol=1e-10)
    assert np.all(np.diag(B) == 0)


def test_least_squares_start_fits_perfectly_where_there_are_more_columns_than_rows(simulate):
    X, _ = simulate(12, 8, 33)
    m = moments(X)
    B = initial_weights("ols", m, np.ones(12), 0.1).x
    Z = ((X - m.mean) / m.scale)[:, m.columns]
    assert ((Z - Z @ B.T) ** 2).mean(axis=0).max() < 1e-4
