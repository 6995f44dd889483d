r"""Candidate parents of every variable: those that a learned network joins to it, and more.

The neighbours in the given graphs come first, then variables that add most to a regression of v on
those chosen before, one by one: the one with the largest :math:`cov^2 / var` of what is left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sgbn.jit import jit, jit_inside
from sgbn.search.parent_trees import COLLINEAR
from sgbn.types import Array, Mask


def candidate_parents(
    R: Array, near: Mask, allowed: Mask, required: Mask, n_candidates: int
) -> NDArray[np.int64]:
    """Choose candidates.

    Parameters
    ----------
    R : ndarray of shape (m, m)
        Correlations.
    near : ndarray of shape (m, m), bool
        ``near[v, u]``: u is chosen before variables that are not near.
    allowed, required : ndarray of shape (m, m), bool
        ``allowed[v, u]``: u may be a parent of v. Required ones come first of all.
    n_candidates : int
        Of each variable, at most m - 1. More are taken if more are required.

    Returns
    -------
    ndarray of shape (m, n_candidates)
        Then -1.
    """
    m = len(R)
    width = min(max(n_candidates, int(required.sum(axis=1).max(initial=0))), m - 1)
    chosen = np.full((m, width), -1, np.int64)
    turn = np.full((m, m), 2, np.int64)
    turn[near] = 1
    turn[~allowed] = 3
    turn[required] = 0
    np.fill_diagonal(turn, 3)
    _choose(np.ascontiguousarray(R), turn, chosen)
    return chosen


@jit
def _choose(R, turn, chosen):  # type: ignore[no-untyped-def]
    """Fill `chosen`, the variables of turn 0 first, then those of turns 1 and 2."""
    m, width = chosen.shape
    rows = np.empty((width, m))
    variance, covariance = np.empty(m), np.empty(m)
    for v in range(m):
        variance[:] = 1.0
        covariance[:] = R[v]
        k = 0
        for now in range(3):
            while k < width:
                best = _most_useful(variance, covariance, turn[v], now, chosen[v], k)
                if best < 0:
                    break
                chosen[v, k] = best
                if variance[best] > COLLINEAR:
                    _regress(R, best, rows, k, variance, covariance)
                else:
                    rows[k] = 0.0
                k += 1


@jit_inside
def _most_useful(variance, covariance, turn, now, chosen, k):  # type: ignore[no-untyped-def]
    """Return the variable of this turn that explains most; required ones even if nothing."""
    best = -1
    most = 0.0 if now else -1.0
    for u in range(variance.size):
        if turn[u] != now:
            continue
        gain = 0.0
        if variance[u] > COLLINEAR:
            gain = covariance[u] * covariance[u] / variance[u]
        if gain > most:
            is_taken = False
            for a in range(k):
                is_taken = is_taken or chosen[a] == u
            if not is_taken:
                best, most = u, gain
    return best


@jit_inside
def _regress(R, best, rows, k, variance, covariance):  # type: ignore[no-untyped-def]
    """Take `best`, given those chosen before, out of all variances and covariances with v."""
    sd = np.sqrt(variance[best])
    share = covariance[best] / sd
    for u in range(variance.size):
        left = R[best, u]
        for t in range(k):
            left -= rows[t, best] * rows[t, u]
        rows[k, u] = left / sd
    for u in range(variance.size):
        variance[u] -= rows[k, u] * rows[k, u]
        covariance[u] -= rows[k, u] * share
