r"""Simulated annealing over orders on score tables, for problems with many local optima.

.. math:: \min_{order} \sum_v best_v(M_v), \qquad best_v(M) = \min_{T \subseteq M} score_v(T)

:math:`M_v` are the candidate parents of v that stand before v in the order. The scores are those of
`sgbn.learn.search.tables`.

`anneal` makes one annealing of many steps. A step takes one variable x out of the order and puts it
back, usually at another place. Its relatives are the variables that are candidates of x, or have x
as a candidate. r relatives leave r + 1 gaps: before, between and behind them. Two look-ups per
relative give the scores of all gaps. A gap is drawn with a probability proportional to

.. math:: \text{places in the gap} \times e^{-score / temperature}

(a heat bath). No step is rejected. A step examines only relatives, so that it costs about half a
microsecond for any number of variables. The temperature falls geometrically.

`search_tables` searches for networks by annealing, in rounds with new candidates. One round chooses
candidate parents around the best networks known and fills score tables. It anneals from some of
these networks and from random orders, and keeps the best distinct networks. The search ends when
several rounds in a row found no better network.

An island is such a search from its own starting networks. If no network is clearly the best, one
search often misses the best network. So there may be several islands, and the networks of all
islands start a last search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.core.jit import jit_inside, jit_loops
from sgbn.core.types import Array, Mask, Order
from sgbn.learn.search.orders import move_to
from sgbn.learn.search.plan import ParentProblem, ScoredNetwork, TablePlan
from sgbn.learn.search.tables import best_candidates, candidate_priorities, fill_tables, places_of
from sgbn.learn.search.trees import TOL

# Times the temperature. A gap whose score is this much above the best is drawn once in 1e13 steps.
NEGLIGIBLE_GAP = 30.0
LARGEST_SEED = 2**63 - 1  # the largest int64


class OrderTables(NamedTuple):
    """The tables in which annealing looks up scores.

    Attributes
    ----------
    best : float, (sum of 2^k,)
        Least score among the subsets of every set of candidates. The tables of all variables follow
        one another. The table of a variable with k candidates has 2^k entries.
    first : int64, (m,)
        Place in `best` at which the table of each variable begins.
    bit : int64, (m, m)
        ``bit[v, u]`` is the place of u among v's candidates, or -1 if u is not a candidate.
    relatives : int64, (m, 1 + most relatives)
        Row v lists the variables that are candidates of v or have v as a candidate. The rest of the
        row, at least one entry, is -1.
    """

    best: Array
    first: NDArray[np.int64]
    bit: NDArray[np.int64]
    relatives: NDArray[np.int64]


def order_tables(problem: ParentProblem, candidates: NDArray[np.int64]) -> OrderTables:
    """Return the score tables of all sets of candidates.

    Parameters
    ----------
    problem : ParentProblem
        Correlations, prices, and limits of the parent sets.
    candidates : ndarray of shape (m, K)
        Row v lists the candidate parents of v, all required parents among them. The rest of the row
        is -1.
    """
    counts = (candidates >= 0).sum(axis=1)
    bit = places_of(candidates)
    sizes = np.left_shift(1, counts)
    first = np.cumsum(sizes) - sizes
    best = np.empty(int(sizes.sum()))
    limits = problem.price, problem.max_parents
    fill_tables(problem.samples, *limits, candidates, problem.required, first, best)
    _take_minima(counts, first, best)
    related = (bit >= 0) | (bit >= 0).T
    width = int(related.sum(axis=1).max()) + 1
    relatives = np.full((len(bit), width), -1, np.int64)
    for v, row in enumerate(related):
        relatives[v, : row.sum()] = np.flatnonzero(row)
    return OrderTables(best, first, bit, relatives)


@jit_loops
def _take_minima(counts, first, best):  # type: ignore[no-untyped-def]
    """Replace each score in `best` by the least score of all subsets, one pass per candidate."""
    for v in range(counts.size):
        size = 1 << counts[v]
        step = 1
        while step < size:
            # The masks come in blocks, in which `mask + step` is `mask` with one more candidate.
            # The inner loop has no branch, so that the processor works on several masks at a time.
            for block in range(first[v], first[v] + size, 2 * step):
                for mask in range(block, block + step):
                    fewer, more = best[mask], best[mask + step]
                    best[mask + step] = fewer if fewer < more else more
            step *= 2


def anneal(
    tables: OrderTables,
    order: Order,
    n_steps: int,
    temperatures: tuple[float, float],
    rng: np.random.RandomState,
) -> tuple[Order, float]:
    """Return the best order that annealing visits, and its score.

    Parameters
    ----------
    tables : OrderTables
        Score tables of the candidates.
    order : ndarray of shape (m,)
        The order to begin with. It must agree with the required edges. All later orders then agree
        with them too.
    n_steps : int
        Number of steps. Each step takes one variable out and puts it back.
    temperatures : pair of float
        First and last temperature, in units of the score.
    rng : RandomState
        One number is drawn from it: the seed of all steps.
    """
    # The kernel has its own generator, because numba cannot use a RandomState.
    seed = np.array([rng.randint(1, LARGEST_SEED, dtype=np.int64)], np.uint64)
    best_order = np.array(order, np.int64)
    orders = best_order, best_order.copy(), np.argsort(best_order)
    available = _available(tables.bit, best_order)
    work = np.empty((2, tables.relatives.shape[1] + 1))
    own_tables = tables._replace(relatives=tables.relatives.copy())
    _anneal(*own_tables, *orders, available, work, n_steps, *temperatures, seed)
    return best_order, score_along(tables, best_order)


def score_along(tables: OrderTables, order: Order) -> float:
    """Return the score of an order, in which each variable has its best parents before it."""
    return float(tables.best[tables.first + _available(tables.bit, order)].sum())


def parents_along(tables: OrderTables, order: Order) -> Mask:
    """Return the best parents of all variables in an order; ``parents[v, u]`` is u -> v."""
    chosen = _available(tables.bit, order)
    _drop_idle(tables.best, tables.first, tables.bit.max(axis=1) + 1, chosen)
    is_chosen = (chosen[:, None] >> np.maximum(tables.bit, 0)) & 1 == 1
    return is_chosen & (tables.bit >= 0)


@jit_loops
def _drop_idle(best, first, counts, chosen):  # type: ignore[no-untyped-def]
    """Drop from each set in `chosen` the candidates that its least score does not need."""
    # A minimum is a copy of a score. So two equal minima are equal to the last bit, and == works.
    for v in range(counts.size):
        for place in range(counts[v]):
            fewer = chosen[v] & ~(1 << place)
            if best[first[v] + fewer] == best[first[v] + chosen[v]]:
                chosen[v] = fewer


def _available(bit: NDArray[np.int64], order: Order) -> NDArray[np.int64]:
    """Return the candidates that stand before each variable in the order, as bits."""
    rank = np.argsort(order)
    before = (rank[None, :] < rank[:, None]) & (bit >= 0)
    return np.where(before, 1 << np.maximum(bit, 0), 0).sum(axis=1)


@jit_inside
def _uniform(state):  # type: ignore[no-untyped-def]
    """Return the next pseudo-random number in [0, 1), and change `state` (xorshift64*)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    # The upper 53 bits, as many as a float holds, divided by 2^53
    return float((x * np.uint64(2685821657736338717)) >> np.uint64(11)) / 9007199254740992.0


