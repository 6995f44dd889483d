"""Review of a cohort's covariates, sites and cells, and tests of whether groups differ in them.

Can the effects of covariates and sites be separated from the groups? Which cells are missing,
copied or outlying, and which regions have no place in the atlas?
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from sgbn.cohort.cohort import Cohort, labels_shown
from sgbn.core.moments import moments_of
from sgbn.core.problems import LISTED, Finding
from sgbn.core.types import Array, Labels, Mask
from sgbn.core.validation import combined_columns
from sgbn.prepare.findings import filled, marked, parts

SITE_IS_GROUP = 0.8  # share of wrong guesses of the group that are avoided if the site is known
DEFINING = 0.6  # share of the variance between groups; above, a covariate defines the groups
IMBALANCE = 0.05  # p-value; below, the review says that the groups differ in a covariate


def check_sites(cohort: Cohort) -> Iterator[Finding]:
    """Check that sites are named, have enough subjects, and have subjects of several groups."""
    yield from unnamed_sites(cohort)
    if cohort.site is None:
        return
    sites, counts = np.unique(cohort.site, return_counts=True)
    if len(sites) == 1:
        yield Finding("note", "sites.one", site=sites[0]).says(
            "all subjects are from the site {site}", "It has no effect."
        )
        return
    # The effect of a site with one subject cannot be separated from this subject.
    single = sites[counts == 1].tolist()
    if single:
        shown = labels_shown(single, cohort.site)
        yield Finding("warning", "sites.single", sites=shown).says(
            "some sites have only one subject: {sites}",
            "The overall level of such a subject counts as the level of its site, and is removed. "
            "To keep this level, join small sites.",
        )
    if cohort.group is not None and len(cohort.groups) > 1:
        yield from _sites_of_groups(cohort)


def unnamed_sites(cohort: Cohort) -> Iterator[Finding]:
    """Check whether columns of the table look like sites or scanners, but were not named."""
    if cohort.site is not None:
        return
    for column, labels in cohort.provenance.get("unnamed_sites", {}).items():
        values = {"column": column, "n": labels["sites"]}
        if labels["told"] >= SITE_IS_GROUP:
            yield Finding("stop", "sites.unnamed-groups", **values).says(
                "the column {column} looks like sites or scanners ({n:label}). It nearly "
                "determines the groups, so that their differences may come from the sites alone",
                "Name it ({site=}). If it is no site, exclude it ({exclude=}).",
            )
        else:
            yield Finding("warning", "sites.unnamed", **values).says(
                "the column {column} looks like sites or scanners ({n:label}), but its effects are "
                "not removed",
                "Name it ({site=}), or exclude it ({exclude=}).",
            )


def _sites_of_groups(cohort: Cohort) -> Iterator[Finding]:
    """Check whether the effects of sites and groups can be separated."""
    site, group = np.asarray(cohort.site), np.asarray(cohort.group)
    sites = np.unique(site)
    pure = sites[(crosstab(site, group) > 0).sum(axis=1) == 1].tolist()
    if len(pure) == len(sites):
        yield Finding("stop", "sites.pure-all").says(
            "every site has subjects of one group only: effects of sites and groups cannot be "
            "separated",
            "Add sites with several groups, or exclude the column ({exclude=}) and report it.",
        )
        return
    if pure:
        yield Finding("warning", "sites.pure", sites=labels_shown(pure, site)).says(
            "some sites have subjects of one group only: {sites}",
            "Only the other sites can separate the effects of sites and groups. Say so when you "
            "report, or add subjects of other groups at these sites.",
        )
    # With several sessions, the site of a person would count several times.
    used = first_rows(cohort)
    p = covariate_test(used, np.asarray(used.site)).p
    if p < IMBALANCE:
        yield Finding("warning", "sites.shares", p=p).says(
            "the shares of the groups differ between sites (p = {p:.2g})",
            "For networks, site effects are estimated within groups. A classifier cannot do this, "
            "and loses part of the difference between groups.",
        )


def check_covariates(cohort: Cohort) -> Iterator[Finding]:
    """Check whether covariates are known, vary, and have similar values in all groups."""
    for name, column in cohort.covariates.items():
        if cohort.atlas is not None and cohort.atlas.find(name) is not None:
            yield Finding("warning", "covariate.is-region", name=name).says(
                "the covariate {name} has the name of a region",
                "It is then no node of the networks, and its effect is removed from all regions.",
            )
        known = known_cells(column)
        lacking = [part for part in parts(cohort) if not known[part].any()]
        if lacking:
            subjects = marked(cohort.ids, lacking[0])
            yield Finding("stop", "covariate.empty", name=name, subjects=subjects).says(
                "the covariate {name} is missing in all of a group: {subjects}",
                "Do not name it as a covariate, because no value of it is known there.",
            )
            continue
        if not known.all():
            subjects = marked(cohort.ids, ~known)
            yield Finding("note", "covariate.gaps", name=name, subjects=subjects).says(
                "the covariate {name} is missing in {subjects}",
                "Missing numbers are replaced by the median, and missing labels by the most "
                "frequent one. The tests use the mean, and the label 'unknown'.",
            )
        if len(np.unique(column[known])) < 2:
            yield Finding("warning", "covariate.constant", name=name).says(
                "the covariate {name} is the same in all subjects", "It has no effect."
            )
        elif cohort.group is not None and len(cohort.groups) > 1:
            yield from _imbalance(name, first_rows(cohort))


def _imbalance(name: str, cohort: Cohort) -> Iterator[Finding]:
    """Check whether the groups differ in a covariate."""
    known = known_cells(cohort.covariates[name])
    column, group = cohort.covariates[name][known], np.asarray(cohort.group)[known]
    counts = crosstab(column, group)
    # If each level is in one group, and each group has one level, the levels are the groups.
    if len(counts) == len(counts.T) and np.all((counts > 0).sum(axis=1) == 1):
        yield Finding("stop", "covariate.is-group", name=name).says(
            "the covariate {name} is the group under another name",
            "Do not name it as a covariate: removing its effect would remove the differences "
            "between the means of the groups.",
        )
        return
    if not is_counted(column):
        parts = [column[group == label] for label in np.unique(group)]
        if min(map(len, parts)) < 2:
            return
        between = _between(parts)
        # An example is a clinical score by which patients were chosen.
        if between > DEFINING:
            yield Finding("warning", "covariate.defines", name=name, share=between).says(
                "{name} nearly defines the groups: {share:.0%} of its variance is between them",
                "Removing its effect removes part of the difference between groups. If it was used "
                "to form the groups, do not name it as a covariate.",
            )
            return
    p = covariate_test(cohort, cohort.covariates[name]).p
    if p < IMBALANCE:
        yield Finding("warning", "covariate.imbalance", name=name, p=p).says(
            "the groups differ in {name} (p = {p:.2g})",
            "Its effect within the groups is held fixed. Say so when you report.",
        )


def _between(parts: list[Array]) -> float:
    """Return the share of the variance that is between the parts (eta squared)."""
    everyone = np.concatenate(parts)
    within = sum(((part - part.mean()) ** 2).sum() for part in parts)
    return float(1 - within / ((everyone - everyone.mean()) ** 2).sum())


FEWEST_EXPECTED = 5  # expected subjects in a cell; below, the chi-square distribution is too rough
RANDOM_TABLES = 9999  # number of random tables for a p-value
FEW_VALUES = 2  # at most this many different numbers count as labels, such as a sex of 0 and 1


class GroupTest(NamedTuple):
    """The name and p-value of a test; p is NaN if there is nothing to test."""

    name: str
    p: float


NOT_TESTED = GroupTest("", np.nan)


def shares_test(counts: Array) -> GroupTest:
    """Test whether the shares of the levels differ between groups; see `crosstab`."""
    counts = counts[counts.any(axis=1)]
    if min(counts.shape) < 2:
        return NOT_TESTED
    if stats.contingency.expected_freq(counts).min() >= FEWEST_EXPECTED:
        result = stats.chi2_contingency(counts, correction=False)  # type: ignore[attr-defined]
        return GroupTest("chi-square", float(result.pvalue))
    # A table of two by two has one free cell, so that all possible tables can be listed.
    if counts.shape == (2, 2):
        return GroupTest("Fisher's exact", float(stats.fisher_exact(counts).pvalue))
    return GroupTest("chi-square, random tables", _by_random_tables(counts))


def crosstab(column: NDArray[Any], group: Labels) -> Array:
    """Return the number of subjects with each level (row) in each group (column), both sorted."""
    return np.asarray(stats.contingency.crosstab(column, group).count, float)


def level_text(level: str | float) -> str:
    """Return the name of a level; the number 1.0 becomes "1"."""
    return level if isinstance(level, str) else f"{level:g}"


def is_counted(column: NDArray[Any]) -> bool:
    """Return whether the levels of a covariate are counted: labels, or few different numbers."""
    return column.dtype.kind != "f" or len(np.unique(column[~np.isnan(column)])) <= FEW_VALUES


def known_cells(column: NDArray[Any]) -> Mask:
    """Mark the cells of a covariate that are not missing."""
    return ~np.isnan(column) if column.dtype.kind == "f" else column != ""


def first_rows(cohort: Cohort) -> Cohort:
    """Return one row per person, because further sessions say nothing new about covariates."""
    if cohort.person is None:
        return cohort
    return cohort.subset(np.sort(np.unique(cohort.person, return_index=True)[1]))


def covariate_test(cohort: Cohort, column: NDArray[Any]) -> GroupTest:
    """Test whether the groups differ in a covariate or in their sites.

    Paired visits are compared by a paired t test, but only numbers and only in two groups. Families
    (blocks) are not tested, because their members are not independent.

    Parameters
    ----------
    cohort : Cohort
        A cohort with one row per person and group, see `first_rows`.
    column : ndarray
        The covariate or the sites, one cell per row of the cohort.
    """
    if cohort.block is not None:
        return NOT_TESTED
    if cohort.pair is not None:
        return NOT_TESTED if is_counted(column) else _paired_test(cohort, column)
    known, member = known_cells(column), np.asarray(cohort.group)
    if is_counted(column):
        return shares_test(crosstab(column[known], member[known]))
    return means_test([column[known & (member == group)] for group in cohort.groups])


def _paired_test(cohort: Cohort, column: Array) -> GroupTest:
    """Test whether numbers differ between two visits, in persons who have both values."""
    if len(cohort.groups) > 2:
        return NOT_TESTED
    member, pair = np.asarray(cohort.group), np.asarray(cohort.pair)
    visits = []
    for group in cohort.groups:
        rows = np.flatnonzero(member == group)
        visits.append(dict(zip(pair[rows].tolist(), column[rows].tolist(), strict=True)))
    # Some persons may lack one visit: the review leaves them out only later.
    both = [person for person in visits[0] if person in visits[1]]
    first, second = (np.array([visit[person] for person in both]) for visit in visits)
    known = np.isfinite(first) & np.isfinite(second)
    change = (second - first)[known]
    if known.sum() < 2 or not np.ptp(change):
        return NOT_TESTED
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy warns if all visits are two years apart
        p = float(stats.ttest_rel(first[known], second[known]).pvalue)
    return GroupTest("paired t", max(p, np.finfo(float).eps))


def means_test(parts: list[Array]) -> GroupTest:
    """Test whether means differ: by Welch's t for two groups, by one-way ANOVA for more."""
    if min(map(len, parts)) < 2 or not any(np.ptp(part) for part in parts):
        return NOT_TESTED
    if len(parts) == 2:
        return GroupTest("Welch's t", float(stats.ttest_ind(*parts, equal_var=False).pvalue))
    return GroupTest("one-way ANOVA", float(stats.f_oneway(*parts).pvalue))


