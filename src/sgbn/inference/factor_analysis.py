r"""Maximum-likelihood factor analysis of a correlation matrix.

Every variable is a sum of a few hidden factors and noise of its own, so that the implied
covariance is :math:`\Sigma = \Lambda \Lambda^T + \Psi` with :math:`\Psi` diagonal. Minimised is

.. math:: F(\Lambda, \Psi) = \log |\Sigma| + \operatorname{tr}(R \Sigma^{-1}).

For a given :math:`\Psi` the best loadings are known (Joreskog, 1967): with the largest eigenvalues
:math:`w` and vectors :math:`V` of :math:`\Psi^{-1/2} R \Psi^{-1/2}` they are
:math:`\Lambda = \Psi^{1/2} V (w - 1)_+^{1/2}`. What is left is a smooth problem in
:math:`\log \psi`, with the gradient :math:`((\Lambda \Lambda^T + \Psi - R)_{jj} / \psi_j)_j`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize

from sgbn.types import Array

LEAST_OWN = 0.005  # own variance of a variable of unit variance; towards 0 the likelihood diverges
TOL = 1e-3  # of the gradient of a variable's own terms; the likelihood is then right to 1e-5
SINGULAR = 1e-10  # share of the largest eigenvalue below which one is round-off
MAX_ITER = 200


class FactorModel(NamedTuple):
    """Loadings of shape (m, k), own variances of shape (m,), and how far from optimal they are."""

    loadings: Array
    own_variance: Array
    n_iter: int
    violation: float
    converged: bool

    @property
    def covariance(self) -> Array:
        """Covariance that the factors and the own variances imply."""
        covariance: Array = self.loadings @ self.loadings.T + np.diag(self.own_variance)
        return covariance


def factor_analysis(R: Array, n_factors: int, start: Array | None = None) -> FactorModel:
    """Fit factors to a correlation matrix.

    Parameters
    ----------
    R : ndarray of shape (m, m)
        Unit diagonal; it may be singular, as that of fewer rows than columns is.
    n_factors : int
        From 1 to `most_factors(m)`.
    start : ndarray of shape (m,), optional
        Own variances to begin with, such as those of a fit with one factor less.
    """
    m = len(R)
    root = _root(R)

    def objective(log_own: Array) -> tuple[float, Array]:
        own_variance = np.exp(log_own)
        loadings, w = _best_loadings(root, own_variance, n_factors)
        value = log_own.sum() + (1 / own_variance).sum() + (np.log(w) - w + 1).sum()
        gradient = ((loadings**2).sum(axis=1) + own_variance - 1) / own_variance
        return value / m, gradient / m

    # Half of the variance is common: neither bound is near.
    first = np.full(m, 0.5) if start is None else np.clip(start, LEAST_OWN, 1.0)
    bounds = [(np.log(LEAST_OWN), 0.0)] * m
    optimum = minimize(
        objective,
        np.log(first),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": MAX_ITER, "gtol": TOL / m, "ftol": 1e-8},
    )
    own_variance = np.exp(optimum.x)
    loadings, _ = _best_loadings(root, own_variance, n_factors)
    violation = _violation(optimum.x, m * optimum.jac, bounds[0])
    return FactorModel(loadings, own_variance, int(optimum.nit), violation, bool(optimum.success))


def most_factors(m: int) -> int:
    """Largest number of factors that m variables can tell (Ledermann's bound); 0 for m < 3.

    Then the loadings and own variances have no more free numbers than the covariance matrix.
    """
    k = np.arange(m)
    return int(np.flatnonzero((m - k) ** 2 >= m + k)[-1]) if m > 1 else 0


def _root(R: Array) -> Array:
    """Matrix A with A A' = R; it has few columns where R comes from few rows."""
    w, V = eigh(R)
    kept = w > SINGULAR * w[-1]
    root: Array = V[:, kept] * np.sqrt(w[kept])
    return root


def _best_loadings(root: Array, own_variance: Array, n_factors: int) -> tuple[Array, Array]:
    """Return the best loadings for given own variances, and the eigenvalues behind them.

    A matrix and its transpose share singular values, so that the smaller product will do.
    """
    scaled = root / np.sqrt(own_variance)[:, None]
    r = scaled.shape[1]
    # Few rows make few columns of the root: the product has the size of the smaller side.
    w, U = eigh(scaled.T @ scaled, subset_by_index=[max(r - n_factors, 0), r - 1])
    V = scaled @ U / np.sqrt(w)
    # An eigenvalue below 1 would need an imaginary loading: that factor explains nothing.
    w = np.maximum(w, 1.0)
    return np.sqrt(own_variance)[:, None] * V * np.sqrt(w - 1), w


def _violation(log_own: Array, gradient: Array, bounds: tuple[float, float]) -> float:
    """Largest gradient along which an own variance could still move."""
    # At a bound a gradient that points outwards is not a violation.
    step = np.clip(log_own - gradient, *bounds) - log_own
    return float(np.abs(step).max())
