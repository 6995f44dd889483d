r"""Order search: the order of the variables whose best parents score best.

.. math:: \min_{order} \sum_v \min_{P \subseteq before(v)} score(v, P)

Local scores and parents come from `sgbn.search.parent_trees`. From an order, variables are moved
one at a time to their best place; where none helps, a variable and those of its ancestors that
stand between are tucked in before one of its parents, also by way of one that changes nothing.
From the best order found, kicks of random moves lead to other ones.

The best place of x is found without pricing every place. Its own parents change only where a
variable that it uses comes to stand after it, so that its score is a step function with few steps;
and another variable's parents depend on the side that x stands on only if its tree node says so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sgbn.jit import jit_inside, jit_loops
from sgbn.search.parent_trees import (
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
from sgbn.search.problem import ScoredNetwork
from sgbn.search.tucks import tuck_any
from sgbn.types import Array, Mask, Order

MOST_GROWTHS = 30  # of the trees in one local search
KICK = 4  # random moves a kick; of 2 to 16 the best on the nine networks of Exp-II


class Room(NamedTuple):
    """State of one local search, and room to work in."""

    order: Any
    rank: Any
    node: Any
    other: Any
    change: Any
    own: Any
    own_node: Any
    moved: Any
    places: Any
    parents: Any
    kept_order: Any
    kept_node: Any
    bits: Any
    near: Any
    sweep: Any


def _room(order: Order, width: int) -> Room:
    m = len(order)
    return Room(
        order=order.copy(),
        rank=np.empty(m, np.int64),
        node=np.empty(m, np.int64),
        other=np.empty(m, np.int64),
        change=np.empty(m),
        own=np.empty(m + 1),
        own_node=np.empty(m + 1, np.int64),
        moved=np.zeros(m, np.bool_),
        places=np.empty(m, np.int64),
        parents=np.empty((3, width), np.int64),
        kept_order=np.empty((2, m), np.int64),
        kept_node=np.empty((2, m), np.int64),
        bits=np.empty((2, (m + 63) // 64), np.uint64),
        near=np.empty(m, np.int64),
        sweep=np.empty(m, np.int64),
    )


@jit_loops
def _settle(T, S):  # type: ignore[no-untyped-def]
    """Find the tree node of every variable for the order as it is; the score."""
    total = 0.0
    for i in range(S.order.size):
        S.rank[S.order[i]] = i
    for v in range(S.order.size):
        S.node[v] = trace(T, v, S.rank, S.rank[v])
        total += T.score[S.node[v]]
    return total


@jit_inside
def _see_both_sides(T, S, x):  # type: ignore[no-untyped-def]
    """For every other variable, its tree node were x on its other side, and what that costs.

    ``S.change[i]`` is the score of the variable at place i without x before it, less that with it.
    """
    table, child, score, sets = T.node, T.child, T.score, T.sets
    order, rank, nodes, other, change = S.order, S.rank, S.node, S.other, S.change
    place, word, bit = rank[x], x >> 6, bit_of(x)
    rank[x] = -1  # before all others: these gain x; after its place, where they lose it, last
    for i in range(order.size):
        u = order[i]
        here = nodes[u]
        there = here
        watched = sets[here, INSIDE, word]
        if i < place:
            watched = sets[here, BETTER, word] | sets[here, CHILDREN, word]
        if watched & bit and i != place:
            there, following = walk(table, child, rank, u, i)
            if following != END:
                there = trace(T, u, rank, i)
        elif i == place:
            rank[x] = order.size
        other[u] = there
        change[i] = score[here] - score[there] if i < place else score[there] - score[here]
    rank[x] = place


@jit_inside
def _see_own_places(T, S, x):  # type: ignore[no-untyped-def]
    """Fill `S.own` and `S.own_node`: score and tree node of x before each place, and at the end."""
    table, child, score = T.node, T.child, T.score
    rank, own, own_node = S.rank, S.own, S.own_node
    used_up_to = rank.size  # places after the last variable that x uses give the same
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
        own[place] = score[node]
        own_node[place] = node


@jit_loops
def _window(T, S, x):  # type: ignore[no-untyped-def]
    """First and last place before which x may stand, given its required edges."""
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
    """Place before which x stands best, and the fall of the score; its own place if none helps."""
    _see_both_sides(T, S, x)
    _see_own_places(T, S, x)
    first, last = _window(T, S, x)
    own = S.rank[x]
    current = 0.0
    for i in range(own):
        current += S.change[i]
    current += S.own[own]
    best, least = own, current
    cost = 0.0
    for place in range(last + 1):
        if place >= first and place != own and place != own + 1:
            total = cost + S.own[place]
            if total < least - TOL:  # of places that are equal but for round-off, the first
                best, least = place, total
        if place < S.order.size:
            cost += S.change[place]
    return best, current - least


@jit_loops
def _shift(order, rank, place, target):  # type: ignore[no-untyped-def]
    """Move what stands at `place` before what stands at `target`."""
    x = order[place]
    if target > place:
        target -= 1
        for i in range(place, target):
            order[i] = order[i + 1]
            rank[order[i]] = i
    else:
        for i in range(place, target, -1):
            order[i] = order[i - 1]
            rank[order[i]] = i
    order[target] = x
    rank[x] = target


@jit_inside
def _move(S, x, target):  # type: ignore[no-untyped-def]
    """Move x before the place `target`; `_best_place` has just looked at x."""
    place = S.rank[x]
    begin, end = (target, place) if target < place else (place + 1, target)
    for i in range(begin, end):
        S.node[S.order[i]] = S.other[S.order[i]]
    S.node[x] = S.own_node[target]
    _shift(S.order, S.rank, place, target)


@jit_loops
def _move_each(T, S):  # type: ignore[no-untyped-def]
    """Move every variable to its best place, again and again, until none moves; the gain."""
    gain = 0.0
    sweep = S.sweep
    for i in range(sweep.size):
        sweep[i] = S.order[i]
    still = 0  # how many were looked at since the last move
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


def _kick(trees: Trees, S: Room, moves: Array) -> None:
    """Make random moves, pairs of numbers from 0 to 1: which variable, and where to."""
    for which, where in moves:
        place = int(which * S.order.size)
        first, last = _window(trees, S, S.order[place])
        _shift(S.order, S.rank, place, first + int(where * (last + 1 - first)))


@jit_loops
def _mark_parents(table, required, nodes, path, parents):  # type: ignore[no-untyped-def]
    """Mark the parents of all variables for the tree nodes at hand, ``[v, c]`` for c -> v."""
    for v in range(nodes.size):
        k = read_parents(table, required, v, nodes[v], path)
        for a in range(k):
            parents[v, path[a]] = True


def _all_parents(trees: Trees, S: Room) -> Mask:
    """Parents of all variables for the tree nodes at hand, ``[v, c]`` for c -> v."""
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
    """Search from several orders, then by kicks from the best one.

    Parameters
    ----------
    trees : Trees
    starts : list of ndarray of shape (m,)
        Orders; variable ``order[i]`` stands at place i. They must agree with the required edges.
    n_kicks : int
        Kicks in a row without a better order after which the search ends.
    rng : RandomState
    depth : int
        Tucks in a row that are tried together: 2, 1, or 0 for none.
    budget : int
        Most tucks tried in one local search.
    seen : list, optional
        Takes the end of every local search, one for each score.
    kick_agreed : bool
        Whether kicks follow even where several starts all ended at the same score.
    """
    best, best_score, in_vain = starts[0], np.inf, 0
    ends: list[float] = []
    tucked: list[float] = []
    S = _room(best, trees.path.size)
    left = list(starts)
    while left or in_vain < n_kicks:
        if left:
            S.order[:] = left.pop(0)
        elif not kick_agreed and len(starts) > 1 and _agree(ends):
            break
        else:
            in_vain += 1
            S.order[:] = best
            S.rank[best] = np.arange(len(best))
            _kick(trees, S, rng.random_sample((KICK, 2)))
        trees, score = _local_search(trees, S, depth, budget, tucked)
        ends.append(score)
        _note(trees, S, score, seen)
        if score < best_score - TOL:
            best, best_score, in_vain = S.order.copy(), score, 0
    return parents_for(trees, best)


def _agree(scores: list[float]) -> bool:
    return max(scores) - min(scores) < TOL


def _note(trees: Trees, S: Room, score: float, seen: list[ScoredNetwork] | None) -> None:
    """Add the network that a local search ended at, unless its score is known."""
    if seen is not None and not any(abs(score - found.score) < TOL for found in seen):
        seen.append(ScoredNetwork(score, S.order.copy(), _all_parents(trees, S)))


def parents_for(trees: Trees, order: Order) -> ScoredNetwork:
    """Best parents for an order as it is."""
    S = _room(order, trees.path.size)
    score = _settle(trees, S)
    while trees.used[IS_FULL]:
        trees = grown(trees)
        score = _settle(trees, S)
    return ScoredNetwork(score, order, _all_parents(trees, S))


def _local_search(
    trees: Trees, S: Room, depth: int, budget: int, tucked: list[float]
) -> tuple[Trees, float]:
    """Move and tuck from ``S.order``, in place, with more room whenever the trees are full.

    At a score of `tucked` all tucks were tried before, and none helped; this search adds its own.

    Where even the largest trees are full again and again, the order reached is kept.
    """
    tucks_left = np.array([budget])
    for _ in range(MOST_GROWTHS):
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
    return trees, parents_for(trees, S.order).score
