r"""Neighbourhoods of all variables by lasso and BIC: the first stage of L1MB.

A lasso of target j on all other variables has one support A per penalty. The neighbourhood of j is
the support with the best BIC,

.. math:: \min_A \; n \log(RSS_A / n) + |A| \log n

for n samples, where :math:`RSS_A` is the residual sum of squares of a least-squares refit on A
(Schmidt, Niculescu-Mizil and Murphy, 2007).
"""

from __future__ import annotations

import numpy as np

from sgbn.core.jit import jit
from sgbn.core.moments import one_blas_thread
from sgbn.core.types import Array
from sgbn.learn.lasso import refit_column, residual_variance, solve_column, support_of

PENALTY_RATIO = 0.9  # each penalty of the path divided by the one before
LAST_PENALTY_SHARE = 1e-3  # the last penalty, as a share of the target's largest correlation
# Neighbours beyond these two limits only fit noise.
MAX_EXTRA_NEIGHBOURS = 20  # in addition to three times the number of the best neighbours so far
ROWS_PER_PARENT = 3  # at most n / 3 neighbours
MIN_RSS = 1e-15  # as a share of the variance; a smaller RSS is round-off
MIN_EIGENVALUE = 1e-10  # smallest eigenvalue of a Gram matrix with unit diagonal to be inverted
BIC_TIE = 1e-9  # BICs of the same neighbours, refitted, differ by less than this
MAX_PENALTIES_IN_VAIN = 20  # the path ends after this many penalties without a better BIC


@jit
def _neighbourhood(R, j, n, smallest_rss, best):  # type: ignore[no-untyped-def]
    """Set `best` to the refitted weights of target j with the best BIC along its lasso path.

    `smallest_rss` is the RSS of a regression on all others. The path ends when even this RSS could
    not improve the BIC with the current number of neighbours.
    """
    p = R.shape[0]
    best[:] = 0.0
    best_score = 0.0  # the BIC without neighbours: n log(1)
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
        # Starts from `b` of the last penalty, because neighbours change little from step to step.
        solve_column(R, j, w, b)
        size = support_of(b).size
        refitted = b.copy()
        # Hopeless: no choice of this many neighbours could reach the best BIC so far.
        hopeless = n * np.log(smallest_rss) + size * np.log(n) > best_score + BIC_TIE
        crowded = size > MAX_EXTRA_NEIGHBOURS + 3 * support_of(best).size
        crowded = crowded or ROWS_PER_PARENT * size > n
        if hopeless or crowded or not refit_column(R, j, refitted):
            break
        # A value below `smallest_rss` is round-off, and its logarithm would look like a better fit.
        rss = max(residual_variance(R, j, refitted), smallest_rss)
        score = n * np.log(rss) + size * np.log(n)
        if score < best_score - BIC_TIE:
            best_score = score
            waited = 0
            for k in range(p):
                best[k] = refitted[k]


@jit
def _neighbourhoods(R, m, n, smallest_rss):  # type: ignore[no-untyped-def]
    """Return the neighbourhoods of all m targets as rows."""
    B = np.empty((m, R.shape[0]))
    for j in range(m):
        _neighbourhood(R, j, n, smallest_rss[j], B[j])
    return B


def neighbourhoods_by_bic(R: Array, m: int, n: int) -> Array:
    """Return the refitted weights of the neighbours of target j in row j, for all m targets.

    Parameters
    ----------
    R : ndarray of shape (p, p)
        Gram matrix with a unit diagonal.
    m : int
        Number of targets: the first m variables. A bias, if there is one, comes after them.
    n : int
        Number of samples.
    """
    return _neighbourhoods(R, m, n, _rss_on_all_others(R, n))


def _rss_on_all_others(R: Array, n: int) -> Array:
    """Return the residual variance of each variable given all others.

    If R is singular, or there are not more samples than variables, it is `MIN_RSS`.
    """
    precision = inverse_gram(R) if n > len(R) else None
    if precision is None:
        return np.full(len(R), MIN_RSS)
    return np.maximum(1.0 / np.diag(precision), MIN_RSS)


def inverse_gram(R: Array) -> Array | None:
    """Return the inverse of R, or None if a variable is a linear combination of the others."""
    # One thread, so that the rounding does not depend on the number of processors.
    with one_blas_thread():
        values, vectors = np.linalg.eigh(R)
        if values[0] < MIN_EIGENVALUE:
            return None
        inverse: Array = (vectors / values) @ vectors.T
    return inverse
