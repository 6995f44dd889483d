import numpy as np
import pytest
import statsmodels.api as sm

from sgbn.inference.difference_problem import (
    Estimates,
    Units,
    all_ways,
    group_columns,
    one_way,
    parents_of_both,
)

EDGES = np.array([(0, 2), (1, 2), (2, 3)])


def rows_of(seed=0, sizes=(40, 60, 30)):
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(codes), 4)) @ rng.normal(size=(4, 4))
    for c in range(len(sizes)):
        X[codes == c] -= X[codes == c].mean(axis=0)
    return X, codes


def test_t_of_two_groups_is_that_of_two_regressions():
    X, codes = rows_of()
    units = Units.of(codes, None, 0)
    t = one_way(group_columns(X, units), EDGES, units).statistic((0, 1))
    fits = [sm.OLS(X[codes == c, 2], X[codes == c][:, :2]).fit(cov_type="HC3") for c in (0, 1)]
    change = fits[1].params - fits[0].params
    expected = change / np.sqrt(fits[0].bse ** 2 + fits[1].bse ** 2)
    np.testing.assert_allclose(t[:2], expected)


def test_q_of_independent_groups_is_the_weighted_sum_of_squares():
    rng = np.random.default_rng(0)
    b, v = rng.normal(size=(3, 5)), rng.random((3, 5))
    C = np.zeros((3, 3, 5))
    C[range(3), range(3)] = v
    found = Estimates(b, C)
    mean = (b / v).sum(axis=0) / (1 / v).sum(axis=0)
    np.testing.assert_allclose(
        found.statistic(range(3)) ** 2, (np.square(b - mean) / v).sum(axis=0)
    )
    np.testing.assert_allclose(found.statistic((0, 2)), (b[2] - b[0]) / np.sqrt(v[0] + v[2]))
    np.testing.assert_allclose(found.standard_error(0, 2), np.sqrt(v[0] + v[2]))


def test_pairs_are_those_of_the_regression_of_differences():
    # one parent, both visits of a person: the influences of a person are added before squaring
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 50)
    common = np.tile(rng.normal(size=(50, 4)), (2, 1))
    X = common + 0.1 * rng.normal(size=(100, 4))
    X -= np.repeat([X[:50].mean(axis=0), X[50:].mean(axis=0)], 50, axis=0)
    paired = Units.of(codes, np.tile(np.arange(50), 2), 0)
    alone = Units.of(codes, None, 0)
    errors = [
        one_way(group_columns(X, units), EDGES, units).standard_error(0, 1)
        for units in (paired, alone)
    ]
    assert (errors[0] < 0.5 * errors[1]).all()


def test_rows_of_a_person_count_together():
    X, codes = rows_of(sizes=(30, 30))
    twice, labels = np.repeat(X, 2, axis=0), np.repeat(np.arange(60), 2)
    units = Units.of(np.repeat(codes, 2), labels, 0)
    single = Units.of(codes, None, 0)
    naive = Units.of(np.repeat(codes, 2), None, 0)
    together, once, apart = (
        one_way(group_columns(rows, own), EDGES, own).statistic((0, 1))
        for rows, own in ((twice, units), (X, single), (twice, naive))
    )
    # leverages of twice as many rows are half as large: nearly, not exactly, the same
    np.testing.assert_allclose(together, once, rtol=0.2)
    np.testing.assert_allclose(apart, np.sqrt(2) * together, rtol=1e-6)


def test_what_is_held_fixed_makes_variances_larger():
    codes = np.repeat([0, 1], 10)
    assert Units.of(codes, None, 4).inflation == pytest.approx(20 / 16)


def test_the_parents_of_either_are_given_without_the_two():
    parents = np.zeros((5, 5), bool)
    parents[[0, 1], 2] = parents[[2, 3], 4] = True
    given = parents_of_both(parents, np.array([(2, 4), (0, 2)]))
    assert np.flatnonzero(given[0]).tolist() == [0, 1, 3]
    assert np.flatnonzero(given[1]).tolist() == [1]


def test_the_two_ways_share_a_sign_and_swap_with_the_pair():
    X, codes = rows_of()
    units = Units.of(codes, None, 0)
    groups = group_columns(X, units)
    given = np.zeros((1, 4), bool)
    forward, backward, correlation = all_ways(groups, np.array([(0, 1)]), given, units)
    turned = all_ways(groups, np.array([(1, 0)]), given, units)
    np.testing.assert_allclose(forward.weights, turned.backward.weights)
    np.testing.assert_allclose(backward.covariances, turned.forward.covariances)
    np.testing.assert_allclose(correlation.weights, turned.correlation.weights)
    np.testing.assert_allclose(
        np.tanh(correlation.weights) ** 2, forward.weights * backward.weights
    )
    np.testing.assert_array_equal(np.sign(forward.weights), np.sign(backward.weights))


def test_a_weight_that_is_not_known_has_no_statistic():
    weights, C = np.array([[1.0, np.nan], [2.0, 1.0], [0.0, 1.0]]), np.zeros((3, 3, 2))
    C[range(3), range(3)] = 0.5
    found = Estimates(weights, C)
    assert found.statistic((0, 1))[1] == found.statistic(range(3))[1] == 0
    assert found.statistic((0, 1))[0] == 1