@jit_inside
def _sort_by_rank(relatives, rank):  # type: ignore[no-untyped-def]
    """Sort the relatives of a variable by rank, in place, and return their number."""
    # Insertion sort is fast here: the relatives are still nearly sorted from the last time that
    # this variable was drawn.
    r = 0
    while relatives[r] >= 0:
        u = relatives[r]
        k = r
        while k > 0 and rank[relatives[k - 1]] > rank[u]:
            relatives[k] = relatives[k - 1]
            k -= 1
        relatives[k] = u
        r += 1
    return r


@jit_inside
def _see_gaps(best, first, bit, x, relatives, r, available, total):  # type: ignore[no-untyped-def]
    """Fill ``total[k]`` with the score, up to a constant, if x stands behind k of its relatives.

    ``available[u]`` are the candidates before u as bits, for the present place of x.
    """
    mask = 0
    change = 0.0
    total[0] = best[first[x]]
    for k in range(r):
        u = relatives[k]
        place = bit[u, x]
        if place >= 0:  # u now stands before x, so that x cannot be its parent any more
            x_bit = 1 << place
            change += best[first[u] + (available[u] & ~x_bit)]
            change -= best[first[u] + (available[u] | x_bit)]
        if bit[x, u] >= 0:
            mask |= 1 << bit[x, u]
        total[k + 1] = change + best[first[x] + mask]


