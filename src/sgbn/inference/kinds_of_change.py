"""Words for the change of an edge's weight from one group to another.

A weight that goes from -0.61 to -0.05 rises, but the relation is lost. So the word describes the
change of the relation, not the sign of the difference.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

GAINED, LOST, STRONGER, WEAKER, SIGN_CHANGED = KINDS_OF_CHANGE = (
    *("gained", "lost", "stronger", "weaker"),
    "sign changed",
)
ABSENT = 0.1  # per standard deviation; this weight explains about 1 % of the target's variance


def kinds_of_change(before: ArrayLike, after: ArrayLike) -> NDArray[np.str_]:
    """Return a word for the change of each weight.

    A weight counts as absent if its size is below ``ABSENT`` = 0.1. A relation is "gained" or
    "lost" if it is absent in one group only and its size changes by at least 0.1. If it is present
    in both groups with opposite signs, the word is "sign changed". All other changes are "stronger"
    or "weaker", by the sizes of the weights.

    Parameters
    ----------
    before, after : array-like of the same shape
        Weights per standard deviation, in the reference and in the other group.

    Returns
    -------
    ndarray of str
        One of `KINDS_OF_CHANGE` for each weight. The words describe two estimates. Only a test can
        say whether they differ.

    Examples
    --------
    >>> kinds_of_change([0.0, -0.61, 0.66, 0.2, 0.4], [0.5, -0.05, 0.32, 0.3, -0.3]).tolist()
    ['gained', 'lost', 'weaker', 'stronger', 'sign changed']
    """
    first, second = np.asarray(before, float), np.asarray(after, float)
    was_present, is_present = np.abs(first) >= ABSENT, np.abs(second) >= ABSENT
    growth = np.abs(second) - np.abs(first)
    # A change from just below ABSENT to just above it, such as 0.09 to 0.11, is not a gain.
    is_large = np.abs(growth) >= ABSENT
    turned = was_present & is_present & (first * second < 0)
    words: NDArray[np.str_] = np.select(
        [
            ~was_present & is_present & is_large,
            was_present & ~is_present & is_large,
            turned,
            growth > 0,
        ],
        [GAINED, LOST, SIGN_CHANGED, STRONGER],
        WEAKER,
    )
    return words
