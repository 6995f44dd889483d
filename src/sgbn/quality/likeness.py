"""How like each other rows are: copies, profiles, and what independent rows would show."""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree

from sgbn.cohort import Cohort
from sgbn.quality.findings import filled, parts
from sgbn.types import Array, Indices

SEARCHED_REGIONS = 8  # of the tree that finds near rows: trees of more are slow
MAX_QUARTILE_RANGES = 3.0  # beyond a quartile; cells further out are drawn in
QUARTILE_RANGE = 1.349  # standard deviations between the quartiles of a Gaussian
ROWS_PER_BLOCK = 100  # that are compared with all rows at a time: they bound the memory


def near_pairs(values: Array, tolerance: float) -> Indices:
    """Return pairs of rows that differ by at most `tolerance` in every region."""
    # Rows that agree in all regions agree in these.
    few = np.linspace(0, values.shape[1] - 1, min(values.shape[1], SEARCHED_REGIONS)).astype(int)
    pairs = KDTree(values[:, few]).query_pairs(tolerance, p=np.inf, output_type="ndarray")
    first, second = pairs.T
    near = np.ones(len(pairs), bool)
    for column in values.T:  # one at a time: there may be very many pairs
        near &= np.abs(column[first] - column[second]) <= tolerance
    close: Indices = pairs[near]
    return close


def gaps_to_likest(Z: Array, unit: Indices, asked: Indices, n_likest: int) -> tuple[Array, Indices]:
    """Return the gap of each row that is asked, and the most similar row of another unit.

    The gap is the correlation with the most similar row less that with the one after `n_likest`.
    """
    gaps, likest = np.empty(len(asked)), np.empty(len(asked), np.intp)
    for first in range(0, len(asked), ROWS_PER_BLOCK):
        part = slice(first, first + ROWS_PER_BLOCK)
        R = Z[asked[part]] @ Z.T
        # Rows of the same person may be alike, and so is each row with itself.
        R[unit[asked[part]][:, None] == unit] = -1.0
        likest[part] = R.argmax(axis=1)
        top = np.partition(R, -n_likest - 1, axis=1)[:, -n_likest - 1 :]
        gaps[part] = top.max(axis=1) - top.min(axis=1)
    return gaps, likest


def surrogate(values: Array) -> Array:
    """Draw as many independent Gaussian rows with the same covariance."""
    centred = values - values.mean(axis=0)
    # Square root of the covariance, without forming it.
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    drawn = np.random.default_rng(0).standard_normal((len(values), len(sizes)))
    rows: Array = drawn @ (sizes[:, None] * axes) / np.sqrt(len(values))
    return rows


def _in_sd(values: Array) -> Array:
    spread = values.std(axis=0)
    scaled: Array = values / np.where(spread > 0, spread, 1.0)
    return scaled


def in_robust_sd(values: Array) -> Array:
    """Values per standard deviation, by the quartiles: a few rows far out do not inflate it."""
    low, high = np.quantile(values, [0.25, 0.75], axis=0)
    spread = (high - low) / QUARTILE_RANGE
    return np.where(spread > 0, values / np.where(spread > 0, spread, 1.0), _in_sd(values))


def drawn_in(values: Array) -> Array:
    """Clip cells that lie too many quartile ranges beyond the quartiles of their column."""
    low, high = np.quantile(values, [0.25, 0.75], axis=0)
    reach = MAX_QUARTILE_RANGES * (high - low)
    # More than half of the cells are equal: quartiles say nothing, and nothing is drawn in.
    reach[reach == 0] = np.inf
    return np.clip(values, low - reach, high + reach)


def centred_rows(cohort: Cohort) -> Array:
    """Rows less the means of their group and of their site, in standard deviations.

    Cells far out are drawn in: a few of them would make up most of the covariance.
    """
    values = filled(cohort.values).copy()
    sites = [] if cohort.site is None else [cohort.site == name for name in np.unique(cohort.site)]
    for rows in (*parts(cohort), *sites):
        values[rows] -= values[rows].mean(axis=0)
    return _in_sd(drawn_in(values))


def profiles(cohort: Cohort) -> Array:
    """Rows less the means of their group, then less their own mean, scaled to length one."""
    return unit_rows(centred_rows(cohort))


def unit_rows(values: Array) -> Array:
    """Return rows less their own mean, scaled to length one."""
    values = values - values.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    unit: Array = values / np.where(lengths > 0, lengths, 1.0)
    return unit
