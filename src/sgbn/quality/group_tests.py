"""Tests of whether groups differ in a covariate or in their sites."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sgbn.cohort.cohort import Cohort
from sgbn.core.types import Array, Labels, Mask

FEWEST_EXPECTED = 5  # expected subjects in a cell; below, the chi-square distribution is too rough
RANDOM_TABLES = 9999  # number of random tables for a p-value
FEW_VALUES = 2  # at most this many different numbers count as labels, such as a sex of 0 and 1


class GroupTest(NamedTuple):
    """The name and p-value of a test; p is NaN if there is nothing to test."""

    name: str
    p: float


NOT_TESTED = GroupTest("", np.nan)


class Crosstab(NamedTuple):
    """The number of subjects with each level in each group.

    Attributes
    ----------
    levels : list of str
        Names of the levels, one per row of `counts`.
    groups : ndarray of str
        Names of the groups, one per column of `counts`.
    counts : ndarray of shape (n_levels, n_groups)
        Numbers of subjects.
    """

    levels: list[str]
    groups: Labels
    counts: Array

    @property
    def test(self) -> GroupTest:
        """Return a test of whether the shares of the levels differ between groups."""
        counts = self.counts[self.counts.any(axis=1)]
        if min(counts.shape) < 2:
            return NOT_TESTED
        if stats.contingency.expected_freq(counts).min() >= FEWEST_EXPECTED:
            result = stats.chi2_contingency(counts, correction=False)  # type: ignore[attr-defined]
            return GroupTest("chi-square", float(result.pvalue))
        # A table of two by two has one free cell, so that all possible tables can be listed.
        if counts.shape == (2, 2):
            return GroupTest("Fisher's exact", float(stats.fisher_exact(counts).pvalue))
        return GroupTest("chi-square, random tables", _by_random_tables(counts))

    def largest(self) -> str:
        """Return as text which share of each group has the level in which groups differ most."""
        shares = self.counts / self.counts.sum(axis=0)
        level = int(np.argmax(np.ptp(shares, axis=1)))
        return ", ".join(
            f"{group} {share:.0%} {self.levels[level]}"
            for group, share in zip(self.groups, shares[level], strict=True)
        )


def crosstab(column: NDArray[Any], group: Labels) -> Crosstab:
    """Count the subjects of each level in each group; no cell may be missing."""
    (levels, groups), counts = stats.contingency.crosstab(column, group)
    names = [
        value if isinstance(value, str) else f"with {level_text(value)}"
        for value in levels.tolist()
    ]
    return Crosstab(names, groups, counts.astype(float))


def level_text(level: str | float) -> str:
    """Return the name of a level; the number 1.0 becomes "1"."""
    return level if isinstance(level, str) else f"{level:g}"


def is_counted(column: NDArray[Any]) -> bool:
    """Return whether the levels of a covariate are counted: labels, or few different numbers."""
    return column.dtype.kind != "f" or len(np.unique(column[~np.isnan(column)])) <= FEW_VALUES


def known_cells(column: NDArray[Any]) -> Mask:
    """Mark the cells of a covariate that are not missing."""
    return ~np.isnan(column) if column.dtype.kind == "f" else column != ""


def first_rows(cohort: Cohort) -> Cohort:
    """Return one row per person, because further sessions say nothing new about covariates."""
    if cohort.person is None:
        return cohort
    return cohort.subset(np.sort(np.unique(cohort.person, return_index=True)[1]))


def covariate_test(cohort: Cohort, column: NDArray[Any]) -> GroupTest:
    """Test whether the groups differ in a covariate or in their sites.

    Paired visits are compared by a paired t test, but only numbers and only in two groups. Families
    (blocks) are not tested, because their members are not independent.

    Parameters
    ----------
    cohort : Cohort
        A cohort with one row per person and group, see `first_rows`.
    column : ndarray
        The covariate or the sites, one cell per row of the cohort.
    """
    if cohort.block is not None:
        return NOT_TESTED
    if cohort.pair is not None:
        return NOT_TESTED if is_counted(column) else _paired_test(cohort, column)
    known, member = known_cells(column), np.asarray(cohort.group)
    if is_counted(column):
        return crosstab(column[known], member[known]).test
    return means_test([column[known & (member == group)] for group in cohort.groups])


def _paired_test(cohort: Cohort, column: Array) -> GroupTest:
    """Test whether numbers differ between two visits, in persons who have both values."""
    if len(cohort.groups) > 2:
        return NOT_TESTED
    member, pair = np.asarray(cohort.group), np.asarray(cohort.pair)
    visits = []
    for group in cohort.groups:
        rows = np.flatnonzero(member == group)
        visits.append(dict(zip(pair[rows].tolist(), column[rows].tolist(), strict=True)))
    # Some persons may lack one visit: the review leaves them out only later.
    both = [person for person in visits[0] if person in visits[1]]
    first, second = (np.array([visit[person] for person in both]) for visit in visits)
    known = np.isfinite(first) & np.isfinite(second)
    if known.sum() < 2 or not np.ptp((second - first)[known]):
        return NOT_TESTED
    return GroupTest("paired t", float(stats.ttest_rel(first[known], second[known]).pvalue))


def means_test(parts: list[Array]) -> GroupTest:
    """Test whether means differ: by Welch's t for two groups, by one-way ANOVA for more."""
    if min(map(len, parts)) < 2 or not any(np.ptp(part) for part in parts):
        return NOT_TESTED
    if len(parts) == 2:
        return GroupTest("Welch's t", float(stats.ttest_ind(*parts, equal_var=False).pvalue))
    return GroupTest("one-way ANOVA", float(stats.f_oneway(*parts).pvalue))


def _by_random_tables(counts: Array) -> float:
    """Return the p-value of chi-square among random tables with the same row and column sums."""
    expected = stats.contingency.expected_freq(counts)
    rows, columns = (counts.sum(axis=axis).astype(int) for axis in (1, 0))
    # The seed is fixed, so that the same table has the same p-value in each report.
    tables = stats.random_table(rows, columns, seed=0).rvs(RANDOM_TABLES)
    observed, random = (np.square(table - expected) / expected for table in (counts, tables))
    # The observed table counts as one of the tables that reach it, and so do ties up to round-off.
    reached = np.count_nonzero(random.sum(axis=(1, 2)) >= observed.sum() * (1 - 1e-12))
    return (1 + reached) / (1 + RANDOM_TABLES)