def _by_random_tables(counts: Array) -> float:
    """Return the p-value of chi-square among random tables with the same row and column sums."""
    expected = stats.contingency.expected_freq(counts)
    rows, columns = (counts.sum(axis=axis).astype(int) for axis in (1, 0))
    # The seed is fixed, so that the same table has the same p-value in each report.
    tables = stats.random_table(rows, columns, seed=0).rvs(RANDOM_TABLES)
    observed, random = (np.square(table - expected) / expected for table in (counts, tables))
    # The observed table counts as one of the tables that reach it, and so do ties up to round-off.
    reached = np.count_nonzero(random.sum(axis=(1, 2)) >= observed.sum() * (1 - 1e-12))
    return (1 + reached) / (1 + RANDOM_TABLES)


# Robust standard deviations from the median; 1 in 500 million normal cells is farther away.
OUTLYING = 6.0
OUTLYING_SHARE = 0.1  # share of a subject's regions; more outlying regions suggest a failed scan
COPY = 1e-8  # 1 - |correlation| in a group; below, one region is a copy of another
PART_OF_A_SUM = 1e-4  # weight of a part of a sum, per standard deviation; less is round-off
FEWEST_FOR_SPREAD = 10  # subjects; the spread of fewer says nothing about outliers
# Factors that turn a median and a mean absolute deviation into a standard deviation, if normal
TO_SD = 1.4826, 1.2533


