import itertools

import numpy as np
import pytest

from sgbn.learn.search.plan import ebic_prices
from sgbn.learn.search.tables import IMPOSSIBLE, log_totals, score_tables

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
