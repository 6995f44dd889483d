"""Table 1 of a paper: who is in the groups, and whether they differ before anything is learned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from sgbn.cohort import Cohort
from sgbn.quality.balance import first_rows
from sgbn.quality.group_tests import GroupTest, crosstab, is_counted, level_text, means_test
from sgbn.types import Array, Mask

NOT_TESTED = GroupTest("", np.nan)
Row = dict[str, Any]


def table_one(cohort: Cohort, groups: Sequence[str]) -> pd.DataFrame:
    """Describe each group, with a test of each covariate.

    Persons with several rows count once, by their first row. Paired visits are compared by a
    paired t, and only of two groups and of numbers. Families (blocks) are not tested: their members
    are not independent.

    Parameters
    ----------
    cohort : Cohort
        As reviewed.
    groups : sequence of str
        In the order of the columns.

    Returns
    -------
    DataFrame
        Columns characteristic, level (of labels), ``in_GROUP`` (text: mean (SD) of numbers, n (%)
        of levels), test, p and missing. The test stands in the first row of a characteristic.
    """
    used = cohort.subset(np.flatnonzero(first_rows(cohort)))
    rows: list[Row] = [_sizes("visits" if cohort.pair is not None else "subjects", used, groups)]
    if cohort.person is not None:
        rows.append(_sizes("rows", cohort, groups))
    for name, column in used.covariates.items():
        rows += _described(used, name, column, groups)
    if used.site is not None:
        rows += _counted(used, "site", used.site, np.full(len(used), True), groups)
    return pd.DataFrame(rows)


def _sizes(what: str, cohort: Cohort, groups: Sequence[str]) -> Row:
    sizes = {f"in_{group}": str(cohort.sizes[group]) for group in groups}
    return {"characteristic": what, "level": "", **sizes, "test": "", "p": np.nan, "missing": 0}


def _described(
    cohort: Cohort, name: str, column: NDArray[Any], groups: Sequence[str]
) -> Iterator[Row]:
    """Rows of a covariate: one of numbers, one per level of labels."""
    known = ~np.isnan(column) if column.dtype.kind == "f" else column != ""
    if is_counted(column):
        yield from _counted(cohort, name, column, known, groups)
        return
    member = np.asarray(cohort.group)
    parts = [column[known & (member == group)] for group in groups]
    test = _test_of_means(cohort, column, parts, groups)
    yield {
        "characteristic": name,
        "level": "",
        **{f"in_{group}": _mean(own) for group, own in zip(groups, parts, strict=True)},
        "test": test.name,
        "p": test.p,
        "missing": int((~known).sum()),
    }


def _test_of_means(
    cohort: Cohort,
    column: NDArray[Any],
    parts: list[Array],
    groups: Sequence[str],
) -> GroupTest:
    if cohort.block is not None:
        return NOT_TESTED
    if cohort.pair is None:
        return means_test(parts)
    if len(groups) > 2:
        return NOT_TESTED
    member, visits = np.asarray(cohort.group), []
    for group in groups:
        rows = np.flatnonzero(member == group)
        visits.append(column[rows[np.argsort(cohort.pair[rows])]])
    both = np.isfinite(visits[0]) & np.isfinite(visits[1])
    if both.sum() < 2 or not np.ptp((visits[1] - visits[0])[both]):
        return NOT_TESTED
    return GroupTest("paired t", float(stats.ttest_rel(visits[0][both], visits[1][both]).pvalue))


def _counted(
    cohort: Cohort, name: str, column: NDArray[Any], known: Mask, groups: Sequence[str]
) -> Iterator[Row]:
    """One row per level."""
    member = np.asarray(cohort.group)
    independent = cohort.pair is None and cohort.block is None
    test = crosstab(column[known], member[known]).test if independent else NOT_TESTED
    missing = int((~known).sum())
    for level in np.unique(column[known]).tolist():
        here = known & (column == level)
        yield {
            "characteristic": name,
            "level": level_text(level),
            **{f"in_{group}": _share(here, known & (member == group)) for group in groups},
            "test": test.name,
            "p": test.p,
            "missing": missing,
        }
        test, missing = NOT_TESTED, 0  # said once


def _mean(values: Array) -> str:
    """Mean with the standard deviation, to the decimals that the latter has two digits of."""
    if not len(values):
        return "none known"
    if len(values) == 1:
        return f"{values[0]:.4g}"
    spread = float(values.std(ddof=1))
    decimals = max(0, 1 - int(np.floor(np.log10(spread)))) if spread else 1
    return f"{values.mean():.{decimals}f} ({spread:.{decimals}f})"


def _share(here: Mask, of: Mask) -> str:
    count = int((here & of).sum())
    return f"{count} ({count / max(int(of.sum()), 1):.0%})"
