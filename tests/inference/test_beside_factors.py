import numpy as np
import pytest

from sgbn.cohort.simulate import simulate_sem
from sgbn.core.exceptions import InputError
from sgbn.inference.models import _regressed, edges_beside_factors, factor_analysis
from sgbn.learn.sgbn import SGBN


def hidden(n, m, k, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, k)) @ rng.uniform(0.5, 1, (k, m)) + rng.standard_normal((n, m))


def test_weights_are_those_of_a_regression_on_parents_and_factors():
    X = hidden(400, 8, 1)
    R = np.corrcoef(X.T)
    loadings = factor_analysis(R, 1).loadings
    both = np.block([[R, loadings], [loadings.T, np.eye(1)]])  # of the variables and the factor
    regressors = [1, 4, 8]
    inverse = np.linalg.inv(both[np.ix_(regressors, regressors)])
    expected = inverse @ both[regressors, 3]
    noise = 1 - both[regressors, 3] @ expected
    parents = np.array([1, 4])
    weights, errors = _regressed(R - loadings @ loadings.T, parents, 3, 100)
    np.testing.assert_allclose(weights, expected[:2], atol=1e-3)
    np.testing.assert_allclose(errors, np.sqrt(noise * np.diag(inverse)[:2] / 100), atol=1e-3)


def test_shadows_of_a_common_cause_go():
    X = hidden(200, 30, 1)
    learned = SGBN(n_kicks=0).fit(X)
    found = edges_beside_factors(X, learned, 1)
    assert len(found) == learned.network_.n_edges > 20
    assert found.stays.mean() < 0.2
    np.testing.assert_allclose(found.weight_std, learned.coef_std_[learned.coef_ != 0], atol=1e-8)


def test_an_edge_beside_a_common_cause_stays_and_so_do_those_of_a_sparse_network():
    X = hidden(300, 10, 1)
    X[:, 1] += X[:, 0]
    graph = np.zeros((10, 10))
    graph[0, 1] = graph[2, 3] = 1
    assert edges_beside_factors(X, graph, 1).stays.tolist() == [True, False]
    chain = np.diag(np.ones(19), 1)
    X, _ = simulate_sem(chain, 300, random_state=0)
    assert edges_beside_factors(X, chain, 1).stays.mean() > 0.8


def test_units_and_signs_of_columns_do_not_matter():
    X = hidden(100, 6, 1)
    graph = np.triu(np.ones((6, 6)), 1)
    factors = np.array([1, 10, -0.1, 3, 1, 1])
    plain, scaled = (edges_beside_factors(table, graph, 1) for table in (X, 5 + X * factors))
    i, j = np.nonzero(graph)
    flip = np.sign(factors[i] * factors[j])
    np.testing.assert_allclose(scaled.beside_factors * flip, plain.beside_factors, atol=1e-4)
    np.testing.assert_array_equal(scaled.stays, plain.stays)


def test_numbers_of_factors_that_cannot_be_are_refused():
    X = hidden(30, 6, 1)
    with pytest.raises(InputError, match="n_factors is 4, but 6 columns can determine at most 3"):
        edges_beside_factors(X, np.zeros((6, 6)), 4)
    with pytest.raises(InputError, match="n_factors is 0"):
        edges_beside_factors(X, np.zeros((6, 6)), 0)
    with pytest.raises(InputError, match="8 rows, which are too few for 3 factors"):
        edges_beside_factors(X[:8], np.triu(np.ones((6, 6)), 1), 3)
    assert len(edges_beside_factors(X, np.zeros((6, 6)), 1)) == 0
