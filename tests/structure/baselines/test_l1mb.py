import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sgbn.core.equivalence import cpdag, skeleton
from sgbn.core.moments import moments_of
from sgbn.paper import l1mb
from sgbn.paper.l1mb import L1MB, neighbourhoods_by_bic


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
    with pytest.warns(ConvergenceWarning, match="greedy search stopped after 15 moves"):
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
