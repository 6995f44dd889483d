"""A plot of the surest differences of a comparison, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from sgbn.comparison.changes import change_words, differences_of, verdict
from sgbn.core.exceptions import InputError, did_you_mean
from sgbn.write.draw.differences import plot_forest

if TYPE_CHECKING:
    from sgbn.comparison.result import Comparison

INCHES = (8.4, 1.6, 0.27)  # width, height without rows, height per row


def plot_differences(
    comparison: Comparison, group: str | None = None, *, top: int = 12, ax: Axes | None = None
) -> Axes:
    """Draw the surest differences of a group from the reference; see `Comparison.plot`."""
    if comparison.tests is None:
        why = comparison.skipped.get("differences", "n_permutations of the settings is 0.")
        raise InputError(f"there is nothing to draw, because no difference was tested: {why}")
    compared = comparison.groups[1:]
    # With several other groups, the user has to name one.
    group = compared[0] if group is None and len(compared) == 1 else group
    if group not in compared:
        raise InputError(
            f"group is {group!r}: name a group, to draw its differences from "
            f"{comparison.reference!r}. {did_you_mean(group, compared)}"
        )
    table, level = differences_of(comparison, group), comparison.settings.level
    if "standard_error" not in table:
        raise InputError(
            f"{len(comparison.groups)} groups were only tested all together. Compare fewer "
            "groups (groups=) to see how two of them differ."
        )
    if ax is None:
        from matplotlib import pyplot as plt  # only its figures appear in notebooks and plt.show()

        width, height, row = INCHES
        size = (width, height + row * min(len(table), top))
        ax = plt.figure(figsize=size, layout="constrained").add_subplot()
    return plot_forest(
        ax,
        table,
        comparison.reference,
        group,
        labels=comparison.cohort.labels,
        top=top,
        level=level,
        title=f"{change_words(comparison, group)}: {verdict(comparison, group)}",
    )