def check_missing(cohort: Cohort) -> Iterator[Finding]:
    """Report how many cells are missing."""
    missing = np.isnan(cohort.values)
    if missing.any():
        yield Finding("note", "cells.missing", n=missing.sum(), share=missing.mean()).says(
            "{n:cell is/cells are} missing ({share:.1%})",
            "Such cells are imputed by the median of the region, at their site if sites are named.",
        )


def check_copies(cohort: Cohort) -> Iterator[Finding]:
    """Check whether regions are copies or linear combinations of others, within the groups."""
    values = filled(cohort.values)
    # Within groups, because a difference between the means of groups would hide a copy.
    groups = [rows for rows in parts(cohort) if rows.sum() >= FEWEST_FOR_SPREAD]
    pairs = sorted({pair for rows in groups for pair in _copies(values[rows])})
    if pairs:
        names = [f"{cohort.regions[i]!r} and {cohort.regions[j]!r}" for i, j in pairs[:LISTED]]
        yield Finding("stop", "regions.copies", n=len(pairs), pairs=names).says(
            "{n:pair} of regions with the same values: {pairs:s}",
            "Exclude one of each pair ({exclude=}): weights cannot be estimated with both.",
        )
        return  # a copy is also a linear combination, and would be reported twice
    centred = np.empty_like(values)
    for rows in parts(cohort):
        centred[rows] = values[rows] - values[rows].mean(axis=0)
    combined = combined_columns(moments_of(centred, cohort.regions))
    if combined:
        names = [cohort.regions[k] for k in combined]
        others = [cohort.regions[k] for k in _combined_of(centred, combined[0], combined)]
        yield Finding("warning", "regions.combined", names=names, others=others).says(
            "{names:region is a linear combination/regions are linear combinations} of others: "
            "{names} (the first is one of {others})",
            "Exclude one of them ({exclude=}), such as a total, because their edges mean little.",
        )


