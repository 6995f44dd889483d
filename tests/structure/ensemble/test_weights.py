import numpy as np

from sgbn.cohort.design import Sample
from sgbn.learn.ensemble import weight_limits

GRAPH = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], bool)


def _sample(rng, n=80):
    X = rng.standard_normal((n, 3))
    X[:, 1] += 0.5 * X[:, 0]
    X[:, 2] += 0.5 * X[:, 0] - X[:, 1]
    return Sample(X, list("abc"), np.empty((n, 0)), None, None)


def _least_squares(X):
    coef = np.zeros((3, 3))
    Z = X - X.mean(axis=0)
    coef[0, 1] = np.linalg.lstsq(Z[:, :1], Z[:, 1])[0][0]
    coef[:2, 2] = np.linalg.lstsq(Z[:, :2], Z[:, 2])[0]
    return coef


def test_intervals_cover_the_true_weights():
    true = np.array([[0, 0.5, 0.5], [0, 0, -1.0], [0, 0, 0]])
    rng = np.random.default_rng(0)
    covered = []
    for seed in range(20):
        sample = _sample(rng)
        low, high = weight_limits(
            sample, GRAPH, _least_squares(sample.values), np.arange(3), 20, seed
        )
        covered.append(((low <= true) & (true <= high))[GRAPH])
    assert 0.85 <= np.mean(covered) < 1  # 60 intervals of 95 %


def test_without_halves_nothing_is_known():
    sample = _sample(np.random.default_rng(0))
    low, high = weight_limits(sample, GRAPH, np.zeros((3, 3)), np.arange(3), 0, 0)
    assert np.isnan(low[GRAPH]).all()
    assert np.isnan(high[GRAPH]).all()
    assert (low[~GRAPH] == 0).all()
