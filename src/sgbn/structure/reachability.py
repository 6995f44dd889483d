"""Lasso of one column at a time with a penalty on parents that are descendants (Eq. 2.1).

The path matrix P of the paper is never formed: the search starts from the node whose column is
to be solved, on the columns as they are then.
"""

from __future__ import annotations

import numpy as np

from sgbn.jit import jit, jit_inside
from sgbn.solvers.lasso import TOL, column_objective, solve_column
from sgbn.types import Array, Indices


@jit
def _children(B):  # type: ignore[no-untyped-def]
    """Children of every node: ``children[u, :count[u]]``."""
    m = B.shape[0]
    # lists of fixed length m: numba has no cheap growing ones
    children = np.empty((m, m), np.int64)
    count = np.zeros(m, np.int64)
    for j in range(m):
        for k in range(m):
            if B[j, k] != 0.0:
                children[k, count[k]] = j
                count[k] += 1
    return children, count


@jit_inside
def _replace_parents(children, count, j, b):  # type: ignore[no-untyped-def]
    """Make j a child of the nodes that are not zero in `b`, in place, and of no other."""
    for k in range(count.size):
        place = -1
        for c in range(count[k]):
            if children[k, c] == j:
                place = c
        if place < 0 and b[k] != 0.0:
            children[k, count[k]] = j
            count[k] += 1
        elif place >= 0 and b[k] == 0.0:
            # the last child takes the free place: the order of children does not matter
            count[k] -= 1
            children[k, place] = children[k, count[k]]


@jit_inside
def _mark_descendants(children, count, i, reached, stack):  # type: ignore[no-untyped-def]
    """Set `reached` to the nodes that a directed path from i leads to."""
    reached[:] = False
    stack[0] = i
    size = 1
    while size > 0:
        size -= 1
        u = stack[size]
        for c in range(count[u]):
            v = children[u, c]
            if not reached[v]:
                reached[v] = True
                stack[size] = v
                size += 1


@jit_inside
def _column_prices(reached, j, alpha, mu, units, w):  # type: ignore[no-untyped-def]
    """Fill ``w[k]`` with the price of k -> j, dearer by mu where j leads to k."""
    for k in range(w.size):
        price = alpha + mu if k < reached.size and reached[k] else alpha
        w[k] = price * units[j] * units[k]


@jit
def _sweep(R, B, alpha, mu, units, sweep_order):  # type: ignore[no-untyped-def]
    m, p = B.shape
    children, count = _children(B)
    reached = np.empty(m, np.bool_)
    stack = np.empty(m, np.int64)
    w = np.empty(p)
    n_changed = 0
    total = 0.0
    worst = 0.0
    for j in sweep_order:
        # on the new weights of the columns before: this is why the order of columns matters
        _mark_descendants(children, count, j, reached, stack)
        _column_prices(reached, j, alpha, mu, units, w)
        before = B[j].copy()
        _, violation = solve_column(R, j, w, B[j])
        worst = max(worst, violation)
        moved = 0.0
        for k in range(p):
            moved = max(moved, abs(B[j, k] - before[k]))
        if moved > 0.0:
            _replace_parents(children, count, j, B[j])
        n_changed += moved > TOL  # a column that moves less cannot be solved any better
        total += column_objective(R, j, w, B[j]) / units[j] ** 2
    return n_changed, total, worst


def sweep_columns(
    R: Array,
    B: Array,
    alpha: float,
    mu: float,
    units: Array,
    sweep_order: Indices,
) -> tuple[int, float, float]:
    """Solve the rows of `B` once each, in place, in `sweep_order`.

    Paper: Section 2.1, the block coordinate descent on Eq. 2.1.

    Returns
    -------
    n_changed : int
        Columns that were not optimal before.
    objective : float
        Sum of the columns' penalised objectives per sample, each with the paths of its turn.
    violation : float
        Worst KKT violation left.
    """
    return _sweep(R, B, alpha, mu, units, sweep_order)


@jit
def descendant_prices(B, alpha, mu, units):  # type: ignore[no-untyped-def]
    """Prices of all edges for the paths of `B` as a whole: (alpha + mu P_jk) for k -> j."""
    m, p = B.shape
    children, count = _children(B)
    reached = np.empty(m, np.bool_)
    stack = np.empty(m, np.int64)
    W = np.empty((m, p))
    for j in range(m):
        _mark_descendants(children, count, j, reached, stack)
        _column_prices(reached, j, alpha, mu, units, W[j])
    return W
