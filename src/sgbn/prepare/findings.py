"""What the checks of a review share, and the review of the groups.

Do the groups have enough subjects for their regions, complete pairs, and an obvious reference?
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

import numpy as np

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.design import control_groups, holds_visits, usual_reference, visits_crossed
from sgbn.core.problems import Finding, Level, Problem
from sgbn.core.types import Array, Mask

AnyCohort = TypeVar("AnyCohort", bound=Cohort)  # a cohort of tables or of time series


def found(level: Level, problem: Problem) -> Finding:
    """Return the finding of a problem."""
    finding = Finding(level, problem.code)
    finding.problem = problem
    return finding


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


def marked(names: Iterable[str], marks: Mask) -> list[str]:
    """Return the names whose mark is True, in their order."""
    return [name for name, mark in zip(names, marks, strict=True) if mark]


def leave_out_subjects(
    cohort: AnyCohort, out: Mask, finding: Finding
) -> tuple[AnyCohort, list[Finding]]:
    """Return the cohort without the marked subjects, and a finding about them if there are any."""
    if not out.any():
        return cohort, []
    return cohort.subset(~out), [finding.leaving_out(marked(cohort.ids, out))]


def leave_out_regions(
    cohort: AnyCohort, out: Mask, finding: Finding
) -> tuple[AnyCohort, list[Finding]]:
    """Return the cohort without the marked regions, and the finding about them if there are any."""
    if not out.any():
        return cohort, []
    return cohort.subset(regions=marked(cohort.regions, ~out)), [finding]


FEW_SUBJECTS = 20  # the network of a smaller group is hardly more than noise
MAX_SMALL_GROUPS = 5  # more small groups are probably dates, ages or scores
MIN_MEDIAN_SIZE = 10  # subjects per group, the fewest that tests of differences accept
MIN_PAIRS = 2  # with one pair, no group varies
REGIONS_PER_SUBJECT = 0.5  # regions per subject of the smallest group, a rule of thumb


def leave_out_incomplete_pairs(cohort: Cohort) -> tuple[Cohort, list[Finding]]:
    """Leave out persons who do not have one row per group; stop if too few persons remain."""
    if cohort.pair is None or len(cohort.groups) < 2 or cohort.design.complete.all():
        return cohort, []
    complete = cohort.design.complete
    persons = np.unique(cohort.pair[~complete]).tolist()
    n_pairs = len(np.unique(cohort.pair[complete]))
    values = {"persons": persons, "n": n_pairs, "rows": int((~complete).sum())}
    if n_pairs < MIN_PAIRS and holds_visits(cohort.group, cohort.pair):
        return cohort, [found("stop", visits_crossed())]
    if n_pairs < MIN_PAIRS:
        return cohort, [
            Finding("stop", "pairs.few", **values).says(
                "not exactly one row in each group for {persons}, so that {n:complete pair} would "
                "be left",
                "If {pair=} does not name the column of persons, name this column. If all rows of "
                "a person are in one group, name it as {subject=} instead.",
            )
        ]
    finding = Finding("warning", "pairs.incomplete", **values).says(
        "not exactly one row in each group for {persons}",
        "{rows:row is/rows are} left out, and {n:pair} are left.",
    )
    return cohort.subset(complete), [finding.leaving_out(persons)]


def check_groups(cohort: Cohort) -> Iterator[Finding]:
    """Check that there are groups, and that each has enough subjects for the regions."""
    findings = [*check_sizes(cohort)]
    yield from findings
    if not any(finding.level == "stop" for finding in findings):
        yield from _many_regions(cohort)


def check_sizes(cohort: Cohort) -> Iterator[Finding]:
    """Check that there are groups, and that each has enough subjects."""
    sizes = cohort.sizes
    if len(sizes) < 2:
        yield Finding("stop", "groups.one", groups=cohort.groups).says(
            "a comparison needs two groups, but the data have {groups:group}",
            "Name a column with two or more groups ({group=}), or choose other {groups=}.",
        )
        return
    # By the median, because many small groups are suspicious even beside a few large ones.
    if len(sizes) > MAX_SMALL_GROUPS and np.median([*sizes.values()]) < MIN_MEDIAN_SIZE:
        yield Finding("stop", "groups.many", n=len(sizes), least=MIN_MEDIAN_SIZE).says(
            "at least half of the {n:group} have fewer than {least} subjects",
            "Dates, ages and scores cannot be groups. Name the right column ({group=}), or form a "
            "few groups from this one.",
        )
        return
    for name, size in sizes.items():
        if size < 2:
            subjects = marked(cohort.ids, np.asarray(cohort.group == name))
            yield Finding("stop", "groups.one-subject", group=name, subjects=subjects).says(
                "the group {group} has only one row, of {subjects}",
                "Name the groups to compare ({groups=}), or correct the label of the subject.",
            )
        elif size < FEW_SUBJECTS:
            yield Finding("warning", "groups.small", group=name, n=size).says(
                "the group {group} has only {n:subject}",
                "Its network is uncertain, and only large differences can be found.",
            )


def check_reference(cohort: Cohort, reference: str | None = None) -> Iterator[Finding]:
    """Note which group is the reference, if none was named and the choice is not obvious."""
    if reference is None and len(control_groups(cohort.groups)) != 1:
        yield Finding("note", "reference.guess", group=usual_reference(cohort.groups)).says(
            "the reference is {group}, the first by name, because no single group looks like "
            "controls",
            "Signs of differences and deviations of subjects depend on it. Name another group if "
            "this is not your reference ({reference=}).",
        )


def _many_regions(cohort: Cohort) -> Iterator[Finding]:
    """Report if there are more regions than half the subjects of the smallest group."""
    name, size = min(cohort.sizes.items(), key=lambda item: item[1])
    # All groups have the same regions, so that the smallest group sets the limit.
    most, m = int(REGIONS_PER_SUBJECT * size), len(cohort.regions)
    if m > REGIONS_PER_SUBJECT * size:
        yield Finding("warning", "regions.many", m=m, n=size, group=name, most=most).says(
            "{m} regions are more than half the number of subjects in the smallest group, {group}, "
            "which has {n}",
            "If your question allows it, choose at most {most}, by their names ({regions=}) or "
            "lobes ({lobes=}).",
        )
