import numpy as np

from sgbn.prepare.independence import (
    drawn_in,
    gaps_to_likest,
    in_robust_sd,
    near_pairs,
    surrogate,
    unit_rows,
)


def draw(n=60, m=12):
    return np.random.default_rng(0).normal(size=(n, m))


def test_near_pairs_are_those_that_agree_in_all_regions():
    values = draw()
    values[7] = values[3] + 0.01
    values[9] = values[3]
    values[9, -2] += 1.0  # near in most regions, and far in one
    assert near_pairs(values, 0.05).tolist() == [[3, 7]]


def test_the_likest_row_of_another_unit_is_found():
    values = draw()
    values[20] = values[5] + 0.1 * values[6]
    unit = np.arange(60)
    gaps, likest = gaps_to_likest(unit_rows(values), unit, np.array([5, 30]), 10)
    assert likest[0] == 20
    assert gaps[0] > gaps[1]
    unit[20] = 5  # of one person: they may be alike
    assert gaps_to_likest(unit_rows(values), unit, np.array([5]), 10)[1][0] != 20


def test_surrogates_have_the_covariance_of_the_rows():
    values = draw(4000, 3) @ np.array([[1, 0.5, 0], [0, 1, 0], [0, 0, 3]])
    np.testing.assert_allclose(np.cov(surrogate(values).T), np.cov(values.T), atol=0.5)


def test_a_cell_far_out_changes_neither_spread_nor_covariance():
    values = draw()
    plain = in_robust_sd(values)
    values[0, 0] = 1e6
    np.testing.assert_allclose(in_robust_sd(values)[1:], plain[1:], rtol=0.1)
    assert drawn_in(values)[0, 0] < 20
