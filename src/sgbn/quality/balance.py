"""Review of sites and covariates: whether their effects can be separated from the groups."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sgbn.cohort.cohort import Cohort
from sgbn.core.exceptions import counted, listed
from sgbn.core.types import Array
from sgbn.quality.findings import Finding, first_true, parts
from sgbn.quality.group_tests import covariate_test, crosstab, first_rows, is_counted, known_cells

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
        yield Finding("note", f"all subjects are from the site {sites[0]!s}", "It has no effect")
        return
    # The effect of a site with one subject cannot be separated from this subject.
    single = sites[counts == 1].tolist()
    if single:
        yield Finding(
            "warning",
            f"{counted(len(single), 'site has one subject', 'sites have one subject each')}: "
            f"{listed(single)}",
            "The overall level of such a subject counts as the level of its site, and is removed. "
            "To keep this level, join small sites",
        )
    if cohort.group is not None and len(cohort.groups) > 1:
        yield from _sites_of_groups(cohort)


def unnamed_sites(cohort: Cohort) -> Iterator[Finding]:
    """Check whether columns of the table look like sites or scanners, but were not named."""
    if cohort.site is not None:
        return
    for column, labels in cohort.provenance.get("unnamed_sites", {}).items():
        what = f"the column {column!r} looks like sites or scanners ({labels['sites']} labels)"
        name = f"--site {column} (site={column!r})"
        leave = f"--exclude {column} (exclude={column!r})"
        if labels["told"] >= SITE_IS_GROUP:
            yield Finding(
                "stop",
                f"{what}, but was not named. It nearly determines the groups, so that differences "
                "between the groups may come from the sites alone",
                f"Name it: {name}. If it is not a site, or if you want to go on without it and say "
                f"so when you report: {leave}",
            )
        else:
            yield Finding(
                "warning",
                f"{what}, but was not named: its effects are not removed",
                f"Name it: {name}. Or leave it out: {leave}",
            )


def _sites_of_groups(cohort: Cohort) -> Iterator[Finding]:
    """Check whether the effects of sites and groups can be separated."""
    site, group = np.asarray(cohort.site), np.asarray(cohort.group)
    table = crosstab(site, group)
    sites = np.unique(site)
    pure = sites[(table.counts > 0).sum(axis=1) == 1].tolist()
    if len(pure) == len(sites):
        yield Finding(
            "stop",
            "every site has subjects of one group only, so that the effects of sites and groups "
            "cannot be separated",
            "Exclude the column of the sites (exclude=, --exclude) instead of naming it as the "
            "site, and say so when you report. Or add sites with several groups",
        )
        return
    if pure:
        yield Finding(
            "warning",
            f"{counted(len(pure), 'site has', 'sites have')} subjects of one group only: "
            f"{listed(pure)}",
            "Only the other sites can separate the effects of sites and groups. Say so when you "
            "report, or add subjects of other groups at these sites",
        )
    # With several sessions, the site of a person would count several times.
    used = first_rows(cohort)
    p = covariate_test(used, np.asarray(used.site)).p
    if p < IMBALANCE:
        shares = crosstab(np.asarray(used.site), np.asarray(used.group)).largest()
        yield Finding(
            "warning",
            f"the shares of the groups differ between sites ({shares}; p = {p:.2g})",
            "For networks, site effects are estimated within groups. A classifier cannot do this: "
            "it loses part of the difference between groups when site effects are removed",
        )


def check_covariates(cohort: Cohort) -> Iterator[Finding]:
    """Check whether covariates are known, vary, and have similar values in all groups."""
    for name, column in cohort.covariates.items():
        if cohort.atlas is not None and cohort.atlas.find(name) is not None:
            yield Finding(
                "warning",
                f"the covariate {name!r} has the name of a region",
                "Its effect is removed from all other regions, and it is not a node of the "
                "networks. Name it as a covariate only if you want this",
            )
        known = known_cells(column)
        lacking = [part for part in parts(cohort) if not known[part].any()]
        if lacking:
            whom = "all subjects" if cohort.group is None else "all subjects of a group"
            yield Finding(
                "stop",
                f"the covariate {name!r} is missing in {whom}, such as "
                f"{cohort.ids[first_true(lacking[0])]!r}",
                "Do not name it as a covariate, because no value of it is known there",
            )
            continue
        if not known.all():
            yield Finding(
                "note",
                f"the covariate {name!r} is missing in {(~known).sum()} of {len(cohort)} subjects, "
                f"such as {cohort.ids[first_true(~known)]!r}",
                "Missing numbers are replaced by the median, and missing labels by the most "
                "frequent one. The tests use the mean, and the label 'unknown'",
            )
        if len(np.unique(column[known])) < 2:
            yield Finding(
                "warning", f"the covariate {name!r} is the same in all subjects", "It has no effect"
            )
        elif cohort.group is not None and len(cohort.groups) > 1:
            yield from _imbalance(name, first_rows(cohort))


def _imbalance(name: str, cohort: Cohort) -> Iterator[Finding]:
    """Check whether the groups differ in a covariate."""
    known = known_cells(cohort.covariates[name])
    column, group = cohort.covariates[name][known], np.asarray(cohort.group)[known]
    table = crosstab(column, group)
    # If each level is in one group, and each group has one level, the levels are the groups.
    if len(table.levels) == len(table.groups) and np.all((table.counts > 0).sum(axis=1) == 1):
        yield Finding(
            "stop",
            f"the covariate {name!r} is the group under another name",
            "Do not name it as a covariate: removing its effect would remove the differences "
            "between the means of the groups",
        )
        return
    if not is_counted(column):
        parts = [column[group == name] for name in table.groups]
        if min(map(len, parts)) < 2:
            return
        between = _between(parts)
        # An example is a clinical score by which patients were chosen.
        if between > DEFINING:
            yield Finding(
                "warning",
                f"{name!r} nearly defines the groups: {between:.0%} of its variance is between the "
                "groups",
                "Removing its effect removes part of the difference between groups. If it was used "
                "to form the groups, do not name it as a covariate",
            )
            return
        numbers = ", ".join(
            f"{g} {part.mean():.4g}" for g, part in zip(table.groups, parts, strict=True)
        )
    else:
        numbers = table.largest()
    p = covariate_test(cohort, cohort.covariates[name]).p
    if p < IMBALANCE:
        yield Finding(
            "warning",
            f"the groups differ in {name!r} ({numbers}; p = {p:.2g})",
            "Its effect within the groups is held fixed. Say so when you report",
        )


def _between(parts: list[Array]) -> float:
    """Return the share of the variance that is between the parts (eta squared)."""
    everyone = np.concatenate(parts)
    within = sum(((part - part.mean()) ** 2).sum() for part in parts)
    return float(1 - within / ((everyone - everyone.mean()) ** 2).sum())
