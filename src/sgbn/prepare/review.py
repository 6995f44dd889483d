"""The review of a cohort: what may be wrong with it, and what is done about it.

`review` is for a cohort as it was read. `review_prepared` looks at prepared regions: outlying
subjects, and dependences that ranks show better.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from sgbn.cohort.atlas import readings
from sgbn.cohort.cohort import Cohort, check_cohort
from sgbn.cohort.effects import without_nuisance
from sgbn.cohort.region_names import match_columns
from sgbn.cohort.rows import Rows, by_name, prepared_rows
from sgbn.cohort.series import SeriesCohort
from sgbn.core.moments import constant_columns, one_blas_thread
from sgbn.core.problems import DataWarning, Finding, InputError, Problem
from sgbn.core.validation import few_values
from sgbn.prepare.balance import (
    check_atlas,
    check_copies,
    check_covariates,
    check_missing,
    check_outliers,
    check_sites,
)
from sgbn.prepare.findings import (
    AnyCohort,
    check_groups,
    check_sizes,
    filled,
    leave_out_incomplete_pairs,
    leave_out_regions,
    leave_out_subjects,
    marked,
    parts,
)
from sgbn.prepare.independence import (
    check_ids,
    check_independence,
    check_visits,
    find_exchanged,
    overrule,
)
from sgbn.prepare.outliers import MAX_SHARE_FAR, far_rows, score_gain
from sgbn.prepare.series_review import (
    check_censored,
    check_filters,
    check_motion,
    check_series_independence,
    leave_out_empty_regions,
    leave_out_empty_subjects,
    leave_out_short_series,
)

SUBJECT_MISSING = 0.5  # a subject that lacks a larger share of the regions is left out
REGION_MISSING = 0.2  # a region that a larger share of the subjects lacks is left out
SMALLEST = 1e-150  # the squares of smaller values are lost
OTHER_SCALE = 30.0  # ratio of typical sizes; above, unnamed measures count as another measure
Step = Callable[[Any], tuple[Any, list[Finding]]]
Check = Callable[..., Iterable[Finding]]
GRAVITY = ("stop", "warning", "note")  # levels of findings, the most serious first


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
            raise InputError(reduce(_both, [finding.problem for finding in self.stops]))
        return self.cohort


def _both(first: Problem, second: Problem) -> Problem:
    return Problem("review.stops", first=first, second=second).says("{first}\n{second}")


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
        Whether all rows are different subjects, even if they look like sessions of a person,
        copies, points in time or summary rows, or ids like spellings of each other. If False, such
        rows make a comparison impossible.

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
            Finding("stop", "cohort.empty", n=len(cohort), m=len(cohort.regions)).says(
                "only {n:subject} and {m:region} are left",
                "At least two of each are needed. See what was left out, and correct the table.",
            )
        )
    else:
        for check in checks:
            findings += check(cohort)
        independence: Check = check_series_independence if is_series else check_independence
        rows = [*check_ids(cohort), *independence(cohort)]
        findings += overrule(rows) if rows_are_subjects else rows
    return Review((), cohort).with_findings(findings)


def _leave_out_empty_subjects(cohort: AnyCohort) -> tuple[AnyCohort, list[Finding]]:
    if not cohort.regions:
        return cohort, []
    empty = np.isnan(cohort.values).mean(axis=1) > SUBJECT_MISSING
    names = marked(cohort.ids, empty)
    finding = Finding("warning", "subjects.gaps", subjects=names, most=SUBJECT_MISSING).says(
        "left out {subjects}, with more than {most:.0%} of the regions missing"
    )
    return leave_out_subjects(cohort, empty, finding)


def _leave_out_empty_regions(cohort: Cohort) -> tuple[Cohort, list[Finding]]:
    if not len(cohort):  # all subjects were left out
        return cohort, []
    missing = np.isnan(cohort.values)
    # In any group, because a region that one group lacks cannot be compared.
    empty = np.any([missing[rows].mean(axis=0) > REGION_MISSING for rows in parts(cohort)], axis=0)
    names = marked(cohort.regions, empty)
    finding = Finding("warning", "regions.gaps", regions=names, most=REGION_MISSING).says(
        "left out {regions:region} that more than {most:.0%} of the subjects of a group lack: "
        "{regions}",
    )
    return leave_out_regions(cohort, empty, finding)


def _leave_out_tiny_regions(cohort: Cohort) -> tuple[Cohort, list[Finding]]:
    largest = np.fmax.reduce(np.abs(cohort.values), axis=0, initial=0.0)
    tiny = (largest > 0) & (largest < SMALLEST)
    finding = Finding("warning", "regions.tiny", regions=marked(cohort.regions, tiny)).says(
        "the values of {regions:region} are too small to compute with: {regions}",
        "They are left out. Give them in another unit.",
    )
    return leave_out_regions(cohort, tiny, finding)


def _leave_out_constant_regions(cohort: Cohort) -> tuple[Cohort, list[Finding]]:
    values = filled(cohort.values)
    constant = np.full(len(cohort.regions), False)
    for rows in parts(cohort):
        if rows.sum() > 1:  # `check_groups` reports a group of one subject
            constant |= constant_columns(values[rows])
    names = marked(cohort.regions, constant)
    finding = Finding("warning", "regions.constant", regions=names).says(
        "left out {regions:region} with the same value in all subjects of a group: {regions}"
    )
    return leave_out_regions(cohort, constant, finding)


def check_few_values(cohort: Cohort) -> Iterator[Finding]:
    """Check whether regions are labels or scores, which networks would take as measurements."""
    few = few_values(cohort.values)
    if few.any():
        yield Finding("warning", "cells.few-values", regions=marked(cohort.regions, few)).says(
            "{regions:region has/regions have} only two to five different values: {regions}",
            "Labels and scores are no nodes of a network. Name them as covariates "
            "({covariates=}), or exclude them ({exclude=}).",
        )


def check_measures(cohort: Cohort) -> Iterator[Finding]:
    """Check whether one network would mix measures, such as thickness and volume."""
    by_measure = regions_by_measure(cohort)
    if len(by_measure) < 2:
        return
    measures = [name or "unknown" for name in by_measure]
    # The regions of the smallest measure may be there by mistake.
    few = [*by_measure.values()][-1]
    yield Finding("warning", "measures.mixed", measures=measures, regions=few).says(
        "one network mixes the measures {measures}, the last in {regions}",
        "An edge between two measures may show head size or the quality of a scan. Compare one "
        "measure at a time ({measure=}), or exclude these regions ({exclude=}).",
    )


def regions_by_measure(cohort: Cohort) -> dict[str, list[str]]:
    """Return the regions of each measure; the names of the regions say what they measure.

    Regions without a measure in their name have the key "". They are returned only if their sizes
    differ much from the other regions.
    """
    # The words at either end of a name may mean a measure.
    measure_of = {
        name: next((measure for _, measure in reversed(readings(name)) if measure), "")
        for name in cohort.regions
    }
    if cohort.atlas is not None:  # an atlas may say more, such as that aseg structures are volumes
        matched = match_columns(cohort.regions, cohort.atlas).columns
        measure_of |= {match.column: match.measure for match in matched}
    regions: dict[str, list[str]] = defaultdict(list)
    for name, measure in measure_of.items():
        regions[measure].append(name)
    # Many names have no measure. Only another scale suggests that they have another measure.
    if "" in regions and len(regions) > 1 and not _other_scale(cohort, regions[""]):
        del regions[""]
    return dict(sorted(regions.items(), key=lambda item: -len(item[1])))


def _other_scale(cohort: Cohort, unsaid: list[str]) -> bool:
    """Return whether regions of an unknown measure are much larger or smaller than the others."""
    # Thickness is about 2.5 mm, and volumes are thousands of cubic millimetres.
    sizes = np.nanmedian(np.abs(cohort.values), axis=0)
    unknown = np.isin(cohort.regions, unsaid)
    first, second = np.median(sizes[unknown]), np.median(sizes[~unknown])
    smaller, larger = sorted((float(first), float(second)))
    return smaller > 0 and larger > OTHER_SCALE * smaller


# Subjects come first: leaving one out may break a pair, and changes the shares of the regions.
STEPS = (
    _leave_out_empty_subjects,
    leave_out_incomplete_pairs,
    _leave_out_empty_regions,
    _leave_out_tiny_regions,
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
CHECKS = (
    *(check_groups, check_sites, check_covariates, check_missing),
    *(check_copies, check_outliers, check_atlas, check_measures),
    *(check_few_values, check_visits),
)
SERIES_CHECKS = (
    *(check_sizes, check_sites, check_covariates),
    *(check_motion, check_censored, check_filters, check_atlas),
    check_visits,
)


FAR = (
    "far from the others of the group {group}, by more than 4 robust standard deviations: "
    "{subjects}"
)
# What is done about these subjects, by the setting
ACTIONS = {
    "trim": "They are left out of networks, half samples and tests of differences. To keep them, "
    "give {outliers='keep'}.",
    "tests": "Tests of differences leave them out. To keep them, give {outliers='keep'}.",
    "keep": "They are kept. To leave them out, give {outliers='trim'}.",
    "many": "So many are no outliers, and are kept. Compare them as a group of their own.",
}


def review_prepared(
    cohort: Cohort, outliers: str = "trim", transform: str = "none"
) -> list[Finding]:
    """Look for outlying subjects in prepared regions, and check whether ranks would help.

    Effects of covariates and sites are removed from each group once more, as in `SGBNEnsemble`, so
    that this review and the learner find the same outliers.

    Parameters
    ----------
    cohort : Cohort
        The result of `prepare`: no cell is missing, and covariates are regressed out. Each group is
        checked by itself.
    outliers : {"trim", "tests", "keep"}
        What the analysis does with outlying subjects: it leaves them out of networks and tests of
        differences, or only out of these tests, or it keeps them. The finding reports this.
    transform : {"none", "normal-scores"}
        Whether the analysis learns graphs from the values or from their normal scores.
    """
    far_out, scores = [], []
    for group in cohort.groups or (None,):
        rows = _learned_from(cohort, group)
        values, far = rows.values, far_rows(rows.values)
        # Without outliers, because outliers alone would make ranks look better than values.
        gain = score_gain(values[~far])
        if far.any():
            names = by_name(rows.subset(far).ids)
            how = "many" if len(names) > MAX_SHARE_FAR * len(far) else outliers
            finding = Finding("warning", "rows.far", group=group or "all", subjects=names)
            far_out.append(finding.says(FAR, ACTIONS[how]))
        gained = {"group": group or "all", "share": abs(gain.share)}
        if gain.helps and transform == "none":
            scores.append(
                Finding("note", "scores.help", **gained).says(
                    "the ranks of the regions depend on each other {share:.0%} more than their "
                    "values do (group {group})",
                    "Learn the graphs from normal scores ({transform='normal-scores'}).",
                )
            )
        elif gain.harms and transform == "normal-scores":
            scores.append(
                Finding("warning", "scores.harm", **gained).says(
                    "the ranks of the regions depend on each other {share:.0%} less than their "
                    "values do (group {group})",
                    "Learn the graphs from the values as they are ({transform='none'}).",
                )
            )
    return far_out + scores


def _learned_from(cohort: Cohort, group: str | None) -> Rows:
    """Return the rows that the network of a group is learned from, without nuisance effects."""
    if group is None:
        return Rows.of(cohort)
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore", DataWarning)  # the same warnings come with the networks
        rows = prepared_rows(cohort, group)
        return replace(rows, values=without_nuisance(rows.values, rows.effects)[0])
