import numpy as np
import pytest
from sklearn.decomposition import FactorAnalysis

from sgbn.inference.models import LEAST_OWN, TOL, factor_analysis, most_factors


def correlation(n, m, k, seed=0):
    rng = np.random.default_rng(seed)
    loadings = rng.uniform(0.5, 1, (m, k)) * rng.choice([-1, 1], (m, k))
    X = rng.standard_normal((n, k)) @ loadings.T + rng.standard_normal((n, m))
    return (X - X.mean(axis=0)) / X.std(axis=0)


def objective(R, covariance):
    return np.linalg.slogdet(covariance)[1] + np.trace(np.linalg.solve(covariance, R))


@pytest.mark.parametrize(("n", "m", "k"), [(200, 20, 1), (200, 20, 4), (30, 50, 2)])
def test_no_worse_than_the_fit_of_scikit_learn(n, m, k):
    X = correlation(n, m, k)
    R = X.T @ X / n
    peer = FactorAnalysis(k, tol=1e-7, max_iter=20_000, svd_method="lapack").fit(X)
    found = factor_analysis(R, k)
    assert found.converged
    assert objective(R, found.covariance) <= objective(R, peer.get_covariance()) + 1e-4
    np.testing.assert_allclose(found.covariance, peer.get_covariance(), atol=0.01)


def test_no_step_of_an_own_variance_or_of_the_loadings_is_better():
    X = correlation(100, 12, 2)
    R = X.T @ X / len(X)
    found = factor_analysis(R, 2)
    best = objective(R, found.covariance)
    rng = np.random.default_rng(1)
    for _ in range(50):
        loadings = found.loadings + 0.02 * rng.standard_normal(found.loadings.shape)
        own = found.own_variance * np.exp(0.02 * rng.standard_normal(12))
        assert objective(R, loadings @ loadings.T + np.diag(own)) > best - 1e-5
    assert found.violation <= TOL


def test_an_own_variance_that_would_vanish_stops_at_its_bound():
    R = np.full((4, 4), 0.9) + 0.1 * np.eye(4)
    R[0, 1:] = R[1:, 0] = 0.949  # more than one factor allows: a Heywood case
    found = factor_analysis(R, 1)
    assert found.own_variance.min() == pytest.approx(LEAST_OWN)
    assert found.violation <= TOL


def test_the_start_does_not_matter():
    X = correlation(150, 15, 3)
    R = X.T @ X / len(X)
    first = factor_analysis(R, 3)
    again = factor_analysis(R, 3, factor_analysis(R, 2).own_variance)
    np.testing.assert_allclose(first.covariance, again.covariance, atol=5e-3)


def test_the_number_of_factors_is_bounded_by_the_numbers_of_the_covariance_matrix():
    for m in range(1, 40):
        free = [m * (m + 1) // 2 - (m * k + m - k * (k - 1) // 2) for k in range(m)]
        expected = max((k for k in range(m) if free[k] >= 0), default=0)
        assert most_factors(m) == expected
