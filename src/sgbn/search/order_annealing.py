r"""Annealing over orders on score tables: good orders where local searches end in many places.

.. math:: \min_{order} \sum_v best_v(M_v), \qquad best_v(M) = \min_{T \subseteq M} score_v(T)

where :math:`M_v` are the candidate parents of v that stand before it, and scores are those of
`sgbn.search.score_tables`. A step takes one variable x out and puts it
back before or after its relatives: the variables that are candidates of x, or have x as a
candidate. With r relatives there are r + 1 gaps, whose scores follow from two look-ups per
relative, and a gap is drawn with probability proportional to

.. math:: \text{places in the gap} \times e^{-score / temperature}

(a heat bath). No step is rejected, and nothing but relatives is looked at, so that a step costs
about half a microsecond, whatever the number of variables. The temperature falls geometrically.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.jit import jit_inside, jit_loops
from sgbn.search.order_moves import move_to
from sgbn.search.parent_trees import TOL
from sgbn.search.problem import ParentProblem
from sgbn.search.score_tables import fill_tables, places_of
from sgbn.types import Array, Mask, Order

NEGLIGIBLE_GAP = 30.0  # in temperatures above the best gap: drawn once in 1e13 steps
LARGEST_SEED = 2**63 - 1


class OrderTables(NamedTuple):
    """What annealing looks up.

    Attributes
    ----------
    best : (sum of 2^k,) least score among the subsets of every set of candidates. The tables of
        all variables follow one another; with k candidates a table has 2^k entries.
    first : (m,) where the table of each variable begins in `best`.
    bit : (m, m) ``bit[v, u]`` is the place of u among v's candidates, -1 if it is none.
    relatives : (m, .) variables that are candidates of v or have v as a candidate, then -1.
    """

    best: Array
    first: NDArray[np.int64]
    bit: NDArray[np.int64]
    relatives: NDArray[np.int64]


def order_tables(problem: ParentProblem, candidates: NDArray[np.int64]) -> OrderTables:
    """Fill the tables.

    Parameters
    ----------
    problem : ParentProblem
    candidates : ndarray of shape (m, K)
        Distinct variables other than v itself, required ones among them, then -1.
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
    """Replace scores by their minima over subsets, one pass per candidate."""
    for v in range(counts.size):
        size = 1 << counts[v]
        step = 1
        while step < size:
            # In blocks, each mask beside the one with one more candidate: the inner loop has no
            # branch, and the processor takes several masks at a time.
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
    """Return the best order seen, and its score.

    Parameters
    ----------
    tables : OrderTables
    order : ndarray of shape (m,)
        The order to begin with. It must agree with the required edges; all later ones then do.
    n_steps : int
        Variables taken out and put back.
    temperatures : pair of float
        The first and the last one, in units of the score.
    rng : RandomState
        One number is drawn from it.
    """
    # The kernel has a generator of its own; one number of `rng` decides all its steps.
    seed = np.array([rng.randint(1, LARGEST_SEED, dtype=np.int64)], np.uint64)
    best_order = np.array(order, np.int64)
    hot, cold = temperatures
    _anneal(
        tables.best,
        tables.first,
        tables.bit,
        tables.relatives.copy(),
        best_order,
        best_order.copy(),
        np.argsort(best_order),
        _available(tables.bit, best_order),
        np.empty((2, tables.relatives.shape[1] + 1)),
        n_steps,
        hot,
        cold,
        seed,
    )
    return best_order, score_along(tables, best_order)


def score_along(tables: OrderTables, order: Order) -> float:
    """Return the score of an order: the best scores among the candidates before each variable."""
    return float(tables.best[tables.first + _available(tables.bit, order)].sum())


def parents_along(tables: OrderTables, order: Order) -> Mask:
    """Return the best parents along an order: ``parents[v, u]`` is u -> v."""
    chosen = _available(tables.bit, order)
    _drop_idle(tables.best, tables.first, tables.bit.max(axis=1) + 1, chosen)
    is_chosen = (chosen[:, None] >> np.maximum(tables.bit, 0)) & 1 == 1
    parents: Mask = is_chosen & (tables.bit >= 0)
    return parents


