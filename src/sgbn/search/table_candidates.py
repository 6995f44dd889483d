r"""The choice of candidate parents for score tables: a few per variable, around good networks.

Score tables (`sgbn.search.score_tables`) contain all sets of the candidates, but no other parents.
On 60 random problems annealing always found the best network within its tables. It missed the best
known network only if a parent was not a candidate.

The first candidates of v are its neighbours in the best network known. All further candidates come
from lists. Each list ranks the other variables u by one criterion:

- "pool": the number of good networks in which u and v are neighbours, better networks weighing
  more;
- "partial": the partial correlation of u and v given all other variables;
- "now": the change of the score if u became a parent of v in one of the best networks, as a further
  parent or in place of another;
- "last": the change of the score if u and all neighbours of v were its parents;
- "mixed": the sum of "pool", "now" and "partial", so that several networks can be improved at once.

Each round uses one list alone, because parents often help only together. Required parents come
first of all. Variables that are not allowed are never candidates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sgbn.core.jit import jit, jit_inside
from sgbn.core.types import Array, Mask
from sgbn.search.candidate_parents import regress_on
from sgbn.search.path_regression import COLLINEAR, SMALLEST_RSS
from sgbn.search.problem import ParentProblem, ScoredNetwork

LISTS = ("pool", "partial", "now", "last", "mixed")
CHILD_WEIGHT = 0.5  # weight of a child of v as its candidate; a parent of v has the weight 1
MAX_EXAMINED = 4  # networks in which "now", "last" and "mixed" compute changes of the score
MAX_LOSS = 6.0  # units of score; a parent that increases the score by more has no merit in "mixed"
MAX_MERIT = 1.5  # largest merit of a parent in "mixed"; one network of the pool counts 1
TOLERANCE = 20.0  # a network whose score is this much above the best has the weight 1 / e


def score_changes(problem: ParentProblem, network: ScoredNetwork) -> tuple[Array, Array]:
    """Return how the score of v changes if u becomes its parent, ``change[v, u]``, in two cases.

    In the first case, u is added to the parents of v in the network, or replaces one of them that
    is not required. The change is infinite if u stands behind v in the order. In the second case, v
    stands last and all its neighbours are its parents, and u becomes a further parent. Both changes
    are infinite if u is a neighbour of v already.
    """
    m = len(problem.R)
    rank = np.argsort(network.order)
    neighbours = network.parents | network.parents.T | np.eye(m, dtype=bool)
    now, at_end = np.empty((m, m)), np.empty((m, m))
    R, n = problem.samples
    _fill_changes(R, n, problem.price, network.parents, neighbours, problem.required, now, at_end)
    now[rank[None, :] > rank[:, None]] = np.inf
    now[neighbours] = np.inf
    at_end[neighbours] = np.inf
    return now, at_end


@jit_inside
def _scores_with(R, n, price, v, given, size, work, scores):  # type: ignore[no-untyped-def]
    """Fill `scores` with the score of v for each further parent; return the score without one.

    The parents are the first `size` variables of `given`. A further parent takes
    covariance^2 / variance from the residual sum of each sample. `work` is three arrays of the
    shapes (m, m), (m,) and (m,).
    """
    rows, covariance, variance = work
    for u in range(scores.size):
        scores[u] = price[size + 1]
    alone = price[size]
    for s in range(n.size):
        for u in range(scores.size):
            covariance[u] = R[s, v, u]
            variance[u] = 1.0
        for a in range(size):
            regress_on(R[s], v, given[a], a, rows, variance, covariance)
        rss = covariance[v]  # the covariance of v with itself, given its parents
        alone += n[s] * np.log(rss if rss > SMALLEST_RSS else SMALLEST_RSS)
        for u in range(scores.size):
            left = rss
            if variance[u] > COLLINEAR:
                left -= covariance[u] * covariance[u] / variance[u]
            scores[u] += n[s] * np.log(left if left > SMALLEST_RSS else SMALLEST_RSS)
    return alone


@jit_inside
def _list_others(is_listed, v, most, out):  # type: ignore[no-untyped-def]
    """Fill `out` with at most `most` listed variables other than v, and return their number."""
    k = 0
    for u in range(is_listed.size):
        if is_listed[u] and u != v and k < most:
            out[k] = u
            k += 1
    return k


@jit
def _fill_changes(R, n, price, parents, neighbours, required, now, at_end):  # type: ignore[no-untyped-def]
    """Fill both results of `score_changes` for all pairs, without the infinite entries."""
    m = parents.shape[0]
    given, fewer = np.empty(m, np.int64), np.empty(m, np.int64)
    work = np.empty((m, m)), np.empty(m), np.empty(m)
    scores = np.empty(m)
    most = price.size - 2  # one more parent must still have a price
    for v in range(m):
        k = _list_others(parents[v], v, m, given)
        score = _scores_with(R, n, price, v, given, k, work, scores)
        for u in range(m):
            now[v, u] = scores[u] - score
        for a in range(k):  # u in place of parent a
            if required[v, given[a]]:
                continue
            for t in range(k - 1):
                fewer[t] = given[t + (t >= a)]
            _scores_with(R, n, price, v, fewer, k - 1, work, scores)
            for u in range(m):
                if scores[u] - score < now[v, u]:
                    now[v, u] = scores[u] - score
        k = _list_others(neighbours[v], v, most, given)
        score = _scores_with(R, n, price, v, given, k, work, scores)
        for u in range(m):
            at_end[v, u] = scores[u] - score


def candidate_priorities(
    problem: ParentProblem, networks: list[ScoredNetwork], partial: Array, which: str
) -> Array:
    """Return the priority of every variable u as a candidate parent of v, ``priority[v, u]``.

    Parameters
    ----------
    problem : ParentProblem
        The problem that is searched.
    networks : list of ScoredNetwork
        The best networks known, the best first.
    partial : ndarray of shape (m, m)
        Absolute partial correlations of all pairs given all others.
    which : str
        One of the `LISTS`. It ranks the variables that are not neighbours of v.
    """
    best = networks[0].parents
    counted = np.zeros(best.shape)
    for network in networks:
        weight = np.exp((networks[0].score - network.score) / TOLERANCE)
        counted += weight * (network.parents + CHILD_WEIGHT * network.parents.T)
    if which not in LISTS:
        raise ValueError(f"which is {which!r}. Use one of {LISTS}.")
    if which == "pool":
        cost = -counted
    elif which == "partial":
        cost = -partial
    else:
        examined = [score_changes(problem, network) for network in networks[:MAX_EXAMINED]]
        now, last = (np.array(changes) for changes in zip(*examined, strict=True))
        if which == "mixed":
            merit = np.clip((MAX_LOSS - now) / MAX_LOSS, 0.0, MAX_MERIT).sum(axis=0)
            cost = -(counted + merit + partial)
        else:
            cost = (now if which == "now" else last).min(axis=0)
    # Neighbours come first: their priority is above 1, and all others have at most 1.
    return np.where(best | best.T, 1.0 + counted, 1.0 / (1.0 + _places(cost)))


def _places(values: Array) -> NDArray[np.int64]:
    """Return the place of every value in its row, from the smallest to the largest."""
    return np.argsort(np.argsort(values, axis=1, kind="stable"), axis=1, kind="stable")


def best_candidates(
    priority: Array, allowed: Mask, required: Mask, counts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the candidates of every variable, one row each.

    Required parents come first, then other variables by falling priority. The rest of a row is -1.

    Parameters
    ----------
    priority : ndarray of shape (m, m)
        ``priority[v, u]`` is the finite priority of u as a parent of v.
    allowed, required : ndarray of shape (m, m), bool
        If ``allowed[v, u]``, u may be a parent of v. If ``required[v, u]``, it must be one.
    counts : ndarray of shape (m,)
        Number of candidates of each variable, at least the number of its required parents. A
        variable gets fewer candidates if fewer parents are allowed.
    """
    m = len(priority)
    is_possible = (allowed | required) & ~np.eye(m, dtype=bool)
    rated = np.where(required, np.inf, np.where(is_possible, priority, -np.inf))
    candidates = np.argsort(-rated, axis=1, kind="stable")[:, : counts.max()]
    is_taken = is_possible[np.arange(m)[:, None], candidates]
    is_taken &= np.arange(candidates.shape[1]) < counts[:, None]
    return np.where(is_taken, candidates, -1)
