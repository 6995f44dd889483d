from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from sgbn.cohort.rows import rows_of_groups
from sgbn.inference import permutations
from sgbn.inference.differences import problem_of
from sgbn.inference.joint import GroupWeights
from sgbn.inference.permutations import (
    Permuted,
    class_shares,
    components_of,
    corrected,
    count_reaching,
    discovery_rates,
    holm,
    lowest_of,
    monte_carlo_error,
    permutations_needed,
    permute,
    permuted_statistics,
    ranked,
    reached,
    signed_statistic,
    statistic_at,
    statistics_of,
    strength_statistics,
    strengths,
)
from sgbn.learn.sgbn import SGBN
from sgbn.runs.study import Study


def test_the_statistic_speaks_for_the_alternative():
    t = np.array([-2.0, 1.0])
    assert signed_statistic(t, "two-sided").tolist() == [2, 1]
    assert signed_statistic(t, "greater").tolist() == [-2, 1]
    assert signed_statistic(t, "less").tolist() == [2, -1]


@pytest.fixture(scope="module")
def problem(two_groups):
    X, y = two_groups()
    groups = np.where(np.arange(len(y)) % 3 == 0, "third", y)
    data = rows_of_groups(X, groups)
    return problem_of(data, SGBN(n_kicks=0), True, "two-sided", [(2, 3)])


def test_every_permutation_has_its_statistics(problem):
    found = permute(problem, (0, 0), 4, (0, 1, 2))
    assert len(found["counts"]) == len(found["totals"]) == len(found["sums"]) == 4
    edges = found["counts"].sum()
    assert found["tests"].shape == found["in_pool"].shape == (edges,)
    assert found["ways"].shape == (edges, 3)
    assert found["named"].shape == (4, 1, 3)
    assert found["totals_ways"].shape == (4, 3)
    last = found["tests"][-found["counts"][-1] :]
    assert found["totals"][-1] == pytest.approx(np.square(last).sum())


def test_a_permutation_is_that_of_its_rows(problem):
    found = permute(problem, (0, 0), 1, (0, 1, 2))
    rows = problem.design.exchange((0, 1, 2)).draw(np.random.default_rng((0, 0)))
    fit = problem.fit(problem.nuisance.residuals(problem.residuals[rows]))
    for name, own in statistics_of(problem, fit, (0, 1, 2)).items():
        np.testing.assert_array_equal(found[name].ravel(), own.ravel())


def test_permutations_of_two_groups_leave_the_others_in_place(problem):
    codes = problem.design.group_codes
    rows = problem.design.exchange((0, 2)).draw(np.random.default_rng(0))
    assert (rows == np.arange(len(rows)))[codes == 1].all()
    assert (codes[rows] != codes)[codes != 1].any()
    assert sorted(rows) == list(range(len(rows)))


def test_sets_of_groups_have_permutations_of_their_own(problem, monkeypatch):
    monkeypatch.setattr(permutations, "PERMUTATIONS_PER_TASK", 3)
    found = permuted_statistics(problem, 5, 0, {}, Study())
    assert list(found) == [(0, 1, 2), (0, 1), (0, 2), (1, 2)]
    assert {len(own["counts"]) for own in found.values()} == {5}
    assert "totals" in found[0, 1, 2]
    assert "totals" not in found[0, 1]
    assert not np.array_equal(found[0, 1]["tests"], found[0, 2]["tests"])


def permuted_of(seed, n_permutations=9, effect=0.0):
    """Edges of two classes, the second with larger statistics, in varying numbers."""
    rng = np.random.default_rng(seed)
    runs = []
    for _ in range(n_permutations + 1):
        classes = (rng.random(rng.integers(1, 8)) < 0.3).astype(np.intp)
        runs.append((np.abs(rng.normal(size=len(classes))) * (1 + 3 * classes), classes))
    (observed, classes), *null = runs
    counts = np.array([len(values) for values, _ in null])
    values, kinds = (np.concatenate(parts) for parts in zip(*null, strict=True))
    return Permuted(observed + effect, classes, values, kinds, counts)


