import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, lars_path
from tests.codes import warned

from sgbn.core.equivalence import cpdag, skeleton
from sgbn.core.graph import is_dag
from sgbn.core.moments import moments_of
from sgbn.learn.base import fit_weights
from sgbn.paper import l1mb
from sgbn.paper.l1mb import L1MB, hill_climbing, inverse_gram, neighbourhoods_by_bic


def test_edges_join_variables_of_which_one_selects_the_other(simulate):
    n_unselected = 0
    for seed in range(5):
        X, _ = simulate(15, 100, [80, seed])
        fitted = L1MB().fit(X)
        moments = moments_of(X, [f"x{k}" for k in range(15)])
        selected = moments.to_user(neighbourhoods_by_bic(moments.R, 15, 100)).T != 0
        A = fitted.coef_ != 0
        assert np.array_equal(fitted.blankets_, selected)
        assert not np.any(A & ~skeleton(selected))
        assert np.array_equal(fitted.pdag_, cpdag(A))
        assert fitted.consistent_
        n_unselected += np.count_nonzero(A & ~selected.T)  # parents outside of the blanket
    assert n_unselected > 0


def test_a_search_that_does_not_end_warns(simulate, monkeypatch):
    monkeypatch.setattr(l1mb, "MOVES_PER_VARIABLE", 1)
    X, _ = simulate(15, 200, 82)
    with warned("search.stopped", kind=ConvergenceWarning):
        fitted = L1MB().fit(X)
    assert np.count_nonzero(fitted.coef_) <= 15


def test_a_tree_is_recovered_from_many_samples():
    X = np.random.default_rng(81).standard_normal((5000, 10))
    tree = np.zeros((10, 10), bool)
    for j in range(1, 10):
        X[:, j] += 0.8 * X[:, (j - 1) // 2]
        tree[(j - 1) // 2, j] = True
    assert np.array_equal(L1MB().fit(X).pdag_, skeleton(tree))


def test_it_has_no_parameters():
    assert L1MB().get_params() == {}


def test_other_units_do_not_lengthen_the_search_for_neighbours():
    rng = np.random.default_rng(0)
    for _ in range(15):  # round-off of the same neighbours once counted as a better BIC
        X = rng.standard_normal((24, 5)) @ (np.eye(5) + np.triu(rng.uniform(-1, 1, (5, 5)), 1))
        other = L1MB().fit(X * [1, 1, 1, 1, 10**0.04])
        np.testing.assert_allclose(other.coef_std_, L1MB().fit(X).coef_std_, atol=1e-8)


def bic(Z, j, support):
    n = len(Z)
    if not len(support):
        return n * np.log((Z[:, j] ** 2).mean())
    fit = LinearRegression(fit_intercept=False).fit(Z[:, support], Z[:, j])
    rss = ((Z[:, j] - fit.predict(Z[:, support])) ** 2).mean()
    return n * np.log(rss) + len(support) * np.log(n)


def test_supports_come_close_to_the_best_bic_of_the_exact_lasso_path(simulate):
    """Independent solver: all supports along scikit-learn's LARS path."""
    gaps = []
    for seed in range(2):
        X, _ = simulate(12, 200, [0, seed])
        moments = moments_of(X, [f"x{k}" for k in range(12)])
        Z = ((X - moments.mean) / moments.scale)[:, moments.columns]
        B = neighbourhoods_by_bic(moments.R, 12, 200)
        for j in range(12):
            others = np.delete(np.arange(12), j)
            _, _, path = lars_path(Z[:, others], Z[:, j], method="lasso")
            between = (path[:, 1:] + path[:, :-1]) / 2  # supports change at the knots only
            steps = [np.zeros(11), *between.T]
            best = min(bic(Z, j, others[np.abs(step) > 1e-10]) for step in steps)
            gaps.append(bic(Z, j, np.flatnonzero(B[j])) - best)
    assert min(gaps) > -1e-6  # no support beats the exact path
    assert np.mean(np.array(gaps) < 1e-6) > 0.85
    assert np.mean(gaps) < 3.0


def test_weights_are_refitted_by_least_squares(simulate):
    X, _ = simulate(8, 150, 1)
    moments = moments_of(X, [f"x{k}" for k in range(8)])
    Z = ((X - moments.mean) / moments.scale)[:, moments.columns]
    B = neighbourhoods_by_bic(moments.R, 8, 150)
    for j in range(8):
        support = np.flatnonzero(B[j])
        if support.size:
            expected = LinearRegression(fit_intercept=False).fit(Z[:, support], Z[:, j])
            np.testing.assert_allclose(B[j, support], expected.coef_, atol=1e-10)
    assert np.all(np.diag(B) == 0)


def test_independent_columns_have_few_neighbours():
    X = np.random.default_rng(0).standard_normal((500, 10))
    B = neighbourhoods_by_bic(moments_of(X, [f"x{k}" for k in range(10)]).R, 10, 500)
    assert np.count_nonzero(B) <= 6


def test_fewer_rows_than_columns():
    X = np.random.default_rng(1).standard_normal((8, 20))
    B = neighbourhoods_by_bic(moments_of(X, [f"x{k}" for k in range(20)]).R, 20, 8)
    assert np.isfinite(B).all()
    assert np.count_nonzero(B, axis=1).max() < 7


def test_a_total_finds_its_parts(simulate):
    """A singular Gram matrix: the fit of the total is perfect, so that BIC must find it."""
    X = np.random.default_rng(2).standard_normal((200, 7))
    X[:, 6] = X[:, :3].sum(axis=1)
    moments = moments_of(X, [f"x{k}" for k in range(7)])
    B = neighbourhoods_by_bic(moments.R, 7, 200)
    total = list(moments.columns).index(6)
    parts = {moments.columns[k] for k in np.flatnonzero(B[total])}
    assert parts == {0, 1, 2}


def test_the_inverse_is_refused_where_columns_are_collinear(simulate):
    X, _ = simulate(6, 50, 3)
    R = np.corrcoef(X.T)
    np.testing.assert_allclose(inverse_gram(R), np.linalg.inv(R), atol=1e-9)
    X[:, 5] = X[:, 0] - X[:, 1]
    assert inverse_gram(np.corrcoef(X.T)) is None


def hill_climbing_bic(R, n, A):
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
    best = hill_climbing_bic(R, 60, result.x)
    assert is_dag(result.x)
    assert best > hill_climbing_bic(R, 60, np.zeros((9, 9), bool))
    moved = [hill_climbing_bic(R, 60, B) - best for B in single_moves(result.x) if is_dag(B)]
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


def test_a_tree_is_recovered_from_many_samples_hill_climbing():
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
