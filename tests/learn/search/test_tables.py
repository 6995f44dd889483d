import itertools

import numpy as np
import pytest

from sgbn.learn.search.plan import ScoredNetwork, ebic_prices
from sgbn.learn.search.tables import (
    IMPOSSIBLE,
    LISTS,
    best_candidates,
    candidate_parents,
    candidate_priorities,
    log_totals,
    places_of,
    score_changes,
    score_tables,
)

N = 60


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 7))
    X[:, 3] += X[:, 0] - X[:, 1]
    X[:, 5] += X[:, 3]
    R = np.corrcoef(X.T)
    candidates = np.array([[(v + k) % 7 for k in range(1, 5)] for v in range(7)])
    candidates[6, 2:] = -1  # fewer candidates than the others
    return R, candidates


def _tables(R, candidates, max_parents=4, required=None):
    required = np.zeros(R.shape, bool) if required is None else required
    return score_tables(R, N, ebic_prices(N, len(R), 1.0), max_parents, candidates, required)


def _members(mask, candidates):
    return [int(c) for k, c in enumerate(candidates) if mask >> k & 1]


def test_scores_are_those_of_regressions(problem):
    R, candidates = problem
    score = _tables(R, candidates).score
    price = ebic_prices(N, len(R), 1.0)
    for v, mask in itertools.product(range(6), range(16)):
        P = _members(mask, candidates[v])
        explained = R[v, P] @ np.linalg.solve(R[np.ix_(P, P)], R[P, v]) if P else 0.0
        assert score[v, mask] == pytest.approx(N * np.log(1 - explained) + price[len(P)])


def test_sets_beyond_the_candidates_are_impossible(problem):
    R, candidates = problem
    score = _tables(R, candidates).score
    assert (score[6, :4] < IMPOSSIBLE).all()
    assert (score[6, 4:] == IMPOSSIBLE).all()


def test_sets_without_required_parents_or_with_too_many_are_impossible(problem):
    R, candidates = problem
    required = np.zeros(R.shape, bool)
    required[0, candidates[0, 1]] = True
    score = _tables(R, candidates, 2, required).score[0]
    possible = [mask for mask in range(16) if mask & 2 and bin(mask).count("1") <= 2]
    assert np.flatnonzero(score < IMPOSSIBLE).tolist() == possible


def test_a_copy_of_a_candidate_adds_nothing(problem):
    R, _ = problem
    twice = np.block([[R, R[:, [0]]], [R[[0]], np.ones((1, 1))]])  # variable 7 copies 0
    candidates = np.full((8, 2), -1)
    candidates[3] = (0, 7)
    score = _tables(twice, candidates).score[3]
    price = ebic_prices(N, 8, 1.0)
    assert score[3] - price[2] == pytest.approx(score[1] - price[1])


def test_sums_are_those_of_enumeration(problem):
    R, candidates = problem
    tables = _tables(R, candidates)
    total = log_totals(tables)
    for v, mask in itertools.product(range(7), range(16)):
        inside = [T for T in range(16) if T & mask == T]
        scores = tables.score[v, inside]
        shift = scores.min()
        assert total[v, mask] == pytest.approx(
            np.log(np.exp(-(scores - shift) / 2).sum()) - shift / 2
        )


@pytest.mark.parametrize("S", [2, 40])
def test_scores_of_several_samples_are_sums(S):
    """Blocks of samples, and products of residual sums, give what each sample gives alone."""
    rng = np.random.default_rng(S)
    R = np.array([np.corrcoef(rng.standard_normal((30, 6)), rowvar=False) for _ in range(S)])
    n = np.sort(rng.integers(50, 53, S)).astype(float)
    candidates = np.array([[u for u in range(6) if u != v] for v in range(6)])
    price, none = 3.0 * np.arange(62), np.zeros((6, 6), bool)
    whole = score_tables(R, n, price, 4, candidates, none).score
    alone = [score_tables(R[s], n[s], price, 4, candidates, none).score for s in range(S)]
    expected = np.sum(alone, axis=0) - (S - 1) * np.array(
        [price[size] for size in (bin(mask).count("1") for mask in range(32))]
    )
    possible = alone[0] < IMPOSSIBLE
    assert whole[possible] == pytest.approx(expected[possible])
    assert (whole[~possible] == IMPOSSIBLE).all()


@pytest.fixture(scope="module")
def R():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    X[:, 3] += 2 * X[:, 0] + X[:, 1]
    X[:, 4] += 0.5 * X[:, 3]
    return np.corrcoef(X.T)


