r"""Candidate parents for score tables: few per variable, chosen around good networks.

Tables over all sets of K candidates (`sgbn.search.score_tables`) are exact among these candidates
and blind beyond them: on 60 random problems annealing always found the best network that its tables
held, and missed the best known one only where a parent was no candidate. The neighbours of v in
the best network known are its first candidates. The others come from lists, which take turns:

- "pool": neighbours in other good networks, by how many have them and how good these are;
- "partial": by the partial correlation with v given all other variables;
- "now": by what u would be worth for v in the best networks as they are, as a further parent or
  instead of one;
- "last": by what u would be worth if all neighbours of v were its parents;
- "mixed": "pool", "now" and "partial" summed up, so that several networks of the pool can be
  improved at once.

Sets of parents often help only together, and come from one list. Required parents come first of
all, and what is not allowed is no candidate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sgbn.jit import jit, jit_inside
from sgbn.search.parent_trees import COLLINEAR, SMALLEST_RSS
from sgbn.search.problem import ParentProblem, ScoredNetwork
from sgbn.types import Array, Mask

LISTS = ("pool", "partial", "now", "last", "mixed")
AS_CHILD = 0.5  # weight of u for its parent v in a network, where u counts 1 for its child
EXAMINED = 4  # networks in which the worth of further parents is computed
SLACK = 6.0  # loss of score up to which a parent that nearly entered counts in "mixed",
MOST_MERIT = 1.5  # and its largest weight there, in networks
TOLERANCE = 20.0  # score behind the best at which the weight of a network has fallen to 1 / e


def score_changes(problem: ParentProblem, network: ScoredNetwork) -> tuple[Array, Array]:
    """Return how the score of v changes if u becomes its parent, ``change[v, u]``, in two cases.

    The first: as things are, u as a further parent or instead of one that is not required; infinite
    where u stands behind v in the order. The second: if all neighbours of v were its parents, as
    they are where v stands last. Both are infinite where u is a neighbour already.
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
def _given(R, v, given, size, rows, covariance, variance):  # type: ignore[no-untyped-def]
    """Fill covariances with v, and variances, of all variables given some; `rows` is room."""
    m = len(R)
    for u in range(m):
        covariance[u] = R[v, u]
        variance[u] = 1.0
    for a in range(size):
        s = given[a]
        if variance[s] <= COLLINEAR:
            for u in range(m):
                rows[a, u] = 0.0
            continue
        root = np.sqrt(variance[s])
        for u in range(m):
            rows[a, u] = R[s, u]
        for t in range(a):
            factor = rows[t, s]
            for u in range(m):
                rows[a, u] -= factor * rows[t, u]
        for u in range(m):
            rows[a, u] /= root
        own = rows[a, v]
        for u in range(m):
            variance[u] -= rows[a, u] * rows[a, u]
            covariance[u] -= rows[a, u] * own


@jit_inside
def _scores_with(R, n, price, v, given, size, room, scores):  # type: ignore[no-untyped-def]
    """Fill the score of v with each variable as one more parent; return that without any.

    A further parent takes covariance^2 / variance from the residual sum of each sample.
    """
    rows, covariance, variance = room
    for u in range(scores.size):
        scores[u] = price[size + 1]
    alone = price[size]
    for s in range(n.size):
        _given(R[s], v, given, size, rows, covariance, variance)
        rss = covariance[v]
        alone += n[s] * np.log(rss if rss > SMALLEST_RSS else SMALLEST_RSS)
        for u in range(scores.size):
            left = rss
            if variance[u] > COLLINEAR:
                left -= covariance[u] * covariance[u] / variance[u]
            scores[u] += n[s] * np.log(left if left > SMALLEST_RSS else SMALLEST_RSS)
    return alone


@jit_inside
def _list_others(is_listed, v, most, out):  # type: ignore[no-untyped-def]
    """Fill `out` with the variables that are listed, without v, at most so many; their number."""
    k = 0
    for u in range(is_listed.size):
        if is_listed[u] and u != v and k < most:
            out[k] = u
            k += 1
    return k