@jit_inside
def _draw_gap(total, r, relatives, rank, x_rank, temperature, state, weight):  # type: ignore[no-untyped-def]
    """Draw a gap between relatives and a place in it, and return the gap and the new rank of x.

    Ranks are counted as if x were taken out: ranks above `x_rank` are lower by one.
    """
    least = total[0]
    for k in range(1, r + 1):
        if total[k] < least:
            least = total[k]
    # Scores relative to the least one: the largest weight is 1 per place, so that none overflows.
    reach = least + NEGLIGIBLE_GAP * temperature
    m = rank.size
    heaviness = 0.0
    before = 0  # first place of this gap, with x taken out
    for k in range(r + 1):
        after = m - 1
        if k < r:
            after = rank[relatives[k]]
            after -= after > x_rank
        if total[k] < reach:
            heaviness += (after - before + 1) * np.exp((least - total[k]) / temperature)
        weight[k] = heaviness  # cumulative, so that one random number draws a gap
        before = after + 1
    drawn = _uniform(state) * heaviness
    k = 0
    while k < r and weight[k] <= drawn:
        k += 1
    while k > 0 and weight[k] == weight[k - 1]:  # round-off led to a gap without weight
        k -= 1
    lower = 0.0 if k == 0 else weight[k - 1]
    first, after = 0, m - 1
    if k > 0:
        first = rank[relatives[k - 1]]
        first += 1 - (first > x_rank)
    if k < r:
        after = rank[relatives[k]]
        after -= after > x_rank
    # The same random number draws the place: its part within the gap is again uniform.
    place = first + int((drawn - lower) / (weight[k] - lower) * (after - first + 1))
    return k, place if place < after else after


@jit_inside
def _update_available(bit, x, relatives, r, gap, available):  # type: ignore[no-untyped-def]
    """Update `available` after x has moved behind its first `gap` relatives."""
    available[x] = 0
    for k in range(r):
        u = relatives[k]
        if k < gap and bit[x, u] >= 0:
            available[x] |= 1 << bit[x, u]
        if bit[u, x] >= 0:
            x_bit = 1 << bit[u, x]
            available[u] = available[u] & ~x_bit if k < gap else available[u] | x_bit


@jit_loops
def _anneal(  # type: ignore[no-untyped-def]
    best, first, bit, relatives, order, current, rank, available, work, n_steps, hot, cold, state
):
    """Anneal, and change `order` into the best order visited.

    `current` is a copy of `order` and `rank` its inverse. `available` holds the candidates before
    each variable, as bits. These three, `relatives` and `state` change in every step. `work` has
    two rows with one number per gap.
    """
    # The caller makes all arrays. Making or copying them here would double the time to compile.
    m = order.size
    total, weight = work[0], work[1]
    gain, best_gain = 0.0, 0.0
    cooling = (cold / hot) ** (1.0 / (n_steps - 1)) if n_steps > 1 else 1.0
    temperature = hot
    for _ in range(n_steps):
        x = int(_uniform(state) * m)
        r = _sort_by_rank(relatives[x], rank)
        _see_gaps(best, first, bit, x, relatives[x], r, available, total)
        now = 0
        while now < r and rank[relatives[x, now]] < rank[x]:
            now += 1
        gap, place = _draw_gap(total, r, relatives[x], rank, rank[x], temperature, state, weight)
        if gap != now:
            gain += total[now] - total[gap]
            _update_available(bit, x, relatives[x], r, gap, available)
        # x moves even within its gap, because the heat bath draws places.
        move_to(current, rank, x, place)
        if gain > best_gain + TOL:
            best_gain = gain
            for i in range(m):
                order[i] = current[i]
        temperature *= cooling


BETTER = 1e-6  # smallest difference of scores that is not round-off
MAX_POOL_NETWORKS = 20  # networks kept from round to round
ISLAND_PATIENCE = 2  # an island ends after this many rounds without a better network
AGREEING_ISLANDS = 3  # when this many islands have the same best score, no more are started
# Temperatures are in units of the score.
HOT = 10.0  # first temperature from random orders; values from 5 to 20 work equally well
WARM = (2.0, 4.0)  # range of the first temperature from known networks; 5 is worse on real tables
COLD = 0.3  # last temperature
MAX_SETS = 2**23  # sets in all tables together: 64 megabytes


def search_tables(
    problem: ParentProblem,
    known: list[ScoredNetwork],
    partial: Array,
    plan: TablePlan,
    rng: np.random.RandomState,
) -> ScoredNetwork:
    """Return the best network found. It is never worse than the best known network.

    Parameters
    ----------
    problem : ParentProblem
        The problem that is searched.
    known : list of ScoredNetwork
        One or more networks to start from. They must agree with the allowed and required edges.
    partial : ndarray of shape (m, m)
        Absolute partial correlations given all other variables.
    plan : TablePlan
        How long to search.
    rng : RandomState
        Draws orders and temperatures.
    """
    pool = list(known)
    quick = plan._replace(lists=("mixed",), patience=ISLAND_PATIENCE)
    best_scores: list[float] = []
    for i in range(plan.n_islands):
        island = _improved(problem, known[i :: plan.n_islands] or known, partial, quick, rng)
        pool += island
        best_scores.append(island[0].score)
        if np.sum(np.array(best_scores) < min(best_scores) + BETTER) == AGREEING_ISLANDS:
            break
    return _improved(problem, pool, partial, plan, rng)[0]


