r"""Lasso neighbourhoods, each with the penalty of its own best BIC: L1MB's first stage.

For each target j, over the supports A along the lasso path of j on all others,

.. math:: \min_A \; n \log(RSS_A / n) + |A| \log n

with RSS after a least-squares refit on A (Schmidt, Niculescu-Mizil and Murphy, 2007).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sgbn.jit import jit
from sgbn.solvers.lasso import MAX_EPOCHS, TOL, refit_column, residual_variance, solve_column

Array = NDArray[np.float64]

STEP = 0.85  # from one penalty of the path to the next
SMALLEST = 0.01  # last penalty, as a share of the largest correlation of the target
PATIENCE = 8  # penalties without a better BIC after which the path is left


@jit
def _neighbourhood(R, j, n, tol, max_epochs):  # type: ignore[no-untyped-def]
    """Refitted weights of target j at the best BIC along its path."""
    p = R.shape[0]
    best = np.zeros(p)
    best_score = 0.0  # of no neighbours at all: n log(1)
    b = np.zeros(p)
    largest = 0.0
    for k in range(p):
        if k != j:
            largest = max(largest, abs(R[j, k]))
    share = STEP
    waited = 0
    while share > SMALLEST and waited < PATIENCE:
        solve_column(R, j, np.full(p, share * largest), b, tol, max_epochs)
        refitted = b.copy()
        size = np.count_nonzero(b)
        # With n or more regressors no residual is left to judge by.
        if size >= n - 1 or not refit_column(R, j, refitted):
            break
        share *= STEP
        rss = max(residual_variance(R, j, refitted), 1e-15)
        score = n * np.log(rss) + size * np.log(n)
        waited += 1
        if score < best_score:
            best_score = score
            best = refitted
            waited = 0
    return best


@jit
def _neighbourhoods(R, m, n, tol, max_epochs):  # type: ignore[no-untyped-def]
    B = np.empty((m, R.shape[0]))
    for j in range(m):
        B[j] = _neighbourhood(R, j, n, tol, max_epochs)
    return B


def neighbourhoods_by_bic(R: Array, m: int, n: int) -> Array:
    """Refitted weights of every target's neighbours; row j holds those of target j.

    Parameters
    ----------
    R : ndarray of shape (p, p)
        Gram matrix with a unit diagonal.
    m : int
        The first m variables are targets.
    n : int
        Number of samples.
    """
    B: Array = _neighbourhoods(R, m, n, TOL, MAX_EPOCHS)
    return B
