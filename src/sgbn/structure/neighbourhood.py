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

PENALTY_RATIO = 0.9  # of each penalty of the path to the one before
LAST_PENALTY_SHARE = 1e-3  # of the largest correlation of the target
# Beyond these two limits neighbours only fit noise.
MAX_EXTRA_NEIGHBOURS = 20  # more than three times the best size so far
ROWS_PER_PARENT = 3  # at most n / 3 neighbours
MIN_RSS = 1e-15  # of a perfect fit, as a share of the variance: less is round-off
MIN_EIGENVALUE = 1e-10  # of a Gram matrix with unit diagonal that can be inverted
BIC_TIE = 1e-9  # the same neighbours, refitted, differ by less
MAX_PENALTIES_IN_VAIN = 20  # without a better BIC: then the path is left


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
    while share > LAST_PENALTY_SHARE and waited < MAX_PENALTIES_IN_VAIN:
        share *= PENALTY_RATIO
        waited += 1
        w[:] = share * largest
        # `b` of the penalty before is the start: neighbours change little from step to step
        solve_column(R, j, w, b)
        size = support_of(b).size
        refitted = b.copy()
        # even a perfect choice of as many neighbours could not reach the best BIC so far
        hopeless = n * np.log(smallest_rss) + size * np.log(n) > best_score + BIC_TIE
        crowded = size > MAX_EXTRA_NEIGHBOURS + 3 * support_of(best).size
        crowded = crowded or ROWS_PER_PARENT * size > n
        if hopeless or crowded or not refit_column(R, j, refitted):
            break
        # not below what all regressors leave: a smaller value is round-off, and log would reward it
        rss = max(residual_variance(R, j, refitted), smallest_rss)
        score = n * np.log(rss) + size * np.log(n)
        if score < best_score - BIC_TIE:
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
    return _neighbourhoods(R, m, n, _rss_on_all_others(R, n))


def _rss_on_all_others(R: Array, n: int) -> Array:
    """Residual variance of each variable given all others; next to nothing where R is singular."""
    precision = inverse_gram(R) if n > len(R) else None
    if precision is None:
        return np.full(len(R), MIN_RSS)
    return np.maximum(1.0 / np.diag(precision), MIN_RSS)


def inverse_gram(R: Array) -> Array | None:
    """Inverse of R, or None where a variable is a linear combination of the others."""
    # one thread: the bits of a result must not depend on the number of processors
    with one_blas_thread():
        values, vectors = np.linalg.eigh(R)
        if values[0] < MIN_EIGENVALUE:
            return None
        inverse: Array = (vectors / values) @ vectors.T
    return inverse