def _copies(values: Array) -> list[tuple[int, int]]:
    """Return the pairs of columns that are the same up to shift, scale and round-off."""
    centred = values - values.mean(axis=0)
    sizes = np.linalg.norm(centred, axis=0)
    unit = centred / np.where(sizes > 0, sizes, 1.0)
    i, j = np.nonzero(np.triu(np.abs(unit.T @ unit) > 1 - COPY, 1))
    return list(zip(i.tolist(), j.tolist(), strict=True))


def _combined_of(centred: Array, column: int, combined: list[int]) -> list[int]:
    """Return the columns that combine to `column`; no column in `combined` is one of them."""
    free = np.setdiff1d(np.arange(centred.shape[1]), combined)
    scale = centred.std(axis=0)
    # In standard deviations, so that one limit separates weights from round-off.
    weights, *_ = np.linalg.lstsq(
        centred[:, free] / scale[free], centred[:, column] / scale[column]
    )
    return free[np.abs(weights) > PART_OF_A_SUM].tolist()


def robust_z(values: ArrayLike) -> Array:
    """Return the distance of each cell from its column's median, in robust standard deviations.

    The standard deviation is estimated from the median absolute deviation. If this is 0, because
    more than half of the column is equal, it is estimated from the mean absolute deviation. A cell
    that is NaN stays NaN. A column with fewer than ten known cells is all NaN.
    """
    values = np.asarray(values, dtype=np.float64)
    z = np.full(values.shape, np.nan)
    for k, column in enumerate(values.T):
        known = np.isfinite(column)
        if known.sum() < FEWEST_FOR_SPREAD:
            continue
        from_centre = column[known] - np.median(column[known])
        sizes = np.abs(from_centre)
        # The median deviation is 0 if more than half of the cells are equal, as in counts of
        # lesions.
        scale = TO_SD[0] * np.median(sizes) or TO_SD[1] * sizes.mean() or 1.0
        z[known, k] = from_centre / scale
    return z


def check_outliers(cohort: Cohort) -> Iterator[Finding]:
    """Report cells and subjects that are far from all others."""
    z = np.nan_to_num(np.abs(robust_z(cohort.values)))
    outlying = z > OUTLYING
    if not outlying.any():
        return
    row, column = divmod(int(z.argmax()), z.shape[1])
    # Region and value go with the name, because they would identify a subject without it.
    cell = f"{cohort.ids[row]} ({cohort.regions[column]}: {cohort.values[row, column]:.5g})"
    yield Finding("warning", "cells.outlying", n=outlying.sum(), sd=OUTLYING, subject=cell).says(
        "{n:cell is/cells are} more than {sd:g} robust standard deviations from the median of the "
        "region",
        "Look at each of them. The farthest belongs to {subject}.",
    )
    odd = outlying.mean(axis=1) > OUTLYING_SHARE
    if odd.any():
        names = marked(cohort.ids, odd)
        yield Finding("warning", "subjects.outlying", subjects=names, share=OUTLYING_SHARE).says(
            "more than {share:.0%} of the regions are outlying in {subjects}", "Look at the scans."
        )


def check_atlas(cohort: Cohort) -> Iterator[Finding]:
    """Report regions that have no place in the atlas."""
    if cohort.atlas is None:
        yield Finding("note", "regions.no-atlas").says(
            "no atlas has these regions", "Pictures do not show lobes."
        )
        return
    places = dict(zip(cohort.regions, cohort.places, strict=True))
    unknown = [name for name, place in places.items() if place is None]
    if unknown:
        yield Finding("note", "regions.unplaced", regions=unknown, atlas=cohort.atlas.title).says(
            "{regions:region is/regions are} not in the atlas {atlas}: {regions}",
            "Such regions are used, but have no lobe and no coordinates.",
        )
    nowhere = [name for name, place in places.items() if place and np.isnan(place.x)]
    if nowhere:
        yield Finding("note", "regions.nowhere", regions=nowhere, atlas=cohort.atlas.title).says(
            "the atlas {atlas} has no coordinates for {regions:region}: {regions}",
            "Such regions are not drawn in a brain.",
        )
