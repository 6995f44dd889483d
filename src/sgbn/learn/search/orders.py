r"""The search for the order of the variables that allows the best parents.

.. math:: \min_{order} \sum_v \min_{P \subseteq before(v)} score(v, P)

Local scores and parents come from `sgbn.learn.search.trees`. `search_order` moves variables one at
a time to their best place. When no move helps, it tries tucks: a variable moves before one of its
parents, together with its ancestors in between. Then kicks, random moves from the best order found,
lead to other orders.

The best place of a variable x is found without computing a score for every place. While x moves
towards the front, its parents change only when it passes one of them, so that its score has few
steps. The tree node of another variable u shows whether the parents of u change when x moves to the
other side of u.

`move_to` is the step that all searches over orders share: one variable moves to another place.

`tuck_any` tries tucks, for orders that no single move improves. A tuck for an edge x -> y moves y,
and the ancestors of y that stand after x, to just before x. They keep their order. If the edge is
covered (x and y have the same other parents), the tuck only reverses the edge. The score then stays
the same, but another tuck may help afterwards.

In all kernels `T` is a `sgbn.learn.search.trees.Trees` and `S` a `SearchState`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.core.jit import jit_inside, jit_loops
from sgbn.core.types import Array, Mask, Order
from sgbn.learn.search.plan import ScoredNetwork
from sgbn.learn.search.trees import (
    BETTER,
    CHILDREN,
    END,
    INSIDE,
    IS_FULL,
    PARENT,
    TOL,
    VARIABLE,
    Trees,
    bit_of,
    grown,
    read_parents,
    trace,
    walk,
)

MAX_GROWTHS = 30  # how often the trees may grow in one local search
MOVES_PER_KICK = 4  # random moves; of 2 to 16, this was the best on the nine networks of Exp-II


class SearchState(NamedTuple):
    """An order, the best parents in this order, and work space.

    Kernels change all arrays in place. m is the number of variables. A node is a tree node, which
    is a row of `Trees.node`. Place m is behind the last variable. x is the variable to be moved.

    Attributes
    ----------
    order : int64, (m,)
        Variable at each place. Written by moves, tucks and kicks.
    rank : int64, (m,)
        Place of each variable: the inverse of `order`. Written together with `order`.
    node : int64, (m,)
        Node of each variable. It represents the best parents in this order.
    node_across : int64, (m,)
        Node that each variable would have if x stood on its other side. Written by
        `_see_both_sides`.
    change : float, (m,)
        For the variable at each place: its score if x stands behind it, minus its score if x
        stands before it. Written by `_see_both_sides`.
    own_score : float, (m + 1,)
        Score of x if it stood before each place. Written by `_see_own_places`.
    own_node : int64, (m + 1,)
        Node of x if it stood before each place. Written by `_see_own_places`.
    moved : bool, (m,)
        True for the variables that a tuck moves. All False between tucks.
    affected : int64, (m,)
        Variables whose parents a tuck may change. Written by `_list_affected`.
    parents : int64, (3, width)
        Lists of the parents of one variable. Two rows are for two nested loops over tucks, the
        third is for `_mark_ancestors`.
    kept_order, kept_node : int64, (2, m)
        The variables at the places that a tuck changes, and their nodes, as they were before the
        tuck. There is one row for each of two nested tucks. Written by `_tuck` and read by
        `_untuck`.
    tuck_sets : uint64, (2, words)
        Two sets, 64 variables per word: the variables that a tuck moves, and the variables in
        between that stay. Written by `_list_affected`.
    turned : int64, (m,)
        Variables whose parents the last tuck changed. Written by `_list_turned`.
    sweep : int64, (m,)
        The order in which `_move_each` looks at the variables.
    """

    order: Order
    rank: NDArray[np.int64]
    node: NDArray[np.int64]
    node_across: NDArray[np.int64]
    change: Array
    own_score: Array
    own_node: NDArray[np.int64]
    moved: Mask
    affected: NDArray[np.int64]
    parents: NDArray[np.int64]
    kept_order: NDArray[np.int64]
    kept_node: NDArray[np.int64]
    tuck_sets: NDArray[np.uint64]
    turned: NDArray[np.int64]
    sweep: NDArray[np.int64]


def _new_state(order: Order, width: int) -> SearchState:
    """Return a state whose order is a copy of `order`. Kernels fill the other arrays."""
    m = len(order)
    return SearchState(
        order=order.copy(),
        rank=np.empty(m, np.int64),
        node=np.empty(m, np.int64),
        node_across=np.empty(m, np.int64),
        change=np.empty(m),
        own_score=np.empty(m + 1),
        own_node=np.empty(m + 1, np.int64),
        moved=np.zeros(m, np.bool_),
        affected=np.empty(m, np.int64),
        parents=np.empty((3, width), np.int64),
        kept_order=np.empty((2, m), np.int64),
        kept_node=np.empty((2, m), np.int64),
        tuck_sets=np.empty((2, (m + 63) // 64), np.uint64),
        turned=np.empty(m, np.int64),
        sweep=np.empty(m, np.int64),
    )


@jit_loops
def _settle(T, S):  # type: ignore[no-untyped-def]
    """Find the tree node of every variable in the present order, and return the score."""
    total = 0.0
    for i in range(S.order.size):
        S.rank[S.order[i]] = i
    for v in range(S.order.size):
        S.node[v] = trace(T, v, S.rank, S.rank[v])
        total += T.score[S.node[v]]
    return total


@jit_inside
def _see_both_sides(T, S, x):  # type: ignore[no-untyped-def]
    """Fill `S.node_across` and `S.change` for x on the other side of each variable."""
    table, child, score, sets = T.node, T.child, T.score, T.sets
    order, rank, nodes, across, change = S.order, S.rank, S.node, S.node_across, S.change
    place, word, bit = rank[x], x >> 6, bit_of(x)
    # Variables before x would gain it as a possible parent, so x gets a rank below all. From its
    # own place onwards they would lose it, so its rank is then above all.
    rank[x] = -1
    for i in range(order.size):
        u = order[i]
        old = nodes[u]
        new = old
        # Losing x matters only if x is on the path of the node. Gaining x matters only if x would
        # be preferred along the path or extend it. So most variables need no walk.
        watched = sets[old, INSIDE, word]
        if i < place:
            watched = sets[old, BETTER, word] | sets[old, CHILDREN, word]
        if watched & bit and i != place:
            new, following = walk(table, child, rank, u, i)
            if following != END:
                new = trace(T, u, rank, i)
        elif i == place:
            rank[x] = order.size
        across[u] = new
        change[i] = score[old] - score[new] if i < place else score[new] - score[old]
    rank[x] = place


@jit_inside
def _see_own_places(T, S, x):  # type: ignore[no-untyped-def]
    """Fill `S.own_score` and `S.own_node`: x before each place, and behind the last variable."""
    table, child, score = T.node, T.child, T.score
    rank, own_score, own_node = S.rank, S.own_score, S.own_node
    # From the end towards the front: the path is the same until x would stand before one of its
    # variables.
    used_up_to = rank.size
    node = x
    for place in range(rank.size, -1, -1):
        if place == used_up_to:
            node, following = walk(table, child, rank, x, place)
            if following != END:
                node = trace(T, x, rank, place)
            used_up_to = 0
            step = node
            while table[step, PARENT] >= 0:
                if rank[table[step, VARIABLE]] > used_up_to:
                    used_up_to = rank[table[step, VARIABLE]]
                step = table[step, PARENT]
        own_score[place] = score[node]
        own_node[place] = node


@jit_loops
def _window(T, S, x):  # type: ignore[no-untyped-def]
    """Return the first and the last place before which required edges allow x to stand."""
    first = 0
    for k in range(T.required[x, 0]):
        if S.rank[T.required[x, k + 1]] >= first:
            first = S.rank[T.required[x, k + 1]] + 1
    last = S.order.size
    for i in range(S.rank[x] + 1, S.order.size):
        u = S.order[i]
        for k in range(T.required[u, 0]):
            if T.required[u, k + 1] == x and i < last:
                last = i
    return first, last


@jit_inside
def _best_place(T, S, x):  # type: ignore[no-untyped-def]
    """Return the place before which x stands best, and by how much the score falls there.

    If no other place is better, return the present place of x, and 0.
    """
    _see_both_sides(T, S, x)
    _see_own_places(T, S, x)
    first, last = _window(T, S, x)
    # The variables before x cannot have x as a parent. So the sum of their changes is, up to a
    # constant, the score of all variables other than x.
    present = S.rank[x]
    current = 0.0
    for i in range(present):
        current += S.change[i]
    current += S.own_score[present]
    best, least = present, current
    cost = 0.0
    for place in range(last + 1):
        # Before the next variable is the same place as the present one.
        if place >= first and place != present and place != present + 1:
            total = cost + S.own_score[place]
            if total < least - TOL:  # the first place wins if others are equal up to round-off
                best, least = place, total
        if place < S.order.size:
            cost += S.change[place]
    return best, current - least


@jit_inside
def _move(S, x, target):  # type: ignore[no-untyped-def]
    """Move x before the place `target`. `_best_place` must have been called for x just before."""
    # x ends up on the other side of the variables that it passes: their `node_across` is valid.
    place = S.rank[x]
    begin, end = (target, place) if target < place else (place + 1, target)
    for i in range(begin, end):
        S.node[S.order[i]] = S.node_across[S.order[i]]
    S.node[x] = S.own_node[target]
    move_to(S.order, S.rank, x, target - (target > place))


@jit_loops
def _move_each(T, S):  # type: ignore[no-untyped-def]
    """Move variables to their best places until none moves any more, and return the gain."""
    gain = 0.0
    sweep = S.sweep
    for i in range(sweep.size):  # a copy, because the loop below changes the order
        sweep[i] = S.order[i]
    still = 0  # variables examined since the last move
    i = 0
    while still < sweep.size:
        x = sweep[i]
        target, fall = _best_place(T, S, x)
        if T.used[IS_FULL]:
            break
        still += 1
        if target != S.rank[x]:
            _move(S, x, target)
            gain += fall
            still = 0
        i = (i + 1) % sweep.size
    return gain


def _kick(trees: Trees, S: SearchState, moves: Array) -> None:
    """Make random moves; each is a pair of numbers in [0, 1) for the variable and its target."""
    for which, where in moves:
        place = int(which * S.order.size)
        x = S.order[place]
        first, last = _window(trees, S, x)
        target = first + int(where * (last + 1 - first))
        move_to(S.order, S.rank, x, target - (target > place))


@jit_loops
def _mark_parents(table, required, nodes, path, parents):  # type: ignore[no-untyped-def]
    """Mark the parents that the nodes represent: set ``parents[v, c]`` for c -> v."""
    for v in range(nodes.size):
        k = read_parents(table, required, v, nodes[v], path)
        for a in range(k):
            parents[v, path[a]] = True


def _all_parents(trees: Trees, S: SearchState) -> Mask:
    """Return the parents of all variables in the present state, ``[v, c]`` for c -> v."""
    parents = np.zeros((len(S.order), len(S.order)), np.bool_)
    _mark_parents(trees.node, trees.required, S.node, S.parents[0], parents)
    return parents


def search_order(
    trees: Trees,
    starts: list[Order],
    n_kicks: int,
    rng: np.random.RandomState,
    depth: int,
    budget: int,
    seen: list[ScoredNetwork] | None = None,
    *,
    kick_agreed: bool = True,
) -> ScoredNetwork:
    """Return the best network found from several orders, and then by kicks from the best one.

    Parameters
    ----------
    trees : Trees
        The trees of the problem. They are extended in place.
    starts : list of ndarray of shape (m,)
        Orders to start from. ``order[i]`` is the variable at place i. The orders must agree with
        the required edges.
    n_kicks : int
        The search ends after this many kicks in a row without a better order.
    rng : RandomState
        Draws the kicks.
    depth : int
        Number of tucks that are tried together: 2, 1, or 0 for no tucks.
    budget : int
        Largest number of tucks that are tried in one local search.
    seen : list, optional
        The network at the end of every local search is appended, one network per score.
    kick_agreed : bool
        Whether kicks follow even if several starts all ended at the same score.
    """
    best, best_score, in_vain = starts[0], np.inf, 0
    ends: list[float] = []
    tucked: list[float] = []  # scores at which all tucks were tried and none helped
    S = _new_state(best, trees.path.size)
    left = list(starts)
    while left or in_vain < n_kicks:
        if left:
            S.order[:] = left.pop(0)
        elif not kick_agreed and len(starts) > 1 and max(ends) - min(ends) < TOL:
            break
        else:
            in_vain += 1
            S.order[:] = best
            S.rank[best] = np.arange(len(best))
            _kick(trees, S, rng.random_sample((MOVES_PER_KICK, 2)))
        trees, score = _local_search(trees, S, depth, budget, tucked)
        ends.append(score)
        _note(trees, S, score, seen)
        if score < best_score - TOL:
            best, best_score, in_vain = S.order.copy(), score, 0
    return parents_for(trees, best)


def _note(trees: Trees, S: SearchState, score: float, seen: list[ScoredNetwork] | None) -> None:
    """Append the network of the present state to `seen`, unless its score is there already."""
    if seen is not None and not any(abs(score - known.score) < TOL for known in seen):
        seen.append(ScoredNetwork(score, S.order.copy(), _all_parents(trees, S)))


def parents_for(trees: Trees, order: Order) -> ScoredNetwork:
    """Return the network of the best parents in a given order."""
    S = _new_state(order, trees.path.size)
    score = _settle(trees, S)
    while trees.used[IS_FULL]:
        trees = grown(trees)
        score = _settle(trees, S)
    return ScoredNetwork(score, order, _all_parents(trees, S))


def _local_search(
    trees: Trees, S: SearchState, depth: int, budget: int, tucked: list[float]
) -> tuple[Trees, float]:
    """Improve ``S.order`` in place by moves and tucks, and return the trees and the score.

    The trees grow whenever they are full. `tucked` lists the scores at which all tucks were tried
    before and none helped. At such a score, tucks are not tried again. The score at the end is
    appended to `tucked`, unless the budget is used up.
    """
    tucks_left = np.array([budget])
    for _ in range(MAX_GROWTHS):
        score = _settle(trees, S)
        gain = np.inf
        while gain > 0.0 and not trees.used[IS_FULL]:
            score -= _move_each(trees, S)
            if any(abs(score - known) < TOL for known in tucked):
                break
            gain = tuck_any(trees, S, depth, tucks_left) if depth else 0.0
            score -= gain
        if not trees.used[IS_FULL]:
            if tucks_left[0] > 0:
                tucked.append(score)
            return trees, score
        trees = grown(trees)
    # Even the largest trees became full again and again. The order reached so far is kept.
    return trees, parents_for(trees, S.order).score


@jit_loops
def move_to(order, rank, x, place):  # type: ignore[no-untyped-def]
    """Move x to `place`, and shift the variables in between by one; changes `order` and `rank`.

    `rank` is the inverse of `order` before and after the move.
    """
    # Only the places in between are written: most moves are short, and orders may be long.
    i = rank[x]
    while i < place:
        order[i] = order[i + 1]
        rank[order[i]] = i
        i += 1
    while i > place:
        order[i] = order[i - 1]
        rank[order[i]] = i
        i -= 1
    order[place] = x
    rank[x] = place


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
