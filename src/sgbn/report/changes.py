"""The surest changes of edges from the reference to another group, for the figures."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.comparison import Comparison
from sgbn.comparison.changes import change_words, differences_of, verdict
from sgbn.core.types import Array, Mask

MAX_PAIRS = 40  # pairs of regions in a figure: more cannot be read


class Changes(NamedTuple):
    """Changes that a figure shows, as matrices of regions.

    Attributes
    ----------
    sizes : ndarray of shape (m, m)
        Change of the weight per standard deviation; 0 where the figure shows no change.
    kinds : ndarray of str, shape (m, m)
        Kind of change, such as "gained"; "" where the figure shows no change.
    sure : ndarray of bool, shape (m, m)
        Pairs that differ both ways, which means in whichever direction the edge is read.
    supported : ndarray of bool, shape (m, m)
        Edges whose direction is supported.
    title : str
        Says how many pairs differ, and which of them are shown.
    """

    sizes: Array
    kinds: NDArray[np.str_]
    sure: Mask
    supported: Mask
    title: str

    def only_sure(self) -> Changes:
        """Return only the significant changes; return all changes if none is significant."""
        return self._replace(sizes=np.where(self.sure, self.sizes, 0.0)) if self.any_sure else self

    @property
    def any_sure(self) -> bool:
        """Whether at least one pair differs both ways."""
        return bool(self.sure.any())


def changes_of(comparison: Comparison, group: str) -> Changes:
    """Collect the surest changes from the reference to a group, at most `MAX_PAIRS`."""
    table = differences_of(comparison, group)
    shown = table.head(MAX_PAIRS)  # the surest changes are the first rows
    place = {name: k for k, name in enumerate(comparison.cohort.regions)}
    where = shown["source"].map(place).to_numpy(int), shown["target"].map(place).to_numpy(int)
    shape = len(place), len(place)
    # 16 letters hold every kind of change; numpy would cut a longer name without an error.
    sizes, kinds = np.zeros(shape), np.full(shape, "", dtype="U16")
    sure, supported = np.zeros(shape, bool), np.zeros(shape, bool)
    sizes[where], kinds[where] = shown["difference_std"], shown[f"kind_{group}"]
    sure[where] = shown["q_both"] <= comparison.settings.level
    supported[where] = shown["supported"]
    title = f"{verdict(comparison, group)}\n{change_words(comparison, group)}"
    if not sure.any():
        title += ": faint are the pairs with the smallest p"
    elif len(table) > MAX_PAIRS and sure.sum() == MAX_PAIRS:  # other pairs may differ as well
        title += f": the surest {MAX_PAIRS}"
    return Changes(sizes, kinds, sure, supported, title)
