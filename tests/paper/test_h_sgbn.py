import numpy as np
import pytest
from sklearn.linear_model import Lasso
from tests.codes import warned

from sgbn.core.graph import is_dag, reachable
from sgbn.core.moments import moments_of
from sgbn.core.problems import problem_of
from sgbn.learn.lasso import lasso_gram
from sgbn.paper.h_sgbn import HSGBN, descendant_prices, sweep_columns


@pytest.mark.parametrize("init", ["lasso", "ols", "l1mb"])
@pytest.mark.parametrize("n", [15, 100])
def test_always_a_dag(init, n, simulate):
    for seed in range(3):
        X, _ = simulate(15, n, [20, seed])
        assert is_dag(HSGBN(0.1, init=init).fit(X).coef_)


def test_at_the_end_every_column_is_the_lasso_on_all_but_its_descendants(simulate):
    X, _ = simulate(10, 80, 21)
    fitted = HSGBN(0.1).fit(X)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    P = reachable(fitted.coef_)
    for j in range(10):
        parents = np.flatnonzero(~P[j] & (np.arange(10) != j))
        if not parents.size:
            continue
        lasso = Lasso(0.1, fit_intercept=False, tol=1e-14, max_iter=10**6)
        expected = lasso.fit(Z[:, parents], Z[:, j]).coef_
        np.testing.assert_allclose(fitted.coef_std_[parents, j], expected, atol=1e-8)


def test_the_order_of_the_columns_matters_which_is_why_it_is_not_recommended(simulate):
    X, _ = simulate(15, 80, 22)
    order = np.arange(15)[::-1]
    first, second = HSGBN(0.1).fit(X).coef_, HSGBN(0.1).fit(X[:, order]).coef_
    assert not np.array_equal(first != 0, second[np.ix_(order, order)] != 0)


def test_units_do_not_matter(simulate):
    X, _ = simulate(12, 80, 23)
    first = HSGBN(0.1).fit(X).coef_std_
    second = HSGBN(0.1).fit(X * np.logspace(-2, 2, 12) + 3.0).coef_std_
    assert np.array_equal(first != 0, second != 0)
    np.testing.assert_allclose(first, second, atol=1e-8)


def test_at_the_last_penalty_the_objective_never_rises(simulate):
    X, _ = simulate(20, 60, 24)
    steps = HSGBN(0.05).fit(X).objective_path_
    last = steps["objective"][steps["penalty"] == steps["penalty"][-1]]
    assert np.all(np.diff(last) <= 1e-12)


def test_near_copies_end_soon_and_the_warning_says_what_is_wrong(simulate):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 9))
    X = np.column_stack([X, X[:, 0] + 1e-7 * rng.standard_normal(30)])
    with warned("columns.copies") as caught:
        fitted = HSGBN(1e-3).fit(X)
    assert fitted.n_iter_ < 100
    assert "order.not-fixed" not in [problem_of(w.message).code for w in caught]


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
