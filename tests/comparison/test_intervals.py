import numpy as np
import pytest
from scipy.stats import ttest_1samp

from sgbn.inference.intervals import (
    MIN_GAIN_PER_REPEAT,
    NARROW_HALF_WIDTH,
    Estimate,
    average,
    estimate,
    gain_of_repeat,
    relative_width,
    repeats_for,
)

VALUES = np.array([0.61, 0.55, 0.7, 0.64, 0.58])


def test_independent_cohorts_have_the_interval_of_the_t_test():
    usual = ttest_1samp(VALUES, 0.0).confidence_interval(0.95)
    assert estimate(VALUES, 0.0).interval() == pytest.approx((usual.low, usual.high))


def test_overlapping_splits_have_the_corrected_variance():
    plain, corrected = estimate(VALUES, 0.0), estimate(VALUES, 0.5)
    assert corrected.mean == plain.mean
    assert corrected.error**2 == pytest.approx(VALUES.var(ddof=1) * (1 / 5 + 0.5))


def test_the_corrected_interval_covers_where_the_plain_one_does_not():
    """Means of random test parts of one small sample, whose true mean is 0."""
    covered = {0.0: 0, 0.5: 0}
    for seed in range(200):
        rng = np.random.default_rng(seed)
        table = rng.standard_normal(60)
        splits = np.array([rng.permutation(table)[:20].mean() for _ in range(30)])
        for overlap in covered:
            low, high = estimate(splits, overlap).interval()
            covered[overlap] += low <= 0 <= high
    assert covered[0.0] < 120
    assert covered[0.5] > 180


def test_failures_are_left_out():
    assert estimate(np.append(VALUES, np.nan), 0.5) == estimate(VALUES, 0.5)
    assert np.isnan(estimate(np.array([0.5]), 0.5).error)
    assert np.isnan(estimate(np.array([np.nan]), 0.5).mean)


def test_estimates_of_different_data_are_averaged():
    assert average([Estimate(1.0, 3.0, 9), Estimate(2.0, 4.0, 7)]) == Estimate(1.5, 2.5, 7)


def test_the_relative_width_is_that_of_an_estimate():
    scores = np.random.default_rng(0).standard_normal(20)
    scores = (scores - scores.mean()) / scores.std(ddof=1)
    low, high = estimate(scores, 1 / 4).interval()
    assert relative_width(5, 4) == pytest.approx((high - low) / 2)


def test_repeats_end_where_the_interval_needs_no_more():
    assert repeats_for([63, 61], 5) == 4
    assert gain_of_repeat(5, 4) < MIN_GAIN_PER_REPEAT <= gain_of_repeat(5, 3)
    assert repeats_for([2500, 2500], 5) == 1
    between_folds = 0.5 / np.sqrt(5000 / 5)
    assert between_folds * relative_width(5, 1) <= NARROW_HALF_WIDTH
    assert repeats_for([200, 3800], 5) == 4  # the small group decides
    assert repeats_for([5, 5], 2) >= repeats_for([5, 5], 5)


@pytest.mark.parametrize(("n_folds", "most"), [(2, 5), (3, 4), (5, 4), (10, 3), (100, 3)])
def test_no_group_is_so_small_that_repeats_go_on(n_folds, most):
    assert repeats_for([2, 2], n_folds) == repeats_for([2, 2, 2], n_folds) == most


def test_folds_of_a_balanced_accuracy_vary_as_expected():
    rng, sizes, n_folds = np.random.default_rng(0), np.array([40, 400]), 5
    in_a_fold = sizes // n_folds
    shares = rng.binomial(in_a_fold, 0.5, (20_000, 2)) / in_a_fold
    expected = 0.5 * np.sqrt((n_folds / sizes).sum()) / 2
    assert shares.mean(axis=1).std() == pytest.approx(expected, rel=0.02)
