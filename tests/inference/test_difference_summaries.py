import numpy as np
import pytest

from sgbn.inference.joint import GroupWeights
from sgbn.inference.permutations import components_of, corrected, strength_statistics, strengths


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
