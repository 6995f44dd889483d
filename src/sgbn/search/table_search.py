r"""The search for networks by annealing on score tables, in rounds with new candidates.

One round chooses candidate parents around the best networks known and fills score tables. It
anneals from some of these networks and from random orders, and keeps the best distinct networks.
The search ends when several rounds in a row found no better network.

An island is such a search from its own starting networks. If no network is clearly the best, one
search often misses the best network. So there may be several islands, and the networks of all
islands start a last search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sgbn.core.types import Array, Mask, Order
from sgbn.search.order_annealing import OrderTables, anneal, order_tables, parents_along
from sgbn.search.problem import ParentProblem, ScoredNetwork
from sgbn.search.table_candidates import best_candidates, candidate_priorities

BETTER = 1e-6  # smallest difference of scores that is not round-off
MAX_POOL_NETWORKS = 20  # networks kept from round to round
ISLAND_PATIENCE = 2  # an island ends after this many rounds without a better network
AGREEING_ISLANDS = 3  # when this many islands have the same best score, no more are started
# Temperatures are in units of the score.
HOT = 10.0  # first temperature from random orders; values from 5 to 20 work equally well
WARM = (2.0, 4.0)  # range of the first temperature from known networks; 5 is worse on real tables
COLD = 0.3  # last temperature
MAX_SETS = 2**23  # sets in all tables together: 64 megabytes


class TablePlan(NamedTuple):
    """The length of a search on tables, and the networks that it starts from.

    Attributes
    ----------
    n_candidates : int
        Largest number of candidate parents of a variable.
    n_further : int
        Number of candidates in addition to the neighbours in the best network known.
    n_islands : int
        Number of separate searches before the last search, which starts from all their networks.
    n_random, n_warm, n_crossed : int
        Number of annealings in one round that start from random orders, from known networks, and
        from pairs of known networks.
    steps : int
        Steps of one annealing per variable.
    lists : tuple of str
        Names of lists of `table_candidates`. Each round takes its candidates, in addition to the
        neighbours, from the next of these lists. Islands use only "mixed".
    patience : int
        The search ends after this many rounds in a row without a better network. Islands end after
        `ISLAND_PATIENCE` such rounds.
    max_rounds : int
        The search ends after this many rounds in any case.
    """

    n_candidates: int
    n_further: int
    n_islands: int
    n_random: int
    n_warm: int
    n_crossed: int
    steps: int
    lists: tuple[str, ...]
    patience: int
    max_rounds: int


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
        order = respecting(required, crossed(first, second, rng))
        runs.append((order, rng.uniform(*WARM)))
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
