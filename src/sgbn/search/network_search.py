"""The search of SGBN: first on trees, then on score tables. A plan says how long it takes.

Trees (`sgbn.search.parent_trees`) find good parents fast. Score tables
(`sgbn.search.score_tables`) hold the score of every parent set among a few candidates.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sgbn.core.types import Array, Mask, Order
from sgbn.search.exact_order import best_network
from sgbn.search.order_search import parents_for, search_order
from sgbn.search.plan import TUCK_DEPTH, SearchPlan, most_parents
from sgbn.search.problem import ScoredNetwork, SearchProblem, default_gamma, ebic_prices
from sgbn.search.table_search import respecting, search_tables
from sgbn.search.tree_arrays import make_trees

MAX_CANDIDATE_ROUNDS = 5  # searches; each adds the candidates that the search before missed
MAX_VARIANCE_ROUNDS = 5  # searches, each with a new estimate of the common noise variance
SAME_VARIANCE = 0.01  # the estimate has converged when its relative change is below this
# Largest ratio of a variable's variance to the common noise variance. Sums of scores stay finite.
MAX_VARIANCE_RATIO = 1e100
SMALLEST_VARIANCE = float(np.finfo(float).tiny)
# How tables are searched if all starts ended at the same score: one round without a better network
# ends the search. Four rounds take four times as long, and lower the score by only 0.1 on average
# (benchmarks/search.py).
WHERE_ALL_AGREE: dict[str, Any] = {"lists": ("mixed",), "patience": 1}


def search_network(
    problem: SearchProblem, plan: SearchPlan, rng: np.random.RandomState
) -> ScoredNetwork:
    """Return the network of the least score that a search with this plan finds."""
    if plan.is_exact:
        return best_network(problem)
    known: list[ScoredNetwork] = []
    # Islands need different starts, so each of these searches begins at a random order.
    for _ in range(plan.n_quick):
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
    """Return the best network that a search on trees finds.

    If the plan screens candidate parents, candidates that would improve the network are added, and
    the search is repeated.

    Parameters
    ----------
    problem : SearchProblem
        The problem, with its allowed and required edges.
    plan : SearchPlan
        How long to search.
    starts : list of ndarray of shape (m,)
        Orders to start from.
    rng : RandomState
        Draws the kicks.
    weight : ndarray of shape (m,), optional
        Score per unit of RSS, if noise variances are assumed to be equal.
    seen : list, optional
        The local optima of the search are appended to this list.
    """
    allowed = candidates = problem.allowed
    if plan.candidate_z is not None:
        correlated = problem.partly_correlated(plan.candidate_z)
        candidates = (correlated | problem.required) & allowed
    if plan.n_rough:
        starts = [_rough_order(problem, plan.n_rough, order) for order in starts]
    for _ in range(MAX_CANDIDATE_ROUNDS):
        trees = make_trees(problem, candidates, weight)
        network = search_order(
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
        # The best parents among all allowed variables, in this one order. This takes little time.
        best = parents_for(make_trees(problem, allowed, weight), network.order)
        missed = best.parents & ~candidates
        if not missed.any():
            break
        candidates = candidates | ((missed | missed.T) & allowed)
        starts = [network.order]
    return network


def starting_orders(required: Mask, n_starts: int, rng: np.random.RandomState) -> list[Order]:
    """Return starting orders that agree with the required edges.

    The first order is by rising variance inflation, as the variables of a problem are sorted. The
    second is by falling variance inflation. All others are random.
    """
    m = len(required)
    rising = np.arange(m)
    orders = [rising, rising[::-1], *(rng.permutation(m) for _ in range(n_starts - 2))]
    return [respecting(required, order) for order in orders[:n_starts]]


def _rough_order(problem: SearchProblem, n: int, order: Order) -> Order:
    """Return `order` improved by moves, as if there were n samples.

    With few samples only strong dependences are worth their price.
    """
    m = len(order)
    price = ebic_prices(n, m, default_gamma(n))
    # Moves draw no random numbers, so this generator is never used.
    trees = make_trees(replace(problem, n=n, price=price, max_parents=most_parents(n, m)))
    return search_order(trees, [order], 0, np.random.RandomState(0), 0, 0).order


def _search_with_common_variance(
    problem: SearchProblem,
    variance: Array,
    plan: SearchPlan,
    starts: list[Order],
    rng: np.random.RandomState,
) -> ScoredNetwork:
    """Return the best network found; searches and estimates of the noise variance alternate."""
    # A variable without parents has only noise. So the smallest variance is the first estimate.
    common = float(variance.min())
    for _ in range(MAX_VARIANCE_ROUNDS):
        with np.errstate(over="ignore"):
            # Bounded, because scores add up these ratios, and prices are divided by them.
            ratio = np.clip(variance / common, 1 / MAX_VARIANCE_RATIO, MAX_VARIANCE_RATIO)
        network = search_on_trees(problem, plan, starts, rng, problem.n * ratio)
        n_parents = network.parents.sum(axis=1)
        rss = network.score - problem.price[n_parents].sum()  # in units of the common variance
        # A copy of another variable has no noise: the smallest positive number replaces 0.
        before, common = common, max(common * rss / (problem.n * len(variance)), SMALLEST_VARIANCE)
        if abs(common / before - 1) < SAME_VARIANCE:
            break
    return network
