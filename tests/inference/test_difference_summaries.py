import numpy as np
import pytest

from sgbn.inference.difference_summaries import components_of, corrected, reached, strengths
from sgbn.inference.joint import GroupWeights


def test_components_are_connected_and_of_one_sign():
    t = np.zeros((6, 6))
    t[0, 1], t[1, 2], t[3, 4] = 4.0, 5.0, 3.5
    t[2, 5], t[0, 3] = -6.0, -2.0
    found = components_of(t, t != 0, 3.0)
    assert [(c.sign, c.pairs.tolist(), c.strength) for c in found] == [
        (1, [[0, 1], [1, 2]], 3.0),
        (-1, [[2, 5]], 3.0),
        (1, [[3, 4]], 0.5),
    ]


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


def test_sums_are_compared_with_their_own_permutations():
    rng = np.random.default_rng(0)
    null = rng.normal([5.0, 0.0, 0.0], [1.0, 10.0, 0.0], size=(999, 3))
    z, p = corrected(np.array([9.0, 9.0, 0.0]), null, np.array([0, 0, 1]))
    assert z[0] == pytest.approx(4, abs=0.3)
    assert z[1] == pytest.approx(0.9, abs=0.1)
    assert p[0] < 0.01 < p[1]
    assert (z[2], p[2]) == (0, 1)


def test_a_value_that_nothing_reaches_has_the_smallest_p():
    assert reached(3.0, np.arange(3.0)) == 0.25
    assert reached(2.0, np.arange(3.0)) == 0.5
