from functools import partial

import numpy as np
import pytest
from calibration_parts import intervals
from calibration_parts.cohorts import Setting, draw
from calibration_parts.intervals import (
    EFFECTS,
    KINDS,
    Counts,
    count_effects,
    count_weights,
    judge,
    rows_with_moments,
    score_intervals,
)

from sgbn.core.gaussian import GaussianNetwork
from sgbn.inference.effects import Effect

SETTING = Setting((60, 60), changed=2, regions=8)


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    """A quarter of the resamples: enough for limits of 95 %."""
    for name in ("weight_intervals", "effect_difference"):
        fewer = partial(getattr(intervals, name), n_resamples=500)
        monkeypatch.setattr(intervals, name, fewer)


@pytest.mark.parametrize(("truth", "covered"), [(0.5, 1), (0.3, 1), (0.2, 0), (0.9, 0)])
def test_what_is_identified_has_an_interval(truth, covered):
    found = Effect(0.5, 0.3, 0.8, True, (0.5,))
    assert judge(found, found, truth) == Counts(intervals=1, covered=covered)


@pytest.mark.parametrize(("truth", "exactly"), [(0.0, 1), (1.0, 1), (-1e-9, 1), (1.1, 0)])
def test_what_is_not_has_a_range(truth, exactly):
    drawn = Effect(0.5, 0.1, 0.5, False, (0.1, 0.5))
    exact = Effect(0.5, 7.0, 8.0, True, (0.0, 1.0))  # the interval must not be looked at
    assert judge(drawn, exact, truth) == Counts(ranges=1, contained_exactly=exactly)
    assert judge(drawn, exact, 0.5) == Counts(ranges=1, contained=1, contained_exactly=1)


def test_rows_can_have_the_moments_of_a_network():
    network = GaussianNetwork([[0, 2, 1], [0, 0, -3], [0, 0, 0]], intercept=[1.0, 0.0, 5.0])
    rows = rows_with_moments(network, 20, np.random.default_rng(0))
    np.testing.assert_allclose(rows.mean(axis=0), network.mean, atol=1e-12)
    np.testing.assert_allclose(np.cov(rows.T, bias=True), network.covariance, atol=1e-10)


def test_every_weight_of_both_groups_is_counted_and_most_are_covered():
    counts = [count_weights(pair, pair.networks[0].coef != 0) for pair in map(drawn, range(4))]
    assert {of_pair.intervals for of_pair in counts} == {2 * 12}
    assert {of_pair.ranges for of_pair in counts} == {0}
    assert 0.85 < sum(of_pair.covered for of_pair in counts) / 96 < 1.0


def test_intervals_of_wrong_weights_do_not_cover():
    pair = drawn(0)
    wrong = tuple(GaussianNetwork(2 * network.coef) for network in pair.networks)
    right = count_weights(pair, pair.networks[0].coef != 0).covered
    assert count_weights(pair._replace(networks=wrong), wrong[0].coef != 0).covered < right / 2


def test_effects_of_both_groups_and_their_difference_are_counted():
    pair = drawn(1)
    graph = pair.networks[0].coef != 0
    of_groups, differences = count_effects(pair, graph, np.random.default_rng(0))
    assert of_groups.intervals + of_groups.ranges == 2 * EFFECTS
    assert differences.intervals + differences.ranges == EFFECTS


def test_ranges_contain_the_truth_where_the_moments_are_exact():
    counts = [score_intervals(SETTING, cohort, 0) for cohort in range(2)]
    ranges, exactly = (
        sum(of_cohort[name] for of_cohort in counts) for name in ("ranges", "contained_exactly")
    )
    assert list(counts[0]["methods"]) == list(KINDS)
    assert ranges[1] > 0
    np.testing.assert_array_equal(ranges, exactly)


def drawn(cohort):
    return draw(SETTING, cohort, 0)
