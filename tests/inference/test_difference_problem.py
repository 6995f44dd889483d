from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from tests.codes import warned

from sgbn.cohort.rows import rows_of_groups
from sgbn.inference.difference_problem import (
    Estimates,
    UnitSums,
    all_ways,
    check_request,
    closed_p,
    fingerprint,
    group_columns,
    one_way,
    parents_of_both,
    partitions,
    sets_of_groups,
)
from sgbn.inference.differences import edge_differences, problem_of
from sgbn.learn.sgbn import SGBN

ROWS = 30


@pytest.fixture(scope="module")
def group_data(two_groups):
    X, y = two_groups(ROWS)
    rng = np.random.default_rng(0)
    covariates = {"a": rng.normal(size=2 * ROWS), "b": rng.choice(["f", "m"], 2 * ROWS)}
    return rows_of_groups(X, y, covariates, np.arange(2 * ROWS) % 2)


def make_problem(data):
    return problem_of(data, SGBN(n_kicks=0), separate=True, alternative="two-sided")


@pytest.fixture(scope="module")
def plain(group_data):
    return fingerprint(make_problem(group_data), SGBN(n_kicks=0))


def test_the_same_data_and_learner_have_one_fingerprint(group_data, plain):
    assert fingerprint(make_problem(group_data), SGBN(n_kicks=0)) == plain


def test_regions_without_a_lobe_are_in_none(group_data):
    lobes = ("b", "unknown", "a", "b", "a", "unknown")
    problem = replace(make_problem(group_data), lobes=lobes)
    assert problem.lobe_codes.tolist() == [1, -1, 0, 1, 0, -1]


@pytest.mark.parametrize(
    "change",
    [
        lambda d: {"values": d.values + 1e-4 * np.eye(*d.values.shape)},
        lambda d: {"lobes": (*d.lobes[:-1], "other")},
        lambda d: {"names": (*d.names[:-1], "other")},
    ],
)
def test_every_part_of_the_data_is_in_the_fingerprint(group_data, plain, change):
    changed = replace(group_data, **change(group_data))
    assert fingerprint(make_problem(changed), SGBN(n_kicks=0)) != plain


@pytest.mark.parametrize(
    "change",
    [
        lambda d: {"site": d.site[::-1]},
        lambda d: {"pair": np.tile(np.arange(ROWS), 2)},
        lambda d: {"covariates": {"a": d.covariates["a"], "b": d.covariates["b"][::-1]}},
        lambda d: {"covariates": {"b": d.covariates["b"], "a": d.covariates["a"]}},
        lambda d: {"covariates": {"a": d.covariates["a"], "c": d.covariates["b"]}},
        lambda d: {"group": np.where(d.group == "MCI", "AD", d.group)},
        lambda d: {"reference": "MCI"},
    ],
)
def test_every_part_of_the_design_is_in_the_fingerprint(group_data, plain, change):
    design = group_data.design
    changed = replace(group_data, design=replace(design, **change(design)))
    assert fingerprint(make_problem(changed), SGBN(n_kicks=0)) != plain


def test_long_parameters_are_in_the_fingerprint(group_data):
    problem = make_problem(group_data)
    pairs = [(f"r{i}", f"r{j}") for i in range(6) for j in range(i)] * 40
    first, second = (SGBN(forbidden=[*pairs[:300], own, *pairs[300:]]) for own in pairs[:2])
    assert repr(first) == repr(second)  # cut
    assert fingerprint(problem, first) != fingerprint(problem, second)


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
    units = UnitSums.of(codes, None, 0)
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
    paired = UnitSums.of(codes, np.tile(np.arange(50), 2), 0)
    alone = UnitSums.of(codes, None, 0)
    errors = [
        one_way(group_columns(X, units), EDGES, units).standard_error(0, 1)
        for units in (paired, alone)
    ]
    assert (errors[0] < 0.5 * errors[1]).all()


def test_rows_of_a_person_count_together():
    X, codes = rows_of(sizes=(30, 30))
    twice, labels = np.repeat(X, 2, axis=0), np.repeat(np.arange(60), 2)
    units = UnitSums.of(np.repeat(codes, 2), labels, 0)
    single = UnitSums.of(codes, None, 0)
    naive = UnitSums.of(np.repeat(codes, 2), None, 0)
    together, once, apart = (
        one_way(group_columns(rows, own), EDGES, own).statistic((0, 1))
        for rows, own in ((twice, units), (X, single), (twice, naive))
    )
    # leverages of twice as many rows are half as large: nearly, not exactly, the same
    np.testing.assert_allclose(together, once, rtol=0.2)
    np.testing.assert_allclose(apart, np.sqrt(2) * together, rtol=1e-6)


