"""Changes of edges from the reference to another group, as figures show them: the surest only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.comparison import Comparison
from sgbn.comparison.changes import change_words, differences_of, verdict
from sgbn.types import Array, Mask

MAX_PAIRS = 40  # pairs of regions in a figure: more cannot be read


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
    shown, place = (
        # The surest come first in it.
        table.head(MAX_PAIRS),
        {name: k for k, name in enumerate(comparison.cohort.regions)},
    )
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
        title += ": those that come nearest, faintly"
    elif len(table) > MAX_PAIRS and sure.sum() == MAX_PAIRS:  # more may be sure than are shown
        title += f": the surest {MAX_PAIRS}"
    return Changes(sizes, kinds, sure, supported, title)
