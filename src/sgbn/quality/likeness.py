"""Measures of how similar rows are, for the data and for independent rows."""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree

from sgbn.cohort.cohort import Cohort
from sgbn.core.types import Array, Indices
from sgbn.quality.findings import filled, parts

SEARCHED_REGIONS = 8  # regions in the tree that finds near rows; a tree of more regions is slow
MAX_QUARTILE_RANGES = 3.0  # interquartile ranges beyond a quartile at which cells are clipped
QUARTILE_RANGE = 1.349  # standard deviations between the quartiles of a Gaussian
ROWS_PER_BLOCK = 100  # rows that are compared with all rows at a time, to limit the memory


def near_pairs(values: Array, tolerance: float) -> Indices:
    """Return pairs of rows that differ by at most `tolerance` in every region."""
    # Rows that are near in all regions are near in these, so that the tree misses no pair.
    few = np.linspace(0, values.shape[1] - 1, min(values.shape[1], SEARCHED_REGIONS)).astype(int)
    pairs = KDTree(values[:, few]).query_pairs(tolerance, p=np.inf, output_type="ndarray")
    first, second = pairs.T
    near = np.ones(len(pairs), bool)
    for column in values.T:  # one column at a time, because there may be very many pairs
        near &= np.abs(column[first] - column[second]) <= tolerance
    close: Indices = pairs[near]
    return close


def gaps_to_likest(Z: Array, unit: Indices, asked: Indices, n_likest: int) -> tuple[Array, Indices]:
    """Return, for some rows, the gap in similarity and the most similar row of another unit.

    The gap is the correlation with the most similar row, minus the correlation with the row at
    place `n_likest + 1` in the order of similarity.

    Parameters
    ----------
    Z : ndarray of shape (n, m)
        Profiles of the rows, each of length one.
    unit : ndarray of int of shape (n,)
        Person or family of each row.
    asked : ndarray of int
        Indices of the rows to compare with all others.
    n_likest : int
        Number of the most similar rows that the gap covers.
    """
    gaps, likest = np.empty(len(asked)), np.empty(len(asked), np.intp)
    for first in range(0, len(asked), ROWS_PER_BLOCK):
        part = slice(first, first + ROWS_PER_BLOCK)
        R = Z[asked[part]] @ Z.T
        # Excludes the row itself, and rows of the same person, which may be similar.
        R[unit[asked[part]][:, None] == unit] = -1.0
        likest[part] = R.argmax(axis=1)
        top = np.partition(R, -n_likest - 1, axis=1)[:, -n_likest - 1 :]
        gaps[part] = top.max(axis=1) - top.min(axis=1)
    return gaps, likest


def surrogate(values: Array) -> Array:
    """Return independent Gaussian rows, with the number and the covariance of the given rows."""
    centred = values - values.mean(axis=0)
    # The singular values and axes give a square root of the covariance.
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    drawn = np.random.default_rng(0).standard_normal((len(values), len(sizes)))
    rows: Array = drawn @ (sizes[:, None] * axes) / np.sqrt(len(values))
    return rows


def _in_sd(values: Array) -> Array:
    spread = values.std(axis=0)
    scaled: Array = values / np.where(spread > 0, spread, 1.0)
    return scaled


def in_robust_sd(values: Array) -> Array:
    """Return the values in robust standard deviations, which are estimated from the quartiles.

    A few outlying rows do not change the quartiles much.
    """
    low, high = np.quantile(values, [0.25, 0.75], axis=0)
    spread = (high - low) / QUARTILE_RANGE
    return np.where(spread > 0, values / np.where(spread > 0, spread, 1.0), _in_sd(values))


def drawn_in(values: Array) -> Array:
    """Clip cells that are more than `MAX_QUARTILE_RANGES` beyond the quartiles of their column."""
    low, high = np.quantile(values, [0.25, 0.75], axis=0)
    reach = MAX_QUARTILE_RANGES * (high - low)
    # A range of 0 means that at least half of the cells are equal. Then nothing is clipped.
    reach[reach == 0] = np.inf
    return np.clip(values, low - reach, high + reach)


def centred_rows(cohort: Cohort) -> Array:
    """Return the rows minus the means of their group and site, in standard deviations.

    Outlying cells are clipped, because a few of them would dominate the covariance.
    """
    values = filled(cohort.values).copy()
    sites = [] if cohort.site is None else [cohort.site == name for name in np.unique(cohort.site)]
    for rows in (*parts(cohort), *sites):
        values[rows] -= values[rows].mean(axis=0)
    return _in_sd(drawn_in(values))


def profiles(cohort: Cohort) -> Array:
    """Return the profile of each row: `centred_rows`, minus the row's mean, with length one."""
    return unit_rows(centred_rows(cohort))


def unit_rows(values: Array) -> Array:
    """Return the rows minus their own mean, scaled to length one."""
    values = values - values.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    unit: Array = values / np.where(lengths > 0, lengths, 1.0)
    return unit