def by_brute_force(permuted):
    starts = np.concatenate([[0], np.cumsum(permuted.counts)])
    runs = [(permuted.observed, permuted.classes)] + [
        (permuted.null[a:b], permuted.null_classes[a:b]) for a, b in pairwise(starts)
    ]
    null = [(t, c) for values, kinds in runs[1:] for t, c in zip(values, kinds, strict=True)]
    count = Counter(c for _, c in null)
    apart = count[0] >= 20 and count[1] >= 20

    def share(t, c, own):
        others = sorted(other for other, kind in null if not apart or kind == c)
        size = min(50, len(others) // 2)
        if size >= 5 and t > others[-size]:
            excess = np.mean([other - others[-size] for other in others[-size:]])
            return size / len(others) * np.exp(-(t - others[-size]) / excess)
        return (own + sum(other >= t for other in others)) / (own + len(others))

    first = [share(t, c, 1) for t, c in zip(*runs[0], strict=True)]
    rest = [[share(t, c, 0) for t, c in zip(*run, strict=True)] for run in runs[1:]]
    smallest = np.array([min(own) for own in rest])
    flat = [u for own in rest for u in own + [1.0] * (len(first) - len(own))]
    p = [(1 + np.sum(np.array(flat) <= own + 1e-12)) / (1 + len(flat)) for own in first]
    family_wise = [(1 + np.sum(smallest <= own + 1e-12)) / (1 + len(rest)) for own in first]
    return p, family_wise


@settings(max_examples=settings.default.max_examples // 2)
@given(st.integers(0, 10_000), st.sampled_from([4, 30]))
def test_p_and_family_wise_p_are_those_of_brute_force(seed, n_permutations):
    permuted = permuted_of(seed, n_permutations)
    found = ranked(permuted)
    p, family_wise = by_brute_force(permuted)
    np.testing.assert_allclose(found.p, p)
    np.testing.assert_allclose(found.family_wise, family_wise)


def test_a_class_of_large_statistics_does_not_hide_the_other():
    permuted = permuted_of(1, 99, effect=0.0)
    classes = np.zeros_like(permuted.classes)
    strong = permuted._replace(observed=np.full(len(classes), 4.0), classes=classes)
    assert ranked(strong).family_wise[0] < 0.1
    merged = strong._replace(null_classes=np.zeros_like(permuted.null_classes))
    assert ranked(merged).family_wise[0] > 0.2


def test_a_class_with_few_statistics_can_still_be_surest():
    permuted = permuted_of(1, 99)
    few = np.flatnonzero(permuted.null_classes == 1)[30:]
    kinds = permuted.null_classes.copy()
    kinds[few] = 0
    rare = permuted._replace(observed=np.array([60.0]), classes=np.array([1]), null_classes=kinds)
    found = ranked(rare)
    assert found.p[0] == 1 / (1 + len(permuted.null))
    assert found.family_wise[0] == 1 / 100


def test_a_class_that_hardly_any_permutation_has_is_ranked_with_the_other():
    permuted = permuted_of(1, 99)
    kinds = np.zeros_like(permuted.null_classes)
    kinds[:3] = 1
    rare = permuted._replace(observed=np.array([60.0]), classes=np.array([1]), null_classes=kinds)
    assert ranked(rare).p[0] == 1 / (1 + len(kinds))


def test_what_equals_the_statistic_at_a_share_but_for_round_off_does_not_exceed_it():
    ascending = np.arange(1.0, 10.0)  # too few for a fitted tail
    equal = np.nextafter(ascending, np.inf)
    for reaching in range(1, 9):
        share = (reaching + 1) / 10
        at = statistic_at(share, ascending)
        np.testing.assert_array_equal(equal > at, class_shares(equal, ascending) < share - 1e-9)


def test_the_statistic_at_a_share_is_where_shares_become_smaller():
    ascending = np.sort(np.abs(np.random.default_rng(0).normal(size=1000)))
    for share in (0.5, 0.2, 0.01, 1e-6):
        at = statistic_at(share, ascending)
        assert class_shares(np.array([at * (1 + 1e-6) + 1e-6]), ascending)[0] < share
        assert class_shares(np.array([at * (1 - 1e-6)]), ascending)[0] >= share * (1 - 1e-9)
    ties = np.repeat([1.0, 2.0], 30)  # no tail to fit
    assert class_shares(np.array([2.0, 3.0]), ties).tolist() == [31 / 61, 1 / 61]


def test_many_true_changes_do_not_hide_each_other():
    rng = np.random.default_rng(0)
    null = np.abs(rng.normal(size=(199, 150)))
    observed = np.concatenate([np.abs(rng.normal(size=60)), rng.uniform(9, 12, size=90)])
    kinds = np.zeros(150, int)
    found = ranked(
        Permuted(observed, kinds, null.ravel(), np.zeros(null.size, int), np.full(199, 150))
    )
    assert (found.family_wise[60:] == 1 / 200).all()


def test_a_small_class_is_joined_with_its_partner_and_no_other():
    rng = np.random.default_rng(0)
    values = np.concatenate(
        [rng.uniform(0, 1, 5), rng.uniform(0, 1, 100), rng.uniform(50, 60, 900)]
    )
    kinds = np.repeat([2, 3, 1], [5, 100, 900])
    found = ranked(Permuted(np.array([5.0]), np.array([2]), values, kinds, np.full(5, 201)))
    assert found.shares[0] < 0.01


def test_shares_of_large_gaussian_statistics_are_not_too_small():
    ascending = np.sort(np.abs(np.random.default_rng(1).normal(size=4000)))
    values = np.array([3.5, 4.0, 4.5])
    assert (class_shares(values, ascending) >= 2 * ndtr(-values)).all()


def test_the_error_of_a_pooled_p_counts_permutations_not_edges():
    # all edges of a permutation are copies of one statistic: as many numbers as permutations
    rng = np.random.default_rng(0)
    alone = np.abs(rng.normal(size=400))
    permuted = Permuted(
        np.array([1.0]),
        np.zeros(1, int),
        np.repeat(alone, 50),
        np.zeros(20_000, int),
        np.full(400, 50),
    )
    found = ranked(permuted)
    assert found.error[0] == pytest.approx(monte_carlo_error(found.p[0], 400), rel=0.1)
    spread = permuted._replace(null=np.abs(rng.normal(size=20_000)))
    assert ranked(spread).error[0] < found.error[0] / 4


def test_permutations_without_an_edge_have_no_small_p():
    assert lowest_of(np.array([0.2, 0.1]), np.array([0, 2, 0])).tolist() == [1, 0.1, 1]
    assert lowest_of(np.empty(0), np.array([0])).tolist() == [1]


def test_discovery_rates_are_those_of_benjamini_and_hochberg():
    p = np.array([0.01, 0.04, 0.03, 0.5])
    np.testing.assert_allclose(discovery_rates(p), [0.04, 0.16 / 3, 0.16 / 3, 0.5])
    assert discovery_rates(np.empty(0)).size == 0


def test_ties_up_to_round_off_reach():
    assert count_reaching(np.array([1 + 1e-13, 2.5]), np.array([1.0, 2.0])).tolist() == [2, 0]


def test_a_value_that_nothing_reaches_has_the_smallest_p():
    assert reached(3.0, np.arange(3.0)) == 0.25
    assert reached(2.0, np.arange(3.0)) == 0.5
    assert reached(1 + 1e-13, np.ones(3)) == 1
    assert reached(-1 + 1e-13, -np.ones(3)) == 1


def test_the_error_of_p_is_that_of_a_share():
    assert monte_carlo_error(0.05, 199) == pytest.approx(np.sqrt(0.05 * 0.95 / 200))
    assert monte_carlo_error(1.0, 199) == 0


@pytest.mark.parametrize("level", [0.05, 0.01])
@pytest.mark.parametrize(("by", "fewer"), [("q", 0), ("p_fwer", 1)])
def test_one_difference_alone_is_found_with_the_permutations_needed_and_not_with_fewer(
    level, by, fewer
):
    def found(B):
        rng = np.random.default_rng(0)
        k, null = 5, rng.random(5 * B)
        observed = np.array([9.0, 0, 0, 0, 0])
        own = ranked(
            Permuted(observed, np.zeros(k, int), null, np.zeros(5 * B, int), np.full(B, k))
        )
        return (own.family_wise if by == "p_fwer" else discovery_rates(own.p))[0] <= level

    needed = permutations_needed(level, by)
    assert needed == round(1 / level) - fewer
    assert found(needed)
    assert not found(needed - 1)


def test_two_small_classes_are_joined():
    null = np.linspace(0, 1, 15)
    permuted = Permuted(np.array([5.0]), np.array([0]), null, np.ones(15, int), np.full(15, 1))
    assert ranked(permuted).p[0] == 1 / 16


def test_holm_is_that_of_statsmodels():
    p = np.array([0.04, 0.01, 0.03, 0.005, 0.9])
    np.testing.assert_allclose(holm(p), [0.09, 0.04, 0.09, 0.025, 0.9])
    assert not len(holm(p[:0]))


def test_components_are_connected_and_of_one_sign():
    edges = np.array([(0, 1), (1, 2), (3, 4), (2, 5), (0, 3)])
    found = components_of(np.array([4.0, 5.0, 3.5, -6.0, -2.0]), edges, 3.0)
    assert [(c.sign, c.pairs.tolist(), c.strength) for c in found] == [
        (1, [[0, 1], [1, 2]], 3.0),
        (-1, [[2, 5]], 3.0),
        (1, [[3, 4]], 0.5),
    ]


def test_components_of_a_statistic_without_sign_have_none():
    found = components_of(np.array([4.0]), np.array([(0, 1)]), 3.0, signs=(0,))
    assert [(c.sign, c.strength) for c in found] == [(0, 1.0)]


def test_sums_over_regions_and_lobes():
    first, second = np.zeros((2, 4, 4))
    first[0, 1], first[2, 3] = 0.5, -1.0
    second[0, 1], second[0, 3] = -0.7, 0.2
    small = np.full((4, 4), 1e-4)
    large = np.full((4, 4), 0.04)
    groups = [GroupWeights(first, small, small), GroupWeights(second, large, large)]
    sums = strengths(groups, np.array([0, 0, 1, 1]))
    np.testing.assert_allclose(sums["in"], [0, 0.2, 0, -0.8])
    np.testing.assert_allclose(sums["out"], [0.4, 0, -1.0, 0])
    np.testing.assert_allclose(sums["strength"], [0.2, 0.2, 0, -1.0])
    np.testing.assert_allclose(sums["number"], [0, 0, 0, -1])  # 0.2 is within its noise


def test_an_edge_counts_by_one_yardstick_in_all_groups():
    weights = np.zeros((2, 2))
    weights[0, 1] = 0.3
    groups = [GroupWeights(weights, np.full((2, 2), v), np.ones(2)) for v in (1e-4, 0.04)]
    assert strengths(groups, np.zeros(2, np.intp))["number"].tolist() == [0]


def drawn(rng, weights, variances):
    """Estimates of the same weights, one group a table of variances."""
    there = weights != 0
    return [
        GroupWeights(weights + there * rng.normal(size=weights.shape) * np.sqrt(v), there * v, v[0])
        for v in variances
    ]


@pytest.mark.parametrize("n_groups", [2, 3])
def test_unequal_noise_is_no_change_of_strength(n_groups):
    rng = np.random.default_rng(0)
    m, lobes = 8, np.arange(8) % 2
    weights = np.triu(rng.normal(0, 0.1, (m, m)), 1)
    variances = [np.full((m, m), v) for v in (0.01, 0.09, 0.04)[:n_groups]]
    draws = [drawn(rng, weights, variances) for _ in range(300)]
    z = np.array([strength_statistics(groups, lobes)["strength"] for groups in draws])
    if n_groups == 2:
        plain = np.array([strengths(groups, lobes)["strength"] for groups in draws])
        assert (plain.mean(axis=0) > 0.5 * plain.std(axis=0)).all()  # what sums of sizes do
        assert (np.abs(z.mean(axis=0)) < 0.15).all()
    np.testing.assert_allclose(np.square(z).mean(axis=0), n_groups - 1, rtol=0.25)


def test_a_change_along_the_common_sign_counts():
    first, second = np.zeros((2, 3, 3))
    first[0, 2], first[1, 2] = 1.0, -1.0
    second[0, 2], second[1, 2] = 1.3, -1.4
    v = np.where(first != 0, 0.04, 0.0)
    groups = [GroupWeights(b, v, np.ones(3)) for b in (first, second)]
    z = strength_statistics(groups, np.zeros(3, np.intp))
    np.testing.assert_allclose(z["in"], [0, 0, 0.7 / np.sqrt(0.16)])
    np.testing.assert_allclose(z["out"], [0.3 / np.sqrt(0.08), 0.4 / np.sqrt(0.08), 0])


def test_numbers_are_compared_with_their_own_permutations():
    rng = np.random.default_rng(0)
    null = rng.normal([5.0, 0.0, 0.0], [1.0, 10.0, 0.0], size=(999, 3))
    z, p = corrected(np.array([9.0, 9.0, 0.0]), null, np.array([0, 0, 1]), np.ones(3, bool))
    assert z[0] == pytest.approx(4, abs=0.3)
    assert z[1] == pytest.approx(0.9, abs=0.1)
    assert p[0] < 0.01 < p[1]
    assert (z[2], p[2]) == (0, 1)


def test_a_region_that_rarely_has_an_edge_does_not_hide_the_others():
    rng = np.random.default_rng(0)
    null = rng.normal(size=(199, 3))
    null[:, 1:] *= rng.random((199, 2)) < 0.02  # a sum of edges that are hardly ever there
    for counts in (np.zeros(3, bool), np.array([False, True, True])):
        z, p = corrected(np.array([5.0, 0.0, 0.0]), null, np.zeros(3, int), counts)
        assert z[0] == 5
        assert p[0] == 1 / 200


def test_round_off_decides_no_p():
    z, p = corrected(np.ones(2), np.ones((9, 2)) - 1e-15, np.zeros(2, int), np.zeros(2, bool))
    assert (z.tolist(), p.tolist()) == ([0, 0], [1, 1])


def test_low_values_count_where_both_sides_do():
    null = np.random.default_rng(0).normal(size=(199, 1))
    given = np.array([-5.0]), null, np.array([0]), np.array([False])
    assert corrected(*given)[1] == 1 / 200
    assert corrected(*given, two_sided=False)[1] == 1
