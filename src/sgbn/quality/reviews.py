"""The review of a cohort: what may be wrong with it, and what is done about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sgbn.cohort.cohort import Cohort, check_cohort
from sgbn.cohort.series import SeriesCohort
from sgbn.core.exceptions import InputError, counted
from sgbn.core.moments import constant_columns
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

SUBJECT_MISSING = 0.5  # a subject that lacks a larger share of the regions is left out
REGION_MISSING = 0.2  # a region that a larger share of the subjects lacks is left out
Step = Callable[[Any], tuple[Any, list[Finding]]]
Check = Callable[..., Iterable[Finding]]
GRAVITY = ("stop", "warning", "note")  # levels of findings, the most serious first
CHECKS = (
    *(check_groups, check_sites, check_covariates, check_missing),
    *(check_copies, check_outliers, check_atlas, check_measures),
)


@dataclass(frozen=True)
class Review:
    """The findings about a cohort, and the part of the cohort that can be used.

    Attributes
    ----------
    findings : tuple of Finding
        The findings, the most serious first.
    cohort : Cohort
        The cohort without the subjects and regions that cannot be used.
    """

    findings: tuple[Finding, ...]
    cohort: Cohort

    @property
    def stops(self) -> tuple[Finding, ...]:
        """Return the findings that make a comparison of the groups impossible."""
        return tuple(finding for finding in self.findings if finding.level == "stop")

    def with_findings(self, more: Iterable[Finding]) -> Review:
        """Return the review with more findings, sorted by level."""
        findings = sorted((*self.findings, *more), key=lambda one: GRAVITY.index(one.level))
        return replace(self, findings=tuple(findings))

    def require(self) -> Cohort:
        """Return the usable cohort, or raise InputError with all findings of the level "stop"."""
        if self.stops:
            raise InputError("\n".join(f"{f.what}. {f.action}." for f in self.stops))
        return self.cohort


def review(cohort: Cohort, *, rows_are_subjects: bool = False) -> Review:
    """Look for problems in a cohort, before its groups are compared.

    The review leaves out subjects who lack most regions, and persons of a paired cohort without
    exactly one row in every group. It leaves out regions that many subjects of a group lack, and
    regions that are the same in all subjects of a group. In time series, it leaves out regions that
    are empty in more than 5 % of the subjects, then subjects with an empty region, then subjects
    whose volumes are worth too few independent volumes. All other problems are only reported.

    Parameters
    ----------
    cohort : Cohort
        The cohort, as it was read.
    rows_are_subjects : bool
        Whether all rows are different subjects, even if they look like sessions of a person, copies
        or points in time. If False, such rows make a comparison impossible.

    Returns
    -------
    Review
        The findings, and the cohort without the subjects and regions that were left out.
    """
    check_cohort(cohort)
    findings: list[Finding] = []
    is_series = isinstance(cohort, SeriesCohort)
    steps: Iterable[Step] = SERIES_STEPS if is_series else STEPS
    checks: Iterable[Check] = SERIES_CHECKS if is_series else CHECKS
    # Each step gets the cohort that the step before it returned.
    for step in steps:
        cohort, more = step(cohort)
        findings += more
    if len(cohort.regions) < 2 or len(cohort) < 2:
        findings.append(
            Finding(
                "stop",
                f"only {counted(len(cohort), 'subject')} and "
                f"{counted(len(cohort.regions), 'region')} are left",
                "At least two of each are needed. See what was left out, and correct the table",
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
    # In any group, because a region that one group lacks cannot be compared.
    empty = np.any([missing[rows].mean(axis=0) > REGION_MISSING for rows in parts(cohort)], axis=0)
    what = f"missing in more than {REGION_MISSING:.0%} of the subjects of a group"
    return leave_out_regions(cohort, empty, ("is", "are"), what)


def _leave_out_constant_regions(cohort: Cohort) -> tuple[Cohort, list[Finding]]:
    values = filled(cohort.values)
    constant = np.full(len(cohort.regions), False)
    for rows in parts(cohort):
        if rows.sum() > 1:  # `check_groups` reports a group of one subject
            constant |= constant_columns(values[rows])
    what = "the same value in all subjects of a group"
    return leave_out_regions(cohort, constant, ("has", "have"), what)


# Subjects come first: leaving one out may break a pair, and changes the shares of the regions.
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
