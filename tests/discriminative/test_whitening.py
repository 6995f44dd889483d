import numpy as np
import pytest

from sgbn.learn.series_features import regressors, to_weights, whiten

PARENTS = np.array([0, 2, 4, 1, 4])  # the last of five columns is the constant
STARTS = np.array([0, 3, 5])
CHILDREN = np.array([1, 3])


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(30, 4)), np.ones(30)])
    return X, rng.normal(size=(5, 4)) * 0.1


def error(X, theta, weights):
    moved = theta.copy()
    for b, child in enumerate(CHILDREN):
        own = slice(STARTS[b], STARTS[b + 1])
        moved[PARENTS[own], child] = weights[own]
    return np.square(X[:, CHILDREN] - X @ moved[:, CHILDREN]).sum()


def start(theta):
    return np.concatenate([theta[PARENTS[:3], 1], theta[PARENTS[3:], 3]])


def test_the_squared_error_is_a_ball_around_least_squares(data):
    X, theta = data
    factors, to_fit = whiten(X.T @ X, theta, PARENTS, CHILDREN, STARTS, 1e-12)
    centre = start(theta) + to_weights(factors, STARTS, to_fit)
    lowest = error(X, theta, centre)
    rng = np.random.default_rng(1)
    for _ in range(5):
        u = rng.normal(size=5)
        moved = centre + to_weights(factors, STARTS, u)
        assert error(X, theta, moved) == pytest.approx(lowest + u @ u, rel=1e-8)


def test_a_ridge_makes_the_ball_smaller_than_the_set(data):
    X, theta = data
    X[:, 2] = X[:, 0]  # no unique least squares
    factors, to_fit = whiten(X.T @ X, theta, PARENTS, CHILDREN, STARTS, 1e-2)
    before = error(X, theta, start(theta))
    rng = np.random.default_rng(1)
    for _ in range(5):
        u = rng.normal(size=5)
        moved = start(theta) + to_weights(factors, STARTS, to_fit + u)
        assert error(X, theta, moved) <= before - to_fit @ to_fit + u @ u + 1e-8


def test_regressors_are_what_a_unit_adds_to_the_child(data):
    X, theta = data
    factors, _ = whiten(X.T @ X, theta, PARENTS, CHILDREN, STARTS, 1e-12)
    sd = np.array([2.0, 0.5])
    D = np.empty((5, 30))
    regressors(factors, STARTS, np.ascontiguousarray(X.T), PARENTS, sd, D)
    for q, unit in enumerate(np.eye(5)):
        weights = to_weights(factors, STARTS, unit)
        b = int(q >= 3)
        own = slice(STARTS[b], STARTS[b + 1])
        np.testing.assert_allclose(D[q], X[:, PARENTS[own]] @ weights[own] / sd[b], atol=1e-12)
