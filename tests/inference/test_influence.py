from itertools import pairwise

import numpy as np
import pytest
import statsmodels.api as sm

from sgbn.inference.influence import (
    CORRELATION,
    _fill_edges,
    _fill_pairs,
    edge_influences,
    pair_influences,
)


def columns_of(seed, n=40, m=6):
    rng = np.random.default_rng(seed)
    X = rng.standard_t(4, size=(n, m)) @ rng.normal(size=(m, m))
    X -= X.mean(axis=0)
    columns = np.ascontiguousarray(X.T)
    return X, columns, columns @ columns.T


def in_statsmodels(X, child, own):
    return sm.OLS(X[:, child], X[:, own]).fit(cov_type="HC3")


@pytest.mark.parametrize("seed", range(3))
def test_influences_add_up_to_the_hc3_variances_of_statsmodels(seed):
    X, columns, S = columns_of(seed)
    edges = np.array([(0, 2), (1, 2), (0, 4), (1, 4), (3, 4), (4, 5)])
    starts = np.array([0, 2, 5, 6])
    weights, influences = edge_influences(columns, S, edges, starts)
    for first, last in pairwise(starts):
        fitted = in_statsmodels(X, edges[first, 1], edges[first:last, 0])
        np.testing.assert_allclose(weights[first:last], fitted.params, rtol=1e-9)
        variances = np.square(influences[first:last]).sum(axis=1)
        np.testing.assert_allclose(variances, fitted.bse**2, rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_both_ways_are_two_regressions_beside_the_same_others(seed):
    X, columns, S = columns_of(seed)
    edges = np.array([(0, 1), (4, 2)])
    given = np.zeros((2, 6), bool)
    given[0, [3, 5]] = True
    weights, influences = pair_influences(columns, S, edges, given)
    for e, pair in enumerate(edges):
        for way, (source, target) in enumerate((pair, pair[::-1])):
            fitted = in_statsmodels(X, target, [source, *np.flatnonzero(given[e])])
            assert weights[way, e] == pytest.approx(fitted.params[0])
            assert np.square(influences[way, e]).sum() == pytest.approx(fitted.bse[0] ** 2)


def test_the_third_way_is_the_partial_correlation():
    X, columns, S = columns_of(0, n=400)
    given = np.zeros((1, 6), bool)
    given[0, [3, 5]] = True

    def z_of(X):
        r, s = (X[:, k] - X[:, [3, 5]] @ np.linalg.lstsq(X[:, [3, 5]], X[:, k])[0] for k in (0, 1))
        return np.arctanh(r @ s / np.sqrt(r @ r * (s @ s)))

    weights, influences = pair_influences(columns, S, np.array([(0, 1)]), given)
    assert weights[CORRELATION, 0] == pytest.approx(z_of(X))
    without = [z_of(np.delete(X, t, axis=0)) for t in range(len(X))]
    jackknife = np.square(z_of(X) - np.array(without)).sum()
    assert np.square(influences[CORRELATION, 0]).sum() == pytest.approx(jackknife, rel=0.1)


def test_scales_change_both_weights_and_not_the_correlation():
    _, columns, _ = columns_of(0)
    given = np.zeros((1, 6), bool)
    given[0, 3] = True
    found = []
    for factor in (1.0, 2.0):
        scaled = columns * np.where(np.arange(6) == 1, factor, 1.0)[:, None]
        found.append(pair_influences(scaled, scaled @ scaled.T, np.array([(0, 1)]), given))
    (before, spread), (after, scaled_spread) = found
    np.testing.assert_allclose(after[:, 0] / before[:, 0], [2, 0.5, 1])
    np.testing.assert_allclose(scaled_spread[CORRELATION], spread[CORRELATION])


def test_an_influence_is_what_leaving_the_row_out_changes():
    X, columns, S = columns_of(0)
    edges = np.array([(0, 2), (1, 2)])
    weights, influences = edge_influences(columns, S, edges, np.array([0, 2]))
    rest = np.arange(1, len(X))
    without = np.linalg.lstsq(X[rest][:, [0, 1]], X[rest, 2], rcond=None)[0]
    np.testing.assert_allclose(influences[:, 0], weights - without, rtol=1e-9)


def test_copies_have_no_weights():
    X, _, _ = columns_of(0)
    X[:, 1] = 2 * X[:, 0]
    columns = np.ascontiguousarray(X.T)
    S = columns @ columns.T
    weights, influences = edge_influences(
        columns, S, np.array([(0, 2), (1, 2), (3, 4)]), np.array([0, 2, 3])
    )
    assert np.isnan(weights).tolist() == [True, True, False]
    assert np.isnan(influences[:2]).all()
    given = np.zeros((2, 6), bool)
    given[0, [0, 1]] = given[1, 1] = True
    weights, _ = pair_influences(columns, S, np.array([(2, 3), (0, 3)]), given)
    assert np.isnan(weights).all()


def test_kernels_have_one_signature():
    _, columns, S = columns_of(0)
    edge_influences(columns, S, np.array([(0, 2)]), np.array([0, 1]))
    pair_influences(columns, S, np.array([(0, 2)]), np.zeros((1, 6), bool))
    assert len(_fill_edges.signatures) == len(_fill_pairs.signatures) == 1
