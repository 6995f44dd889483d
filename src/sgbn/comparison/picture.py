"""A comparison at first sight: its surest differences, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
from matplotlib.axes import Axes

from sgbn.exceptions import InputError, did_you_mean
from sgbn.viz.forest import plot_forest

if TYPE_CHECKING:
    from sgbn.comparison.result import Comparison

INCHES = (8.4, 1.6, 0.27)  # width, height without rows, height of a row


def plot_differences(
    comparison: Comparison, group: str | None = None, *, top: int = 12, ax: Axes | None = None
) -> Axes:
    """Draw the surest differences of a group from the reference; see `Comparison.plot`."""
    if comparison.tests is None:
        why = comparison.skipped.get("differences", "n_permutations of the settings is 0.")
        raise InputError(f"no difference was tested, so that there is none to draw: {why}")
    others = comparison.groups[1:]
    group = others[0] if group is None and len(others) == 1 else group
    if group not in others:
        raise InputError(
            f"group is {group!r}: name the group whose difference from {comparison.reference!r} is "
            f"drawn. {did_you_mean(group, others)}"
        )
    table = _of_pair(comparison, group)
    level = comparison.settings.level
    n_sure = int((table["q_both"] <= level).sum())
    title = (
        f"Change from {comparison.reference} to {group}: {n_sure} of {len(table)} tested pairs "
        f"{'differs' if n_sure == 1 else 'differ'} both ways (q ≤ {level:g})"
    )
    if ax is None:
        from matplotlib import pyplot as plt  # so that notebooks and plt.show() know of it

        width, height, row = INCHES
        size = (width, height + row * min(len(table), top))
        ax = plt.figure(figsize=size, layout="constrained").add_subplot()
    cohort = comparison.cohort
    names = dict(zip(cohort.regions, cohort.labels, strict=True))
    return plot_forest(
        ax,
        table,
        comparison.reference,
        group,
        labels=names,
        top=top,
        level=level,
        title=title,
    )


def _of_pair(comparison: Comparison, group: str) -> pd.DataFrame:
    """Table of differences between the reference and one group, the surest first."""
    table, pairs, ends = comparison.differences, comparison.tables.pairwise, ["source", "target"]
    if len(comparison.groups) == 2:
        return table
    if pairs.empty:
        raise InputError(
            f"{len(comparison.groups)} groups were tested all together only. Compare fewer groups "
            "(groups=) to see how two of them differ."
        )
    own = pairs[pairs["group"].eq(comparison.reference) & pairs["other"].eq(group)]
    shared = [name for name in own.columns if name in table.columns and name not in ends]
    found = own.merge(table.drop(columns=shared), on=ends, validate="1:1")
    return found.sort_values("p", kind="stable", ignore_index=True)
