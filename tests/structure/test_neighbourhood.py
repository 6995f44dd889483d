import numpy as np
from sklearn.linear_model import LinearRegression, lars_path

from sgbn.core.moments import moments_of
from sgbn.paper.l1mb import inverse_gram, neighbourhoods_by_bic


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
