import numpy as np
import pytest
from sklearn.linear_model import Lasso

from sgbn.core.exceptions import DataWarning
from sgbn.core.graph import is_dag, reachable
from sgbn.paper.h_sgbn import HSGBN


@pytest.mark.parametrize("init", ["lasso", "ols", "l1mb"])
@pytest.mark.parametrize("n", [15, 100])
def test_always_a_dag(init, n, simulate):
    for seed in range(3):
        X, _ = simulate(15, n, [20, seed])
        assert is_dag(HSGBN(0.1, init=init).fit(X).coef_)


def test_at_the_end_every_column_is_the_lasso_on_all_but_its_descendants(simulate):
    X, _ = simulate(10, 80, 21)
    fitted = HSGBN(0.1).fit(X)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    P = reachable(fitted.coef_)
    for j in range(10):
        parents = np.flatnonzero(~P[j] & (np.arange(10) != j))
        if not parents.size:
            continue
        lasso = Lasso(0.1, fit_intercept=False, tol=1e-14, max_iter=10**6)
        expected = lasso.fit(Z[:, parents], Z[:, j]).coef_
        np.testing.assert_allclose(fitted.coef_std_[parents, j], expected, atol=1e-8)


def test_the_order_of_the_columns_matters_which_is_why_it_is_not_recommended(simulate):
    X, _ = simulate(15, 80, 22)
    order = np.arange(15)[::-1]
    first, second = HSGBN(0.1).fit(X).coef_, HSGBN(0.1).fit(X[:, order]).coef_
    assert not np.array_equal(first != 0, second[np.ix_(order, order)] != 0)


def test_units_do_not_matter(simulate):
    X, _ = simulate(12, 80, 23)
    first = HSGBN(0.1).fit(X).coef_std_
    second = HSGBN(0.1).fit(X * np.logspace(-2, 2, 12) + 3.0).coef_std_
    assert np.array_equal(first != 0, second != 0)
    np.testing.assert_allclose(first, second, atol=1e-8)


def test_at_the_last_penalty_the_objective_never_rises(simulate):
    X, _ = simulate(20, 60, 24)
    steps = HSGBN(0.05).fit(X).objective_path_
    last = steps["objective"][steps["penalty"] == steps["penalty"][-1]]
    assert np.all(np.diff(last) <= 1e-12)


def test_near_copies_end_soon_and_the_warning_says_what_is_wrong(simulate):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 9))
    X = np.column_stack([X, X[:, 0] + 1e-7 * rng.standard_normal(30)])
    with pytest.warns(DataWarning) as caught:
        fitted = HSGBN(1e-3).fit(X)
    assert fitted.n_iter_ < 100
    messages = " ".join(str(w.message) for w in caught)
    assert "copies of each other" in messages
    assert "Increase max_iter" not in messages
