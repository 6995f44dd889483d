"""Review of sites and covariates: whether they can be told from the groups."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sgbn.cohort import Cohort
from sgbn.exceptions import counted, listed
from sgbn.quality.findings import Finding, first_true, parts
from sgbn.quality.group_tests import covariate_test, crosstab, first_rows, is_counted, known_cells
from sgbn.types import Array

SITE_IS_GROUP = 0.8  # share of wrong guesses of the group that knowing the site avoids
DEFINING = 0.6  # share of its variance between groups; above it a covariate defines the groups
IMBALANCE = 0.05  # p-value below which groups are said to differ in a covariate


def check_sites(cohort: Cohort) -> Iterator[Finding]:
    """Check that sites are named, have enough subjects, and have subjects of several groups."""
    yield from unnamed_sites(cohort)
    if cohort.site is None:
        return
    sites, counts = np.unique(cohort.site, return_counts=True)
    if len(sites) == 1:
        yield Finding("note", f"all subjects are of the site {sites[0]!s}", "It has no effect")
        return
    # One subject and its site cannot be told apart.
    single = sites[counts == 1].tolist()
    if single:
        yield Finding(
            "warning",
            f"{counted(len(single), 'site has one subject', 'sites have one subject each')}: "
            f"{listed(single)}",
            "The overall level of such a subject is taken for the level of the site, and removed. "
            "To keep it, join small sites",
        )
    if cohort.group is not None and len(cohort.groups) > 1:
        yield from _sites_of_groups(cohort)


def unnamed_sites(cohort: Cohort) -> Iterator[Finding]:
    """Whether columns of the table look like sites or scanners, and were not named."""
    if cohort.site is not None:
        return
    for column, labels in cohort.provenance.get("unnamed_sites", {}).items():
        what = f"the column {column!r} looks like sites or scanners ({labels['sites']} labels)"
        name = f"--site {column} (site={column!r})"
        leave = f"--exclude {column} (exclude={column!r})"
        if labels["told"] >= SITE_IS_GROUP:
            yield Finding(
                "stop",
                f"{what}, was not named, and nearly determines the groups: what differs between "
                "the groups may be the sites alone",
                f"Name it: {name}. If it is not a site, or you want to go on without it and say so "
                f"when you report: {leave}",
            )
        else:
            yield Finding(
                "warning",
                f"{what}, and was not named: its effects are not taken out",
                f"Name it: {name}. Or say that it plays no part: {leave}",
            )


def _sites_of_groups(cohort: Cohort) -> Iterator[Finding]:
    """Whether sites and groups can be told apart."""
    site, group = np.asarray(cohort.site), np.asarray(cohort.group)
    table = crosstab(site, group)
    sites = np.unique(site)
    pure = sites[(table.counts > 0).sum(axis=1) == 1].tolist()
    if len(pure) == len(sites):
        yield Finding(
            "stop",
            "every site has subjects of one group only, so that sites and groups cannot be told "
            "apart",
            "Leave the site out (--exclude COLUMN, exclude=, in place of --site) and say so when "
            "you report, or add sites with several groups",
        )
        return
    if pure:
        yield Finding(
            "warning",
            f"{counted(len(pure), 'site has', 'sites have')} subjects of one group only: "
            f"{listed(pure)}",
            "Only the other sites can separate effects of sites and groups: say so when you "
            "report, or add subjects of other groups at these sites",
        )
    # Sessions of one person would count that person's site several times.
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
    """Whether covariates are known, vary, and are alike in the groups."""
    for name, column in cohort.covariates.items():
        if cohort.atlas is not None and cohort.atlas.find(name) is not None:
            yield Finding(
                "warning",
                f"the covariate {name!r} is a region by its name",
                "It is taken out of all other regions and is not a node of the networks: name it "
                "as a covariate only if you want that",
            )
        known = known_cells(column)
        lacking = [part for part in parts(cohort) if not known[part].any()]
        if lacking:
            whom = "all subjects" if cohort.group is None else "all subjects of a group"
            yield Finding(
                "stop",
                f"the covariate {name!r} is missing in {whom}, first "
                f"{cohort.ids[first_true(lacking[0])]!r}",
                "Do not name it as a covariate: nothing is known of it there",
            )
            continue
        if not known.all():
            yield Finding(
                "note",
                f"the covariate {name!r} is missing in {(~known).sum()} of {len(cohort)} subjects, "
                f"first {cohort.ids[first_true(~known)]!r}",
                "It is imputed by its median, or by its most frequent value",
            )
        if len(np.unique(column[known])) < 2:
            yield Finding("warning", f"the covariate {name!r} never varies", "It has no effect")
        elif cohort.group is not None and len(cohort.groups) > 1:
            yield from _imbalance(name, first_rows(cohort))


def _imbalance(name: str, cohort: Cohort) -> Iterator[Finding]:
    """Whether the groups differ in a covariate."""
    known = known_cells(cohort.covariates[name])
    column, group = cohort.covariates[name][known], np.asarray(cohort.group)[known]
    table = crosstab(column, group)
    # Each level in one group and as many levels as groups: the same labels, renamed.
    if len(table.levels) == len(table.groups) and np.all((table.counts > 0).sum(axis=1) == 1):
        yield Finding(
            "stop",
            f"the covariate {name!r} is the group under another name",
            "Do not name it as a covariate: removing its effect would remove the groups",
        )
        return
    if not is_counted(column):
        parts = [column[group == name] for name in table.groups]
        if min(map(len, parts)) < 2:
            return
        between = _between(parts)
        # Such as a clinical score by which patients were chosen.
        if between > DEFINING:
            yield Finding(
                "warning",
                f"{name!r} nearly defines the groups: they differ in it by {between:.0%} of its "
                "variance",
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
            "Its effect within the groups is held fixed; say so when you report",
        )


def _between(parts: list[Array]) -> float:
    """Share of the variance that lies between the parts."""
    both = np.concatenate(parts)
    # One minus the ratio of sums of squares (eta squared).
    within = sum(((part - part.mean()) ** 2).sum() for part in parts)
    return float(1 - within / ((both - both.mean()) ** 2).sum())
