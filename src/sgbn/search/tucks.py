"""Tucks: moves of several variables at once, for orders that no single move improves.

For an edge x -> y, y and those of its ancestors that stand after x are moved before x, in their
order. Where that turns a covered edge, nothing changes but the direction, and another tuck may help
then. `S` is the state of a search (`sgbn.search.order_search.Room`).
"""

from __future__ import annotations

import numpy as np

from sgbn.jit import jit
from sgbn.search.parent_trees import (
    BETTER,
    CHILDREN,
    INSIDE,
    IS_FULL,
    TOL,
    bit_of,
    read_parents,
    trace,
)

MOVED, STAYING = 0, 1  # places in `bits`


@jit
def _mark_ancestors(T, S, x, y, parents):  # type: ignore[no-untyped-def]
    """Mark y and its ancestors after x in `S.moved`; whether no required edge forbids the tuck."""
    lowest = S.rank[x]
    S.moved[y] = True
    for i in range(S.rank[y], lowest, -1):
        v = S.order[i]
        if S.moved[v]:
            k = read_parents(T.node, T.required, v, S.node[v], parents)
            for a in range(k):
                if S.rank[parents[a]] > lowest:
                    S.moved[parents[a]] = True
            for a in range(T.required[v, 0]):
                if T.required[v, a + 1] == x:
                    return False
    return True


@jit
def _is_affected(T, S, v):  # type: ignore[no-untyped-def]
    """Whether a tuck may change the parents of v: it loses what stays, or gains what moves."""
    node = S.node[v]
    for word in range(S.bits.shape[1]):
        if S.moved[v]:
            if T.sets[node, INSIDE, word] & S.bits[STAYING, word]:
                return True
        elif (T.sets[node, BETTER, word] | T.sets[node, CHILDREN, word]) & S.bits[MOVED, word]:
            return True
    return False


@jit
def _list_affected(T, S, lowest, highest):  # type: ignore[no-untyped-def]
    """Fill `S.places` with the variables whose parents a tuck may change; their number."""
    S.bits[:] = 0
    for i in range(lowest, highest + 1):
        v = S.order[i]
        S.bits[MOVED if S.moved[v] else STAYING, v >> 6] |= bit_of(v)
    found = 0
    for i in range(lowest, highest + 1):
        if _is_affected(T, S, S.order[i]):
            S.places[found] = S.order[i]
            found += 1
    return found


@jit
def _reorder(S, lowest, highest, before):  # type: ignore[no-untyped-def]
    """Put the marked variables first, each part in its order, and unmark them."""
    place = lowest
    for is_moved in (True, False):
        for i in range(lowest, highest + 1):
            if S.moved[before[i]] == is_moved:
                S.order[place] = before[i]
                S.rank[before[i]] = place
                place += 1
    for i in range(lowest, highest + 1):
        S.moved[before[i]] = False


@jit
def _tuck(T, S, x, y, level):  # type: ignore[no-untyped-def]
    """Move y and its ancestors after x before x; the fall of the score (minus inf: forbidden)."""
    lowest, highest = S.rank[x], S.rank[y]
    allowed = _mark_ancestors(T, S, x, y, S.parents[-1])
    for i in range(lowest, highest + 1):
        S.kept_order[level, i] = S.order[i]
        S.kept_node[level, i] = S.node[S.order[i]]
        S.moved[S.order[i]] &= allowed
    n_affected = _list_affected(T, S, lowest, highest)
    _reorder(S, lowest, highest, S.kept_order[level])
    if not allowed:
        return -np.inf
    fall = 0.0
    for k in range(n_affected):
        v = S.places[k]
        node = trace(T, v, S.rank, S.rank[v])
        fall += T.score[S.node[v]] - T.score[node]
        S.node[v] = node
    return fall


@jit
def _untuck(S, lowest, highest, level):  # type: ignore[no-untyped-def]
    for i in range(lowest, highest + 1):
        v = S.kept_order[level, i]
        S.order[i] = v
        S.rank[v] = i
        S.node[v] = S.kept_node[level, i]


@jit
def tuck_any(T, S, level, budget):  # type: ignore[no-untyped-def]
    """Try all tucks until the score falls; the fall, 0 if none helps.

    One that changes nothing is followed by others, down to `level` 0. `budget` counts down.
    """
    for j in range(S.order.size - 1, -1, -1):
        y = S.order[j]
        parents = S.parents[level]
        k = read_parents(T.node, T.required, y, S.node[y], parents)
        for a in range(k):
            if budget[0] <= 0:
                return 0.0
            budget[0] -= 1
            x = parents[a]
            lowest = S.rank[x]
            fall = _tuck(T, S, x, y, level)
            if not T.used[IS_FULL]:
                if fall <= TOL and fall > -TOL and level > 0:
                    fall = tuck_any(T, S, level - 1, budget)
                if fall > TOL:
                    return fall
            _untuck(S, lowest, j, level)
            if T.used[IS_FULL]:
                return 0.0
    return 0.0
