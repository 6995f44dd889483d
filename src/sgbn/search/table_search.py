r"""Networks by annealing on score tables, in rounds with candidates chosen anew.

One round chooses candidate parents around the best networks known, fills score tables, anneals from
some of these networks and from random orders, and keeps the best distinct networks. The rounds end
when some in a row found nothing better.

Islands are such searches from networks of their own. Where no network stands out, one
search often ends at a network that is not the best. The networks of all islands start a last
search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sgbn.search.order_annealing import OrderTables, anneal, order_tables, parents_along
from sgbn.search.problem import ParentProblem, ScoredNetwork
from sgbn.search.table_candidates import best_candidates, candidate_priorities
from sgbn.types import Array, Mask, Order

BETTER = 1e-6  # smallest difference of scores that is not round-off
MAX_POOL_NETWORKS = 20  # kept from round to round
ISLAND_PATIENCE = 2  # rounds without a better network; the last search, from all islands, has more
AGREEING_ISLANDS = 3  # with the same best score: no further island is needed
# Temperatures are in units of the score.
HOT = 10.0  # where annealing from random orders begins; all from 5 to 20 do
WARM = (2.0, 4.0)  # range of where annealing from known networks begins; 5 is worse on real tables
COLD = 0.3  # where annealing ends
MAX_SETS = 2**23  # in all tables: 64 megabytes


class TablePlan(NamedTuple):
    """How long to search on tables, and from where.

    Attributes
    ----------
    n_candidates : most candidate parents of a variable.
    n_further : candidates beyond the neighbours in the best network known.
    n_islands : searches of their own, before the last search from all their networks.
    n_random, n_warm, n_crossed : annealings in one round: from random orders, from known networks,
        and from pairs of these.
    steps : steps of one annealing, per variable.
    lists : candidates beyond neighbours come from these lists in turn (see `table_candidates`); on
        islands they come from "mixed" alone.
    patience : the search ends after this many rounds in a row without a better network; on islands
        after 2.
    max_rounds : the search ends after this many rounds in any case.
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
    """Return the best network found, never worse than the best known.

    Parameters
    ----------
    problem : ParentProblem
        What is searched.
    known : list of ScoredNetwork
        One or more networks, in agreement with what is allowed and required.
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
    """Anneal in rounds until nothing better is found; returns the best networks, the best first."""
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
    """Return the best networks by score, one per score: equivalent networks have the same."""
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
    """Return tables for as many candidates as the best network has neighbours, and some more."""
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
    """Return networks by annealing from the best ones, from crossed ones and from random ones.

    Crossed are the best networks, in turn, each with any other one.
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
    """Return the order of the first network, but in a random neighbourhood that of the second.

    The neighbourhood grows from a random variable along the edges of both, to a random size. What
    two networks have right in different neighbourhoods comes together in one.
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
    """Return an order near `order` that agrees with the required edges.

    It takes again and again the first variable whose required parents are all taken.
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
