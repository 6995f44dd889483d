import importlib
import inspect
from typing import get_type_hints

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Lasso, LinearRegression

from sgbn.core.moments import moments_of
from sgbn.learn.lasso import (
    TOL,
    SolverResult,
    _solve_working_set,
    lasso_gram,
    refit_column,
    residual_variances,
    solve_column,
)


def gram(X):
    return moments_of(X, [f"x{k}" for k in range(X.shape[1])])


def scaled(X, moments):
    return ((X - moments.mean) / moments.scale)[:, moments.columns]


def kkt_violation(R, W, B):
    """Independent of the solver's own measure: distance of minus the gradient from w d|b|."""
    G = B @ R - R[: len(B)]
    active = np.abs(G + W * np.sign(B))
    inactive = np.maximum(np.abs(G) - W, 0)
    violation = np.where(B != 0, active, inactive)
    violation[:, : len(B)][np.eye(len(B), dtype=bool)] = 0
    return violation.max()


@pytest.mark.parametrize(("m", "n", "alpha"), [(6, 100, 0.05), (15, 60, 0.2), (30, 20, 0.3)])
def test_equals_scikit_learns_lasso(simulate, m, n, alpha):
    X, _ = simulate(m, n, 0)
    moments = gram(X)
    Z = scaled(X, moments)
    result = lasso_gram(moments.R, np.full((m, m), alpha))
    for j in range(m):
        others = np.delete(np.arange(m), j)
        expected = Lasso(alpha, fit_intercept=False, tol=1e-14, max_iter=10**6)
        expected.fit(Z[:, others], Z[:, j])
        np.testing.assert_allclose(result.x[j, others], expected.coef_, atol=1e-8)
    assert result.converged


@settings(max_examples=60)
@given(
    m=st.integers(2, 14),
    n=st.integers(3, 40),
    share=st.floats(0.001, 1.0),
    seed=st.integers(0, 10_000),
)
def test_optimality_conditions_hold_for_any_prices(m, n, share, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, m)) @ rng.standard_normal((m, m))
    R = gram(X).R
    W = share * rng.uniform(0.2, 1.5, (m, m))
    result = lasso_gram(R, W)
    assert result.converged
    assert kkt_violation(R, W, result.x) <= 10 * TOL
    assert np.all(np.diag(result.x) == 0)


def test_zero_from_the_largest_correlation_on(simulate):
    X, _ = simulate(8, 80, 1)
    R = gram(X).R
    largest = np.abs(R - np.eye(8)).max()
    assert not np.any(lasso_gram(R, np.full((8, 8), largest)).x)
    assert np.any(lasso_gram(R, np.full((8, 8), 0.999 * largest)).x)


def test_a_price_of_one_is_never_paid(simulate):
    X, _ = simulate(8, 80, 2)
    R = gram(X).R
    W = np.full((8, 8), 0.01)
    W[:, ::2] = 1.0
    assert not np.any(lasso_gram(R, W).x[:, ::2])


def test_the_start_does_not_change_the_solution(simulate):
    X, _ = simulate(12, 100, 3)
    R = gram(X).R
    W = np.full((12, 12), 0.1)
    cold = lasso_gram(R, W)
    rng = np.random.default_rng(0)
    start = rng.standard_normal((12, 12))
    np.fill_diagonal(start, 0)
    kept = start.copy()
    warm = lasso_gram(R, W, start=start)
    assert np.array_equal(cold.x != 0, warm.x != 0)
    np.testing.assert_allclose(cold.x, warm.x, atol=1e-13)
    assert np.array_equal(start, kept)


def test_an_optimal_start_takes_no_epoch(simulate):
    X, _ = simulate(10, 100, 4)
    R = gram(X).R
    w = np.full(10, 0.1)
    b = np.zeros(10)
    first, _ = solve_column(R, 3, w, b)
    second, violation = solve_column(R, 3, w, b)
    assert first > 0
    assert (second, violation <= TOL) == (0, True)


