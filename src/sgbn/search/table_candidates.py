r"""Candidate parents for score tables: few per variable, chosen around good networks.

Tables over all sets of K candidates (`sgbn.search.score_tables`) are exact among these candidates
and blind beyond them. On 60 random problems annealing always found the best network that its tables
held. It missed the best known one only where a parent was no candidate.

The neighbours of v in the best network known are its first candidates. All further candidates come
from lists, which take turns:

- "pool": neighbours in other good networks, by how many have them and how good these are;
- "partial": by the partial correlation with v given all other variables;
- "now": by what u would be worth for v in the best networks as they are, as a further parent or
  instead of one;
- "last": by what u would be worth if all neighbours of v were its parents;
- "mixed": "pool", "now" and "partial" summed up, so that several networks of the pool can be
  improved at once.

Each round takes one list alone, because sets of parents often help only together. Required parents
come first of all, and what is not allowed is no candidate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sgbn.jit import jit, jit_inside
from sgbn.search.candidate_parents import regress_on
from sgbn.search.path_regression import COLLINEAR, SMALLEST_RSS
from sgbn.search.problem import ParentProblem, ScoredNetwork
from sgbn.types import Array, Mask

LISTS = ("pool", "partial", "now", "last", "mixed")
CHILD_WEIGHT = 0.5  # of a child of v as its candidate, where a parent counts 1
MAX_EXAMINED = 4  # networks in which the worth of further parents is computed
MAX_LOSS = 6.0  # score that a parent may cost and still count in "mixed"
MAX_MERIT = 1.5  # largest weight of such a parent, where 1 is the weight of one network
TOLERANCE = 20.0  # score behind the best at which the weight of a network has fallen to 1 / e


def score_changes(problem: ParentProblem, network: ScoredNetwork) -> tuple[Array, Array]:
    """Return how the score of v changes if u becomes its parent, ``change[v, u]``, in two cases.

    The first is the network as it is: u is a further parent, or stands in for one that is not
    required. It is infinite where u stands behind v in the order. The second is a network in which
    all neighbours of v are its parents, as if v stood last. Both are infinite where u is a
    neighbour already.
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
    """Fill the score of v with each variable as one more parent; returns that without any.

    The parents are the first `size` variables of `given`. A further parent takes
    covariance^2 / variance from the residual sum of each sample. `work` is three arrays: (m, m),
    (m,), (m,).
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
        rss = covariance[v]  # of v with itself
        alone += n[s] * np.log(rss if rss > SMALLEST_RSS else SMALLEST_RSS)
        for u in range(scores.size):
            left = rss
            if variance[u] > COLLINEAR:
                left -= covariance[u] * covariance[u] / variance[u]
            scores[u] += n[s] * np.log(left if left > SMALLEST_RSS else SMALLEST_RSS)
    return alone


@jit_inside
def _list_others(is_listed, v, most, out):  # type: ignore[no-untyped-def]
    """Fill `out` with at most `most` of the listed variables, without v; returns their number."""
    k = 0
    for u in range(is_listed.size):
        if is_listed[u] and u != v and k < most:
            out[k] = u
            k += 1
    return k


@jit
def _fill_changes(R, n, price, parents, neighbours, required, now, at_end):  # type: ignore[no-untyped-def]
    """Fill both results of `score_changes`, whatever the order and the neighbours."""
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
        What is searched.
    networks : list of ScoredNetwork
        The best networks known, the best first.
    partial : ndarray of shape (m, m)
        Absolute partial correlations of all pairs given all others.
    which : str
        One of the `LISTS`. It decides between variables that are no neighbours of v.
    """
    best = networks[0].parents
    counted = np.zeros(best.shape)
    for network in networks:
        weight = np.exp((networks[0].score - network.score) / TOLERANCE)
        counted += weight * (network.parents + CHILD_WEIGHT * network.parents.T)
    if which not in LISTS:
        raise ValueError(f"which is {which!r}: give one of {LISTS}")
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
    # Neighbours are above 1, all others at most 1: neighbours come first.
    return np.where(best | best.T, 1.0 + counted, 1.0 / (1.0 + _places(cost)))


def _places(values: Array) -> NDArray[np.int64]:
    """Return the place of every value in its row, the smallest first, infinite ones last."""
    return np.argsort(np.argsort(values, axis=1, kind="stable"), axis=1, kind="stable")


def best_candidates(
    priority: Array, allowed: Mask, required: Mask, counts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the candidates of every variable by falling priority, required ones first, then -1.

    Parameters
    ----------
    priority : ndarray of shape (m, m)
        ``priority[v, u]`` of u as a parent of v; finite.
    allowed, required : ndarray of shape (m, m), bool
        ``allowed[v, u]``: u may be a parent of v; ``required[v, u]``: it must be one.
    counts : ndarray of shape (m,)
        How many each variable gets, if as many are allowed. It must not be below the number of
        required ones.
    """
    m = len(priority)
    is_possible = (allowed | required) & ~np.eye(m, dtype=bool)
    rated = np.where(required, np.inf, np.where(is_possible, priority, -np.inf))
    candidates = np.argsort(-rated, axis=1, kind="stable")[:, : counts.max()]
    is_taken = is_possible[np.arange(m)[:, None], candidates]
    is_taken &= np.arange(candidates.shape[1]) < counts[:, None]
    return np.where(is_taken, candidates, -1)