@jit_loops
def _drop_idle(best, first, counts, chosen):  # type: ignore[no-untyped-def]
    """Drop candidates from every set, in place, that its least score does not need."""
    # Minima are copies of scores, so that == is right here: equal ones are equal to the bit.
    for v in range(counts.size):
        for place in range(counts[v]):
            fewer = chosen[v] & ~(1 << place)
            if best[first[v] + fewer] == best[first[v] + chosen[v]]:
                chosen[v] = fewer


def _available(bit: NDArray[np.int64], order: Order) -> NDArray[np.int64]:
    """Return the candidates that stand before each variable, as bits."""
    rank = np.argsort(order)
    before = (rank[None, :] < rank[:, None]) & (bit >= 0)
    available: NDArray[np.int64] = np.where(before, 1 << np.maximum(bit, 0), 0).sum(axis=1)
    return available


@jit_inside
def _uniform(state):  # type: ignore[no-untyped-def]
    """Return the next pseudo-random number in [0, 1), and change `state` (xorshift64*)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    # The upper 53 bits, as many as a float has, over 2^53
    return float((x * np.uint64(2685821657736338717)) >> np.uint64(11)) / 9007199254740992.0


@jit_inside
def _sort_by_rank(relatives, rank):  # type: ignore[no-untyped-def]
    """Sort the relatives of a variable by rank, in place; returns their number."""
    # By insertion: they are nearly sorted from the last time that the variable was drawn.
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
    """Fill ``total[k]``: the score with x behind its first k relatives, but for a constant.

    ``available[u]`` are the candidates before u, x among them or not, as bits.
    """
    mask = 0
    change = 0.0
    total[0] = best[first[x]]
    for k in range(r):
        u = relatives[k]
        place = bit[u, x]
        if place >= 0:  # u is now before x, and loses it
            x_bit = 1 << place
            change += best[first[u] + (available[u] & ~x_bit)]
            change -= best[first[u] + (available[u] | x_bit)]
        if bit[x, u] >= 0:
            mask |= 1 << bit[x, u]
        total[k + 1] = change + best[first[x] + mask]


@jit_inside
def _draw_gap(total, r, relatives, rank, x_rank, temperature, state, weight):  # type: ignore[no-untyped-def]
    """Draw a gap between relatives and a place in it; returns the gap and the new rank of x.

    Ranks are counted as if x were taken out: those behind `x_rank` are one less.
    """
    least = total[0]
    for k in range(1, r + 1):
        if total[k] < least:
            least = total[k]
    # Relative to the least one: the largest weight is then 1 per place, and none overflows.
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
        weight[k] = heaviness  # summed up: a gap is drawn by one number
        before = after + 1
    drawn = _uniform(state) * heaviness
    k = 0
    while k < r and weight[k] <= drawn:
        k += 1
    while k > 0 and weight[k] == weight[k - 1]:  # a gap without weight, reached by round-off
        k -= 1
    lower = 0.0 if k == 0 else weight[k - 1]
    first, after = 0, m - 1
    if k > 0:
        first = rank[relatives[k - 1]]
        first += 1 - (first > x_rank)
    if k < r:
        after = rank[relatives[k]]
        after -= after > x_rank
    # What is left of the number that chose the gap chooses the place in it.
    place = first + int((drawn - lower) / (weight[k] - lower) * (after - first + 1))
    return k, place if place < after else after


@jit_inside
def _tell_relatives(bit, x, relatives, r, gap, available):  # type: ignore[no-untyped-def]
    """Update `available`: x stands behind its first `gap` relatives now."""
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
    """Anneal; `order` becomes the best one seen.

    `current` is a copy of `order`, `rank` its inverse, `available` the candidates before each
    variable, as bits. They change in every step, as `relatives` and `state` do. `work` holds two
    rows of one number per gap.
    """
    # The caller makes all arrays: to make or copy whole ones here doubles the time to compile.
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
            _tell_relatives(bit, x, relatives[x], r, gap, available)
        move_to(current, rank, x, place)  # also within its gap: places are drawn, not gaps
        if gain > best_gain + TOL:
            best_gain = gain
            for i in range(m):
                order[i] = current[i]
        temperature *= cooling
