"""Tests whether groups differ in a covariate or in their sites."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sgbn.cohort import Cohort
from sgbn.types import Array, Labels, Mask

FEWEST_EXPECTED = 5  # subjects of a cell, below which the chi-square distribution is too rough
RANDOM_TABLES = 9999
FEW_VALUES = 2  # a column of numbers with no more is one of labels, such as a sex of 0 and 1


class GroupTest(NamedTuple):
    """Name and p of a test; p is NaN if there is nothing to test."""

    name: str
    p: float


NOT_TESTED = GroupTest("", np.nan)


class Crosstab(NamedTuple):
    """Subjects of each level in each group."""

    levels: list[str]
    groups: Labels
    counts: Array

    @property
    def test(self) -> GroupTest:
        """Test whether the shares of the levels differ between groups (chi-square, or exact)."""
        counts = self.counts[self.counts.any(axis=1)]
        if min(counts.shape) < 2:
            return NOT_TESTED
        if stats.contingency.expected_freq(counts).min() >= FEWEST_EXPECTED:
            result = stats.chi2_contingency(counts, correction=False)  # type: ignore[attr-defined]
            return GroupTest("chi-square", float(result.pvalue))
        # A table of two by two has one free cell, so that all tables can be listed.
        if counts.shape == (2, 2):
            return GroupTest("Fisher's exact", float(stats.fisher_exact(counts).pvalue))
        return GroupTest("chi-square, random tables", _by_random_tables(counts))

    def largest(self) -> str:
        """Shares of the level in which the groups differ most."""
        shares = self.counts / self.counts.sum(axis=0)
        level = int(np.argmax(np.ptp(shares, axis=1)))
        return ", ".join(
            f"{group} {share:.0%} {self.levels[level]}"
            for group, share in zip(self.groups, shares[level], strict=True)
        )


def crosstab(column: NDArray[Any], group: Labels) -> Crosstab:
    """Count the subjects of each level in each group; nothing may be missing."""
    (levels, groups), counts = stats.contingency.crosstab(column, group)
    names = [
        value if isinstance(value, str) else f"with {level_text(value)}"
        for value in levels.tolist()
    ]
    return Crosstab(names, groups, counts.astype(float))


def level_text(level: str | float) -> str:
    """Name of a level: 1 and not 1.0, where levels are numbers."""
    return level if isinstance(level, str) else f"{level:g}"


def is_counted(column: NDArray[Any]) -> bool:
    """Whether the levels of a covariate are counted: it has labels, or few different numbers."""
    return column.dtype.kind != "f" or len(np.unique(column[~np.isnan(column)])) <= FEW_VALUES


def known_cells(column: NDArray[Any]) -> Mask:
    """Mark the cells of a covariate that are not missing."""
    return ~np.isnan(column) if column.dtype.kind == "f" else column != ""


def first_rows(cohort: Cohort) -> Cohort:
    """Keep one row per person: further sessions say nothing new about the covariates."""
    if cohort.person is None:
        return cohort
    return cohort.subset(np.sort(np.unique(cohort.person, return_index=True)[1]))


def covariate_test(cohort: Cohort, column: NDArray[Any]) -> GroupTest:
    """Whether the groups differ in a covariate or in their sites.

    Paired visits are compared by a paired t, and only of two groups and of numbers. Families
    (blocks) are not tested: their members are not independent.

    Parameters
    ----------
    cohort : Cohort
        With one row per person and group, see `first_rows`.
    column : ndarray
        One cell per row of the cohort.
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
    """Test whether a number differs between two visits, in persons who have both values."""
    if len(cohort.groups) > 2:
        return NOT_TESTED
    member, pair = np.asarray(cohort.group), np.asarray(cohort.pair)
    visits = []
    for group in cohort.groups:
        rows = np.flatnonzero(member == group)
        visits.append(dict(zip(pair[rows].tolist(), column[rows].tolist(), strict=True)))
    # Some persons lack one visit until the review leaves them out.
    both = [person for person in visits[0] if person in visits[1]]
    first, second = (np.array([visit[person] for person in both]) for visit in visits)
    known = np.isfinite(first) & np.isfinite(second)
    if known.sum() < 2 or not np.ptp((second - first)[known]):
        return NOT_TESTED
    return GroupTest("paired t", float(stats.ttest_rel(first[known], second[known]).pvalue))


def means_test(parts: list[Array]) -> GroupTest:
    """Whether the means of two groups (Welch) or more (one-way analysis of variance) differ."""
    if min(map(len, parts)) < 2 or not any(np.ptp(part) for part in parts):
        return NOT_TESTED
    if len(parts) == 2:
        return GroupTest("Welch's t", float(stats.ttest_ind(*parts, equal_var=False).pvalue))
    return GroupTest("one-way ANOVA", float(stats.f_oneway(*parts).pvalue))


def _by_random_tables(counts: Array) -> float:
    """Return the p of chi-square among random tables with the same sums, by a fixed seed."""
    expected = stats.contingency.expected_freq(counts)
    rows, columns = (counts.sum(axis=axis).astype(int) for axis in (1, 0))
    # A fixed seed: the same table has the same p in each report.
    tables = stats.random_table(rows, columns, seed=0).rvs(RANDOM_TABLES)
    observed, random = (np.square(table - expected) / expected for table in (counts, tables))
    # The observed table is one of those that reach it; ties by round-off count.
    reached = np.count_nonzero(random.sum(axis=(1, 2)) >= observed.sum() * (1 - 1e-12))
    return (1 + reached) / (1 + RANDOM_TABLES)