@jit
def _fill_changes(R, n, price, parents, neighbours, required, now, at_end):  # type: ignore[no-untyped-def]
    m = parents.shape[0]
    given, fewer = np.empty(m, np.int64), np.empty(m, np.int64)
    room = np.empty((m, m)), np.empty(m), np.empty(m)
    scores = np.empty(m)
    most = price.size - 2
    for v in range(m):
        k = _list_others(parents[v], v, m, given)
        score = _scores_with(R, n, price, v, given, k, room, scores)
        for u in range(m):
            now[v, u] = scores[u] - score
        for a in range(k):
            if required[v, given[a]]:
                continue
            for t in range(k - 1):
                fewer[t] = given[t + (t >= a)]
            _scores_with(R, n, price, v, fewer, k - 1, room, scores)
            for u in range(m):
                if scores[u] - score < now[v, u]:
                    now[v, u] = scores[u] - score
        k = _list_others(neighbours[v], v, most, given)
        score = _scores_with(R, n, price, v, given, k, room, scores)
        for u in range(m):
            at_end[v, u] = scores[u] - score


def candidate_priorities(
    problem: ParentProblem, networks: list[ScoredNetwork], partial: Array, which: str
) -> Array:
    """Priority of every variable u as a candidate parent of v, ``priority[v, u]``.

    Parameters
    ----------
    problem : ParentProblem
    networks : list of ScoredNetwork
        The best first.
    partial : ndarray of shape (m, m)
        Absolute partial correlations of all pairs given all others.
    which : str
        The one of the `LISTS` that decides between those that are no neighbours.
    """
    best = networks[0].parents
    counted = np.zeros(best.shape)
    for network in networks:
        weight = np.exp((networks[0].score - network.score) / TOLERANCE)
        counted += weight * (network.parents + AS_CHILD * network.parents.T)
    if which not in LISTS:
        raise ValueError(f"which is {which!r}: give one of {LISTS}")
    if which == "pool":
        cost = -counted
    elif which == "partial":
        cost = -partial
    else:
        examined = [score_changes(problem, network) for network in networks[:EXAMINED]]
        now, last = (np.array(changes) for changes in zip(*examined, strict=True))
        if which == "mixed":
            merit = np.clip((SLACK - now) / SLACK, 0.0, MOST_MERIT).sum(axis=0)
            cost = -(counted + merit + partial)
        else:
            cost = (now if which == "now" else last).min(axis=0)
    return np.where(best | best.T, 1.0 + counted, 1.0 / (1.0 + _places(cost)))


def _places(values: Array) -> NDArray[np.int64]:
    """Place of every value in its row, the smallest first; values that are infinite come last."""
    return np.argsort(np.argsort(values, axis=1, kind="stable"), axis=1, kind="stable")


def best_candidates(
    priority: Array, allowed: Mask, required: Mask, counts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Candidates of every variable by falling priority, required ones first, then -1.

    Parameters
    ----------
    priority : ndarray of shape (m, m)
        ``priority[v, u]`` of u as a parent of v; finite.
    allowed, required : ndarray of shape (m, m), bool
        ``allowed[v, u]``: u may be a parent of v; ``required[v, u]``: it must be one.
    counts : ndarray of shape (m,)
        How many each variable gets, if as many are allowed; all that are required at least.
    """
    m = len(priority)
    is_possible = (allowed | required) & ~np.eye(m, dtype=bool)
    rated = np.where(required, np.inf, np.where(is_possible, priority, -np.inf))
    candidates = np.argsort(-rated, axis=1, kind="stable")[:, : counts.max()]
    is_taken = is_possible[np.arange(m)[:, None], candidates]
    is_taken &= np.arange(candidates.shape[1]) < counts[:, None]
    return np.where(is_taken, candidates, -1)
