import numpy as np
import pytest

from sgbn.learn.search.plan import ScoredNetwork
from sgbn.learn.search.tables import (
    LISTS,
    best_candidates,
    candidate_priorities,
    places_of,
    score_changes,
)

M = 7


@pytest.fixture(scope="module")
def problem(oracle):
    return oracle.problem_of(M, 5, required=[(0, 3)])


@pytest.fixture(scope="module")
def network(oracle, problem):
    parents = np.zeros((M, M), bool)
    for child, parent in ((3, 0), (3, 1), (4, 3), (5, 2), (5, 3)):
        parents[child, parent] = True
    return ScoredNetwork(oracle.network_score(problem, parents), np.arange(M), parents)


def test_changes_are_those_of_regressions(oracle, problem, network):
    now, last = score_changes(problem, network)
    for v in range(M):
        P = np.flatnonzero(network.parents[v]).tolist()
        near = np.flatnonzero(network.parents[v] | network.parents[:, v]).tolist()
        for u in range(M):
            if u == v or u in near:
                assert np.isinf(now[v, u])
                assert np.isinf(last[v, u])
                continue
            expected = oracle.set_score(problem, v, [*near, u]) - oracle.set_score(problem, v, near)
            assert last[v, u] == pytest.approx(expected)
            if u > v:
                assert np.isinf(now[v, u])
                continue
            sets = [[*P, u]]
            sets += [[*(p for p in P if p != q), u] for q in P if not problem.required[v, q]]
            best = min(oracle.set_score(problem, v, parents) for parents in sets)
            assert now[v, u] == pytest.approx(best - oracle.set_score(problem, v, P))


@pytest.mark.parametrize("which", LISTS)
def test_neighbours_in_the_best_network_come_first(problem, network, which):
    other = network._replace(score=network.score + 5, parents=network.parents[::-1, ::-1].T.copy())
    priority = candidate_priorities(problem, [network, other], np.abs(problem.R), which)
    near = network.parents | network.parents.T
    for v in range(M):
        if near[v].any():
            assert priority[v, near[v]].min() > priority[v, ~near[v]].max()


def test_each_list_begins_with_its_best(problem, network):
    partial = np.abs(problem.R) - np.eye(M)
    priority = candidate_priorities(problem, [network], partial, "partial")
    v = 6  # without neighbours
    assert priority[v].argmax() == partial[v].argmax()
    now, last = score_changes(problem, network)
    for name, change in (("now", now), ("last", last)):
        priority = candidate_priorities(problem, [network], partial, name)
        assert priority[v].argmax() == change[v].argmin()


def test_required_ones_are_candidates_and_forbidden_ones_are_not():
    rng = np.random.default_rng(0)
    priority = rng.random((M, M))
    allowed = rng.random((M, M)) < 0.6
    required = np.zeros((M, M), bool)
    required[2, 5] = True
    allowed[2, 5] = True
    counts = np.array([0, 1, 2, 3, 4, 6, 9])
    candidates = best_candidates(priority, allowed, required, counts)
    assert candidates[2, 0] == 5
    for v in range(M):
        chosen = candidates[v][candidates[v] >= 0]
        possible = [u for u in range(M) if allowed[v, u] and u != v]
        assert len(chosen) == min(counts[v], len(possible))
        assert set(chosen) <= set(possible)
        left = set(possible) - set(chosen)
        optional = [u for u in chosen if not required[v, u]]
        if left and optional:
            assert priority[v, optional].min() > priority[v, list(left)].max()
    bit = places_of(candidates)
    for v, u in np.argwhere(bit >= 0):
        assert candidates[v, bit[v, u]] == u
    assert (bit >= 0).sum() == (candidates >= 0).sum()