def test_too_few_epochs_are_reported(simulate):
    X, _ = simulate(10, 100, 5, degree=8)
    R = gram(X).R
    b = np.zeros(10)
    args = (R, R[0].copy(), np.append(1e6, np.full(9, 1e-4)), b)
    assert _solve_working_set(*args, TOL, 1) == 1
    assert np.abs(R @ b - R[0])[1:].max() > 1e-4 + TOL
    assert 1 < _solve_working_set(*args, TOL, 1000) < 1000
    assert np.abs(R @ b - R[0])[1:].max() <= 1e-4 + TOL


def test_collinear_regressors_are_not_refitted():
    R = np.array([[1.0, 1.0, 0.5], [1.0, 1.0, 0.5], [0.5, 0.5, 1.0]])
    b = np.array([0.2, 0.1, 0.0])
    assert not refit_column(R, 2, b)
    assert b.tolist() == [0.2, 0.1, 0.0]


@pytest.mark.parametrize(("m", "n", "alpha"), [(40, 10, 1e-4), (60, 30, 1e-3), (25, 200, 1e-5)])
def test_tiny_prices_and_more_columns_than_rows_are_solved_exactly(simulate, m, n, alpha):
    """Where coordinate descent crawls, the active-set method takes over."""
    X, _ = simulate(m, n, 7)
    R = gram(X).R
    W = np.full((m, m), alpha)
    result = lasso_gram(R, W)
    assert result.converged
    assert result.n_iter < 500
    assert kkt_violation(R, W, result.x) <= 10 * TOL
    assert np.count_nonzero(result.x, axis=1).max() < n


def test_copies_of_a_column_share_no_edge_twice(simulate):
    """Collinear regressors: the solver ends at a vertex, with one of the copies."""
    X, _ = simulate(8, 50, 8)
    R = gram(np.column_stack([X, X[:, :3]])).R
    start = np.random.default_rng(0).standard_normal((11, 11))
    np.fill_diagonal(start, 0)
    result = lasso_gram(R, np.full((11, 11), 0.01), start=start)
    assert result.converged
    assert kkt_violation(R, np.full((11, 11), 0.01), result.x) <= 10 * TOL


def test_refit_is_least_squares_and_residuals_are_its_own(simulate):
    X, _ = simulate(7, 50, 6)
    moments = gram(X)
    Z = scaled(X, moments)
    b = np.array([1.0, 0, 1, 0, 1, 0, 0])
    assert refit_column(moments.R, 5, b)
    expected = LinearRegression().fit(Z[:, [0, 2, 4]], Z[:, 5])
    np.testing.assert_allclose(b[[0, 2, 4]], expected.coef_, atol=1e-12)
    residual = Z[:, 5] - Z @ b
    B = np.zeros((7, 7))
    B[5] = b
    expected = np.where(np.arange(7) == 5, (residual**2).mean(), 1.0)
    assert residual_variances(moments.R, B) == pytest.approx(expected)


def test_a_result_unpacks_in_the_stated_order():
    x, n_iter, violation, converged = SolverResult(np.zeros(2), 3, 1e-12, True)
    assert (x.tolist(), n_iter, violation, converged) == ([0.0, 0.0], 3, 1e-12, True)


SOLVERS = [
    "learn.lasso",
    "paper.classifier_cv",
    "paper.descent",
    "paper.fisher_svm",
    "paper.or_sgbn",
]


@pytest.mark.parametrize("name", SOLVERS)
def test_what_a_solver_returns_ends_with_how_good_it_is(name):
    module = importlib.import_module(f"sgbn.{name}")
    annotations = [
        get_type_hints(function).get("return")
        for own, function in vars(module).items()
        if inspect.isfunction(function) and not own.startswith("_")
    ]
    answers = [getattr(one, "_fields", ())[-3:] for one in annotations]
    assert ("n_iter", "violation", "converged") in answers
