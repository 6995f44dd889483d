r"""Networks by annealing on score tables, in rounds with candidates chosen anew.

One round chooses candidate parents around the best networks known, fills score tables, anneals from
some of these networks and from random orders, and keeps the best distinct networks. The rounds end
when some in a row found nothing better.

Islands are such searches from networks of their own: what one takes for the best is often not the
best where the data are no clear network. Their networks together are the start of a last search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sgbn.search.order_annealing import OrderTables, anneal, order_tables, parents_along
from sgbn.search.problem import ParentProblem, ScoredNetwork
from sgbn.search.table_candidates import best_candidates, candidate_priorities
from sgbn.types import Array, Mask, Order

BETTER = 1e-6  # difference of scores that is no round-off
POOL = 20  # networks kept
ISLAND_PATIENCE = 2  # rounds; the last search, from all islands, has more
AGREED = 3  # islands that found the same best score, after which no further one is needed
HOT = 10.0  # temperature at which annealing from random orders begins; of 5 to 20 all do
WARM = (2.0, 4.0)  # from known networks: the range it is drawn from; 5 is worse on real tables
COLD = 0.3  # the last temperature
MOST_SETS = 2**23  # in all tables: 64 megabytes


class TablePlan(NamedTuple):
    """How long to search.

    Attributes
    ----------
    n_candidates : most candidate parents of a variable.
    n_further : candidates beyond the neighbours in the best network known.
    n_islands : searches of their own before all they found is put together.
    n_random, n_warm, n_crossed : annealings in one round: from random orders, from known networks,
        and from pairs of these.
    steps : of one annealing, per variable.
    lists : candidates beyond neighbours come from these in turn (see `table_candidates`); on
        islands from "mixed" alone.
    patience : rounds in a row without a better network after which the search ends; on islands 2.
    max_rounds : rounds after which it ends in any case.
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
    known : list of ScoredNetwork
        At least one, in agreement with what is allowed and required.
    partial : ndarray of shape (m, m)
        Absolute partial correlations given all other variables.
    plan : TablePlan
    rng : RandomState
    """
    pool = list(known)
    quick = plan._replace(lists=("mixed",), patience=ISLAND_PATIENCE)
    best_scores: list[float] = []
    for i in range(plan.n_islands):
        island = _improved(problem, known[i :: plan.n_islands] or known, partial, quick, rng)
        pool += island
        best_scores.append(island[0].score)
        if np.sum(np.array(best_scores) < min(best_scores) + BETTER) == AGREED:
            break
    return _improved(problem, pool, partial, plan, rng)[0]


def _improved(
    problem: ParentProblem,
    known: list[ScoredNetwork],
    partial: Array,
    plan: TablePlan,
    rng: np.random.RandomState,
) -> list[ScoredNetwork]:
    """Anneal in rounds until nothing better is found; the best networks, the best first."""
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
    """Return the best networks by score, one of each score: equivalent ones have the same."""
    kept: list[ScoredNetwork] = []
    for network in sorted(networks, key=lambda network: network.score):
        if not kept or network.score > kept[-1].score + BETTER:
            kept.append(network)
        if len(kept) == POOL:
            break
    return kept


def _tables_around(
    problem: ParentProblem, parents: Mask, priority: Array, plan: TablePlan
) -> OrderTables:
    """Tables for as many candidates as the best network has neighbours, and some more."""
    needed = problem.required.sum(axis=1)
    n_neighbours = (parents | parents.T).sum(axis=1)
    n_further = plan.n_further
    while True:
        counts = np.clip(n_neighbours + n_further, needed, plan.n_candidates)
        if n_further == 1 or np.left_shift(1, counts).sum() <= MOST_SETS:
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
    """Networks by annealing: from the best ones of the pool, as they are and crossed, and others.

    The others are random orders. Crossed are the best networks in turn with any other one.
    """
    m = len(tables.bit)
    runs = [(pool[i % len(pool)].order, rng.uniform(*WARM)) for i in range(plan.n_warm)]
    for i in range(plan.n_crossed):
        first, second = pool[i % len(pool)], pool[rng.randint(len(pool))]
        order = respecting(required, crossed(first, second, rng))
        runs.append((order, rng.uniform(*WARM)))
    runs += [(respecting(required, rng.permutation(m)), HOT) for _ in range(plan.n_random)]
    found = []
    for start, temperature in runs:
        order, score = anneal(tables, start, plan.steps * m, (temperature, COLD), rng)
        found.append(ScoredNetwork(score, order, parents_along(tables, order)))
    return found


def crossed(first: ScoredNetwork, second: ScoredNetwork, rng: np.random.RandomState) -> Order:
    """Order of the first network, but in a random neighbourhood that of the second.

    The neighbourhood grows from a random variable along the edges of both, to a random size. What
    two networks have found in different neighbourhoods comes together in one.
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
    """Take again and again the first variable in `order` whose required parents are all taken."""
    if not required.any():
        return np.array(order)
    left = list(order)
    taken: list[int] = []
    while left:
        ready = next(v for v in left if required[v].sum() == required[v, taken].sum())
        left.remove(ready)
        taken.append(ready)
    return np.array(taken)
