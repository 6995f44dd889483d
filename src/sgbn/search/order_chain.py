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
from sgbn.search.order_moves import move_to
from sgbn.search.score_tables import NEGLIGIBLE_LOG, ScoreTables, count_bits
from sgbn.types import Array, Order

NEAR_SHARE = 0.6  # of the moves: to places that are near
NEAR_DISTANCE = 3.0  # mean distance of these moves, in places
STILL_SHARE = 0.05  # of the steps: they draw parents anew, without a move


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
    """Return the share of the networks that have each arrow, ``[i, j]`` for i -> j."""
    m, K = tables.candidates.shape
    shares = np.zeros((m, m))
    for k in range(K):
        children = np.flatnonzero(tables.candidates[:, k] >= 0)
        has_arrow = parents[:, children] >> k & 1
        shares[tables.candidates[children, k], children] = has_arrow.mean(axis=0)
    return shares


@jit
def _run(candidates, bit, score, total, order, n_burn, thin, rng, kept, log_weight):  # type: ignore[no-untyped-def]
    """Run the chain; fills `kept` and `log_weight`, and leaves `order` where the chain ended."""
    m = order.size
    rank = np.empty(m, np.int64)
    mask = np.zeros(m, np.int64)
    parents = np.zeros(m, np.int64)
    old = np.zeros((2, m), np.int64)
    work = np.zeros(m + 2, np.int64)
    _masks(bit, order, rank, mask)
    for v in range(m):
        parents[v] = _draw_set(score, total, v, mask[v], 0, rng)
    log_q = _log_q(candidates, rank, parents, work)
    for step in range(n_burn + thin * kept.shape[0]):
        log_q = _step(
            candidates, bit, score, total, order, rank, mask, parents, old, work, log_q, rng
        )
        after = step + 1 - n_burn
        if after > 0 and after % thin == 0:
            kept[after // thin - 1] = parents
            for v in range(m):
                log_weight[after // thin - 1] -= score[v, parents[v]] / 2
            _draw_order(bit, parents, order, rank, work, rng)
            _masks(bit, order, rank, mask)
            log_q = _log_q(candidates, rank, parents, work)


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
    """Draw parents of v among the subsets of `mask`; returns them as bits.

    The set `first` is looked at first: the present parents are often drawn again.
    """
    left = rng.random()
    first &= mask
    drawn = first
    left -= np.exp(-0.5 * score[v, first] - total[v, mask])
    subset = mask
    while left > 0.0:
        log_share = -0.5 * score[v, subset] - total[v, mask]
        if subset != first and log_share > -NEGLIGIBLE_LOG:
            left -= np.exp(log_share)
            drawn = subset
        if subset == 0:
            break  # what is left is round-off
        subset = (subset - 1) & mask  # the next smaller subset
    return drawn


@jit
def _log_q(candidates, rank, parents, work):  # type: ignore[no-untyped-def]
    """Return the logarithm of q of the order: minus the sum of log a_t."""
    m = rank.size
    work[:] = 0
    # v could stand anywhere from behind its last parent up to its place. `work` holds the changes
    # of a_t from place to place.
    for v in range(m):
        work[_ready(candidates, rank, parents, v)] += 1
        work[rank[v] + 1] -= 1
    log_q = 0.0
    available = 0
    for t in range(m):
        available += work[t]
        log_q -= np.log(available)
    return log_q


@jit
def _ready(candidates, rank, parents, v):  # type: ignore[no-untyped-def]
    """Return the first place at which v may stand: after the last of its parents."""
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
def _draw_order(bit, parents, order, n_waiting, available, rng):  # type: ignore[no-untyped-def]
    """Draw an order of the network from q, in place.

    `n_waiting` counts the parents of each variable that are not placed yet; `available` lists the
    variables that wait for none. Both are work space.
    """
    m = order.size
    n_available = 0
    for v in range(m):
        n_waiting[v] = count_bits(parents[v])
        if n_waiting[v] == 0:
            available[n_available] = v
            n_available += 1
    for t in range(m):
        drawn = int(rng.random() * n_available)
        x = available[drawn]
        n_available -= 1
        available[drawn] = available[n_available]
        order[t] = x
        for v in range(m):
            if bit[v, x] >= 0 and parents[v] >> bit[v, x] & 1:
                n_waiting[v] -= 1
                if n_waiting[v] == 0:
                    available[n_available] = v
                    n_available += 1


@jit
def _draw_place(i, m, rng):  # type: ignore[no-untyped-def]
    """Draw where what stands at place i goes: i itself to draw parents anew, -1 for no step."""
    if rng.random() < STILL_SHARE:
        return i
    if rng.random() < NEAR_SHARE:
        distance = 1 + int(-np.log(1.0 - rng.random()) * NEAR_DISTANCE)
        j = i + (distance if rng.random() < 0.5 else -distance)
    else:
        j = int(rng.random() * m)
    # The same place, or one beyond the ends, is a step that stays: the law of moves is symmetric.
    return j if 0 <= j < m and j != i else -1


@jit
def _step(candidates, bit, score, total, order, rank, mask, parents, old, work, log_q, rng):  # type: ignore[no-untyped-def]
    """Try one move; returns the log q of the state that the chain is in then."""
    i = int(rng.random() * order.size)
    j = _draw_place(i, order.size, rng)
    if j < 0:
        return log_q
    x = order[i]
    side = 1 if j > i else -1
    old_mask = mask[x]
    x_mask = mask[x]  # candidates before x, were it moved
    gain = 0.0  # of the sum of log Z
    p = i
    while p != j:
        p += side
        y = order[p]
        if bit[x, y] >= 0:
            x_mask ^= 1 << bit[x, y]
        if bit[y, x] >= 0:
            gain += total[y, mask[y] ^ (1 << bit[y, x])] - total[y, mask[y]]
    gain += total[x, x_mask] - total[x, mask[x]]
    # Always one number: whether a gain of round-off is positive must not shift all later draws.
    if rng.random() >= np.exp(min(gain, 0.0)):
        return log_q
    # Draw parents of x and of all that it passed and may be a parent of.
    n_changed = 0
    p = i
    while True:
        y = order[p]
        if p == i or bit[y, x] >= 0:
            old[0, n_changed] = y
            old[1, n_changed] = parents[y]
            n_changed += 1
            mask[y] = x_mask if p == i else mask[y] ^ (1 << bit[y, x])
            parents[y] = _draw_set(score, total, y, mask[y], parents[y], rng)
        if p == j:
            break
        p += side
    move_to(order, rank, x, j)
    new_log_q = _log_q(candidates, rank, parents, work)
    if rng.random() < np.exp(min(new_log_q - log_q, 0.0)):
        return new_log_q
    # Refused: all as it was.
    move_to(order, rank, x, i)
    for k in range(n_changed):
        y = old[0, k]
        parents[y] = old[1, k]
        if y != x:
            mask[y] ^= 1 << bit[y, x]
    mask[x] = old_mask
    return log_q
