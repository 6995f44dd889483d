import numpy as np
import pytest

from sgbn.inference.difference_problem import closed_p, partitions, sets_of_groups


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
