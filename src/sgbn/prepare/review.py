"""The review of a cohort: what may be wrong with it, and what is done about it.

`review` is for a cohort as it was read. `review_prepared` looks at prepared regions: outlying
subjects, and dependences that ranks show better.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sgbn.cohort.atlas import readings
from sgbn.cohort.cohort import Cohort, check_cohort
from sgbn.cohort.design import group_sample
from sgbn.cohort.effects import without_nuisance
from sgbn.cohort.region_names import is_total, match_columns
from sgbn.cohort.series import SeriesCohort
from sgbn.core.moments import constant_columns, one_blas_thread
from sgbn.core.problems import DataWarning, InputError, counted, listed
from sgbn.core.types import Array
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
    Finding,
    check_groups,
    filled,
    leave_out_incomplete_pairs,
    leave_out_regions,
    leave_out_subjects,
    parts,
)
from sgbn.prepare.independence import check_independence, find_exchanged
from sgbn.prepare.outliers import MAX_SHARE_FAR, OUTLIER_SD, ScoreGain, far_rows, score_gain
from sgbn.prepare.series_review import (
    check_censored,
    check_filters,
    check_motion,
    check_series_independence,
    check_series_sizes,
    leave_out_empty_regions,
    leave_out_empty_subjects,
    leave_out_short_series,
)

SUBJECT_MISSING = 0.5  # a subject that lacks a larger share of the regions is left out
REGION_MISSING = 0.2  # a region that a larger share of the subjects lacks is left out
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


def check_measures(cohort: Cohort) -> Iterator[Finding]:
    """Check whether one network would mix measures, such as thickness and volume."""
    by_measure = regions_by_measure(cohort)
    if len(by_measure) < 2:
        return
    most = max(by_measure, key=lambda name: len(by_measure[name]))
    measures = [
        f"{name.replace('_', ' ') or 'an unknown measure'} ({_counted(regions)})"
        for name, regions in by_measure.items()
    ]
    excluding = "--exclude the regions of the other measures"
    remedy = f"--measure {most}, or {excluding}" if most else excluding
    head_size = any("volume" in name for name in by_measure) and not any(
        map(is_total, cohort.covariates)
    )
    yield Finding(
        "warning",
        f"one network mixes measures: {'; '.join(measures)}",
        "An edge between two measures may show head size or the quality of a scan. Compare one "
        f"measure at a time ({remedy})"
        + (", or name head size (eTIV) as a covariate" if head_size else ""),
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


def _counted(regions: list[str]) -> str:
    return f"{len(regions)}: {listed(regions)}" if len(regions) < 4 else f"{len(regions)} regions"


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
CHECKS = (
    *(check_groups, check_sites, check_covariates, check_missing),
    *(check_copies, check_outliers, check_atlas, check_measures),
)
SERIES_CHECKS = (
    *(check_series_sizes, check_sites, check_covariates),
    *(check_motion, check_censored, check_filters, check_atlas),
)


TRIMMED = (
    "Such subjects are left out of networks, half samples and tests of differences, and kept in "
    "all other steps. To keep them everywhere, give outliers='keep' (--outliers keep)"
)
TESTED = (
    "Such subjects are left out of tests of differences, and kept in all other steps. To keep them "
    "everywhere, give outliers='keep' (--outliers keep)"
)
KEPT = (
    "Such subjects are kept. To leave them out of networks, half samples and tests of differences, "
    "give outliers='trim' (--outliers trim)"
)
ACTIONS = {"trim": TRIMMED, "tests": TESTED, "keep": KEPT}
KEPT_AS_GROUP = (
    "These are too many to be outliers, and are kept. Compare them as a group of their own"
)
HELPFUL = (
    "Learn the graphs from normal scores (transform='normal-scores', --transform normal-scores)"
)
HARMFUL = "Learn the graphs from the values as they are (transform='none', --transform none)"


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
        values = _learned_from(cohort, group)
        far = far_rows(values)
        # Without outliers, because outliers alone would make ranks look better than values.
        gain = score_gain(values[~far])
        of_group = "" if group is None else f" of the group {group!r}"
        if far.any():
            ids = cohort.ids if group is None else np.array(cohort.ids)[cohort.group == group]
            far_out.append(_far_out(np.array(ids)[far].tolist(), len(far), of_group, outliers))
        if gain.helps and transform == "none":
            scores.append(Finding("note", _depends(gain, of_group, "more"), HELPFUL))
        elif gain.harms and transform == "normal-scores":
            scores.append(Finding("warning", _depends(gain, of_group, "less"), HARMFUL))
    return far_out + scores


def _learned_from(cohort: Cohort, group: str | None) -> Array:
    """Return the rows that the network of a group is learned from, without nuisance effects."""
    if group is None:
        return cohort.values
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore", DataWarning)  # the same warnings come with the networks
        sample = group_sample(cohort, group)
        return without_nuisance(sample.values, sample.nuisance)[0]


def _far_out(ids: list[str], n: int, of_group: str, outliers: str) -> Finding:
    return Finding(
        "warning",
        f"{len(ids)} of {n} subjects{of_group} {'is' if len(ids) == 1 else 'are'} far from the "
        f"others, by more than {OUTLIER_SD:g} robust standard deviations: {listed(ids)}",
        KEPT_AS_GROUP if len(ids) > MAX_SHARE_FAR * n else ACTIONS[outliers],
    )


def _depends(gain: ScoreGain, of_group: str, what: str) -> str:
    return (
        f"the ranks of the regions{of_group} depend on each other {abs(gain.share):.0%} {what} "
        "than their values do"
    )
