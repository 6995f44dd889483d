"""How the weight of an edge changes from one group to another, in a word.

A weight that goes from -0.61 to -0.05 rises, and yet the relation is gone. So a change is named by
what becomes of the relation, not by the sign of the difference.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

GAINED, LOST, STRONGER, WEAKER, SIGN_CHANGED = KINDS_OF_CHANGE = (
    *("gained", "lost", "stronger", "weaker"),
    "sign changed",
)
ABSENT = 0.1  # a weight per standard deviation that is smaller says little of its target: 1 %


def kinds_of_change(before: ArrayLike, after: ArrayLike) -> NDArray[np.str_]:
    """Name the change of each weight.

    A weight counts as absent if its size is below ``ABSENT`` = 0.1. A relation is gained or lost if
    it is absent on one side only and its size changes by that much. Of two weights that are both
    present, those of unlike sign are called "sign changed". All others are "stronger" or "weaker"
    by their size.

    Parameters
    ----------
    before, after : array-like of the same shape
        Weights per standard deviation, in the reference and in the other group.

    Returns
    -------
    ndarray of str
        One of `KINDS_OF_CHANGE` each. The words describe two estimates. Whether they differ is for
        a test to say.

    Examples
    --------
    >>> kinds_of_change([0.0, -0.61, 0.66, 0.2, 0.4], [0.5, -0.05, 0.32, 0.3, -0.3]).tolist()
    ['gained', 'lost', 'weaker', 'stronger', 'sign changed']
    """
    first, second = np.asarray(before, float), np.asarray(after, float)
    was, is_now = np.abs(first) >= ABSENT, np.abs(second) >= ABSENT
    growth = np.abs(second) - np.abs(first)
    # Two weights just beside ABSENT, such as 0.09 and 0.11, are not a gain.
    much, turned = np.abs(growth) >= ABSENT, was & is_now & (first * second < 0)
    words: NDArray[np.str_] = np.select(
        [~was & is_now & much, was & ~is_now & much, turned, growth > 0],
        [GAINED, LOST, SIGN_CHANGED, STRONGER],
        WEAKER,
    )
    return words
