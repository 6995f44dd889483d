r"""The choice of a few candidate parents for every variable.

The neighbours of a variable v in a given graph are chosen first, then other variables. v is
regressed on the chosen variables, and each step chooses the variable that improves this regression
most. This is the variable with the largest :math:`cov^2 / var`, where cov is its covariance with v
and var its variance, both given the variables that are chosen already.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sgbn.core.jit import jit, jit_inside
from sgbn.core.types import Array, Mask
from sgbn.search.path_regression import COLLINEAR


def candidate_parents(
    R: Array, near: Mask, allowed: Mask, required: Mask, n_candidates: int
) -> NDArray[np.int64]:
    """Return candidate parents of every variable.

    Parameters
    ----------
    R : ndarray of shape (m, m)
        Correlations of the variables.
    near : ndarray of shape (m, m), bool
        If ``near[v, u]``, u is chosen for v before the variables that are not near.
    allowed, required : ndarray of shape (m, m), bool
        If ``allowed[v, u]``, u may be a parent of v. If ``required[v, u]``, it must be one.
        Required parents are chosen first of all.
    n_candidates : int
        Number of candidates per variable. It is raised if a variable has more required parents,
        and lowered to m - 1 if it is larger.

    Returns
    -------
    ndarray of shape (m, n_candidates)
        Row v holds the candidates of v. It is filled up with -1 if v has fewer candidates.
    """
    m = len(R)
    width = min(max(n_candidates, int(required.sum(axis=1).max(initial=0))), m - 1)
    chosen = np.full((m, width), -1, np.int64)
    turn = np.full((m, m), 2, np.int64)  # turn[v, u] is the turn of u: 0, 1 or 2; 3 means never
    turn[near] = 1
    turn[~allowed] = 3
    turn[required] = 0
    np.fill_diagonal(turn, 3)
    _choose(np.ascontiguousarray(R), turn, chosen)
    return chosen


@jit
def _choose(R, turn, chosen):  # type: ignore[no-untyped-def]
    """Fill `chosen` with the variables of turn 0, then of turn 1, then of turn 2."""
    m, width = chosen.shape
    rows = np.empty((width, m))
    variance, covariance = np.empty(m), np.empty(m)
    for v in range(m):
        variance[:] = 1.0  # correlations are the covariances of variables of variance 1
        covariance[:] = R[v]
        k = 0
        for now in range(3):  # the turn
            while k < width:
                best = _most_useful(variance, covariance, turn[v], now, chosen[v], k)
                if best < 0:
                    break
                chosen[v, k] = best
                regress_on(R, v, best, k, rows, variance, covariance)
                k += 1


@jit_inside
def _most_useful(variance, covariance, turn, now, chosen, k):  # type: ignore[no-untyped-def]
    """Return the variable of turn `now` that explains the most of v, or -1 if none is left."""
    best = -1
    # Required parents (turn 0) are chosen even if they explain nothing: their gain is 0 > -1.
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
def regress_on(R, v, new, k, rows, variance, covariance):  # type: ignore[no-untyped-def]
    """Condition all variances, and all covariances with v, on the variable `new`.

    Before the call, `variance` and `covariance` are conditioned on k other variables. After it,
    they are also conditioned on `new`. The first k rows of `rows` belong to the k variables, and
    row k is filled. If `new` is a linear combination of the k variables, row k is zero and nothing
    else changes.
    """
    m = variance.size
    if variance[new] <= COLLINEAR:
        for u in range(m):
            rows[k, u] = 0.0
        return
    # This is a modified Gram-Schmidt step. All loops over u are innermost, so that the processor
    # works on several variables at a time.
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
