import numpy as np
import pytest

from sgbn.inference.joint import regressions


@pytest.mark.parametrize("seed", range(3))
def test_weights_and_their_variances_are_those_of_least_squares(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 6)) @ rng.normal(size=(6, 6))
    Z = X - X.mean(axis=0)
    parents = np.triu(rng.random((6, 6)) < 0.6, 1)
    B, V, noise = regressions(Z.T @ Z / 40, 40, 39, parents)
    for j in range(6):
        own = np.flatnonzero(parents[:, j])
        A = np.column_stack([X[:, own], np.ones(40)])
        beta, *_ = np.linalg.lstsq(A, X[:, j])
        variance = np.square(X[:, j] - A @ beta).sum() / (39 - len(own))
        spread = variance * np.diag(np.linalg.inv(A.T @ A))
        np.testing.assert_allclose(B[own, j], beta[:-1], rtol=1e-8)
        np.testing.assert_allclose(V[own, j], spread[:-1], rtol=1e-8)
        assert noise[j] == pytest.approx(variance)
    assert not B[~parents].any()
    assert not V[~parents].any()


def test_copies_and_too_many_parents_say_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 5))
    X[:, 1] = X[:, 0]
    Z = X - X.mean(axis=0)
    parents = np.zeros((5, 5), bool)
    parents[:2, 4] = True
    parents[[0, 2], 3] = True
    B, V, _ = regressions(Z.T @ Z / 6, 6, 2, parents)
    assert np.isinf(V[parents]).all()
    assert not B.any()
