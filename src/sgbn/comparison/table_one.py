"""Table 1 of a paper, which describes the groups and tests whether their covariates differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgbn.cohort.cohort import Cohort
from sgbn.core.types import Array, Mask
from sgbn.prepare.balance import (
    NOT_TESTED,
    GroupTest,
    covariate_test,
    first_rows,
    is_counted,
    known_cells,
    level_text,
)

Row = dict[str, Any]


def table_one(cohort: Cohort, groups: Sequence[str]) -> pd.DataFrame:
    """Describe each group, with a test of each covariate.

    Persons with several rows count once, by their first row. Paired visits are compared by a
    paired t test, but only if there are two groups and the covariate is a number. Families (blocks)
    are not tested, because their members are not independent.

    Parameters
    ----------
    cohort : Cohort
        The reviewed cohort.
    groups : sequence of str
        The groups in the order of the columns.

    Returns
    -------
    DataFrame
        The columns are characteristic, level (of labels), ``in_GROUP`` (a text: mean (SD) for
        numbers, n (%) for levels), test, p and missing. The test is in the first row of a
        characteristic.
    """
    # Rows of one person are not independent, so a test of all rows would find too much.
    used = first_rows(cohort)
    rows: list[Row] = [_sizes("visits" if cohort.pair is not None else "subjects", used, groups)]
    if cohort.person is not None:
        # `used` has one row per person. This line has the number of all rows.
        rows.append(_sizes("rows", cohort, groups))
    for name, column in used.covariates.items():
        rows += _described(used, name, column, groups)
    if used.site is not None:
        rows += _counted(used, "site", used.site, np.full(len(used), True), groups)
    return pd.DataFrame(rows)


def _sizes(what: str, cohort: Cohort, groups: Sequence[str]) -> Row:
    return _row(what, "", {group: str(cohort.sizes[group]) for group in groups})


def _row(
    name: str, level: str, cells: Mapping[str, str], test: GroupTest = NOT_TESTED, missing: int = 0
) -> Row:
    """Make one row. `cells` has the text of each group."""
    # The order of the keys becomes the order of the columns.
    columns = {f"in_{group}": text for group, text in cells.items()}
    tested = {"test": test.name, "p": test.p, "missing": missing}
    return {"characteristic": name, "level": level} | columns | tested


def _described(
    cohort: Cohort, name: str, column: NDArray[Any], groups: Sequence[str]
) -> Iterator[Row]:
    """Yield the rows of a covariate: one row for a number, or one row per level for labels."""
    known = known_cells(column)
    # Labels are counted by level, and also numbers with so few values that a mean says little.
    if is_counted(column):
        yield from _counted(cohort, name, column, known, groups)
        return
    member = np.asarray(cohort.group)
    means = {group: _mean(column[known & (member == group)]) for group in groups}
    yield _row(name, "", means, covariate_test(cohort, column), int((~known).sum()))


def _counted(
    cohort: Cohort, name: str, column: NDArray[Any], known: Mask, groups: Sequence[str]
) -> Iterator[Row]:
    """Yield one row per level."""
    member = np.asarray(cohort.group)
    test = covariate_test(cohort, column)
    missing = int((~known).sum())
    for level in np.unique(column[known]).tolist():
        at_level = known & (column == level)
        shares = {group: _share(at_level, known & (member == group)) for group in groups}
        yield _row(name, level_text(level), shares, test, missing)
        test, missing = NOT_TESTED, 0  # only the first row of a characteristic has them


def _mean(values: Array) -> str:
    """Return "mean (SD)", with as many decimals as the SD needs for two significant digits."""
    if not len(values):
        return "none known"
    if len(values) == 1:
        return f"{values[0]:.4g}"
    spread = float(values.std(ddof=1))
    decimals = max(0, 1 - int(np.floor(np.log10(spread)))) if spread else 1  # 12, 1.2, 0.12
    return f"{values.mean():.{decimals}f} ({spread:.{decimals}f})"


def _share(at_level: Mask, of: Mask) -> str:
    count = int((at_level & of).sum())
    # A group may have no known value at all.
    return f"{count} ({count / max(int(of.sum()), 1):.0%})"
