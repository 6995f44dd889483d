import numpy as np
import pytest
from calibration_parts.bound import (
    MEAN,
    Selected,
    bound_methods,
    count,
    joined_share,
    score_bound,
)
from calibration_parts.cohorts import Setting

from sgbn.core.gaussian import GaussianNetwork
from sgbn.learn.confidence import Agreement, EdgeConfidence


@pytest.fixture
def confidence():
    """Ten halves: 0 - 1 in all, 1 - 2 in eight, 0 - 2 in two of them."""
    arrow = np.array([[0.0, 1.0, 0.2], [0.0, 0.0, 0.8], [0.0, 0.0, 0.0]])
    return EdgeConfidence(("a", "b", "c"), 10, arrow, Agreement(2.0, 1.0, 2.0, 1.0))


def symmetric(first, second, third):
    """Values of the pairs 0 - 1, 0 - 2 and 1 - 2."""
    matrix = np.zeros((3, 3))
    matrix[np.triu_indices(3, 1)] = first, second, third
    return matrix + matrix.T


def test_pairs_of_low_probability_are_counted_by_hand(confidence):
    probability = symmetric(0.9, 0.05, 0.3)
    joined = symmetric(1, 0, 0).astype(bool)
    at_most = count(confidence, probability, joined, 0.3, 0.75)
    bound = 0.3 / 0.5 * (0.2 + 0.8)
    assert at_most == pytest.approx(Selected(1, 1, 2, 1, bound, 0.3 / 0.5 * 2.0))
    lower = count(confidence, probability, joined, 0.1, 0.75)
    assert (lower.low, lower.all) == (0, 2)
    assert lower.bound == pytest.approx(0.1 / 0.5 * 0.2)


def test_the_mean_probability_is_the_default_of_the_bound(confidence):
    probability = symmetric(0.9, 0.0, 0.3)  # mean 0.4
    selected = count(confidence, probability, np.ones((3, 3), bool), MEAN, 0.8)
    assert (selected.low, selected.low_false) == (1, 0)
    assert selected.bound == pytest.approx(0.4 / 0.6 * (0.2 + 0.8))
    assert selected.stated == pytest.approx(confidence.bound(0.8))


@pytest.mark.long
def test_probabilities_tell_strong_pairs_from_none():
    network = GaussianNetwork([[0, 1.0, 0], [0, 0, 0], [0, 0, 0]])
    share = joined_share(network, 60, 20, np.random.default_rng(0))
    np.testing.assert_array_equal(share, share.T)
    assert share[0, 1] > 0.95
    assert share[0, 2] < 0.3


def test_the_bound_holds_on_average():
    scores = [score_bound(Setting((60, 60), regions=6), k, 0, 10, 20) for k in range(4)]
    assert all(list(of_cohort["methods"]) == bound_methods() for of_cohort in scores)
    means = {name: np.mean([s[name] for s in scores], axis=0) for name in Selected._fields}
    assert (means["low"] <= means["bound"]).all()
    assert (means["bound"] <= means["stated"] * 1.5).all()
    assert (means["low_false"] <= means["low"]).all()
    assert (means["all"] > means["low"]).all()
    np.testing.assert_array_equal(scores[0]["excess"], scores[0]["low"] - scores[0]["bound"])
