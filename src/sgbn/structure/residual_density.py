r"""Densities of residuals that need not be Gaussian, and curves that residuals still hold.

`density_gain` fits the density of maximum entropy beside a standard normal one (Hyvärinen 1998),

.. math:: p(u) = \phi(u) \exp(\theta^T g(u) - A(\theta)),

with four functions g that tell skewness and heavy or light tails. Its likelihood is concave in
theta. It needs few rows. `spacing_gain` counts neighbours instead (Vasicek 1976), which is rougher,
but follows densities with sharp edges.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from sgbn.types import Array

GRID = np.linspace(-9.0, 9.0, 721)  # beyond, a normal density is below 1e-18
WEIGHT = np.exp(-np.square(GRID) / 2) / np.exp(-np.square(GRID) / 2).sum()
MAX_ITER = 50  # Newton's steps; the likelihood is concave, so that a few are enough
TOL = 1e-9  # Newton's decrement, in units of log-likelihood per row
MIN_STEP = 1e-6  # share of Newton's step; below it the likelihood changes by round-off only
NEIGHBOURS_PER_ROOT_N = 0.5  # on each side; twice as many blur tails
MIN_Z_BEND = 2.0  # standard errors from which a bend counts as seen, and is taken out


def _functions(u: Array) -> Array:
    """One column each for a skew centre, a peak, tails, and a skew of the sides."""
    bell = np.exp(-np.square(u) / 2)
    return np.stack([u * bell, bell, np.log1p(np.square(u)), np.tanh(u)], axis=1)


# The functions have mean 0 and variance 1 under the normal density, so that one prior suits all.
_AT_GRID = _functions(GRID)
_MEAN = WEIGHT @ _AT_GRID
_SD = np.sqrt(WEIGHT @ np.square(_AT_GRID - _MEAN))
_G = (_AT_GRID - _MEAN) / _SD


def density_gain(u: Array) -> Array:
    r"""Log density of each value beyond the normal one, :math:`\log p(u_i) - \log \phi(u_i)`.

    Parameters
    ----------
    u : ndarray of shape (n,)
        Standardised values: mean 0, mean square 1.

    Returns
    -------
    ndarray of shape (n,)
        The gains at the theta that maximises their sum less :math:`|\theta|^2 / 2`. This is a
        standard normal prior, which keeps theta finite where values are few.
    """
    g = (_functions(u) - _MEAN) / _SD
    mean = g.mean(axis=0)
    # the prior counts as much as one row: its share of the mean likelihood is 1 / n
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
    """Density on the grid, the mean of g under it, and A(theta)."""
    exponent = _G @ theta
    # taken out, so that no exponential overflows
    largest = exponent.max()
    p = WEIGHT * np.exp(exponent - largest)
    total = p.sum()
    p /= total
    return p, p @ _G, float(np.log(total) + largest)


def _line_search(
    theta: Array, step: Array, mean: Array, ridge: float, value: float, decrement: float
) -> tuple[Array, float]:
    """Halve the step until the penalised likelihood rises as it should."""
    size = 1.0
    while True:
        trial = theta + size * step
        reached = float(mean @ trial) - _tilted(trial)[2] - ridge / 2 * float(trial @ trial)
        if reached >= value + 1e-4 * size * decrement or size < MIN_STEP:
            return trial, reached
        size /= 2


def spacing_gain(u: Array) -> Array:
    r"""Log density of each value beyond the normal one, by the distance of its k-th neighbours.

    .. math:: \log \frac{2 k}{n (u_{(i + k)} - u_{(i - k)})} + u_{(i)}^2 / 2

    up to a constant; at the ends, fewer neighbours are counted. Ties have a distance of at least
    1 / n.

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
    # 1 / n at least: equal values would have an infinite density
    width = np.maximum(u[order][last] - u[order][first], 1.0 / n)
    gain = np.empty(n)
    gain[order] = np.log((last - first) / n / width)
    return gain + np.square(u) / 2


def bends(parents: Array) -> Array:
    """Hermite polynomials of degree 2, then 3, of each column's normal scores."""
    # of ranks, so that one far value of a parent does not decide whether a relation is bent
    z = ndtri((rankdata(parents, axis=0) - 0.5) / len(parents))
    return np.hstack([np.square(z) - 1, z**3 - 3 * z])


def _without(parents: Array, Y: Array) -> Array:
    """Residuals of the columns of Y on the parents and a constant."""
    design = np.hstack([np.ones((len(parents), 1)), parents])
    return Y - design @ np.linalg.lstsq(design, Y, rcond=None)[0]


def curvature(residual: Array, parents: Array) -> Array:
    r"""Studentised sums of a residual times bent parents: standard normal without curvature.

    A parent's normal scores z are bent by the Hermite polynomials :math:`z^2 - 1` and
    :math:`z^3 - 3 z`, of which what is linear in the parents is taken out:

    .. math:: t = \sum_i r_i h_i / \sqrt{\textstyle\sum_i r_i^2 h_i^2}

    Parameters
    ----------
    residual : ndarray of shape (n,)
        Residual of a regression on the parents, with an intercept.
    parents : ndarray of shape (n, k)

    Returns
    -------
    ndarray of shape (2 k,)
    """
    bent = _without(parents, bends(parents))
    product = residual[:, None] * bent
    spread = np.sqrt(np.square(product).sum(axis=0))
    return product.sum(axis=0) / np.maximum(spread, np.finfo(float).tiny)


def bent_residual(y: Array, parents: Array) -> Array:
    """Residual of y on the parents, and on those of their `bends` that clearly affect y."""
    if not parents.shape[1]:
        return y - y.mean()
    residual = _without(parents, y[:, None])
    # all bends of many parents would overfit: only those are taken out that the data show
    seen = np.abs(curvature(residual[:, 0], parents)) > MIN_Z_BEND
    return _without(np.hstack([parents, bends(parents)[:, seen]]), y[:, None])[:, 0]
