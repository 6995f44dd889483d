"""The search of SGBN: trees first, then score tables, for as long as a plan says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sgbn.search.exact_order import best_network
from sgbn.search.order_search import parents_for, search_order
from sgbn.search.plan import TUCK_DEPTH, SearchPlan, most_parents
from sgbn.search.problem import ScoredNetwork, SearchProblem, default_gamma, ebic_prices
from sgbn.search.table_search import respecting, search_tables
from sgbn.search.tree_arrays import make_trees
from sgbn.types import Array, Mask, Order

MAX_CANDIDATE_ROUNDS = 5  # in which candidates that were missed are added; 1 or 2 are usual
MAX_VARIANCE_ROUNDS = 5  # in which the common noise variance is estimated
SAME_VARIANCE = 0.01  # relative change below which the estimate has settled
MAX_VARIANCE_RATIO = 1e100  # of a variable and the common noise, so that sums of scores stay finite
SMALLEST = float(np.finfo(float).tiny)
# How tables are searched where all starts ended at the same score. Four rounds take four times as
# long, and lower the score by 0.1 on average over problems like those of benchmarks/search.py.
WHERE_ALL_AGREE: dict[str, Any] = {"lists": ("mixed",), "patience": 1}


def search_network(
    problem: SearchProblem, plan: SearchPlan, rng: np.random.RandomState
) -> ScoredNetwork:
    """Return the network of the least score that is found in as long as `plan` says."""
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
    """Search with few candidates, and add more until no allowed candidate improves the result.

    Parameters
    ----------
    problem, plan, rng
        As in `search_network`.
    starts : list of ndarray of shape (m,)
        Orders to start from.
    weight : ndarray of shape (m,), optional
        What a unit of RSS costs, where noise variances are taken to be equal.
    seen : list, optional
        Local optima are added to it.
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
        # the best parents among all variables, but in this order only: that takes little time
        best = parents_for(make_trees(problem, allowed, weight), network.order)
        missed = best.parents & ~candidates
        if not missed.any():
            break
        candidates = candidates | ((missed | missed.T) & allowed)
        starts = [network.order]
    return network


def starting_orders(required: Mask, n_starts: int, rng: np.random.RandomState) -> list[Order]:
    """Return orders that agree with the required edges: rising, falling, then random ones.

    Rising is the order of the variables of a problem: by variance inflation.
    """
    m = len(required)
    rising = np.arange(m)
    orders = [rising, rising[::-1], *(rng.permutation(m) for _ in range(n_starts - 2))]
    return [respecting(required, order) for order in orders[:n_starts]]


def _rough_order(problem: SearchProblem, n: int, order: Order) -> Order:
    """Improve an order by moves, as if there were n samples: only strong dependences count then."""
    m = len(order)
    price = ebic_prices(n, m, default_gamma(n))
    # Moves alone draw no random numbers: those of the search itself stay the same.
    trees = make_trees(replace(problem, n=n, price=price, max_parents=most_parents(n, m)))
    return search_order(trees, [order], 0, np.random.RandomState(0), 0, 0).order


def _search_with_common_variance(
    problem: SearchProblem,
    variance: Array,
    plan: SearchPlan,
    starts: list[Order],
    rng: np.random.RandomState,
) -> ScoredNetwork:
    """Search and estimate the common noise variance in turn."""
    # The start is the smallest variance of a variable: that of one without parents.
    common = float(variance.min())
    for _ in range(MAX_VARIANCE_ROUNDS):
        with np.errstate(over="ignore"):
            # Bounded: scores add these ratios up, and prices are divided by them.
            ratio = np.clip(variance / common, 1 / MAX_VARIANCE_RATIO, MAX_VARIANCE_RATIO)
        network = search_on_trees(problem, plan, starts, rng, problem.n * ratio)
        n_parents = network.parents.sum(axis=1)
        rss = network.score - problem.price[n_parents].sum()  # in units of the common variance
        # A copy of another variable has no noise at all: the smallest number stands for 0.
        before, common = common, max(common * rss / (problem.n * len(variance)), SMALLEST)
        if abs(common / before - 1) < SAME_VARIANCE:
            break
    return network
