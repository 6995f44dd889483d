import numpy as np

from sgbn.core.graph import is_dag, reachable
from sgbn.core.moments import moments_of
from sgbn.learn.lasso import lasso_gram
from sgbn.paper.h_sgbn import descendant_prices, sweep_columns


def gram(X):
    return moments_of(X, [f"x{k}" for k in range(X.shape[1])]).R


def test_prices_follow_the_path_matrix(simulate):
    X, _ = simulate(9, 80, 0)
    B = lasso_gram(gram(X), np.full((9, 9), 0.2)).x
    units = np.random.default_rng(0).uniform(0.5, 2, 9)
    W = descendant_prices(B, 0.1, 0.7, units)
    P = reachable(B.T)  # P[j, k]: a path leads from j to k
    np.testing.assert_allclose(W, (0.1 + 0.7 * P) * np.outer(units, units))


def test_one_sweep_at_a_penalty_above_the_bound_gives_a_dag(simulate):
    for seed in range(20):
        X, _ = simulate(15, 60, [1, seed])
        R = gram(X)
        B = lasso_gram(R, np.full((15, 15), 0.05)).x
        assert not is_dag(B)
        sweep_columns(R, B, 0.05, 1.0, np.ones(15), np.arange(15))
        assert is_dag(B)


def test_each_column_is_a_lasso_for_the_paths_of_its_turn(simulate):
    X, _ = simulate(8, 100, 2)
    R = gram(X)
    order = np.random.default_rng(0).permutation(8)
    B = lasso_gram(R, np.full((8, 8), 0.1)).x
    expected = B.copy()
    for j in order:
        W = descendant_prices(expected, 0.1, 0.3, np.ones(8))
        expected[j] = lasso_gram(R, W).x[j]
    n_changed, objective, violation = sweep_columns(R, B, 0.1, 0.3, np.ones(8), order)
    np.testing.assert_allclose(B, expected, atol=1e-12)
    assert n_changed > 0
    assert objective > 0
    assert violation <= 1e-10


def test_sweeps_end_where_nothing_changes_and_the_objective_never_rises_on_dags(simulate):
    X, _ = simulate(12, 100, 3)
    R = gram(X)
    B = np.zeros((12, 12))
    values = []
    for _ in range(50):
        n_changed, value, _ = sweep_columns(R, B, 0.1, 1.0, np.ones(12), np.arange(12))
        values.append(value)
        if n_changed == 0:
            break
    assert n_changed == 0
    assert np.all(np.diff(values) <= 1e-12)
