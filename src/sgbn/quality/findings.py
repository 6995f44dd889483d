"""What a review of a cohort says, and what its checks share."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from sgbn.cohort import Cohort
from sgbn.types import Array, Mask

Level = Literal["stop", "warning", "note"]


class Finding(NamedTuple):
    """One thing to know about a cohort.

    Attributes
    ----------
    level : {"stop", "warning", "note"}
    what, action : str
        What was found, and what is or can be done about it.
    left_out : tuple of str
        Subjects or persons whom the reviewed cohort does without because of it.
    """

    level: Level
    what: str
    action: str
    left_out: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.level}: {self.what}. {self.action}."


def parts(cohort: Cohort) -> list[Mask]:
    """Rows of each group, or all without groups; none that are empty."""
    if cohort.group is None:
        return [np.full(len(cohort), True)] if len(cohort) else []
    return [np.asarray(cohort.group == name) for name in cohort.groups]


def filled(values: Array) -> Array:
    """Values with the median of its region in each missing cell."""
    missing = np.isnan(values)
    if not missing.any():
        return values
    return np.where(missing, np.nanmedian(values, axis=0), values)


def first_true(marked: Any) -> int:
    """Place of the first mark."""
    return int(np.flatnonzero(marked)[0])
