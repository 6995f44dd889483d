"""The findings of a review, and functions that its checks share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from sgbn.cohort.cohort import Cohort
from sgbn.core.exceptions import counted, listed
from sgbn.core.types import Array, Mask

Level = Literal["stop", "warning", "note"]
AnyCohort = TypeVar("AnyCohort", bound=Cohort)  # a cohort of tables or of time series
Verbs = tuple[str, str]  # a verb in the singular and in the plural


class Finding(NamedTuple):
    """One fact that a user should know about a cohort.

    Attributes
    ----------
    level : {"stop", "warning", "note"}
        "stop" if the groups cannot be compared, "warning" if the user should check something, and
        "note" if nothing need be done.
    what : str
        What was found.
    action : str
        What is done about it, or what the user can do.
    left_out : tuple of str
        Subjects or persons who are left out of the cohort because of this finding.
    """

    level: Level
    what: str
    action: str
    left_out: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.level}: {self.what}. {self.action}."


def parts(cohort: Cohort) -> list[Mask]:
    """Return one mask of rows per group, or one mask of all rows if there are no groups."""
    if cohort.group is None:
        return [np.full(len(cohort), True)] if len(cohort) else []
    return [np.asarray(cohort.group == name) for name in cohort.groups]


def filled(values: Array) -> Array:
    """Return the values with each missing cell replaced by the median of its region."""
    missing = np.isnan(values)
    if not missing.any():
        return values
    return np.where(missing, np.nanmedian(values, axis=0), values)


def first_true(marked: Any) -> int:
    """Return the index of the first entry that is True."""
    return int(np.flatnonzero(marked)[0])


def marked(names: Iterable[str], marks: Mask) -> list[str]:
    """Return the names whose mark is True, in their order."""
    return [name for name, mark in zip(names, marks, strict=True) if mark]


def leave_out_subjects(
    cohort: AnyCohort, out: Mask, verbs: Verbs, what: str, why: str = ""
) -> tuple[AnyCohort, list[Finding]]:
    """Return the cohort without the marked subjects, and a finding about them.

    Parameters
    ----------
    cohort : Cohort
        The cohort under review.
    out : ndarray of bool of shape (n,)
        True for subjects to leave out.
    verbs, what : tuple of str, str
        What is wrong with these subjects, such as ("lacks", "lack") and "most regions".
    why : str
        Text to add to the action of the finding.
    """
    if not out.any():
        return cohort, []
    names = marked(cohort.ids, out)
    finding = _left_out("subject", names, verbs, what)
    finding = finding._replace(action=finding.action + why, left_out=tuple(names))
    return cohort.subset(~out), [finding]


def leave_out_regions(
    cohort: AnyCohort, out: Mask, verbs: Verbs, what: str
) -> tuple[AnyCohort, list[Finding]]:
    """Return the cohort without the marked regions; see `leave_out_subjects`."""
    if not out.any():
        return cohort, []
    finding = _left_out("region", marked(cohort.regions, out), verbs, what)
    return cohort.subset(regions=marked(cohort.regions, ~out)), [finding]


def _left_out(noun: str, names: list[str], verbs: Verbs, what: str) -> Finding:
    subject = counted(len(names), f"{noun} {verbs[0]}", f"{noun}s {verbs[1]}")
    action = "It is left out" if len(names) == 1 else "They are left out"
    return Finding("warning", f"{subject} {what}: {listed(names)}", action)
