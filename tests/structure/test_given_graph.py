import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from sgbn.core.exceptions import CycleError, DataWarning, InputError
from sgbn.core.gaussian import GaussianNetwork
from sgbn.learn.base import fit_weights


def test_equals_ordinary_least_squares(simulate):
    X, network = simulate(8, 60, 0)
    X = X * np.logspace(-2, 2, 8) + 10
    fitted = fit_weights(X, network.coef)
    for j in range(8):
        parents = np.flatnonzero(network.coef[:, j])
        if parents.size:
            expected = LinearRegression().fit(X[:, parents], X[:, j])
            np.testing.assert_allclose(fitted.coef[parents, j], expected.coef_, rtol=1e-8)
            assert fitted.intercept[j] == pytest.approx(expected.intercept_, rel=1e-8)
            residual = X[:, j] - expected.predict(X[:, parents])
        else:
            assert fitted.intercept[j] == pytest.approx(X[:, j].mean())
            residual = X[:, j] - X[:, j].mean()
        expected_noise = residual @ residual / (60 - parents.size - 1)
        assert fitted.noise_variance[j] == pytest.approx(expected_noise, rel=1e-8)


def test_names_come_from_a_table(simulate):
    X, network = simulate(3, 30, 1)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    assert fit_weights(table, network.coef).names == ("a", "b", "c")


def test_wrong_graphs_and_cells_are_refused(simulate):
    X, _ = simulate(3, 30, 2)
    with pytest.raises(CycleError, match="x0 -> x1 -> x0"):
        fit_weights(X, [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    with pytest.raises(InputError, match=r"X has 3 columns, but the graph has shape \(2, 2\)"):
        fit_weights(X, np.zeros((2, 2)))
    X[4, 0] = np.nan
    with pytest.raises(InputError, match="NaN: column 'x0', row 4"):
        fit_weights(X, np.zeros((3, 3)))


def test_labels_are_matched_not_positions(simulate):
    X, network = simulate(4, 50, 3)
    names = ["a", "b", "c", "d"]
    table = pd.DataFrame(X, columns=names)
    graph = pd.DataFrame(network.coef, index=names, columns=names)
    expected = fit_weights(table, network.coef)
    turned = fit_weights(table[names[::-1]], graph)
    assert turned.names == tuple(names[::-1])
    np.testing.assert_allclose(turned.coef[::-1, ::-1], expected.coef, atol=1e-12)
    named = GaussianNetwork(network.coef[::-1, ::-1], names=names[::-1])
    np.testing.assert_array_equal(fit_weights(table, named).coef, expected.coef)
    np.testing.assert_array_equal(fit_weights(X, network).coef, expected.coef)
    with pytest.raises(InputError, match="names differ from the columns of X"):
        fit_weights(table, network.coef, names[::-1])
    with pytest.raises(InputError, match="variables of the graph are not the columns of X"):
        fit_weights(table, graph.rename(columns={"a": "z"}))


def test_a_perfect_fit_warns_and_keeps_a_density():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    X[:, 2] = X[:, 0] + X[:, 1]
    graph = np.zeros((3, 3))
    graph[:2, 2] = 1
    with pytest.warns(DataWarning, match="'x2' is an exact linear function of its parents"):
        network = fit_weights(X, graph)
    assert np.isfinite(network.log_likelihood(X)).all()


def test_collinear_parents_warn():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    X[:, 1] = 2 * X[:, 0]
    graph = np.zeros((3, 3))
    graph[:2, 2] = 1
    with pytest.warns(DataWarning, match="the parents of 'x2' are collinear"):
        fit_weights(X, graph)
