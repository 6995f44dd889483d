r"""Lasso neighbourhoods, each with the penalty of its own best BIC: L1MB's first stage.

For each target j, over the supports A along the lasso path of j on all others,

.. math:: \min_A \; n \log(RSS_A / n) + |A| \log n

with RSS after a least-squares refit on A (Schmidt, Niculescu-Mizil and Murphy, 2007).
"""

from __future__ import annotations

import numpy as np

from sgbn.jit import jit
from sgbn.moments import one_blas_thread
from sgbn.solvers.lasso import (
    refit_column,
    residual_variance,
    solve_column,
    support_of,
)
from sgbn.types import Array

STEP = 0.9  # from one penalty of the path to the next
SMALLEST = 1e-3  # last penalty, as a share of the largest correlation of the target
CROWD = 20  # beyond this and three times the best size so far, neighbours only fit noise
LARGEST_SHARE = 3  # the same beyond n / 3
NO_RSS = 1e-15  # of a perfect fit: round-off
SMALLEST_EIGENVALUE = 1e-10  # of a regular Gram matrix with unit diagonal
TIE = 1e-9  # of the BIC: the same neighbours, refitted again, are no better by round-off
PATIENCE = 20  # penalties without a better BIC after which the path is left


@jit
def _neighbourhood(R, j, n, smallest_rss, best):  # type: ignore[no-untyped-def]
    """Set `best` to the refitted weights of target j at the best BIC along its path.

    The path is left where even `smallest_rss`, that of all regressors together, could not pay
    for as many neighbours.
    """
    p = R.shape[0]
    best[:] = 0.0
    best_score = 0.0  # of no neighbours at all: n log(1)
    b = np.zeros(p)
    w = np.empty(p)
    largest = 0.0
    for k in range(p):
        if k != j:
            largest = max(largest, abs(R[j, k]))
    share = 1.0
    waited = 0
    while share > SMALLEST and waited < PATIENCE:
        share *= STEP
        waited += 1
        w[:] = share * largest
        solve_column(R, j, w, b)
        size = support_of(b).size
        refitted = b.copy()
        hopeless = n * np.log(smallest_rss) + size * np.log(n) > best_score + TIE
        crowded = size > CROWD + 3 * support_of(best).size or LARGEST_SHARE * size > n
        if hopeless or crowded or not refit_column(R, j, refitted):
            break
        rss = max(residual_variance(R, j, refitted), smallest_rss)
        score = n * np.log(rss) + size * np.log(n)
        if score < best_score - TIE:
            best_score = score
            waited = 0
            for k in range(p):
                best[k] = refitted[k]


@jit
def _neighbourhoods(R, m, n, smallest_rss):  # type: ignore[no-untyped-def]
    B = np.empty((m, R.shape[0]))
    for j in range(m):
        _neighbourhood(R, j, n, smallest_rss[j], B[j])
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
    B: Array = _neighbourhoods(R, m, n, _rss_on_all_others(R, n))
    return B


def _rss_on_all_others(R: Array, n: int) -> Array:
    """Residual variance of each variable given all others; next to nothing where R is singular."""
    precision = inverse_gram(R) if n > len(R) else None
    if precision is None:
        return np.full(len(R), NO_RSS)
    return np.maximum(1.0 / np.diag(precision), NO_RSS)


def inverse_gram(R: Array) -> Array | None:
    """Inverse of R, or None where a variable is a linear combination of the others."""
    with one_blas_thread():
        values, vectors = np.linalg.eigh(R)
        if values[0] < SMALLEST_EIGENVALUE:
            return None
        inverse: Array = (vectors / values) @ vectors.T
    return inverse
