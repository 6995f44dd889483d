import numpy as np
import pytest

from sgbn.core.equivalence import cpdag, skeleton
from sgbn.core.graph import is_dag
from sgbn.learn.base import fit_weights
from sgbn.paper.l1mb import hill_climbing


def bic(R, n, A):
    """Log-likelihood less price, per sample, from scratch."""
    total = 0.0
    for j in range(len(R)):
        parents = np.flatnonzero(A[:, j])
        explained = R[j, parents] @ np.linalg.solve(R[np.ix_(parents, parents)], R[parents, j])
        total -= 0.5 * np.log(1 - explained) + len(parents) * np.log(n) / (2 * n)
    return total


def single_moves(A):
    for i, j in np.argwhere(~np.eye(len(A), dtype=bool)):
        B = A.copy()
        B[i, j] = not A[i, j]
        yield B
        if A[i, j]:
            B = B.copy()
            B[j, i] = True
            yield B


def test_as_good_as_bnlearns_and_equivalent_to_it(bnlearn, adjacency):
    for case in bnlearn["cases"]:
        X = np.array(case["data"])
        n, m = X.shape
        A = hill_climbing(np.corrcoef(X.T), n, np.ones((m, m), bool)).x
        log_likelihood = fit_weights(X, A).log_likelihood(X).sum()
        score = log_likelihood - (A.sum() + 2 * m) / 2 * np.log(n)
        assert score >= case["learned"]["hc_bic"] - 1e-6
        assert np.array_equal(cpdag(A), cpdag(adjacency(case["learned"]["hc"], case["columns"])))


@pytest.mark.parametrize("seed", range(2))
def test_no_single_move_improves_the_result(seed, simulate):
    X, _ = simulate(9, 60, [30, seed])
    R = np.corrcoef(X.T)
    result = hill_climbing(R, 60, np.ones((9, 9), bool))
    best = bic(R, 60, result.x)
    assert is_dag(result.x)
    assert best > bic(R, 60, np.zeros((9, 9), bool))
    moved = [bic(R, 60, B) - best for B in single_moves(result.x) if is_dag(B)]
    assert len(moved) > 30
    assert max(moved) <= 1e-9
    assert result.converged
    assert result.violation <= 1e-9
    assert result.n_iter >= result.x.sum()


def test_only_allowed_edges_are_used(simulate):
    X, _ = simulate(10, 200, 31)
    R = np.corrcoef(X.T)
    allowed = np.random.default_rng(0).random((10, 10)) < 0.3
    A = hill_climbing(R, 200, allowed).x
    assert A.any()
    assert not np.any(A & ~allowed)
    assert not hill_climbing(R, 200, np.zeros((10, 10), bool)).x.any()


def test_equivalent_directions_are_ties_that_the_index_breaks():
    R = np.array([[1.0, 0.6], [0.6, 1.0]])
    for flipped in (R, np.nextafter(R, 2 * np.eye(2))):
        A = hill_climbing(flipped, 100, np.ones((2, 2), bool)).x
        assert A.tolist() == [[False, True], [False, False]]


def test_few_samples_and_copies_end_with_few_parents():
    X = np.random.default_rng(4).standard_normal((9, 20))
    X[:, 19] = X[:, 0]
    A = hill_climbing(np.corrcoef(X.T), 9, np.ones((20, 20), bool)).x
    assert is_dag(A)
    assert A.sum(axis=0).max() <= 3
    assert A[0, 19] or A[19, 0]


def test_a_tree_is_recovered_from_many_samples():
    """Each of the 21 pairs that are not joined is joined by chance once in 280 samples."""
    tree = np.zeros((8, 8), bool)
    tree[[(j - 1) // 2 for j in range(1, 8)], range(1, 8)] = True
    n_exact = 0
    for seed in range(10):
        X = np.random.default_rng(seed).standard_normal((5000, 8)) @ np.linalg.inv(np.eye(8) - tree)
        A = hill_climbing(np.corrcoef(X.T), 5000, np.ones((8, 8), bool)).x
        assert np.all(skeleton(A)[tree])
        n_exact += np.array_equal(cpdag(A), skeleton(tree))
    assert n_exact >= 7


def test_inputs_are_not_changed(simulate):
    X, _ = simulate(10, 100, 32)
    R, allowed = np.corrcoef(X.T), np.ones((10, 10), bool)
    copy = R.copy()
    allowed.setflags(write=False)
    assert hill_climbing(R, 100, allowed).x.any()
    assert np.array_equal(R, copy)
