"""Tucks: moves of several variables at once, for orders that no single move improves.

For an edge x -> y, y and those of its ancestors that stand after x are moved before x, in their
order. Where that turns a covered edge, nothing changes but the direction, and another tuck may help
then. `S` is the state of a search (`sgbn.search.order_search.Room`).
"""

from __future__ import annotations

import numpy as np

from sgbn.jit import jit_inside, jit_loops
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


@jit_inside
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


@jit_inside
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


@jit_inside
def _list_affected(T, S, lowest, highest):  # type: ignore[no-untyped-def]
    """Fill `S.places` with the variables whose parents a tuck may change; their number."""
    for word in range(S.bits.shape[1]):
        S.bits[MOVED, word] = 0
        S.bits[STAYING, word] = 0
    for i in range(lowest, highest + 1):
        v = S.order[i]
        S.bits[MOVED if S.moved[v] else STAYING, v >> 6] |= bit_of(v)
    found = 0
    for i in range(lowest, highest + 1):
        if _is_affected(T, S, S.order[i]):
            S.places[found] = S.order[i]
            found += 1
    return found


@jit_inside
def _reorder(S, lowest, highest, before):  # type: ignore[no-untyped-def]
    """Put the marked variables first, each part in its order, and unmark them."""
    place = lowest
    for turn in range(2):
        for i in range(lowest, highest + 1):
            if S.moved[before[i]] == (turn == 0):
                S.order[place] = before[i]
                S.rank[before[i]] = place
                place += 1
    for i in range(lowest, highest + 1):
        S.moved[before[i]] = False


@jit_inside
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


@jit_inside
def _untuck(S, lowest, highest, level):  # type: ignore[no-untyped-def]
    for i in range(lowest, highest + 1):
        v = S.kept_order[level, i]
        S.order[i] = v
        S.rank[v] = i
        S.node[v] = S.kept_node[level, i]


@jit_inside
def _list_near(S, lowest, highest, level):  # type: ignore[no-untyped-def]
    """Fill `S.near` with the variables whose parents a tuck changed; their number."""
    found = 0
    for i in range(lowest, highest + 1):
        v = S.kept_order[level, i]
        if S.node[v] != S.kept_node[level, i]:
            S.near[found] = v
            found += 1
    return found


@jit_inside
def _is_listed(listed, size, v):  # type: ignore[no-untyped-def]
    for t in range(size):
        if listed[t] == v:
            return True
    return False


@jit_inside
def _touches(sets, node, near, n_near):  # type: ignore[no-untyped-def]
    """Whether the path of a tree node has one of the variables in `near`."""
    for t in range(n_near):
        if sets[node, INSIDE, near[t] >> 6] & bit_of(near[t]):
            return True
    return False


@jit_inside
def _tuck_near(T, S, lowest, highest, level, budget):  # type: ignore[no-untyped-def]
    """After a tuck that changed nothing, try those of edges at the variables it turned; the fall.

    Any other edge was tried before that tuck, or will be, with the same outcome.
    """
    n_near = _list_near(S, lowest, highest, level)
    second = level - 1
    parents = S.parents[second]
    for j in range(S.order.size - 1, -1, -1):
        y = S.order[j]
        is_near = _is_listed(S.near, n_near, y)
        if not is_near and not _touches(T.sets, S.node[y], S.near, n_near):
            continue
        k = read_parents(T.node, T.required, y, S.node[y], parents)
        for a in range(k):
            x = parents[a]
            if not is_near and not _is_listed(S.near, n_near, x):
                continue
            if budget[0] <= 0:
                return 0.0
            budget[0] -= 1
            start = S.rank[x]
            fall = _tuck(T, S, x, y, second)
            if fall > TOL and not T.used[IS_FULL]:
                return fall
            _untuck(S, start, j, second)
            if T.used[IS_FULL]:
                return 0.0
    return 0.0


@jit_loops
def tuck_any(T, S, depth, budget):  # type: ignore[no-untyped-def]
    """Try the tucks of all edges once, and keep those that help; the fall of the score.

    With a depth of 2, one that changes nothing is followed by a second. `budget` counts down.
    Levels are computed: numba compiles a kernel once for every constant that it is called with.
    """
    gain = 0.0
    level = depth - 1
    parents = S.parents[level]
    for j in range(S.order.size - 1, -1, -1):
        y = S.order[j]
        k = read_parents(T.node, T.required, y, S.node[y], parents)
        for a in range(k):
            if budget[0] <= 0 or T.used[IS_FULL]:
                return gain
            budget[0] -= 1
            lowest = S.rank[parents[a]]
            fall = _tuck(T, S, parents[a], y, level)
            if fall <= TOL and fall > -TOL and level > 0 and not T.used[IS_FULL]:
                fall = _tuck_near(T, S, lowest, j, level, budget)
            if fall > TOL and not T.used[IS_FULL]:
                gain += fall
                break  # y stands elsewhere now, with other parents
            _untuck(S, lowest, j, level)
    return gain
