"""Review of a cohort: what is odd about it, and what is done about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sgbn.cohort import Cohort, check_cohort
from sgbn.exceptions import InputError, counted
from sgbn.moments import constant_columns
from sgbn.quality.balance import check_covariates, check_sites
from sgbn.quality.censoring import check_censored
from sgbn.quality.exchanged import find_exchanged
from sgbn.quality.findings import (
    AnyCohort,
    Finding,
    filled,
    leave_out_regions,
    leave_out_subjects,
    parts,
)
from sgbn.quality.groups import check_groups, leave_out_incomplete_pairs
from sgbn.quality.independence import check_independence
from sgbn.quality.measures import check_measures
from sgbn.quality.motion import check_motion
from sgbn.quality.series_review import (
    check_filters,
    check_series_independence,
    check_series_sizes,
    leave_out_empty_regions,
    leave_out_empty_subjects,
    leave_out_short_series,
)
from sgbn.quality.values import check_atlas, check_copies, check_missing, check_outliers
from sgbn.series_cohort import SeriesCohort

SUBJECT_MISSING = 0.5  # share of missing regions above which a subject is left out
REGION_MISSING = 0.2  # share of missing subjects above which a region is left out
Step = Callable[[Any], tuple[Any, list[Finding]]]
Check = Callable[..., Iterable[Finding]]
GRAVITY = ("stop", "warning", "note")
CHECKS = (
    *(check_groups, check_sites, check_covariates, check_missing),
    *(check_copies, check_outliers, check_atlas, check_measures),
)


@dataclass(frozen=True)
class Review:
    """What was found in a cohort, and what is left of it.

    Attributes
    ----------
    findings : tuple of Finding
        The gravest first.
    cohort : Cohort
        Without the subjects and regions that cannot be used.
    """

    findings: tuple[Finding, ...]
    cohort: Cohort

    @property
    def stops(self) -> tuple[Finding, ...]:
        """Findings with which groups cannot be compared."""
        return tuple(finding for finding in self.findings if finding.level == "stop")

    def with_findings(self, more: Iterable[Finding]) -> Review:
        """Add findings, each in its place."""
        findings = sorted((*self.findings, *more), key=lambda one: GRAVITY.index(one.level))
        return replace(self, findings=tuple(findings))

    def require(self) -> Cohort:
        """Return the usable cohort, or raise an error that lists what stands in the way."""
        if self.stops:
            raise InputError("\n".join(f"{f.what}. {f.action}." for f in self.stops))
        return self.cohort


def review(cohort: Cohort, *, rows_are_subjects: bool = False) -> Review:
    """Look for what can go wrong when the groups of a cohort are compared.

    Subjects without most of their regions, persons of a paired cohort who are not there once in
    every group, regions without many of their subjects and regions that never vary in a group are
    left out; everything else is only reported. Of time series, regions that are empty in more than
    5 % of the subjects are left out, then subjects with an empty region, and those whose volumes
    are worth too few.

    Parameters
    ----------
    cohort : Cohort
    rows_are_subjects : bool
        Whether rows that look like sessions of a person, copies or points in time are subjects all
        the same. Otherwise they stop a comparison.
    """
    check_cohort(cohort)
    findings: list[Finding] = []
    is_series = isinstance(cohort, SeriesCohort)
    steps: Iterable[Step] = SERIES_STEPS if is_series else STEPS
    checks: Iterable[Check] = SERIES_CHECKS if is_series else CHECKS
    # Each step sees what the one before has left.
    for step in steps:
        cohort, more = step(cohort)
        findings += more
    if len(cohort.regions) < 2 or len(cohort) < 2:
        findings.append(
            Finding(
                "stop",
                f"of the table {counted(len(cohort), 'subject')} and "
                f"{counted(len(cohort.regions), 'region')} are left",
                "Two or more of each are needed: see what was left out, and correct the table",
            )
        )
    else:
        for check in checks:
            findings += check(cohort)
        independence: Check = check_series_independence if is_series else check_independence
        findings += independence(cohort, overruled=rows_are_subjects)
    findings.sort(key=lambda finding: GRAVITY.index(finding.level))
    return Review(tuple(findings), cohort)


def _leave_out_empty_subjects(cohort: AnyCohort) -> tuple[AnyCohort, list[Finding]]:
    if not cohort.regions:
        return cohort, []
    empty = np.isnan(cohort.values).mean(axis=1) > SUBJECT_MISSING
    what = f"more than {SUBJECT_MISSING:.0%} of the regions"
    return leave_out_subjects(cohort, empty, ("lacks", "lack"), what)


def _leave_out_empty_regions(cohort: Cohort) -> tuple[Cohort, list[Finding]]:
    missing = np.isnan(cohort.values)
    # in any group: a region that one group lacks cannot be compared
    empty = np.any([missing[rows].mean(axis=0) > REGION_MISSING for rows in parts(cohort)], axis=0)
    what = f"more than {REGION_MISSING:.0%} of the cells of a group"
    return leave_out_regions(cohort, empty, ("lacks", "lack"), what)


def _leave_out_constant_regions(cohort: Cohort) -> tuple[Cohort, list[Finding]]:
    values = filled(cohort.values)
    constant = np.full(len(cohort.regions), False)
    for rows in parts(cohort):
        if rows.sum() > 1:  # a group of one is reported as such
            constant |= constant_columns(values[rows])
    what = "the same value in all subjects of a group"
    return leave_out_regions(cohort, constant, ("has", "have"), what)


# Subjects first: one who is left out takes the partner along, and the regions' shares change.
STEPS = (
    _leave_out_empty_subjects,
    leave_out_incomplete_pairs,
    _leave_out_empty_regions,
    _leave_out_constant_regions,
)
SERIES_STEPS = (
    find_exchanged,
    _leave_out_empty_subjects,
    leave_out_empty_regions,
    leave_out_empty_subjects,
    leave_out_short_series,
    leave_out_incomplete_pairs,
)
SERIES_CHECKS = (
    *(check_series_sizes, check_sites, check_covariates),
    *(check_motion, check_censored, check_filters, check_atlas),
)
