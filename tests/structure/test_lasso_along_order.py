import numpy as np
import pytest
from sklearn.linear_model import Lasso, LassoCV
from sklearn.model_selection import KFold

from sgbn.learn.lasso import alpha_grid
from sgbn.learn.sgbn import SGBN
from sgbn.paper.or_sgbn import ORSGBN


def order_of(learner, X):
    """A total order of the lasso's network, which is full enough to have one only."""
    return np.argsort(learner.order_, kind="stable")


def test_equals_scikit_learns_lasso_on_the_variables_before(simulate):
    X, _ = simulate(8, 100, 0)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    learner = SGBN(weights="lasso", alpha=0.02).fit(Z)
    order = order_of(learner, Z)
    assert learner.network_.n_edges > SGBN().fit(Z).network_.n_edges
    for place, j in enumerate(order[1:], start=1):
        parents = np.flatnonzero(learner.coef_[:, j])
        assert set(parents) <= set(order[:place])
        lasso = Lasso(0.02, tol=1e-12, max_iter=100_000).fit(Z[:, parents], Z[:, j])
        np.testing.assert_allclose(learner.coef_[parents, j], lasso.coef_, atol=1e-8)


def test_the_penalty_of_each_variable_is_scikit_learns_lasso_cv(simulate):
    """The last variable in the order has all others before it: its penalty can be checked."""
    X, _ = simulate(6, 120, 1)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    learner = SGBN(weights="lasso", cv=KFold(4)).fit(Z)
    last = int(np.argmax(learner.order_))
    others = np.delete(np.arange(6), last)
    alphas = alpha_grid(Z)
    peer = LassoCV(alphas=alphas, cv=KFold(4), tol=1e-10, max_iter=100_000)
    peer.fit(Z[:, others], Z[:, last])
    # LassoCV centres, but does not scale, within a fold: nearly the same errors.
    ours = learner.coef_[others, last]
    candidates = [Lasso(a, tol=1e-10).fit(Z[:, others], Z[:, last]).coef_ for a in alphas]
    chosen = int(np.argmin([np.abs(ours - c).max() for c in candidates]))
    np.testing.assert_allclose(ours, candidates[chosen], atol=1e-6)
    assert abs(chosen - int(np.argmin(np.abs(alphas - peer.alpha_)))) <= 2


def test_it_predicts_better_than_the_refit_where_many_weak_edges_are():
    rng = np.random.default_rng(2)
    mixing = np.eye(30) + 0.15 * rng.standard_normal((30, 30))
    X = rng.standard_normal((1080, 30)) @ mixing
    train, test = X[:80], X[80:]
    lasso, refit = SGBN(weights="lasso").fit(train), SGBN().fit(train)
    assert lasso.score(test) > refit.score(test)


@pytest.mark.parametrize("alpha", [0.0, -1.0, "bic", np.nan, True])
def test_bad_penalties_are_named(alpha, simulate):
    X, _ = simulate(4, 40, 3)
    with pytest.raises(ValueError, match="alpha is"):
        SGBN(weights="lasso", alpha=alpha).fit(X)


def test_tiers_are_the_order_where_the_graph_leaves_it_open():
    """Nothing joins the columns, so that every edge forward in the tiers is free to be there."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    tiers = [[4], [2], [0], [5], [1], [3]]
    lasso = SGBN(5.0, weights="lasso", alpha=0.01, tiers=tiers).fit(X)
    along = ORSGBN(0.01, tiers=tiers).fit(X)
    np.testing.assert_array_equal(lasso.coef_ != 0, along.coef_ != 0)
    np.testing.assert_allclose(lasso.coef_, along.coef_, atol=1e-6)
