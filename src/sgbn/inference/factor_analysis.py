r"""Maximum-likelihood factor analysis of a correlation matrix.

Every variable is the sum of a few hidden factors with loadings :math:`\Lambda` and of its own
noise. So the implied covariance is :math:`\Sigma = \Lambda \Lambda^T + \Psi` with a diagonal matrix
:math:`\Psi` of own variances :math:`\psi_j`. For the correlation matrix R, the fit minimises

.. math:: F(\Lambda, \Psi) = \log |\Sigma| + \operatorname{tr}(R \Sigma^{-1}).

For a given :math:`\Psi` the best loadings are known (Joreskog, 1967). With the largest eigenvalues
:math:`w` and their eigenvectors :math:`V` of :math:`\Psi^{-1/2} R \Psi^{-1/2}`, they are
:math:`\Lambda = \Psi^{1/2} V (w - 1)_+^{1/2}`. What remains is a smooth problem in
:math:`\log \psi`, with the gradient :math:`((\Lambda \Lambda^T + \Psi - R)_{jj} / \psi_j)_j`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize

from sgbn.core.types import Array

LEAST_OWN = 0.005  # least own variance, as a share of the variance; near 0 the likelihood diverges
TOL = 1e-3  # largest gradient per variable; the likelihood is then right to 1e-5
SINGULAR = 1e-10  # share of the largest eigenvalue; smaller eigenvalues are round-off
MAX_ITER = 200  # iterations of L-BFGS-B


class FactorModel(NamedTuple):
    """A fitted factor model.

    Attributes
    ----------
    loadings : ndarray of shape (m, k)
        Loadings of m variables on k factors.
    own_variance : ndarray of shape (m,)
        Variance of each variable that the factors do not explain.
    n_iter : int
        Number of iterations.
    violation : float
        Largest gradient along which an own variance could still move.
    converged : bool
        Whether the solver reports success.
    """

    loadings: Array
    own_variance: Array
    n_iter: int
    violation: float
    converged: bool

    @property
    def covariance(self) -> Array:
        """Return the covariance that the factors and the own variances imply."""
        covariance: Array = self.loadings @ self.loadings.T + np.diag(self.own_variance)
        return covariance


def factor_analysis(R: Array, n_factors: int, start: Array | None = None) -> FactorModel:
    """Fit factors to a correlation matrix.

    Parameters
    ----------
    R : ndarray of shape (m, m)
        The correlation matrix. It may be singular, as with fewer rows than columns.
    n_factors : int
        Number of factors, from 1 to `most_factors(m)`.
    start : ndarray of shape (m,), optional
        Own variances to begin with, such as the own variances of a fit with fewer factors.
    """
    m = len(R)
    root = _root(R)

    def objective(log_own: Array) -> tuple[float, Array]:
        own_variance = np.exp(log_own)
        loadings, w = _best_loadings(root, own_variance, n_factors)
        value = log_own.sum() + (1 / own_variance).sum() + (np.log(w) - w + 1).sum()
        gradient = ((loadings**2).sum(axis=1) + own_variance - 1) / own_variance
        return value / m, gradient / m

    # By default, half of each variance is its own, which is far from both bounds.
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
    """Return the largest number of factors that m variables can determine; 0 for m < 3.

    This is Ledermann's bound: the loadings and own variances have at most as many free numbers as
    the covariance matrix.
    """
    k = np.arange(m)
    return int(np.flatnonzero((m - k) ** 2 >= m + k)[-1]) if m > 1 else 0


def _root(R: Array) -> Array:
    """Return a matrix A with A A' = R. It has few columns if R comes from few rows."""
    w, V = eigh(R)
    kept = w > SINGULAR * w[-1]
    root: Array = V[:, kept] * np.sqrt(w[kept])
    return root


def _best_loadings(root: Array, own_variance: Array, n_factors: int) -> tuple[Array, Array]:
    """Return the best loadings for given own variances, and the eigenvalues that they come from.

    A A' and A' A have the same positive eigenvalues. So the smaller product A' A is used.
    """
    scaled = root / np.sqrt(own_variance)[:, None]
    r = scaled.shape[1]
    w, U = eigh(scaled.T @ scaled, subset_by_index=[max(r - n_factors, 0), r - 1])
    V = scaled @ U / np.sqrt(w)
    # An eigenvalue below 1 would need an imaginary loading: that factor explains nothing.
    w = np.maximum(w, 1.0)
    return np.sqrt(own_variance)[:, None] * V * np.sqrt(w - 1), w


def _violation(log_own: Array, gradient: Array, bounds: tuple[float, float]) -> float:
    """Return the largest gradient along which an own variance could still move."""
    # At a bound a gradient that points outwards is not a violation.
    step = np.clip(log_own - gradient, *bounds) - log_own
    return float(np.abs(step).max())
