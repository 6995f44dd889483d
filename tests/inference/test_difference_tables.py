import numpy as np

from sgbn.inference.difference_tables import discovery_rates, signed_statistic


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
