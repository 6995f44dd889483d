"""Means over splits or cohorts, with intervals that are wide enough.

Random splits of one table overlap: their accuracies are not independent, and the usual interval is
far too narrow. The corrected resampled t (Nadeau and Bengio) takes the variance of a mean over J
splits to be ``var * (1 / J + n_test / n_train)``. Independent cohorts need no such correction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from sgbn.types import Array

LEVEL = 0.95
NARROW = 0.03  # half width of an interval of an accuracy that needs no more repeats
LEAST_GAIN = 0.05  # share of its width that one more repeat must take off
MOST_REPEATS = 10


class Estimate(NamedTuple):
    """A mean, its standard error and the degrees of freedom of that."""

    mean: float
    error: float
    df: int

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Interval that covers the true mean with probability `level`."""
        half = float(stdtrit(self.df, (1 + level) / 2)) * self.error
        return self.mean - half, self.mean + half


def estimate(values: Array, overlap: float) -> Estimate:
    """Mean over splits, NaN left out.

    Parameters
    ----------
    values : ndarray of shape (splits,)
    overlap : float
        Test rows a training row where all splits are of one table; 0 for independent cohorts.
    """
    found = values[~np.isnan(values)]
    if found.size < 2:
        return Estimate(float(found.mean()) if found.size else np.nan, np.nan, 1)
    variance = float(found.var(ddof=1)) * (1 / found.size + overlap)
    return Estimate(float(found.mean()), float(np.sqrt(variance)), found.size - 1)


def relative_width(n_folds: int, n_repeats: int) -> float:
    """Half width of the interval of a cross-validated mean, in standard deviations of a fold."""
    n_splits = n_folds * n_repeats
    error = np.sqrt(1 / n_splits + 1 / (n_folds - 1))
    return float(stdtrit(n_splits - 1, (1 + LEVEL) / 2) * error)


def gain_of_repeat(n_folds: int, n_repeats: int) -> float:
    """Share by which one more repeat is expected to narrow the interval.

    Training parts overlap, so that the width has a floor.
    """
    return 1 - relative_width(n_folds, n_repeats + 1) / relative_width(n_folds, n_repeats)


def repeats_for(sizes: Sequence[int], n_folds: int) -> int:
    """Fewest repeats of a cross-validation after which one more is not worth its time.

    That is: the interval of a balanced accuracy is expected to be `NARROW` already, or one more
    repeat would narrow it by less than `LEAST_GAIN`. `sizes` are those of the groups; the share of
    a group that is recognised varies the most where it is 1/2.
    """
    between_folds = 0.5 * np.sqrt(np.sum(n_folds / np.array(sizes))) / len(sizes)
    for n_repeats in range(1, MOST_REPEATS):
        is_narrow = between_folds * relative_width(n_folds, n_repeats) <= NARROW
        if is_narrow or gain_of_repeat(n_folds, n_repeats) < LEAST_GAIN:
            return n_repeats
    return MOST_REPEATS


def average(estimates: Sequence[Estimate]) -> Estimate:
    """Mean of estimates from different data; the fewest degrees of freedom are kept."""
    errors = [one.error for one in estimates]
    return Estimate(
        float(np.mean([one.mean for one in estimates])),
        float(np.linalg.norm(errors)) / len(errors),
        min(one.df for one in estimates),
    )
