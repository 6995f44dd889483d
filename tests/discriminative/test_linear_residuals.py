import numpy as np
import pytest
from scipy.special import log_softmax

from sgbn.paper.descent import (
    LinearResiduals,
    likelihoods_at,
    log_loss,
    margins,
    minimise_log_loss,
    minimise_margin,
    pull,
    residuals_at,
    smooth_margins,
    soft_margin,
)

OFFSETS, RADII = np.array([0, 3, 5, 6]), np.array([1.0, 0.5, 2.0])


@pytest.fixture
def P():
    """Three classes with 2, 1 and 1 blocks of 1, 2, 2 and 1 parameters; 25 rows."""
    rng = np.random.default_rng(0)
    return LinearResiduals(
        rng.normal(size=(6, 25)),
        rng.normal(size=(4, 25)),
        np.array([0, 1, 3, 5, 6]),
        np.array([0, 0, 1, 2]),
        rng.normal(size=(3, 25)),
        np.arange(25) % 3,
    )


def dense(P, u):
    """Residuals and log-likelihoods by the definition."""
    blocks = np.repeat(np.arange(4), np.diff(P.starts))
    R = P.A - np.array([(u[blocks == b, None] * P.D[blocks == b]).sum(axis=0) for b in range(4)])
    L = P.rest - 0.5 * np.array([np.square(R[P.owner == c]).sum(axis=0) for c in range(3)])
    return R, L


def test_residuals_and_likelihoods_are_as_defined(P):
    u = np.random.default_rng(1).normal(size=6)
    R, L = np.empty((4, 25)), np.empty((3, 25))
    likelihoods_at(P, u, R, L)
    for found, expected in zip((R, L), dense(P, u), strict=True):
        np.testing.assert_allclose(found, expected)


def test_pull_is_the_transpose_of_the_residuals(P):
    rng = np.random.default_rng(1)
    W, g, R, R0 = rng.normal(size=(4, 25)), np.empty(6), np.empty((4, 25)), np.empty((4, 25))
    pull(P, W, g)
    residuals_at(P, np.zeros(6), R0)
    for q, unit in enumerate(np.eye(6)):
        residuals_at(P, unit, R)
        assert g[q] == pytest.approx(((R - R0) * W).sum())


def test_the_rival_is_the_strongest_other_class():
    L = np.array([[1.0, 5.0], [3.0, 0.0], [2.0, 4.0]])
    found, rivals = margins(L, np.array([0, 0]))
    assert found.tolist() == [-2.0, 1.0]
    assert rivals.tolist() == [1, 2]


def test_values_are_those_of_the_likelihoods(P):
    u, g = np.random.default_rng(1).normal(size=6), np.empty(6)
    _, L = dense(P, u)
    expected, _ = smooth_margins(margins(L, P.codes)[0], 0.4, 0.3, np.empty(25))
    assert soft_margin(P, u, 0.4, 0.3, g) == pytest.approx(expected)
    posterior = log_softmax(0.7 * L, axis=0)[P.codes, np.arange(25)]
    assert log_loss(P, u, 0.7, g) == pytest.approx(-posterior.mean())


@pytest.mark.parametrize(("f", "arguments"), [(soft_margin, (0.4, 0.3)), (log_loss, (0.7,))])
def test_gradients_equal_finite_differences(P, f, arguments):
    u, g, spare = np.random.default_rng(1).normal(size=6), np.empty(6), np.empty(6)
    f(P, u, *arguments, g)
    steps = 1e-6 * np.eye(6)
    numeric = [
        (f(P, u + e, *arguments, spare) - f(P, u - e, *arguments, spare)) / 2e-6 for e in steps
    ]
    np.testing.assert_allclose(g, numeric, atol=1e-7)


@pytest.mark.parametrize(
    ("minimise", "f", "arguments"),
    [(minimise_margin, soft_margin, (0.4, 0.3)), (minimise_log_loss, log_loss, (0.7,))],
)
def test_no_point_of_the_balls_is_lower_nearby(P, minimise, f, arguments):
    u, _, violation = minimise(P, OFFSETS, RADII, np.zeros(6), *arguments, 1e-8, 500, 0.0)
    assert violation <= 1e-8
    lowest = f(P, u, *arguments, np.empty(6))
    assert lowest < f(P, np.zeros(6), *arguments, np.empty(6))
    rng = np.random.default_rng(2)
    for _ in range(200):
        near = u + 0.05 * rng.normal(size=6)
        for c, radius in enumerate(RADII):
            block = near[OFFSETS[c] : OFFSETS[c + 1]]
            block *= min(1.0, radius / np.linalg.norm(block))
        assert f(P, near, *arguments, np.empty(6)) >= lowest - 1e-9
