"""The findings of a review, functions that its checks share, and the review of the groups.

Do the groups have enough subjects for their regions, complete pairs, and an obvious reference?
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from sgbn.cohort.atlas import UNKNOWN_LOBE
from sgbn.cohort.cohort import Cohort
from sgbn.cohort.design import control_groups, usual_reference, why_reference
from sgbn.core.problems import counted, listed
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


FEW_SUBJECTS = 20  # the network of a smaller group is hardly more than noise
MAX_SMALL_GROUPS = 5  # more small groups are probably dates, ages or scores
MIN_MEDIAN_SIZE = 10  # subjects per group, the fewest that tests of differences accept
MIN_PAIRS = 2  # with one pair, no group varies
REGIONS_PER_SUBJECT = 0.5  # regions per subject of the smallest group, a rule of thumb
MIN_REGIONS = 2  # regions of the smallest network


def leave_out_incomplete_pairs(cohort: Cohort) -> tuple[Cohort, list[Finding]]:
    """Leave out persons who do not have one row per group; stop if too few persons remain."""
    if cohort.pair is None or len(cohort.groups) < 2 or cohort.complete.all():
        return cohort, []
    complete = cohort.complete
    persons = np.unique(cohort.pair[~complete]).tolist()
    n_pairs = len(np.unique(cohort.pair[complete]))
    persons_do = counted(len(persons), "person does", "persons do")
    what = f"{persons_do} not have exactly one row in each group: {listed(persons)}"
    if n_pairs < MIN_PAIRS:
        left = f"{n_pairs or 'no'} complete {'pair is' if n_pairs == 1 else 'pairs are'} left"
        action = (
            "Name the column that is the same in all rows of a person (pair=, --pair). If all rows "
            "of a person are in one group, name this column as the subject instead (subject=, "
            "--subject)"
        )
        return cohort, [Finding("stop", f"{what}; {left}", action)]
    action = f"Their rows ({(~complete).sum()}) are left out: {n_pairs} persons remain"
    return cohort.subset(complete), [Finding("warning", what, action, tuple(map(str, persons)))]


def check_groups(cohort: Cohort) -> Iterator[Finding]:
    """Check that there are groups, and that each has enough subjects for the regions."""
    findings = [*check_sizes(cohort, FEW_SUBJECTS, "Its network is hardly more than noise")]
    yield from findings
    if not any(finding.level == "stop" for finding in findings):
        yield from _many_regions(cohort)


def check_sizes(cohort: Cohort, few: int, action: str) -> Iterator[Finding]:
    """Check that there are groups, and that each has at least `few` subjects.

    Parameters
    ----------
    cohort : Cohort
        The cohort under review.
    few : int
        Number of subjects. A smaller group gives a warning.
    action : str
        What this warning says about the consequences.
    """
    sizes = cohort.sizes
    if len(sizes) < 2:
        what = f"only the group {cohort.groups[0]!r}" if sizes else "no group column"
        remedy = "Name a column with two or more groups (group=, --group)"
        if sizes:
            remedy += ", and two or more groups if you choose some (groups=, --groups)"
        yield Finding("stop", f"there is {what}", remedy)
        return
    # By the median, because many small groups are suspicious even beside a few large ones.
    if len(sizes) > MAX_SMALL_GROUPS and np.median([*sizes.values()]) < MIN_MEDIAN_SIZE:
        yield Finding(
            "stop",
            f"there are {len(sizes)} groups, and at least half of them have fewer than "
            f"{MIN_MEDIAN_SIZE} subjects: {listed(cohort.groups)}",
            "Dates, ages and scores cannot be groups. Name the right column (group=, --group), or "
            "form a few groups from this one",
        )
        return
    for name, size in sizes.items():
        if size < 2:
            yield Finding(
                "stop",
                f"the group {name!r} has one subject "
                f"({cohort.ids[first_true(cohort.group == name)]})",
                "Leave this group out by naming the groups to compare (groups=, --groups), or "
                "correct the label of the subject",
            )
        elif size < few:
            yield Finding(
                "warning", f"the group {name!r} has only {counted(size, 'subject')}", action
            )


def check_reference(cohort: Cohort, reference: str | None = None) -> list[Finding]:
    """Note which group is the reference, if none was named and the choice is not obvious."""
    if reference is not None or len(control_groups(cohort.groups)) == 1:
        return []
    return [
        Finding(
            "note",
            f"{usual_reference(cohort.groups)!r} is the reference, {why_reference(cohort.groups)}",
            "Signs of differences and deviations of subjects depend on it. Name another group if "
            "this is not your reference (Settings(reference=), --reference)",
        )
    ]


def _many_regions(cohort: Cohort) -> Iterator[Finding]:
    """Report if there are more regions than half the subjects of the smallest group.

    The finding says how to choose fewer regions.
    """
    name, size = min(cohort.sizes.items(), key=lambda item: item[1])
    # All groups have the same regions, so that the smallest group sets the limit.
    most = int(REGIONS_PER_SUBJECT * size)
    if len(cohort.regions) <= REGIONS_PER_SUBJECT * size:
        return
    action = "No choice of regions makes up for so few subjects"
    if most >= MIN_REGIONS:
        lobes = _lobes(cohort, most)
        by_lobe = f"lobes (subset(lobes=[...]), --lobes: {lobes}), or by " if lobes else ""
        by_name = "a list or a pattern of names (regions=, --regions)"
        action = f"If your question allows it, choose at most {most} regions by {by_lobe}{by_name}"
    what = (
        f"{len(cohort.regions)} regions are more than half the number of subjects in the smallest "
        f"group, {name!r}, which has {size}"
    )
    yield Finding("warning", what, action)


def _lobes(cohort: Cohort, most: int) -> str:
    """Return the lobes and their numbers of regions, largest first; "" if none is small enough."""
    counts = Counter(lobe for lobe in cohort.lobes if lobe != UNKNOWN_LOBE)
    if len(counts) < 2 or not any(MIN_REGIONS <= size <= most for size in counts.values()):
        return ""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{lobe} {size}" for lobe, size in ordered)
