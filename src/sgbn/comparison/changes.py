"""Tables and titles of the changes of edges from the reference to another group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from sgbn.core.types import Array
from sgbn.write.draw.differences import surest_first

if TYPE_CHECKING:
    from sgbn.comparison.result import Comparison


def changes_per_sd(comparison: Comparison, table: pd.DataFrame) -> dict[str, Array]:
    """Return the change of each tested edge from the reference to each other group.

    Parameters
    ----------
    comparison : Comparison
        The comparison that tested the edges.
    table : DataFrame
        Rows of `comparison.tables.differences`, in any order.

    Returns
    -------
    dict of group to ndarray
        The change of the weight of each edge, per standard deviation. The reference is not a key.
    """
    reference, *compared = (f"weight_std_{group}" for group in comparison.groups)
    changes = [(table[column] - table[reference]).to_numpy(float) for column in compared]
    return dict(zip(comparison.groups[1:], changes, strict=True))


def verdict(comparison: Comparison, group: str) -> str:
    """Return a phrase that says how many pairs differ between the reference and a group."""
    table, level = differences_of(comparison, group), comparison.settings.level
    n_sure = int((table["q_both"] <= level).sum())
    # Without tests of two groups at a time, q is for all groups, and the phrase must say so.
    pairs = {0: "No pair differs", 1: "1 pair differs"}.get(n_sure, f"{n_sure} pairs differ")
    if len(comparison.groups) > 2 and comparison.tables.pairwise.empty:
        return f"{pairs} both ways in any group (q of all groups ≤ {level:g})"
    return f"{pairs} both ways (q ≤ {level:g})"


def change_words(comparison: Comparison, group: str) -> str:
    """Return the title of a change, which names the two groups."""
    return f"Change from {comparison.reference} to {group}"


def differences_of(comparison: Comparison, group: str) -> pd.DataFrame:
    """Return the tested edges of a group against the reference, the surest differences first.

    With more than two groups, `difference_std`, `standard_error` and `q_both` come from the test of
    these two groups. With more than five groups, two groups at a time are not tested: `q_both` is
    then the result of the test of all groups, and the table has no `standard_error`.
    """
    table = comparison.tables.differences
    if len(comparison.groups) > 2:
        # The table has the change of the last group from the first. For other groups, only the
        # tests of two groups at a time have a standard error.
        table = table.assign(difference_std=changes_per_sd(comparison, table)[group])
        table = table.drop(columns="standard_error")
        if not comparison.tables.pairwise.empty:
            table = _of_pair(comparison, table, group)
    order, _ = surest_first(table["q_both"].to_numpy(), comparison.settings.level)
    return table.iloc[order].reset_index(drop=True)


def _of_pair(comparison: Comparison, table: pd.DataFrame, group: str) -> pd.DataFrame:
    """Add the results of the test of one group against the reference, the surest first."""
    pairwise, ends = comparison.tables.pairwise, ["source", "target"]
    of_pair = pairwise["group"].eq(comparison.reference) & pairwise["other"].eq(group)
    tested = pairwise.loc[of_pair, [*ends, "difference_std", "standard_error", "q_both", "p"]]
    rest = table.drop(columns=["difference_std", "q_both", "p"])
    # An inner join, because the tests of two groups have the same edges as the test of all groups.
    return tested.merge(rest, on=ends, validate="1:1").sort_values("p", kind="stable")
