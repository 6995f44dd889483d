"""The search of SGBN: trees first, then score tables, for as long as a plan says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sgbn.search.exact_order import best_network
from sgbn.search.order_search import parents_for, search_order
from sgbn.search.parent_trees import make_trees
from sgbn.search.plan import TUCK_DEPTH, SearchPlan, most_parents
from sgbn.search.problem import ScoredNetwork, SearchProblem, default_gamma, ebic_prices
from sgbn.search.table_search import respecting, search_tables
from sgbn.types import Array, Mask, Order

ROUNDS = 5  # of adding candidates that were missed; 1 or 2 are usual
SAME_VARIANCE = 0.01  # change of the common variance below which its estimate has settled
VARIANCE_ROUNDS = 5
# Of the search on tables where all starts ended at the same score: four rounds take four times as
# long, and lower the score by 0.1 on average over problems like those of benchmarks/search.py
WHERE_ALL_AGREE: dict[str, Any] = {"lists": ("mixed",), "patience": 1}


def search_network(
    problem: SearchProblem, plan: SearchPlan, rng: np.random.RandomState
) -> ScoredNetwork:
    """Search for the network of least score."""
    if plan.is_exact:
        return best_network(problem)
    known: list[ScoredNetwork] = []
    for _ in range(plan.n_quick):  # islands need starts that are unlike: no two of one search
        start = respecting(problem.required, rng.permutation(len(problem.R)))
        known.append(search_on_trees(problem, plan._replace(n_kicks=0), [start], rng))
    starts = starting_orders(problem.required, plan.n_starts, rng)
    if problem.variance is not None:
        return _search_with_common_variance(problem, problem.variance, plan, starts, rng)
    seen: list[ScoredNetwork] = []
    best = search_on_trees(problem, plan, starts, rng, seen=seen)
    if plan.tables is None:
        return best
    known = [*known, best] if known else seen
    tables = plan.tables
    if plan.n_starts > 1 and len(known) == 1:
        tables = tables._replace(**WHERE_ALL_AGREE)
    return search_tables(problem, known, problem.partial, tables, rng)


def search_on_trees(
    problem: SearchProblem,
    plan: SearchPlan,
    starts: list[Order],
    rng: np.random.RandomState,
    weight: Array | None = None,
    seen: list[ScoredNetwork] | None = None,
) -> ScoredNetwork:
    """Search with few candidates, until all that are allowed would add nothing for the order found.

    Parameters
    ----------
    problem, plan, rng : as in `search_network`.
    starts : list of orders
    weight : ndarray of shape (m,), optional
        What a unit of RSS costs, where noise variances are taken to be equal.
    seen : list, optional
        Takes local optima.
    """
    allowed = candidates = problem.allowed
    if plan.candidate_z is not None:
        correlated = problem.partly_correlated(plan.candidate_z)
        candidates = (correlated | problem.required) & allowed
    if plan.n_rough:
        starts = [_rough_order(problem, plan.n_rough, order) for order in starts]
    for _ in range(ROUNDS):
        trees = make_trees(problem, candidates, weight)
        found = search_order(
            trees,
            starts,
            plan.n_kicks,
            rng,
            TUCK_DEPTH,
            plan.n_tucks,
            seen,
            kick_agreed=plan.kick_agreed,
        )
        if np.array_equal(candidates, allowed):
            break
        best = parents_for(make_trees(problem, allowed, weight), found.order)
        missed = best.parents & ~candidates
        if not missed.any():
            break
        candidates = candidates | ((missed | missed.T) & allowed)
        starts = [found.order]
    return found


def starting_orders(required: Mask, n_starts: int, rng: np.random.RandomState) -> list[Order]:
    """Orders that no required edge breaks: rising, falling, then random ones."""
    m = len(required)
    rising = np.arange(m)
    orders = [rising, rising[::-1], *(rng.permutation(m) for _ in range(n_starts - 2))]
    return [respecting(required, order) for order in orders[:n_starts]]


def _rough_order(problem: SearchProblem, n: int, order: Order) -> Order:
    """Improve an order by moves, as if there were n samples: strong dependences alone count."""
    m = len(order)
    price = ebic_prices(n, m, default_gamma(n))
    trees = make_trees(replace(problem, n=n, price=price, max_parents=most_parents(n, m)))
    return search_order(trees, [order], 0, np.random.RandomState(0), 0, 0).order


def _search_with_common_variance(
    problem: SearchProblem,
    variance: Array,
    plan: SearchPlan,
    starts: list[Order],
    rng: np.random.RandomState,
) -> ScoredNetwork:
    """Search and estimate the common noise variance in turn.

    It starts at the smallest variance of a variable: that of one without parents.
    """
    common = float(variance.min())
    for _ in range(VARIANCE_ROUNDS):
        found = search_on_trees(problem, plan, starts, rng, problem.n * variance / common)
        n_parents = found.parents.sum(axis=1)
        rss = found.score - problem.price[n_parents].sum()  # in units of the common variance
        before, common = common, common * rss / (problem.n * len(variance))
        if abs(common / before - 1) < SAME_VARIANCE:
            break
    return found