def _improved(
    problem: ParentProblem,
    known: list[ScoredNetwork],
    partial: Array,
    plan: TablePlan,
    rng: np.random.RandomState,
) -> list[ScoredNetwork]:
    """Anneal in rounds until no better network is found; return the best ones, best first."""
    pool = _best_distinct(known)
    in_vain = 0
    for turn in range(plan.max_rounds):
        which = plan.lists[turn % len(plan.lists)]
        priority = candidate_priorities(problem, pool, partial, which)
        tables = _tables_around(problem, pool[0].parents, priority, plan)
        best_before = pool[0].score
        pool = _best_distinct(pool + _annealed(tables, pool, problem.required, plan, rng))
        in_vain = 0 if pool[0].score < best_before - BETTER else in_vain + 1
        if in_vain >= plan.patience:
            break
    return pool


def _best_distinct(networks: list[ScoredNetwork]) -> list[ScoredNetwork]:
    """Return the best networks, sorted by score, with only one network per score."""
    # Equivalent networks have the same score, and one of them is enough.
    kept: list[ScoredNetwork] = []
    for network in sorted(networks, key=lambda network: network.score):
        if not kept or network.score > kept[-1].score + BETTER:
            kept.append(network)
        if len(kept) == MAX_POOL_NETWORKS:
            break
    return kept


def _tables_around(
    problem: ParentProblem, parents: Mask, priority: Array, plan: TablePlan
) -> OrderTables:
    """Return tables whose candidates are the neighbours in the best network, and some more."""
    needed = problem.required.sum(axis=1)
    n_neighbours = (parents | parents.T).sum(axis=1)
    n_further = plan.n_further
    while True:
        counts = np.clip(n_neighbours + n_further, needed, plan.n_candidates)
        # Each further candidate doubles the table of its variable.
        if n_further == 1 or np.left_shift(1, counts).sum() <= MAX_SETS:
            break
        n_further -= 1
    candidates = best_candidates(priority, problem.allowed, problem.required, counts)
    return order_tables(problem, candidates)


def _annealed(
    tables: OrderTables,
    pool: list[ScoredNetwork],
    required: Mask,
    plan: TablePlan,
    rng: np.random.RandomState,
) -> list[ScoredNetwork]:
    """Return networks annealed from the best orders, from crossed orders and from random orders.

    A crossed order combines one of the best networks with a random network of the pool.
    """
    m = len(tables.bit)
    runs = [(pool[i % len(pool)].order, rng.uniform(*WARM)) for i in range(plan.n_warm)]
    for i in range(plan.n_crossed):
        first, second = pool[i % len(pool)], pool[rng.randint(len(pool))]
        runs.append((respecting(required, crossed(first, second, rng)), rng.uniform(*WARM)))
    runs += [(respecting(required, rng.permutation(m)), HOT) for _ in range(plan.n_random)]
    networks = []
    for start, temperature in runs:
        order, score = anneal(tables, start, plan.steps * m, (temperature, COLD), rng)
        networks.append(ScoredNetwork(score, order, parents_along(tables, order)))
    return networks


def crossed(first: ScoredNetwork, second: ScoredNetwork, rng: np.random.RandomState) -> Order:
    """Return the order of the first network, with the order of the second in a random part.

    The part grows from a random variable along the edges of both networks, to a random size. This
    can combine what each network has right in a different part.
    """
    m = len(first.order)
    joined = first.parents | first.parents.T | second.parents | second.parents.T
    inside = np.zeros(m, bool)
    inside[rng.randint(m)] = True
    size = rng.randint(1, m // 2 + 2)
    while inside.sum() < size:
        border = np.flatnonzero(joined[inside].any(axis=0) & ~inside)
        if len(border) == 0:
            break
        inside[border[rng.randint(len(border))]] = True
    place = np.where(inside, np.argsort(second.order), np.argsort(first.order))
    return np.argsort(place, kind="stable")


def respecting(required: Mask, order: Order) -> Order:
    """Return an order that is close to `order` and agrees with the required edges.

    Each step takes the first variable left whose required parents are all taken already.
    """
    if not required.any():
        return np.array(order)
    left = list(order)
    taken: list[int] = []
    while left:
        ready = next(v for v in left if required[v].sum() == required[v, taken].sum())
        left.remove(ready)
        taken.append(ready)
    return np.array(taken)
