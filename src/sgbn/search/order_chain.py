r"""A Markov chain over networks whose steps are moves of an order.

The target is the posterior of a DAG G among the candidate parents of `ScoreTables`,

.. math:: p(G) \propto \prod_v e^{-s_v(PA_v) / 2}.

A chain over orders alone counts a DAG once for each of its orders, and so prefers DAGs with many.
Here the state is a DAG with *one* of its orders, and the order is a variable of its own, with

.. math:: p(G, \prec) = p(G) \, q(\prec | G), \qquad q(\prec | G) = \prod_t 1 / a_t

where :math:`a_t` counts the variables that could stand at place t: those that are not placed yet
and whose parents are. q is the law of an order that is built by drawing one of them at random, sums
to one for every G, and leaves p(G) as it is.

A step moves one variable to another place, draws new parents for those whose candidates before
them changed (exactly, among all sets), and is accepted with the probability

.. math:: \min(1, \prod_v Z_v(\prec') / Z_v(\prec)) \; \min(1, q(\prec' | G') / q(\prec | G))

with :math:`Z_v` the sum of :math:`e^{-s_v / 2}` over the sets before v, one look-up. Most steps end
at the first factor, which needs no parents. The order is drawn anew from q now and then.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.jit import jit
from sgbn.search.score_tables import NEGLIGIBLE, ScoreTables
from sgbn.types import Array, Order

NEAR = 0.6  # share of moves to places that are near
NEAR_PLACES = 3.0  # their mean distance
STILL = 0.05  # share of steps that draw parents anew without a move


class Visited(NamedTuple):
    """Networks that a chain visited.

    Attributes
    ----------
    parents : (n_kept, m) parents of each variable as bits of its candidates.
    log_weight : (n_kept,) logarithm of the posterior, up to a constant.
    order : (m,) where the chain ended.
    """

    parents: NDArray[np.int64]
    log_weight: Array
    order: Order


def run_chain(
    tables: ScoreTables, total: Array, order: Order, n_burn: int, n_kept: int, thin: int, seed: int
) -> Visited:
    """Run one chain.

    Parameters
    ----------
    tables : ScoreTables
    total : ndarray of shape (m, 2^K)
        Of `log_totals`.
    order : ndarray of shape (m,)
        To start from: it must allow the required parents.
    n_burn : int
        Steps before the first network is kept.
    n_kept : int
        Networks to keep.
    thin : int
        Steps between two of them.
    seed : int
    """
    order = np.array(order, dtype=np.int64)
    parents = np.zeros((n_kept, len(order)), np.int64)
    log_weight = np.zeros(n_kept)
    rng = np.random.default_rng(seed)
    _run(*tables, total, order, n_burn, thin, rng, parents, log_weight)
    return Visited(parents, log_weight, order)


def arrow_shares(tables: ScoreTables, parents: NDArray[np.int64]) -> Array:
    """Share of the networks that have each arrow, ``[i, j]`` for i -> j."""
    m, K = tables.candidates.shape
    shares = np.zeros((m, m))
    for k in range(K):
        own = np.flatnonzero(tables.candidates[:, k] >= 0)
        shares[tables.candidates[own, k], own] = (parents[:, own] >> k & 1).mean(axis=0)
    return shares


@jit
def _run(candidates, bit, score, total, order, n_burn, thin, rng, kept, log_weight):  # type: ignore[no-untyped-def]
    m = order.size
    rank = np.empty(m, np.int64)
    mask = np.zeros(m, np.int64)
    parents = np.zeros(m, np.int64)
    old = np.zeros((2, m), np.int64)
    room = np.zeros(m + 2, np.int64)
    _masks(bit, order, rank, mask)
    for v in range(m):
        parents[v] = _draw_set(score, total, v, mask[v], 0, rng)
    log_q = _log_q(candidates, rank, parents, room)
    for step in range(n_burn + thin * kept.shape[0]):
        log_q = _step(
            candidates, bit, score, total, order, rank, mask, parents, old, room, log_q, rng
        )
        after = step + 1 - n_burn
        if after > 0 and after % thin == 0:
            kept[after // thin - 1] = parents
            for v in range(m):
                log_weight[after // thin - 1] -= score[v, parents[v]] / 2
            _draw_order(bit, parents, order, rank, room, rng)
            _masks(bit, order, rank, mask)
            log_q = _log_q(candidates, rank, parents, room)


@jit
def _masks(bit, order, rank, mask):  # type: ignore[no-untyped-def]
    """Fill `rank`, and `mask` with the candidates that stand before each variable."""
    m = order.size
    for i in range(m):
        rank[order[i]] = i
    for v in range(m):
        mask[v] = 0
        for u in range(m):
            if bit[v, u] >= 0 and rank[u] < rank[v]:
                mask[v] |= 1 << bit[v, u]


@jit
def _draw_set(score, total, v, mask, first, rng):  # type: ignore[no-untyped-def]
    """Draw parents of v among the subsets of `mask`; those of `first` are looked at first."""
    left = rng.random()
    first &= mask
    found = first
    left -= np.exp(-0.5 * score[v, first] - total[v, mask])
    subset = mask
    while left > 0.0:
        log_share = -0.5 * score[v, subset] - total[v, mask]
        if subset != first and log_share > -NEGLIGIBLE:
            left -= np.exp(log_share)
            found = subset
        if subset == 0:
            break  # what is left is round-off
        subset = (subset - 1) & mask
    return found


@jit
def _log_q(candidates, rank, parents, room):  # type: ignore[no-untyped-def]
    """Logarithm of q of the order: minus the sum of log a_t."""
    m = rank.size
    room[:] = 0
    for v in range(m):
        room[_ready(candidates, rank, parents, v)] += 1
        room[rank[v] + 1] -= 1
    log_q = 0.0
    available = 0
    for t in range(m):
        available += room[t]
        log_q -= np.log(available)
    return log_q


@jit
def _ready(candidates, rank, parents, v):  # type: ignore[no-untyped-def]
    """First place at which v may stand: after the last of its parents."""
    ready = 0
    left = parents[v]
    k = 0
    while left:
        if left & 1:
            ready = max(ready, rank[candidates[v, k]] + 1)
        left >>= 1
        k += 1
    return ready


@jit
def _draw_order(bit, parents, order, rank, room, rng):  # type: ignore[no-untyped-def]
    """Draw an order of the network from q, in place; `rank` counts the parents not placed yet."""
    m = order.size
    n_available = 0
    for v in range(m):
        rank[v] = 0
        left = parents[v]
        while left:
            left &= left - 1
            rank[v] += 1
        if rank[v] == 0:
            room[n_available] = v
            n_available += 1
    for t in range(m):
        drawn = int(rng.random() * n_available)
        x = room[drawn]
        n_available -= 1
        room[drawn] = room[n_available]
        order[t] = x
        for v in range(m):
            if bit[v, x] >= 0 and parents[v] >> bit[v, x] & 1:
                rank[v] -= 1
                if rank[v] == 0:
                    room[n_available] = v
                    n_available += 1


@jit
def _step(candidates, bit, score, total, order, rank, mask, parents, old, room, log_q, rng):  # type: ignore[no-untyped-def]
    """Try one move; the log q of the state that the chain is in then."""
    m = order.size
    i = int(rng.random() * m)
    j = i
    if rng.random() >= STILL:
        if rng.random() < NEAR:
            distance = 1 + int(-np.log(1.0 - rng.random()) * NEAR_PLACES)
            j = i + (distance if rng.random() < 0.5 else -distance)
        else:
            j = int(rng.random() * m)
        if j < 0 or j >= m or j == i:
            return log_q
    x = order[i]
    side = 1 if j > i else -1
    own = mask[x]
    gain = 0.0
    p = i
    while p != j:
        p += side
        y = order[p]
        if bit[x, y] >= 0:
            own ^= 1 << bit[x, y]
        if bit[y, x] >= 0:
            gain += total[y, mask[y] ^ (1 << bit[y, x])] - total[y, mask[y]]
    gain += total[x, own] - total[x, mask[x]]
    # always one number: whether a gain of round-off is positive must not shift all later draws
    if rng.random() >= np.exp(min(gain, 0.0)):
        return log_q
    n_changed = 0
    p = i
    while True:  # draw parents of x and of all that it passed and may be a parent of
        y = order[p]
        if p == i or bit[y, x] >= 0:
            old[0, n_changed] = y
            old[1, n_changed] = parents[y]
            n_changed += 1
            mask[y] = own if p == i else mask[y] ^ (1 << bit[y, x])
            parents[y] = _draw_set(score, total, y, mask[y], parents[y], rng)
        if p == j:
            break
        p += side
    _shift(order, rank, i, j, side)
    new_log_q = _log_q(candidates, rank, parents, room)
    if rng.random() < np.exp(min(new_log_q - log_q, 0.0)):
        return new_log_q
    _shift(order, rank, j, i, -side)
    for k in range(n_changed):
        y = old[0, k]
        parents[y] = old[1, k]
        if y != x:
            mask[y] ^= 1 << bit[y, x]
    p = i  # the candidates of x as they were
    while p != j:
        p += side
        y = order[p]
        if bit[x, y] >= 0:
            own ^= 1 << bit[x, y]
    mask[x] = own
    return log_q


@jit
def _shift(order, rank, i, j, side):  # type: ignore[no-untyped-def]
    """Move what stands at place i to place j."""
    x = order[i]
    p = i
    while p != j:
        order[p] = order[p + side]
        rank[order[p]] = p
        p += side
    order[j] = x
    rank[x] = j
