"""Tucks move several variables at once, for orders that no single move improves.

A tuck for an edge x -> y moves y, and the ancestors of y that stand after x, to just before x. They
keep their order. If the edge is covered (x and y have the same other parents), the tuck only
reverses the edge. The score then stays the same, but another tuck may help afterwards.

In all kernels `T` is a `sgbn.search.tree_arrays.Trees` and `S` a
`sgbn.search.order_search.SearchState`.
"""

from __future__ import annotations

import numpy as np

from sgbn.core.jit import jit_inside, jit_loops
from sgbn.search.parent_trees import TOL, bit_of, read_parents, trace
from sgbn.search.tree_arrays import BETTER, CHILDREN, INSIDE, IS_FULL

MOVED, STAYING = 0, 1  # rows of `SearchState.tuck_sets`


@jit_inside
def _mark_ancestors(T, S, x, y, parents):  # type: ignore[no-untyped-def]
    """Mark y and its ancestors after x in `S.moved`, and return whether the tuck is allowed.

    A required edge from x to a marked variable forbids the tuck.
    """
    lowest = S.rank[x]
    S.moved[y] = True
    # Backwards in the order, so that all children of a variable come before it.
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
    """Return whether a tuck may change the parents of v.

    A tuck puts the moved variables before the variables that stay. So a moved variable can no
    longer have a staying variable as a parent, and a staying variable can have a moved one.
    """
    node = S.node[v]
    for word in range(S.tuck_sets.shape[1]):
        if S.moved[v]:
            if T.sets[node, INSIDE, word] & S.tuck_sets[STAYING, word]:
                return True
        elif (T.sets[node, BETTER, word] | T.sets[node, CHILDREN, word]) & S.tuck_sets[MOVED, word]:
            return True
    return False


@jit_inside
def _list_affected(T, S, lowest, highest):  # type: ignore[no-untyped-def]
    """Fill `S.affected` with the variables whose parents a tuck may change; return their number."""
    for word in range(S.tuck_sets.shape[1]):
        S.tuck_sets[MOVED, word] = 0
        S.tuck_sets[STAYING, word] = 0
    for i in range(lowest, highest + 1):
        v = S.order[i]
        S.tuck_sets[MOVED if S.moved[v] else STAYING, v >> 6] |= bit_of(v)
    n_affected = 0
    for i in range(lowest, highest + 1):
        if _is_affected(T, S, S.order[i]):
            S.affected[n_affected] = S.order[i]
            n_affected += 1
    return n_affected


@jit_inside
def _reorder(S, lowest, highest, before):  # type: ignore[no-untyped-def]
    """Put the marked variables before the others, and unmark them.

    Marked and other variables keep their order among themselves. `before` is a copy of the order.
    """
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
    """Move y, and its ancestors after x, to just before x; return the fall of the score.

    If a required edge forbids the tuck, nothing moves and minus infinity is returned. `level` is
    the row of `kept_order` and `kept_node` that `_untuck` will need.
    """
    lowest, highest = S.rank[x], S.rank[y]
    allowed = _mark_ancestors(T, S, x, y, S.parents[-1])
    for i in range(lowest, highest + 1):
        S.kept_order[level, i] = S.order[i]
        S.kept_node[level, i] = S.node[S.order[i]]
        S.moved[S.order[i]] &= allowed  # if not allowed, unmark all: `_reorder` changes nothing
    n_affected = _list_affected(T, S, lowest, highest)
    _reorder(S, lowest, highest, S.kept_order[level])
    if not allowed:
        return -np.inf
    fall = 0.0
    for k in range(n_affected):
        v = S.affected[k]
        node = trace(T, v, S.rank, S.rank[v])
        fall += T.score[S.node[v]] - T.score[node]
        S.node[v] = node
    return fall


@jit_inside
def _untuck(S, lowest, highest, level):  # type: ignore[no-untyped-def]
    """Undo the last tuck of this level."""
    for i in range(lowest, highest + 1):
        v = S.kept_order[level, i]
        S.order[i] = v
        S.rank[v] = i
        S.node[v] = S.kept_node[level, i]


@jit_inside
def _list_turned(S, lowest, highest, level):  # type: ignore[no-untyped-def]
    """Fill `S.turned` with the variables whose parents a tuck changed; return their number."""
    n_turned = 0
    for i in range(lowest, highest + 1):
        v = S.kept_order[level, i]
        if S.node[v] != S.kept_node[level, i]:
            S.turned[n_turned] = v
            n_turned += 1
    return n_turned


@jit_inside
def _is_listed(listed, size, v):  # type: ignore[no-untyped-def]
    """Return whether v is among the first `size` variables of `listed`."""
    for t in range(size):
        if listed[t] == v:
            return True
    return False


@jit_inside
def _touches(sets, node, turned, n_turned):  # type: ignore[no-untyped-def]
    """Return whether one of the variables in `turned` is on the path of a tree node."""
    for t in range(n_turned):
        if sets[node, INSIDE, turned[t] >> 6] & bit_of(turned[t]):
            return True
    return False


@jit_inside
def _tuck_near(T, S, lowest, highest, level, budget):  # type: ignore[no-untyped-def]
    """Try a second tuck near the variables that a first tuck changed; return the fall of the score.

    The first tuck did not change the score. The search ends at a second tuck that lowers it.
    """
    # Tucks of other edges give the same result without the first tuck, so they are not tried here.
    n_turned = _list_turned(S, lowest, highest, level)
    second = level - 1
    parents = S.parents[second]
    for j in range(S.order.size - 1, -1, -1):
        y = S.order[j]
        is_turned = _is_listed(S.turned, n_turned, y)
        if not is_turned and not _touches(T.sets, S.node[y], S.turned, n_turned):
            continue
        k = read_parents(T.node, T.required, y, S.node[y], parents)
        for a in range(k):
            x = parents[a]
            if not is_turned and not _is_listed(S.turned, n_turned, x):
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
    """Try the tucks of all edges once, keep those that help, and return the fall of the score.

    With a depth of 2, a tuck that does not change the score is followed by a second tuck.
    ``budget[0]`` is the number of tucks left and counts down.
    """
    gain = 0.0
    # `level` is computed because numba compiles a kernel again for each constant argument.
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
