"""Means over splits or cohorts, with intervals that allow for overlapping training parts.

Random splits of one table overlap. Their accuracies are not independent, and the usual interval is
far too narrow. The corrected resampled t (Nadeau and Bengio) uses ``var * (1 / J + n_test /
n_train)`` as the variance of a mean over J splits. ``var`` is the variance of one split, and
``n_test`` and ``n_train`` are its numbers of rows. Independent cohorts need no correction.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from sgbn.core.types import Array

LEVEL = 0.95  # probability that an interval covers the true mean
NARROW_HALF_WIDTH = 0.03  # balanced accuracy; an interval this narrow needs no more repeats
MIN_GAIN_PER_REPEAT = 0.05  # share of its width by which a repeat must narrow the interval


class Estimate(NamedTuple):
    """A mean, its standard error and the degrees of freedom."""

    mean: float
    error: float
    df: int

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return the interval that covers the true mean with probability `level`."""
        half = float(stdtrit(self.df, (1 + level) / 2)) * self.error
        return self.mean - half, self.mean + half


def estimate(values: Array, overlap: float) -> Estimate:
    """Estimate the mean over splits, without splits whose score is NaN.

    Parameters
    ----------
    values : ndarray of shape (splits,)
        The score of each split.
    overlap : float
        The number of test rows per training row if all splits come from one table, or 0 for
        independent cohorts.
    """
    known = values[~np.isnan(values)]
    if known.size < 2:  # there is no spread, so the interval is unknown
        return Estimate(float(known.mean()) if known.size else np.nan, np.nan, 1)
    variance = float(known.var(ddof=1)) * (1 / known.size + overlap)
    return Estimate(float(known.mean()), float(np.sqrt(variance)), known.size - 1)


def relative_width(n_folds: int, n_repeats: int) -> float:
    """Return the half width of the interval of a mean over folds, in SD of a fold's score."""
    n_splits = n_folds * n_repeats
    # The second term (test rows per training row) does not shrink with more repeats.
    error = np.sqrt(1 / n_splits + 1 / (n_folds - 1))
    return float(stdtrit(n_splits - 1, (1 + LEVEL) / 2) * error)


def gain_of_repeat(n_folds: int, n_repeats: int) -> float:
    """Return the share by which one more repeat is expected to narrow the interval.

    Training parts overlap, so the width cannot fall below a limit.
    """
    return 1 - relative_width(n_folds, n_repeats + 1) / relative_width(n_folds, n_repeats)


def repeats_for(sizes: Sequence[int], n_folds: int) -> int:
    """Return the number of repeats of a cross-validation after which one more gains little.

    Repeats stop when the half width of the interval of a balanced accuracy is expected to be at
    most `NARROW_HALF_WIDTH`, or when one more repeat would narrow the interval by less than
    `MIN_GAIN_PER_REPEAT`. `sizes` holds the number of subjects of each group.
    """
    # The standard deviation of the balanced accuracy of a fold, which is a mean of binomial shares.
    # This is its largest value, sqrt(1/2 * 1/2 / n) per group. It is reached if half of each group
    # is recognised.
    between_folds = 0.5 * np.sqrt(np.sum(n_folds / np.array(sizes))) / len(sizes)
    # The gain falls towards 0, so the search ends. For two folds it ends after five repeats.
    return next(
        n_repeats
        for n_repeats in count(1)
        if between_folds * relative_width(n_folds, n_repeats) <= NARROW_HALF_WIDTH
        or gain_of_repeat(n_folds, n_repeats) < MIN_GAIN_PER_REPEAT
    )


def average(estimates: Sequence[Estimate]) -> Estimate:
    """Return the mean of estimates from different data, with the smallest of their df."""
    errors = [part.error for part in estimates]
    return Estimate(
        float(np.mean([part.mean for part in estimates])),
        # Different data are independent, so the variances add up.
        float(np.linalg.norm(errors)) / len(errors),
        min(part.df for part in estimates),
    )
