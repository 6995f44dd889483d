"""Changes of edges from the reference to another group, as figures show them: the surest only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgbn.comparison import Comparison
from sgbn.report.views import changes_per_sd
from sgbn.types import Array, Mask
from sgbn.viz.forest import surest_first

MOST = 40  # pairs in a figure: more cannot be read


class Changes(NamedTuple):
    """Changes that a figure shows, as matrices of regions.

    Attributes
    ----------
    sizes : ndarray of shape (m, m)
        Change per standard deviation; 0 where none is shown.
    kinds : ndarray of str, shape (m, m)
    sure, supported : ndarray of bool, shape (m, m)
        Pairs that differ both ways, and edges with a direction that is supported.
    title : str
        How many pairs differ, and what is shown of them.
    """

    sizes: Array
    kinds: NDArray[np.str_]
    sure: Mask
    supported: Mask
    title: str

    def only_sure(self) -> Changes:
        """Leave out what is not significant, unless nothing is."""
        return self._replace(sizes=np.where(self.sure, self.sizes, 0.0)) if self.any_sure else self

    @property
    def any_sure(self) -> bool:
        """Whether any pair differs both ways."""
        return bool(self.sure.any())


def changes_of(comparison: Comparison, group: str) -> Changes:
    """Collect the surest changes from the reference to a group, at most 40."""
    table = differences_of(comparison, group)
    shown, place = table.head(MOST), {name: k for k, name in enumerate(comparison.cohort.regions)}
    where = shown["source"].map(place).to_numpy(int), shown["target"].map(place).to_numpy(int)
    shape = len(place), len(place)
    sizes, kinds = np.zeros(shape), np.full(shape, "", dtype="U16")
    sure, supported = np.zeros(shape, bool), np.zeros(shape, bool)
    sizes[where], kinds[where] = shown["difference_std"], shown[f"kind_{group}"]
    sure[where] = shown["q_both"] <= comparison.settings.level
    supported[where] = shown["supported"]
    title = f"{verdict(comparison, group)}\n{change_words(comparison, group)}"
    if not sure.any():
        title += ": those that come nearest, faintly"
    elif len(table) > MOST and sure.sum() == MOST:
        title += f": the surest {MOST}"
    return Changes(sizes, kinds, sure, supported, title)


def verdict(comparison: Comparison, group: str) -> str:
    """Say how many pairs differ between the reference and a group."""
    table, level = differences_of(comparison, group), comparison.settings.level
    n_sure = int((table["q_both"] <= level).sum())
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
        table = table.assign(difference_std=changes_per_sd(comparison, table)[group])
        table = table.drop(columns="standard_error")
        if not comparison.tables.pairwise.empty:
            table = _of_pair(comparison, table, group)
    order, _ = surest_first(table["q_both"].to_numpy(), comparison.settings.level)
    return table.iloc[order].reset_index(drop=True)


def _of_pair(comparison: Comparison, table: pd.DataFrame, group: str) -> pd.DataFrame:
    """Put in what was found of the pair of the reference and a group, the surest first."""
    pairwise, ends = comparison.tables.pairwise, ["source", "target"]
    own = pairwise["group"].eq(comparison.reference) & pairwise["other"].eq(group)
    found = pairwise.loc[own, [*ends, "difference_std", "standard_error", "q_both", "p"]]
    rest = table.drop(columns=["difference_std", "q_both", "p"])
    return found.merge(rest, on=ends, validate="1:1").sort_values("p", kind="stable")
