r"""The best order of a few variables, by dynamic programming over sets.

.. math:: f(S) = \min_{v \in S} f(S \setminus v) + best_v(S \setminus v), \qquad f(\emptyset) = 0

f(S) is the least score of the variables in S if they are the first ones of the order. One of them,
v, is the last of S, and its parents are among the others (Silander and Myllymäki 2006). Every set
is examined once. So the network is the best of all, and each further variable doubles time and
memory.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sgbn.core.jit import jit, jit_inside
from sgbn.search.order_annealing import OrderTables, order_tables, parents_along, score_along
from sgbn.search.problem import ParentProblem, ScoredNetwork
from sgbn.search.table_candidates import best_candidates


def best_network(problem: ParentProblem) -> ScoredNetwork:
    """Return the network that has the least score of all networks.

    Time and memory limit this to about 20 variables.
    """
    m = len(problem.R)
    # All other variables are candidates, so that their priorities do not matter.
    counts = np.full(m, max(m - 1, 1))
    candidates = best_candidates(np.zeros((m, m)), problem.allowed, problem.required, counts)
    tables = order_tables(problem, candidates)
    order = best_order(tables)
    return ScoredNetwork(score_along(tables, order), order, parents_along(tables, order))


def best_order(tables: OrderTables) -> NDArray[np.int64]:
    """Return an order of least score."""
    m = len(tables.first)
    last = np.empty(1 << m, np.int8)  # one byte per set: one megabyte for 20 variables
    _fill_last(tables.best, tables.first, tables.bit, np.empty(1 << m), last)
    # Read the order from its end: the last variable of all, then the last of all others, ...
    order = np.empty(m, np.int64)
    left = (1 << m) - 1
    for place in range(m - 1, -1, -1):
        order[place] = last[left]
        left &= ~(1 << int(last[left]))
    return order


@jit_inside
def _fill_masks(bit, first, masks):  # type: ignore[no-untyped-def]
    """Fill ``masks[v, s]`` with v's candidates in the set s; bit 0 of s is variable `first`."""
    m, size = masks.shape
    for v in range(m):
        masks[v, 0] = 0
        for members in range(1, size):
            lowest = 0
            while not (members >> lowest) & 1:
                lowest += 1
            # Each set is its lowest member and a smaller set, whose mask is known already.
            place = bit[v, first + lowest]
            masks[v, members] = masks[v, members & (members - 1)]
            if place >= 0:
                masks[v, members] |= 1 << place


@jit
def _fill_last(best, first, bit, least, last):  # type: ignore[no-untyped-def]
    """Fill `least` (the least score of every set) and `last` (the last variable of its order)."""
    m = first.size
    # Two small tables, one per half of the variables, translate a set of variables into a set of
    # candidates. This replaces a loop over the members of every set.
    half = m // 2
    low, high = np.empty((m, 1 << half), np.int64), np.empty((m, 1 << (m - half)), np.int64)
    _fill_masks(bit, 0, low)
    _fill_masks(bit, half, high)
    least[0] = 0.0
    last[0] = -1
    for members in range(1, 1 << m):  # counting up: all subsets of a set come before it
        least[members] = np.inf
        lower, upper = members & ((1 << half) - 1), members >> half
        for v in range(m):
            if not (members >> v) & 1:
                continue
            mask = low[v, lower] | high[v, upper]
            total = least[members ^ (1 << v)] + best[first[v] + mask]
            if total < least[members]:
                least[members] = total
                last[members] = v
