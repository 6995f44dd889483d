r"""The search of SGBN: first on trees, then on score tables. A plan says how long it takes.

`search_network` searches for the network of one sample. Trees (`sgbn.learn.search.trees`) find good
parents fast. Score tables (`sgbn.learn.search.tables`) hold the score of every parent set among a
few candidates.

`best_network` finds the best order of a few variables, by dynamic programming over sets:

.. math:: f(S) = \min_{v \in S} f(S \setminus v) + best_v(S \setminus v), \qquad f(\emptyset) = 0

f(S) is the least score of the variables in S if they are the first ones of the order. One of them,
v, is the last of S, and its parents are among the others (Silander and Myllymäki 2006). Every set
is examined once. So the network is the best of all, and each further variable doubles time and
memory.

`search_subjects` searches for one graph that several subjects share, by the mean of their scores:

.. math:: \min_{DAG} \frac{1}{S} \sum_j \Big[ 2 \gamma \log \binom{m - 1}{k_j}
          + \sum_s \big( n_s \log RSS_{sj} + c \, k_j \log n_s \big) \Big], \qquad k_j = |PA_j|

S is the number of subjects, :math:`n_s` the effective number of volumes of subject s, c a penalty,
and :math:`\gamma` the result of `default_gamma`. Region j has :math:`k_j` parents, and
:math:`RSS_{sj}` is its residual sum of squares in subject s. The sum over subjects is the idea of
IMaGES (Ramsey and others 2010). Each subject has its own weights and noise variances, and only the
graph is shared. An edge enters if it is worth its price in the mean over subjects. A larger number
of subjects does not make a weak edge worth its price, but a few subjects with a very strong edge
can. The mean, unlike the sum, keeps scores on the scale for which the temperatures of annealing are
set.

The search on trees works on one sample, so it uses the mean correlations of all subjects. The
search on tables starts from its networks, and uses the score above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbn.core.jit import jit, jit_inside
from sgbn.core.moments import Moments
from sgbn.core.types import Array, Indices, Mask, Order
from sgbn.learn.search.annealing import (
    OrderTables,
    order_tables,
    parents_along,
    respecting,
    score_along,
    search_tables,
)
from sgbn.learn.search.orders import parents_for, search_order
from sgbn.learn.search.plan import (
    MAX_EXACT_VARIABLES,
    TUCK_DEPTH,
    ParentProblem,
    ScoredNetwork,
    SearchPlan,
    SearchProblem,
    TablePlan,
    default_gamma,
    ebic_prices,
    most_parents,
)
from sgbn.learn.search.tables import best_candidates
from sgbn.learn.search.trees import SMALLEST_RSS, make_trees

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
        limits = TUCK_DEPTH, plan.n_tucks
        network = search_order(
            trees, starts, plan.n_kicks, rng, *limits, seen, kick_agreed=plan.kick_agreed
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
        # In units of the common variance.
        rss = network.score - problem.price[network.parents.sum(axis=1)].sum()
        # A copy of another variable has no noise: the smallest positive number replaces 0.
        before, common = common, max(common * rss / (problem.n * len(variance)), SMALLEST_VARIANCE)
        if abs(common / before - 1) < SAME_VARIANCE:
            break
    return network


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


MAX_START_NETWORKS = 4  # networks of the search on trees from which the search on tables starts
TABLES = TablePlan(
    n_candidates=12,
    n_further=4,
    n_islands=0,
    n_random=0,
    n_warm=2,
    n_crossed=0,
    steps=500,
    lists=("now", "partial", "last", "pool"),
    patience=2,
    max_rounds=12,
)


@dataclass(frozen=True)
class SubjectsProblem(SearchProblem):
    """A search problem over subjects. `R` and `n` are means over the subjects.

    Attributes
    ----------
    R_of_subjects : ndarray of shape (S, m, m)
        Correlations of each subject, with the variables in the order of `R`.
    n_of_subjects : ndarray of shape (S,)
        Effective number of volumes of each subject, divided by the number of subjects.
    """

    R_of_subjects: Array = field(kw_only=True)
    n_of_subjects: Array = field(kw_only=True)

    @property
    def samples(self) -> tuple[Array, Array]:
        """Correlations and weights of the subjects."""
        return self.R_of_subjects, self.n_of_subjects

    @classmethod
    def of_subjects(
        cls,
        R: Array,
        n: Array,
        edges: tuple[Mask, Mask],
        penalty: float,
        max_parents: int,
        names: Sequence[str],
    ) -> SubjectsProblem:
        """Return the problem, with variables sorted so that the order of columns has no effect.

        Parameters
        ----------
        R : ndarray of shape (S, m, m)
            Correlations of each subject. The correlation matrix of a region and its possible
            parents (at most `max_parents`) must be positive definite.
        n : ndarray of shape (S,)
            Effective number of volumes of each subject.
        edges : pair of ndarray of shape (m, m), bool
            The allowed and the required edges; ``[i, j]`` is i -> j.
        penalty : float
            The factor c above: the price of an edge is c times its price in BIC.
        max_parents : int
            Largest number of parents of a variable.
        names : sequence of str
            Names of the regions. They decide ties when the variables are sorted.
        """
        S, m = len(R), R.shape[1]
        # Tables are filled faster if subjects with equally many volumes follow one another.
        by_size = np.argsort(n, kind="stable")
        R, n = R[by_size], n[by_size]
        size = max(2, round(float(np.mean(n))))
        mean = np.tensordot(n / n.sum(), R, axes=1)
        moments = Moments.from_covariance(mean, size, list(names), ddof=0)
        plain = SearchProblem.of(moments, edges, default_gamma(size), max_parents, names)
        columns = plain.columns
        shared = {item.name: getattr(plain, item.name) for item in fields(plain)}
        # With n = 1 the term k log n is 0, and only the binomial term is left.
        choices = ebic_prices(1, m, default_gamma(size))
        k = np.arange(len(choices))
        shared["price"] = penalty * k * np.log(n).mean() + choices / S
        R_of_subjects = np.ascontiguousarray(R[:, columns[:, None], columns])
        n_of_subjects = np.ascontiguousarray(n / S)
        return cls(**shared, R_of_subjects=R_of_subjects, n_of_subjects=n_of_subjects)

    def score(self, parents: Mask) -> float:
        """Return the mean score of a network; ``parents[v, u]`` is u -> v."""
        R, n = self.samples
        total = 0.0
        for v, row in enumerate(parents):
            P = np.flatnonzero(row)
            total += float(self.price[len(P)])
            total += float(n @ np.log(np.maximum(residual_shares(R, v, P), SMALLEST_RSS)))
        return total


def residual_shares(R: Array, v: int, P: Indices) -> Array:
    """Return, for each subject, the share of the variance of v that the variables P leave."""
    right = R[:, P, v]
    weights = np.linalg.solve(R[:, P[:, None], P], right[:, :, None])[:, :, 0]
    return 1.0 - np.einsum("sp,sp->s", weights, right)


def search_subjects(
    problem: SubjectsProblem, rng: np.random.RandomState, plan: TablePlan = TABLES
) -> ScoredNetwork:
    """Return a network of low mean score.

    With at most `MAX_EXACT_VARIABLES` variables, no network has a lower mean score.
    """
    m = len(problem.R)
    if m <= MAX_EXACT_VARIABLES:
        return best_network(problem)
    trees = SearchPlan.for_size(problem.n, m, "fast")
    starts = starting_orders(problem.required, trees.n_starts, rng)
    seen: list[ScoredNetwork] = []
    seen.append(search_on_trees(problem, trees, starts, rng, seen=seen))
    best = sorted(seen, key=lambda network: network.score)[:MAX_START_NETWORKS]
    # The trees scored mean correlations. The search on tables needs the score over subjects.
    known = [network._replace(score=problem.score(network.parents)) for network in best]
    return search_tables(problem, known, problem.partial, plan, rng)
