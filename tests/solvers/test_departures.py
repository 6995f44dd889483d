import numpy as np
import pytest

from sgbn.learn.lasso import lasso_gram
from sgbn.paper.classifier_cv import TOL, lasso_departures

M = 8


@pytest.fixture
def S():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, M)) @ (np.eye(M) + 0.4 * rng.standard_normal((M, M)))
    return np.corrcoef(X.T)


@pytest.fixture
def B():
    return np.tril(np.random.default_rng(4).normal(0, 0.3, (M, M)), -1)


def prices(price):
    return np.full((M, M), price)


def test_from_nothing_it_is_the_lasso_along_the_order(S):
    allowed = np.tril(np.ones((M, M), bool), -1)
    plain = lasso_gram(S, np.where(allowed, 0.1, 2.0))
    result = lasso_departures(S, prices(0.1), np.zeros((M, M)))
    assert result.violation <= TOL
    np.testing.assert_allclose(result.x, plain.x, atol=1e-8)


def test_without_a_price_the_start_does_not_matter(S, B):
    result = lasso_departures(S, prices(0.0), B).x + B
    for j in range(1, M):
        np.testing.assert_allclose(result[j, :j], np.linalg.solve(S[:j, :j], S[:j, j]), atol=1e-6)


def test_no_departure_is_worth_a_price_above_the_gradient(S, B):
    dearest = np.abs(np.tril(B @ S - S, -1)).max()
    assert not lasso_departures(S, prices(dearest + 1e-9), B).x.any()
    assert lasso_departures(S, prices(0.9 * dearest), B).x.any()


def test_optimality_conditions_hold(S, B):
    D = lasso_departures(S, prices(0.1), B).x
    gradient = (B + D) @ S - S
    below = np.tril(np.ones((M, M), bool), -1)
    used = below & (D != 0)
    assert 0 < used.sum() < below.sum()
    np.testing.assert_allclose(gradient[used], -0.1 * np.sign(D[used]), atol=2 * TOL)
    assert np.abs(gradient[below & (D == 0)]).max() <= 0.1 + TOL
    assert not D[~below].any()


def test_a_regressor_without_variance_is_left_alone(S):
    S[2], S[:, 2] = 0.0, 0.0
    result = lasso_departures(S, prices(0.05), np.zeros((M, M)))
    assert np.isfinite(result.x).all()
    assert not result.x[:, 2].any()


def test_inputs_stay_as_they_are(S, B):
    given = S.copy(), B.copy()
    lasso_departures(S, prices(0.1), B)
    np.testing.assert_array_equal(S, given[0])
    np.testing.assert_array_equal(B, given[1])


def test_variances_are_those_of_what_the_weights_leave_of_rows(B):
    X = np.random.default_rng(0).standard_normal((40, M))
    result = lasso_departures(X.T @ X / 40, prices(0.1), B)
    expected = np.square(X - X @ (B + result.x).T).mean(axis=0)
    np.testing.assert_allclose(result.variances, expected)


def test_any_start_ends_at_the_same_departures(S, B):
    cold = lasso_departures(S, prices(0.05), B)
    dearer = lasso_departures(S, prices(0.2), B)
    for start in (dearer.x, -cold.x, np.tril(np.ones((M, M)), -1)):
        given = start.copy()
        np.testing.assert_allclose(lasso_departures(S, prices(0.05), B, start).x, cold.x, atol=1e-7)
        np.testing.assert_array_equal(start, given)


def test_fewer_rows_than_variables_are_solved_to_the_end():
    X = np.random.default_rng(1).standard_normal((6, M))
    S = np.cov(X.T, bias=True)
    result = lasso_departures(S, prices(0.05), np.zeros((M, M)))
    assert result.violation <= TOL
    assert np.count_nonzero(result.x) > M


def test_without_a_price_weights_of_copies_stay_bounded():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((20, M))
    X[:, 4:] = X[:, :4] + 1e-7 * rng.standard_normal((20, 4))
    result = lasso_departures(np.cov(X.T, bias=True), prices(0.0), np.zeros((M, M)))
    assert np.abs(result.x).max() < 10
    assert result.variances.min() > -1e-9
