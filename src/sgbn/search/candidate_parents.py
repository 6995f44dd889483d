r"""Candidate parents of every variable: those that a learned network joins to it, and more.

The neighbours in a given graph come first. Then come the variables that add most to a regression of
v on those chosen before, one by one: the one with the largest :math:`cov^2 / var` of what is left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sgbn.jit import jit, jit_inside
from sgbn.search.path_regression import COLLINEAR
from sgbn.types import Array, Mask


def candidate_parents(
    R: Array, near: Mask, allowed: Mask, required: Mask, n_candidates: int
) -> NDArray[np.int64]:
    """Return candidate parents of every variable.

    Parameters
    ----------
    R : ndarray of shape (m, m)
        Correlations.
    near : ndarray of shape (m, m), bool
        ``near[v, u]``: u is chosen before variables that are not near.
    allowed, required : ndarray of shape (m, m), bool
        ``allowed[v, u]``: u may be a parent of v. Required ones come first of all.
    n_candidates : int
        Number of candidates per variable, at most m - 1. More are taken if more are required.

    Returns
    -------
    ndarray of shape (m, n_candidates)
        Row v holds the candidates of v, and -1 behind the last of them.
    """
    m = len(R)
    width = min(max(n_candidates, int(required.sum(axis=1).max(initial=0))), m - 1)
    chosen = np.full((m, width), -1, np.int64)
    turn = np.full((m, m), 2, np.int64)  # 0, 1, 2: in which turn u is chosen; 3: never
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
        for now in range(3):  # by turn
            while k < width:
                best = _most_useful(variance, covariance, turn[v], now, chosen[v], k)
                if best < 0:
                    break
                chosen[v, k] = best
                regress_on(R, v, best, k, rows, variance, covariance)
                k += 1


@jit_inside
def _most_useful(variance, covariance, turn, now, chosen, k):  # type: ignore[no-untyped-def]
    """Return the variable of turn `now` that explains most, -1 if none does."""
    best = -1
    most = 0.0 if now else -1.0  # required ones, of turn 0, come even if they explain nothing
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
def regress_on(R, v, new, k, rows, variance, covariance):  # type: ignore[no-untyped-def]
    """Take variable `new`, given k others, out of all variances and covariances with v.

    The first k rows of `rows` are those of the variables taken out before; row k is filled. A copy
    of these takes nothing out, and its row is zero.
    """
    m = variance.size
    if variance[new] <= COLLINEAR:
        for u in range(m):
            rows[k, u] = 0.0
        return
    # A modified Gram-Schmidt step. All loops over u are innermost: several variables at a time.
    root = np.sqrt(variance[new])
    for u in range(m):
        rows[k, u] = R[new, u]
    for t in range(k):
        factor = rows[t, new]
        for u in range(m):
            rows[k, u] -= factor * rows[t, u]
    for u in range(m):
        rows[k, u] /= root
    v_share = rows[k, v]
    for u in range(m):
        variance[u] -= rows[k, u] * rows[k, u]
        covariance[u] -= rows[k, u] * v_share
