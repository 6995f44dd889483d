"""Small problems that tests of the search on tables share."""

from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest

from sgbn.cohort.simulate import simulate_sem
from sgbn.core.graph import random_dag
from sgbn.core.jit import jit_loops
from sgbn.learn.search.annealing import _draw_gap
from sgbn.learn.search.orders import _tuck, _untuck
from sgbn.learn.search.plan import ParentProblem
from sgbn.learn.search.trees import read_parents, trace

N = 120


def problem_of(m, seed, forbidden=(), required=()):
    """A random problem; edges are (parent, child)."""
    rng = np.random.default_rng(seed)
    X, _ = simulate_sem(random_dag(m, 3.0, rng), N, random_state=rng)
    allowed, must = ~np.eye(m, dtype=bool), np.zeros((m, m), bool)
    for u, v in forbidden:
        allowed[v, u] = False
    for u, v in required:
        must[v, u] = True
    price = 9.0 * np.arange(62)
    R = np.atleast_2d(np.corrcoef(X, rowvar=False))
    return ParentProblem(R, N, price, m - 1, allowed, must)


def set_score(problem, v, parents):
    """Score of one parent set, by a regression of its own."""
    R, P = problem.R, list(parents)
    rss = 1 - R[v, P] @ np.linalg.solve(R[np.ix_(P, P)], R[P, v]) if P else 1.0
    return problem.n * np.log(rss) + problem.price[len(P)]


def network_score(problem, parents):
    """Score of a network, by regressions of its own."""
    return sum(set_score(problem, v, np.flatnonzero(row)) for v, row in enumerate(parents))


def least_score(problem):
    """Least score of all networks: all orders, all sets of parents before each variable."""
    m = len(problem.R)
    scores = [_scores_of_sets(problem, v) for v in range(m)]
    least = np.inf
    for order in permutations(range(m)):
        total, before = 0.0, 0
        for v in order:
            total += scores[v][before]
            before |= 1 << v
        least = min(least, total)
    return least


def _scores_of_sets(problem, v):
    """Least score of v among the subsets of every set of variables (as bits)."""
    m = len(problem.R)
    score = np.full(1 << m, np.inf)
    for members in range(1 << m):
        P = [u for u in range(m) if members >> u & 1]
        if problem.allowed[v, P].all() and set(np.flatnonzero(problem.required[v])) <= set(P):
            score[members] = set_score(problem, v, P)
    for u in range(m):
        for members in range(1 << m):
            if members >> u & 1:
                score[members] = min(score[members], score[members ^ (1 << u)])
    return score


@pytest.fixture(scope="session")
def oracle():
    """Random problems, and scores computed in another way than the solvers do."""
    return SimpleNamespace(
        problem_of=problem_of,
        set_score=set_score,
        network_score=network_score,
        least_score=least_score,
    )


# Kernels for other kernels: Python would compile each anew in every run. What calls them here is
# kept on disk. They are imported by name, so that the cache knows what it depends on.
@jit_loops
def call_trace(T, v, rank, limit):
    return trace(T, v, rank, limit)


@jit_loops
def call_read_parents(table, required, v, node, out):
    return read_parents(table, required, v, node, out)


@jit_loops
def call_tuck(T, S, x, y, level):
    return _tuck(T, S, x, y, level)


@jit_loops
def call_untuck(S, lowest, highest, level):
    _untuck(S, lowest, highest, level)


@jit_loops
def call_draw_gap(total, r, relatives, rank, x_rank, temperature, state, weight):
    return _draw_gap(total, r, relatives, rank, x_rank, temperature, state, weight)


@pytest.fixture(scope="session")
def kernels():
    """Kernels for kernels, as functions for Python."""
    return SimpleNamespace(
        trace=call_trace,
        read_parents=call_read_parents,
        tuck=call_tuck,
        untuck=call_untuck,
        draw_gap=call_draw_gap,
    )
