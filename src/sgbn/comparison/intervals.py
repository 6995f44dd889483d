"""Means over splits or cohorts, with intervals that are wide enough.

Random splits of one table overlap: their accuracies are not independent, and the usual interval is
far too narrow. The corrected resampled t (Nadeau and Bengio) takes the variance of a mean over J
splits to be ``var * (1 / J + n_test / n_train)``. Independent cohorts need no such correction.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from sgbn.types import Array

LEVEL = 0.95  # probability that an interval covers the true mean
NARROW_HALF_WIDTH = 0.03  # of a balanced accuracy: an interval that needs no more repeats
MIN_GAIN_PER_REPEAT = 0.05  # share of the interval's width that one more repeat must take off


class Estimate(NamedTuple):
    """A mean, its standard error and the degrees of freedom."""

    mean: float
    error: float
    df: int

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Interval that covers the true mean with probability `level`."""
        half = float(stdtrit(self.df, (1 + level) / 2)) * self.error
        return self.mean - half, self.mean + half


def estimate(values: Array, overlap: float) -> Estimate:
    """Estimate the mean over splits; NaN are left out.

    Parameters
    ----------
    values : ndarray of shape (splits,)
        Score of each split.
    overlap : float
        Test rows per training row where all splits are of one table; 0 for independent cohorts.
    """
    known = values[~np.isnan(values)]
    if known.size < 2:  # no spread, so that the interval is unknown
        return Estimate(float(known.mean()) if known.size else np.nan, np.nan, 1)
    variance = float(known.var(ddof=1)) * (1 / known.size + overlap)
    return Estimate(float(known.mean()), float(np.sqrt(variance)), known.size - 1)


def relative_width(n_folds: int, n_repeats: int) -> float:
    """Half width of the interval of a cross-validated mean, in standard deviations of a fold."""
    n_splits = n_folds * n_repeats
    # the second term, one test fold per n_folds - 1 in training, stays however often one repeats
    error = np.sqrt(1 / n_splits + 1 / (n_folds - 1))
    return float(stdtrit(n_splits - 1, (1 + LEVEL) / 2) * error)


def gain_of_repeat(n_folds: int, n_repeats: int) -> float:
    """Share by which one more repeat is expected to narrow the interval.

    Training parts overlap, so that the width has a floor.
    """
    return 1 - relative_width(n_folds, n_repeats + 1) / relative_width(n_folds, n_repeats)


def repeats_for(sizes: Sequence[int], n_folds: int) -> int:
    """Fewest repeats of a cross-validation after which one more is not worth its time.

    That is: the interval of a balanced accuracy is expected to be as narrow as `NARROW_HALF_WIDTH`
    already, or one more repeat would narrow it by less than `MIN_GAIN_PER_REPEAT`. `sizes` are the
    numbers of subjects of the groups.
    """
    # Standard deviation of a fold's balanced accuracy, a mean of binomial shares. That of a group
    # varies the most where half of it is recognised, which is assumed here: sqrt(1/2 * 1/2 / n).
    between_folds = 0.5 * np.sqrt(np.sum(n_folds / np.array(sizes))) / len(sizes)
    # What is gained falls towards 0, so that this ends: after five repeats of two folds.
    return next(
        n_repeats
        for n_repeats in count(1)
        if between_folds * relative_width(n_folds, n_repeats) <= NARROW_HALF_WIDTH
        or gain_of_repeat(n_folds, n_repeats) < MIN_GAIN_PER_REPEAT
    )


def average(estimates: Sequence[Estimate]) -> Estimate:
    """Mean of estimates from different data; the fewest degrees of freedom are kept."""
    errors = [part.error for part in estimates]
    return Estimate(
        float(np.mean([part.mean for part in estimates])),
        # Different data are independent: variances add.
        float(np.linalg.norm(errors)) / len(errors),
        min(part.df for part in estimates),
    )
