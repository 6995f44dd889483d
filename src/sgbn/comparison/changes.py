"""Changes of edges from the reference to another group, as tables and sentences of figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from sgbn.types import Array
from sgbn.viz.forest import surest_first

if TYPE_CHECKING:
    from sgbn.comparison.result import Comparison


def changes_per_sd(comparison: Comparison, table: pd.DataFrame) -> dict[str, Array]:
    """Find the change of each tested edge, of each group from the reference.

    Parameters
    ----------
    comparison : Comparison
    table : DataFrame
        As `comparison.tables.differences`, in any order.

    Returns
    -------
    dict of group to ndarray
        Per standard deviation; all groups but the reference.
    """
    reference, *compared = (f"weight_std_{group}" for group in comparison.groups)
    changes = [(table[column] - table[reference]).to_numpy(float) for column in compared]
    return dict(zip(comparison.groups[1:], changes, strict=True))


def verdict(comparison: Comparison, group: str) -> str:
    """Say how many pairs differ between the reference and a group."""
    table, level = differences_of(comparison, group), comparison.settings.level
    n_sure = int((table["q_both"] <= level).sum())
    # Without tests of pairs of groups, q is that of all groups: the sentence must not claim more.
    pairs = {0: "No pair differs", 1: "1 pair differs"}.get(n_sure, f"{n_sure} pairs differ")
    if len(comparison.groups) > 2 and comparison.tables.pairwise.empty:
        return f"{pairs} both ways in any group (q of all groups ≤ {level:g})"
    return f"{pairs} both ways (q ≤ {level:g})"


def change_words(comparison: Comparison, group: str) -> str:
    """Say from which group to which the change is."""
    return f"Change from {comparison.reference} to {group}"


def differences_of(comparison: Comparison, group: str) -> pd.DataFrame:
    """Table of differences of a group from the reference, those that differ both ways first.

    Of more than two groups `difference_std`, `standard_error` and `q_both` are those of this pair
    of groups. Where pairs of groups were not tested, of more than five groups, `q_both` stays that
    of all groups, and there is no `standard_error`.
    """
    table = comparison.tables.differences
    if len(comparison.groups) > 2:
        # The table has the change of the last group from the first. That of another group has its
        # standard error in the tests of pairs alone.
        table = table.assign(difference_std=changes_per_sd(comparison, table)[group])
        table = table.drop(columns="standard_error")
        if not comparison.tables.pairwise.empty:
            table = _of_pair(comparison, table, group)
    order, _ = surest_first(table["q_both"].to_numpy(), comparison.settings.level)
    return table.iloc[order].reset_index(drop=True)


def _of_pair(comparison: Comparison, table: pd.DataFrame, group: str) -> pd.DataFrame:
    """Add the results of the test of the reference against one group, the surest first."""
    pairwise, ends = comparison.tables.pairwise, ["source", "target"]
    of_pair = pairwise["group"].eq(comparison.reference) & pairwise["other"].eq(group)
    tested = pairwise.loc[of_pair, [*ends, "difference_std", "standard_error", "q_both", "p"]]
    rest = table.drop(columns=["difference_std", "q_both", "p"])
    # an inner join: closed tests of a pair have the edges that all groups tested, and no others
    return tested.merge(rest, on=ends, validate="1:1").sort_values("p", kind="stable")
