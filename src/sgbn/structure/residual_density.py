r"""Densities of residuals that need not be Gaussian, and tests for curves left in residuals.

`density_gain` fits a density of maximum entropy, relative to the normal density :math:`\phi`
(Hyvärinen 1998),

.. math:: p(u) = \phi(u) \exp(\theta^T g(u) - A(\theta)).

Four functions g measure skewness and heavy or light tails, theta holds their four weights, and A
makes the density integrate to one. The likelihood is concave in theta, and few rows are enough.
`spacing_gain` uses the distances between neighbouring values instead (Vasicek 1976). It is rougher,
but follows densities with sharp edges.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from sgbn.core.types import Array

GRID = np.linspace(-9.0, 9.0, 721)  # outside of this range a normal density is below 1e-18
WEIGHT = np.exp(-np.square(GRID) / 2) / np.exp(-np.square(GRID) / 2).sum()
MAX_ITER = 50  # Newton steps; a few are enough, because the likelihood is concave
TOL = 1e-9  # Newton decrement at which to stop, in units of log-likelihood per row
MIN_STEP = 1e-6  # share of a Newton step; with less, the likelihood changes only by round-off
NEIGHBOURS_PER_ROOT_N = 0.5  # neighbours on each side, divided by sqrt(n); 1.0 blurs tails
MIN_Z_BEND = 2.0  # standard errors; a bend with a larger effect is taken out


def _functions(u: Array) -> Array:
    """Return four columns for a skew centre, a peak, heavy tails, and a skew of the two sides."""
    bell = np.exp(-np.square(u) / 2)
    return np.stack([u * bell, bell, np.log1p(np.square(u)), np.tanh(u)], axis=1)


# The functions get mean 0 and variance 1 under the normal density, so that one prior suits all.
_AT_GRID = _functions(GRID)
_MEAN = WEIGHT @ _AT_GRID
_SD = np.sqrt(WEIGHT @ np.square(_AT_GRID - _MEAN))
_G = (_AT_GRID - _MEAN) / _SD


def density_gain(u: Array) -> Array:
    r"""Return the log density of each value minus its normal log density.

    This is :math:`\log p(u_i) - \log \phi(u_i)`, with the density p of the module's docstring.

    Parameters
    ----------
    u : ndarray of shape (n,)
        Standardised values: mean 0, mean square 1.

    Returns
    -------
    ndarray of shape (n,)
        The gains at the theta that maximises the sum of the gains minus :math:`|\theta|^2 / 2`. The
        second term is a standard normal prior, which keeps theta finite if there are few values.
    """
    g = (_functions(u) - _MEAN) / _SD
    mean = g.mean(axis=0)
    # The prior counts like one row: in the mean over n rows its share is 1 / n.
    theta, ridge = np.zeros(len(mean)), 1.0 / len(u)
    value = 0.0
    for _ in range(MAX_ITER):
        p, expected, _ = _tilted(theta)
        gradient = mean - expected - ridge * theta
        hessian = (_G * p[:, None]).T @ _G - np.outer(expected, expected)
        step = np.linalg.solve(hessian + ridge * np.eye(len(mean)), gradient)
        decrement = float(gradient @ step)
        if decrement <= TOL:
            break
        theta, value = _line_search(theta, step, mean, ridge, value, decrement)
    return g @ theta - _tilted(theta)[2]


def _tilted(theta: Array) -> tuple[Array, Array, float]:
    """Return the density on the grid, the mean of g under this density, and A(theta)."""
    exponent = _G @ theta
    # The largest exponent is subtracted, so that no exponential overflows.
    largest = exponent.max()
    p = WEIGHT * np.exp(exponent - largest)
    total = p.sum()
    p /= total
    return p, p @ _G, float(np.log(total) + largest)


def _line_search(
    theta: Array, step: Array, mean: Array, ridge: float, value: float, decrement: float
) -> tuple[Array, float]:
    """Halve the step until the penalised likelihood rises enough (Armijo's condition).

    Return the new theta, and the penalised likelihood there.
    """
    size = 1.0
    while True:
        trial = theta + size * step
        reached = float(mean @ trial) - _tilted(trial)[2] - ridge / 2 * float(trial @ trial)
        if reached >= value + 1e-4 * size * decrement or size < MIN_STEP:
            return trial, reached
        size /= 2


def spacing_gain(u: Array) -> Array:
    r"""Return the log density of each value, from distances of neighbours, minus the normal one.

    .. math:: \log \frac{2 k}{n (u_{(i + k)} - u_{(i - k)})} + u_{(i)}^2 / 2

    Here :math:`u_{(i)}` is the i-th smallest value, and a constant is left out. Values near the
    ends have fewer neighbours on one side. Distances are at least 1 / n, also between equal values.

    Parameters
    ----------
    u : ndarray of shape (n,)
        Standardised values.
    """
    n = len(u)
    k = max(1, round(NEIGHBOURS_PER_ROOT_N * n**0.5))
    order = np.argsort(u, kind="stable")
    place = np.arange(n)
    last, first = np.minimum(place + k, n - 1), np.maximum(place - k, 0)
    # At least 1 / n, because equal values would have an infinite density.
    width = np.maximum(u[order][last] - u[order][first], 1.0 / n)
    gain = np.empty(n)
    gain[order] = np.log((last - first) / n / width)
    return gain + np.square(u) / 2


def bends(parents: Array) -> Array:
    """Return two bends of each column: Hermite polynomials of its normal scores.

    The polynomials of degree 2 of all columns come first, then those of degree 3.
    """
    # Ranks are used, so that one extreme value does not decide whether a relation is curved.
    z = ndtri((rankdata(parents, axis=0) - 0.5) / len(parents))
    return np.hstack([np.square(z) - 1, z**3 - 3 * z])


def _without(parents: Array, Y: Array) -> Array:
    """Return the residuals of the columns of Y in a regression on the parents and a constant."""
    design = np.hstack([np.ones((len(parents), 1)), parents])
    return Y - design @ np.linalg.lstsq(design, Y, rcond=None)[0]


def curvature(residual: Array, parents: Array) -> Array:
    r"""Return statistics of the curved effects of parents on a residual, one per bend of a parent.

    The bends of a parent with normal scores z are the Hermite polynomials :math:`z^2 - 1` and
    :math:`z^3 - 3 z`. Let h be the residual of a bend after a regression on the parents, and r the
    given residual. The statistic is

    .. math:: t = \sum_i r_i h_i / \sqrt{\textstyle\sum_i r_i^2 h_i^2}

    It is approximately standard normal if there is no curved effect.

    Parameters
    ----------
    residual : ndarray of shape (n,)
        Residual of a regression on the parents, with an intercept.
    parents : ndarray of shape (n, k)
        Columns of the k parents.

    Returns
    -------
    ndarray of shape (2 k,)
        The statistics, in the order of `bends`.
    """
    bent = _without(parents, bends(parents))
    product = residual[:, None] * bent
    spread = np.sqrt(np.square(product).sum(axis=0))
    return product.sum(axis=0) / np.maximum(spread, np.finfo(float).tiny)


def bent_residual(y: Array, parents: Array) -> Array:
    """Return the residual of y given its parents and the `bends` that clearly affect y."""
    if not parents.shape[1]:
        return y - y.mean()
    residual = _without(parents, y[:, None])
    # All bends of many parents would overfit: only bends with a clear effect are taken out.
    seen = np.abs(curvature(residual[:, 0], parents)) > MIN_Z_BEND
    return _without(np.hstack([parents, bends(parents)[:, seen]]), y[:, None])[:, 0]