def test_what_is_held_fixed_makes_variances_larger():
    codes = np.repeat([0, 1], 10)
    assert UnitSums.of(codes, None, 4).inflation == pytest.approx(20 / 16)


def test_the_parents_of_either_are_given_without_the_two():
    parents = np.zeros((5, 5), bool)
    parents[[0, 1], 2] = parents[[2, 3], 4] = True
    given = parents_of_both(parents, np.array([(2, 4), (0, 2)]))
    assert np.flatnonzero(given[0]).tolist() == [0, 1, 3]
    assert np.flatnonzero(given[1]).tolist() == [1]


def test_the_two_ways_share_a_sign_and_swap_with_the_pair():
    X, codes = rows_of()
    units = UnitSums.of(codes, None, 0)
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


@pytest.mark.parametrize(("n", "bell"), [(2, 2), (3, 5), (4, 15), (5, 52)])
def test_partitions_are_all_of_them_once(n, bell):
    found = [frozenset(sets) for sets in partitions(list(range(n)))]
    assert len(found) == len(set(found)) == bell
    assert all(len(members) > 1 for sets in found for members in sets)


def test_sets_are_all_of_two_or_more_and_the_whole_comes_first():
    assert sets_of_groups(3) == [(0, 1, 2), (0, 1), (0, 2), (1, 2)]
    assert len(sets_of_groups(5)) == 2**5 - 5 - 1


def test_of_three_groups_the_larger_p_of_pair_and_whole_counts():
    p_of = {(0, 1, 2): [0.03, 0.5], (0, 1): [0.01, 0.01], (0, 2): [0.2, 0.2], (1, 2): [0.9, 0.9]}
    p_of = {members: np.array(p) for members, p in p_of.items()}
    assert closed_p((0, 1), p_of).tolist() == [0.03, 0.5]
    assert closed_p((0, 2), p_of).tolist() == [0.2, 0.5]


def test_of_four_groups_pairs_of_pairs_count_twice():
    p_of = {members: np.array([0.001]) for members in sets_of_groups(4)}
    p_of[0, 1] = p_of[2, 3] = np.array([0.02])
    assert closed_p((0, 1), p_of) == pytest.approx(0.04)  # {0, 1} and {2, 3} are both equal
    p_of[0, 1, 2] = np.array([0.3])
    assert closed_p((0, 1), p_of) == pytest.approx(0.3)
    assert closed_p((2, 3), p_of) == pytest.approx(0.04)


def test_the_chance_of_a_false_pair_is_the_level_where_others_differ():
    # groups 0 and 1 are equal, and 2 and 3; every set with groups of both has p = 0
    rng = np.random.default_rng(0)
    n = 20_000
    p_of = {members: np.zeros(n) for members in sets_of_groups(4)}
    p_of[0, 1], p_of[2, 3] = rng.random((2, n))
    false = np.minimum(closed_p((0, 1), p_of), closed_p((2, 3), p_of)) <= 0.05
    assert 0.04 < false.mean() <= 0.05


def request_of(X, y, n_permutations=19, **design):
    """What a request for two-sided tests becomes; it warns as `edge_differences` does."""
    return check_request(n_permutations, "two-sided", 0, rows_of_groups(X, y, **design).design)


def test_very_unequal_groups_are_warned_about(two_groups):
    X, y = two_groups(70)
    with warned("groups.uneven"):
        request_of(X[58:], y[58:])


def test_whole_numbers_may_be_floats(data):
    n_permutations, seed = request_of(*data, n_permutations=19.0)
    assert (n_permutations, seed) == (19, 0)
    assert isinstance(n_permutations, int)


def test_rows_that_can_hardly_be_exchanged_are_warned_about_and_give_no_small_p(data):
    X, y = data
    sites = np.where(np.isin(np.arange(120), [0, 60]), "both", y)
    with warned("exchange.few"):
        found = edge_differences(X, y, sites=sites, n_permutations=19)
    assert found.edges["p_fwer"].min() > 0.2
    assert found.global_p > 0.2


def test_persons_whose_rows_cannot_move_are_counted(data):
    X, y = data
    persons = np.where(np.arange(120) < 20, np.arange(120) // 2, np.arange(120))
    persons = np.where(np.arange(120) > 79, 200 + np.arange(120) // 4, persons)
    with warned("exchange.stuck"):
        request_of(X, y, persons=persons)
