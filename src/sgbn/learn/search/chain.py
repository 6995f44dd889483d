r"""A Markov chain over networks. Each of its steps moves one variable in an order.

The target of the chain is the posterior of a DAG G among the candidate parents of `ScoreTables`,

.. math:: p(G) \propto \prod_v e^{-s_v(PA_v) / 2}.

A chain over orders alone counts a DAG once for each of its orders, and so prefers DAGs with many
orders. Here the state is a DAG with *one* of its orders. The order is a random variable, with

.. math:: p(G, \prec) = p(G) \, q(\prec | G), \qquad q(\prec | G) = \prod_t 1 / a_t

where :math:`a_t` counts the variables that could stand at place t: they are not placed yet, but all
their parents are placed. q is the distribution of an order that is built by drawing one of these
variables at random for each place. It sums to one for every G, so that p(G) does not change.

A step moves one variable to another place. Then it draws new parents, exactly among all sets, for
the variables whose candidates before them have changed. It is accepted with the probability

.. math:: \min(1, \prod_v Z_v(\prec') / Z_v(\prec)) \; \min(1, q(\prec' | G') / q(\prec | G))

where :math:`Z_v` is the sum of :math:`e^{-s_v / 2}` over the sets of candidates before v. A table
holds this sum. Most steps are rejected by the first factor, before any parents are drawn. Whenever
a network is kept, a new order is drawn from q.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.core.jit import jit
from sgbn.core.types import Array, Order
from sgbn.learn.search.orders import move_to
from sgbn.learn.search.tables import NEGLIGIBLE_LOG, ScoreTables, count_bits

NEAR_SHARE = 0.6  # share of the moves that go to a near place; the others go to any place
NEAR_DISTANCE = 3.0  # places; the distance is 1 + an exponential of this mean, rounded down
STILL_SHARE = 0.05  # share of the steps that draw new parents without a move


class Visited(NamedTuple):
    """The networks that a chain visited and kept.

    Attributes
    ----------
    parents : int64, (n_kept, m)
        Parents of each variable, as bits of its candidates.
    log_weight : float, (n_kept,)
        Logarithm of the posterior of each network, up to a constant.
    order : int64, (m,)
        The order at the end of the chain.
    """

    parents: NDArray[np.int64]
    log_weight: Array
    order: Order


def run_chain(
    tables: ScoreTables, total: Array, order: Order, n_burn: int, n_kept: int, thin: int, seed: int
) -> Visited:
    """Run one chain, and return the networks that it keeps.

    Parameters
    ----------
    tables : ScoreTables
        Scores of all sets of candidate parents.
    total : ndarray of shape (m, 2^K)
        The result of `log_totals` for these tables.
    order : ndarray of shape (m,)
        The order to start from. It must agree with the required parents.
    n_burn : int
        Number of steps that are dropped at the beginning.
    n_kept : int
        Number of networks to keep.
    thin : int
        Number of steps from one kept network to the next.
    seed : int
        Seed of all random draws.
    """
    order = np.array(order, dtype=np.int64)
    parents = np.zeros((n_kept, len(order)), np.int64)
    log_weight = np.zeros(n_kept)
    rng = np.random.default_rng(seed)
    _run(*tables, total, order, n_burn, thin, rng, parents, log_weight)
    return Visited(parents, log_weight, order)


def arrow_shares(tables: ScoreTables, parents: NDArray[np.int64]) -> Array:
    """Return the share of the networks that contain each arrow, ``[i, j]`` for i -> j."""
    m, K = tables.candidates.shape
    shares = np.zeros((m, m))
    for k in range(K):
        children = np.flatnonzero(tables.candidates[:, k] >= 0)
        has_arrow = parents[:, children] >> k & 1
        shares[tables.candidates[children, k], children] = has_arrow.mean(axis=0)
    return shares


@jit
def _run(candidates, bit, score, total, order, n_burn, thin, rng, kept, log_weight):  # type: ignore[no-untyped-def]
    """Fill `kept` and `log_weight`; `order` becomes the order at the end of the chain."""
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
    """Draw parents of v among the subsets of `mask`, and return them as bits.

    The set `first` is tried first, because the present parents are often drawn again.
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
            break  # all sets are tried: what is left is round-off
        subset = (subset - 1) & mask  # the next smaller subset
    return drawn


@jit
def _log_q(candidates, rank, parents, work):  # type: ignore[no-untyped-def]
    """Return log q of the order: minus the sum of log a_t."""
    m = rank.size
    work[:] = 0
    # v could stand at any place from behind its last parent up to its own. `work` holds the
    # changes of a_t from each place to the next.
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
    """Return the first place at which v could stand: the one after its last parent."""
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
    """Draw an order of the network from q, and write it to `order`.

    `n_waiting` counts the parents of each variable that are not placed yet. `available` lists the
    variables that are not placed, but whose parents are all placed. Both are work space.
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
    """Draw the new place of the variable at place i; -1 means that the chain stays as it is.

    Place i itself means that the variable stays and only new parents are drawn.
    """
    if rng.random() < STILL_SHARE:
        return i
    if rng.random() < NEAR_SHARE:
        distance = 1 + int(-np.log(1.0 - rng.random()) * NEAR_DISTANCE)
        j = i + (distance if rng.random() < 0.5 else -distance)
    else:
        j = int(rng.random() * m)
    # A step to the same place or beyond the ends is not made. If another place were drawn instead,
    # moves would no longer be symmetric.
    return j if 0 <= j < m and j != i else -1


@jit
def _step(candidates, bit, score, total, order, rank, mask, parents, old, work, log_q, rng):  # type: ignore[no-untyped-def]
    """Try one move, and return log q of the state after it."""
    i = int(rng.random() * order.size)
    j = _draw_place(i, order.size, rng)
    if j < 0:
        return log_q
    x = order[i]
    side = 1 if j > i else -1
    old_mask = mask[x]
    x_mask = mask[x]  # will be the candidates before x at its new place
    gain = 0.0  # change of the sum of log Z
    p = i
    while p != j:
        p += side
        y = order[p]
        if bit[x, y] >= 0:
            x_mask ^= 1 << bit[x, y]
        if bit[y, x] >= 0:
            gain += total[y, mask[y] ^ (1 << bit[y, x])] - total[y, mask[y]]
    gain += total[x, x_mask] - total[x, mask[x]]
    # Draw a number even if the gain is positive. Otherwise round-off around a gain of 0 would shift
    # all later draws.
    if rng.random() >= np.exp(min(gain, 0.0)):
        return log_q
    # Draw new parents of x, and of the variables that x passed and that have x as a candidate.
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
    # The move is rejected: restore the state before it.
    move_to(order, rank, x, i)
    for k in range(n_changed):
        y = old[0, k]
        parents[y] = old[1, k]
        if y != x:
            mask[y] ^= 1 << bit[y, x]
    mask[x] = old_mask
    return log_q
