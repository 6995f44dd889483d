import numpy as np

from sgbn.inference.difference_tables import (
    count_reaching,
    discovery_rates,
    own_class_p,
    signed_statistic,
)


def test_the_statistic_speaks_for_the_alternative():
    t = np.array([-2.0, 1.0])
    assert signed_statistic(t, "two-sided").tolist() == [2, 1]
    assert signed_statistic(t, "greater").tolist() == [-2, 1]
    assert signed_statistic(t, "less").tolist() == [2, -1]


def test_discovery_rates_are_as_stated():
    signed = np.array([5.0, 1.0, 3.0, 3.0])
    null = np.array([0.5, 1.5, 2.0, 3.5, 4.0, 0.1])
    above = np.array([(null >= value).sum() for value in signed])
    expected = []
    for value in signed:
        rates = [
            ((null >= low).sum() + 1) / (2 + 1) / (signed >= low).sum()
            for low in signed[signed <= value]
        ]
        expected.append(min([*rates, 1.0]))
    np.testing.assert_allclose(discovery_rates(signed, above, 2), expected)


def test_p_compares_edges_that_were_chosen_alike():
    null = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    in_pool = np.array([True, True, True, False, False, False])
    p = own_class_p(np.array([2.5, 2.5, 4.0]), np.array([True, False, False]), null, in_pool)
    np.testing.assert_allclose(p, [1 / 4, 4 / 4, 3 / 4])
    alone = own_class_p(np.array([9.0]), np.array([False]), null, np.ones(6, bool))
    assert alone == 1  # nothing to compare with


def test_ties_up_to_round_off_reach():
    assert count_reaching(np.array([1 + 1e-13, 2.5]), np.array([1.0, 2.0])).tolist() == [2, 0]