def _masks(m):
    return np.zeros((m, m), bool), ~np.eye(m, dtype=bool), np.zeros((m, m), bool)


def _gain(R, v, chosen, u):
    """Fall of the residual variance of v when u joins the chosen ones."""

    def rss(P):
        return 1 - R[v, P] @ np.linalg.solve(R[np.ix_(P, P)], R[P, v]) if P else 1.0

    return rss(chosen) - rss([*chosen, u])


def test_each_candidate_adds_most_to_those_before_it(R):
    near, allowed, required = _masks(6)
    candidates = candidate_parents(R, near, allowed, required, 4)
    for v in range(6):
        for k in range(4):
            chosen = candidates[v, :k].tolist()
            left = [u for u in range(6) if u != v and u not in chosen]
            assert candidates[v, k] == max(left, key=lambda u: _gain(R, v, chosen, u))


def test_required_ones_come_first_then_near_ones(R):
    near, allowed, required = _masks(6)
    required[3, 5] = near[3, 2] = True
    assert candidate_parents(R, near, allowed, required, 3)[3].tolist() == [5, 2, 0]


def test_what_is_not_allowed_is_no_candidate(R):
    near, allowed, required = _masks(6)
    allowed[3, [0, 1, 2]] = False
    assert sorted(candidate_parents(R, near, allowed, required, 5)[3]) == [-1, -1, -1, 4, 5]


def test_a_copy_of_a_chosen_variable_is_not_chosen():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 3))
    X[:, 2] += X[:, 0]
    R = np.corrcoef(np.column_stack([X, X[:, 0]]).T)
    near, allowed, required = _masks(4)
    chosen = candidate_parents(R, near, allowed, required, 3)[2].tolist()
    assert 0 in chosen
    assert 3 not in chosen


M = 7


@pytest.fixture(scope="module")
def table_candidates_problem(oracle):
    return oracle.problem_of(M, 5, required=[(0, 3)])


@pytest.fixture(scope="module")
def network(oracle, table_candidates_problem):
    parents = np.zeros((M, M), bool)
    for child, parent in ((3, 0), (3, 1), (4, 3), (5, 2), (5, 3)):
        parents[child, parent] = True
    return ScoredNetwork(
        oracle.network_score(table_candidates_problem, parents), np.arange(M), parents
    )


def test_changes_are_those_of_regressions(oracle, table_candidates_problem, network):
    now, last = score_changes(table_candidates_problem, network)
    for v in range(M):
        P = np.flatnonzero(network.parents[v]).tolist()
        near = np.flatnonzero(network.parents[v] | network.parents[:, v]).tolist()
        for u in range(M):
            if u == v or u in near:
                assert np.isinf(now[v, u])
                assert np.isinf(last[v, u])
                continue
            expected = oracle.set_score(table_candidates_problem, v, [*near, u]) - oracle.set_score(
                table_candidates_problem, v, near
            )
            assert last[v, u] == pytest.approx(expected)
            if u > v:
                assert np.isinf(now[v, u])
                continue
            sets = [[*P, u]]
            sets += [
                [*(p for p in P if p != q), u]
                for q in P
                if not table_candidates_problem.required[v, q]
            ]
            best = min(oracle.set_score(table_candidates_problem, v, parents) for parents in sets)
            assert now[v, u] == pytest.approx(
                best - oracle.set_score(table_candidates_problem, v, P)
            )


@pytest.mark.parametrize("which", LISTS)
def test_neighbours_in_the_best_network_come_first(table_candidates_problem, network, which):
    other = network._replace(score=network.score + 5, parents=network.parents[::-1, ::-1].T.copy())
    priority = candidate_priorities(
        table_candidates_problem, [network, other], np.abs(table_candidates_problem.R), which
    )
    near = network.parents | network.parents.T
    for v in range(M):
        if near[v].any():
            assert priority[v, near[v]].min() > priority[v, ~near[v]].max()


def test_each_list_begins_with_its_best(table_candidates_problem, network):
    partial = np.abs(table_candidates_problem.R) - np.eye(M)
    priority = candidate_priorities(table_candidates_problem, [network], partial, "partial")
    v = 6  # without neighbours
    assert priority[v].argmax() == partial[v].argmax()
    now, last = score_changes(table_candidates_problem, network)
    for name, change in (("now", now), ("last", last)):
        priority = candidate_priorities(table_candidates_problem, [network], partial, name)
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
