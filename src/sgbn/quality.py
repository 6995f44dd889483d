"""Review of a cohort: what is odd about it, and what is done about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from sgbn.cohort import Cohort
from sgbn.exceptions import InputError, listed
from sgbn.moments import constant_columns, moments_of
from sgbn.validation import combined_columns, copied_columns

Array = NDArray[np.float64]

SUBJECT_MISSING = 0.5  # share of missing regions above which a subject is left out
REGION_MISSING = 0.2  # share of missing subjects above which a region is left out
FEW_SUBJECTS = 20  # a network of a smaller group is hardly more than noise
OUTLYING = 6.0  # robust standard deviations from the median: 1 normal cell in 500 million
OUTLYING_SHARE = 0.1  # of a subject's regions: more look like a failed scan
IMBALANCE = 0.05  # p-value below which groups are said to differ in a covariate
FEWEST_FOR_SPREAD = 10  # subjects: the spread of fewer says nothing about outliers
TO_SD = 1.4826, 1.2533  # median and mean absolute deviation to standard deviation, if normal

Level = Literal["stop", "warning", "note"]


class Finding(NamedTuple):
    """One thing to know about a cohort."""

    level: Level
    what: str
    action: str

    def __str__(self) -> str:
        return f"{self.level}: {self.what}. {self.action}."


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

    def require(self) -> Cohort:
        """Return the usable cohort, or raise an error that lists what stands in the way."""
        if self.stops:
            raise InputError("\n".join(f"{f.what}. {f.action}." for f in self.stops))
        return self.cohort


def review(cohort: Cohort) -> Review:
    """Look for what can go wrong when the groups of a cohort are compared.

    Subjects without most of their regions, regions without many of their subjects and regions
    that never vary in a group are left out; everything else is only reported.
    """
    findings: list[Finding] = []
    for step in (_leave_out_empty_subjects, _leave_out_empty_regions, _leave_out_constant_regions):
        cohort, found = step(cohort)
        findings += found
    if len(cohort.regions) < 2 or len(cohort) < 2:
        findings.append(
            Finding(
                "stop",
                f"{len(cohort)} subjects and {len(cohort.regions)} regions are left",
                "Two or more of each are needed: see what was left out, and correct the table",
            )
        )
    else:
        for check in (_groups, _sites, _covariates, _missing, _copies, _outliers, _atlas):
            findings += check(cohort)
    gravity = ("stop", "warning", "note")
    findings.sort(key=lambda finding: gravity.index(finding.level))
    return Review(tuple(findings), cohort)


def _leave_out_empty_subjects(cohort: Cohort) -> tuple[Cohort, list[Finding]]:
    if not cohort.regions:
        return cohort, []
    empty = np.isnan(cohort.values).mean(axis=1) > SUBJECT_MISSING
    if not empty.any():
        return cohort, []
    names = [name for name, bad in zip(cohort.ids, empty, strict=True) if bad]
    what = f"{len(names)} subjects lack more than {SUBJECT_MISSING:.0%} of their regions"
    found = Finding("warning", f"{what}: {listed(names)}", "They are left out")
    return cohort.subset(~empty), [found]


def _leave_out_empty_regions(cohort: Cohort) -> tuple[Cohort, list[Finding]]:
    missing = np.isnan(cohort.values)
    empty = np.any([missing[rows].mean(axis=0) > REGION_MISSING for rows in _parts(cohort)], axis=0)
    return _without(cohort, empty, f"lack more than {REGION_MISSING:.0%} of the cells of a group")


def _leave_out_constant_regions(cohort: Cohort) -> tuple[Cohort, list[Finding]]:
    filled = _filled(cohort.values)
    constant = np.full(len(cohort.regions), False)
    for rows in _parts(cohort):
        if rows.sum() > 1:  # a group of one is reported as such
            constant |= constant_columns(filled[rows])
    return _without(cohort, constant, "have the same value in all subjects of a group")


def _parts(cohort: Cohort) -> list[NDArray[np.bool_]]:
    """Rows of each group, or all without groups; none that are empty."""
    if cohort.group is None:
        return [np.full(len(cohort), True)] if len(cohort) else []
    return [np.asarray(cohort.group == name) for name in cohort.groups]


def _without(cohort: Cohort, bad: NDArray[np.bool_], what: str) -> tuple[Cohort, list[Finding]]:
    if not bad.any():
        return cohort, []
    names = [name for name, out in zip(cohort.regions, bad, strict=True) if out]
    found = Finding("warning", f"{len(names)} regions {what}: {listed(names)}", "They are left out")
    kept = [name for name, out in zip(cohort.regions, bad, strict=True) if not out]
    return cohort.subset(regions=kept), [found]


def _filled(values: Array) -> Array:
    """Values with the median of its region in each missing cell."""
    missing = np.isnan(values)
    if not missing.any():
        return values
    return np.where(missing, np.nanmedian(values, axis=0), values)


def _groups(cohort: Cohort) -> Iterator[Finding]:
    sizes = cohort.sizes
    if len(sizes) < 2:
        there = f"only the group {cohort.groups[0]!r}" if sizes else "no group column"
        yield Finding("stop", f"there is {there}", "Name a column with two or more groups")
        return
    for name, size in sizes.items():
        if size < 2:
            yield Finding(
                "stop",
                f"the group {name!r} has one subject ({cohort.ids[_first(cohort.group == name)]})",
                "Leave it out by naming the groups to compare, or correct its label",
            )
        elif size < FEW_SUBJECTS:
            yield Finding(
                "warning",
                f"the group {name!r} has {size} subjects only",
                "Its network is hardly more than noise",
            )
    smallest = min(sizes.values())
    if len(cohort.regions) > smallest / 2 and smallest >= FEW_SUBJECTS:
        yield Finding(
            "warning",
            f"{len(cohort.regions)} regions are many for {smallest} subjects in the smallest group",
            "Choose fewer regions by a list or a pattern, if the question allows",
        )


def _sites(cohort: Cohort) -> Iterator[Finding]:
    if cohort.site is None:
        return
    sites, counts = np.unique(cohort.site, return_counts=True)
    if len(sites) == 1:
        yield Finding("note", f"all subjects are of the site {sites[0]!s}", "It has no effect")
        return
    single = sites[counts == 1].tolist()
    if single:
        yield Finding(
            "warning",
            f"{len(single)} sites have one subject: {listed(single)}",
            "The overall level of that subject is taken for the site's, and removed",
        )
    if cohort.group is not None and len(cohort.groups) > 1:
        yield from _sites_of_groups(cohort.site, cohort.group)


def _sites_of_groups(site: NDArray[np.str_], group: NDArray[np.str_]) -> Iterator[Finding]:
    """Whether sites and groups can be told apart."""
    table = _crosstab(site, group)
    sites = np.unique(site)
    pure = sites[(table.counts > 0).sum(axis=1) == 1].tolist()
    if len(pure) == len(sites):
        yield Finding(
            "stop",
            "every site has subjects of one group only, so that sites and groups cannot be told "
            "apart",
            "Leave the site out and say so when you report, or add sites with several groups",
        )
        return
    if pure:
        yield Finding(
            "warning",
            f"{len(pure)} sites have subjects of one group only: {listed(pure)}",
            "The other sites alone tell sites from groups",
        )
    if table.p < IMBALANCE:
        yield Finding(
            "warning",
            f"the sites have other shares of the groups ({table.largest()}; p = {table.p:.2g})",
            "Networks hold the groups aside; a classifier loses part of their difference with the "
            "sites",
        )


class Crosstab(NamedTuple):
    """Subjects of each level in each group."""

    levels: NDArray[Any]
    groups: NDArray[np.str_]
    counts: Array

    @property
    def p(self) -> float:
        """Chance of shares as far apart, if the groups did not differ."""
        return _p_value(stats.chi2_contingency(self.counts).pvalue)  # type: ignore[attr-defined]

    def largest(self) -> str:
        """Shares of the level in which the groups differ most."""
        shares = self.counts / self.counts.sum(axis=0)
        level = int(np.argmax(np.ptp(shares, axis=1)))
        return ", ".join(
            f"{group} {share:.0%} {self.levels[level]}"
            for group, share in zip(self.groups, shares[level], strict=True)
        )


def _crosstab(column: NDArray[Any], group: NDArray[np.str_]) -> Crosstab:
    levels, level = np.unique(column, return_inverse=True)
    groups, member = np.unique(group, return_inverse=True)
    counts = np.zeros((len(levels), len(groups)))
    np.add.at(counts, (level, member), 1)
    return Crosstab(levels, groups, counts)


def _covariates(cohort: Cohort) -> Iterator[Finding]:
    for name, column in cohort.covariates.items():
        known = ~np.isnan(column) if column.dtype.kind == "f" else column != ""
        lacking = [part for part in _parts(cohort) if not known[part].any()]
        if lacking:
            whom = "all subjects" if cohort.group is None else "all subjects of a group"
            yield Finding(
                "stop",
                f"the covariate {name!r} is missing in {whom}, first "
                f"{cohort.ids[_first(lacking[0])]!r}",
                "Do not name it as a covariate: nothing is known of it there",
            )
            continue
        if not known.all():
            yield Finding(
                "note",
                f"the covariate {name!r} is missing in {(~known).sum()} of {len(cohort)} subjects, "
                f"first {cohort.ids[_first(~known)]!r}",
                "It is imputed by its median, or by its most frequent value",
            )
        if len(np.unique(column[known])) < 2:
            yield Finding("warning", f"the covariate {name!r} never varies", "It has no effect")
        elif cohort.group is not None and len(cohort.groups) > 1:
            yield from _imbalance(name, column[known], cohort.group[known])


def _imbalance(name: str, column: NDArray[Any], group: NDArray[np.str_]) -> Iterator[Finding]:
    """Whether the groups differ in a covariate."""
    table = _crosstab(column, group)
    if len(table.levels) == len(table.groups) and np.all((table.counts > 0).sum(axis=1) == 1):
        yield Finding(
            "stop",
            f"the covariate {name!r} is the group under another name",
            "Do not name it as a covariate: taking it out would take the groups out",
        )
        return
    if column.dtype.kind == "f" and len(table.levels) > 2:
        parts = [column[group == name] for name in table.groups]
        if min(map(len, parts)) < 2:
            return
        p = _p_value(stats.f_oneway(*parts).pvalue)
        numbers = ", ".join(
            f"{g} {part.mean():.4g}" for g, part in zip(table.groups, parts, strict=True)
        )
    else:
        p, numbers = table.p, table.largest()
    if p < IMBALANCE:
        yield Finding(
            "warning",
            f"the groups differ in {name!r} ({numbers}; p = {p:.2g})",
            "Its effect within the groups is regressed out; say so when you report",
        )


def _p_value(p: float) -> float:
    return float(np.nan_to_num(p, nan=1.0))  # no spread at all within the groups


def _missing(cohort: Cohort) -> Iterator[Finding]:
    missing = np.isnan(cohort.values)
    if missing.any():
        yield Finding(
            "note",
            f"{missing.sum()} cells ({missing.mean():.1%}) of {missing.any(axis=1).sum()} subjects "
            f"are missing, first {cohort.regions[_first(missing.any(axis=0))]!r}",
            "They are imputed by the median of their region at their site",
        )


def _copies(cohort: Cohort) -> Iterator[Finding]:
    values = _filled(cohort.values)
    same = _same_rows(cohort.values)
    if same is not None:
        first, second = (cohort.ids[row] for row in same)
        yield Finding(
            "warning",
            f"subjects {first!r} and {second!r} have the same values in all regions",
            "Both are kept: see whether one is a copy",
        )
    moments = moments_of(values, cohort.regions)
    pairs = [(cohort.regions[i], cohort.regions[j]) for i, j in copied_columns(moments)]
    combined = sorted(cohort.regions[k] for k in combined_columns(moments))
    if pairs:
        yield Finding(
            "warning",
            f"regions {pairs[0][0]!r} and {pairs[0][1]!r} are copies of each other "
            f"({len(pairs)} such pairs)",
            "Exclude one of them: their edges cannot be told apart",
        )
    if combined and not pairs:  # a copy is a combination too
        yield Finding(
            "warning",
            f"{listed(combined)} is a linear combination of other regions",
            "Exclude it if it is a total: its edges mean little",
        )


def _same_rows(values: Array) -> tuple[int, int] | None:
    """First two rows that are equal."""
    comparable = np.nan_to_num(values, nan=np.inf)  # no value is infinite
    _, first, inverse = np.unique(comparable, axis=0, return_index=True, return_inverse=True)
    later = np.flatnonzero(first[inverse.ravel()] != np.arange(len(values)))
    return (int(first[inverse.ravel()[later[0]]]), int(later[0])) if later.size else None


def robust_z(values: ArrayLike) -> NDArray[np.float64]:
    """Distance of each row from the column's median, in robust standard deviations.

    The median absolute deviation, or the mean one where more than half of a column are equal.
    NaN where a cell is NaN, and everywhere with fewer than ten rows.
    """
    values = np.asarray(values, dtype=np.float64)
    z = np.full(values.shape, np.nan)
    for k, column in enumerate(values.T):
        known = np.isfinite(column)
        if known.sum() < FEWEST_FOR_SPREAD:
            continue
        from_centre = column[known] - np.median(column[known])
        sizes = np.abs(from_centre)
        scale = TO_SD[0] * np.median(sizes) or TO_SD[1] * sizes.mean() or 1.0
        z[known, k] = from_centre / scale
    return z


def _outliers(cohort: Cohort) -> Iterator[Finding]:
    z = np.nan_to_num(np.abs(robust_z(cohort.values)))
    outlying = z > OUTLYING
    if not outlying.any():
        return
    row, column = np.unravel_index(np.argmax(z), z.shape)
    yield Finding(
        "warning",
        f"{outlying.sum()} cells lie more than {OUTLYING:g} robust standard deviations from their "
        f"region's median; the farthest is {cohort.regions[column]!r} of subject "
        f"{cohort.ids[row]!r} ({cohort.values[row, column]:.4g})",
        "They are kept: look at them",
    )
    odd = outlying.mean(axis=1) > OUTLYING_SHARE
    if odd.any():
        names = [name for name, bad in zip(cohort.ids, odd, strict=True) if bad]
        yield Finding(
            "warning",
            f"{len(names)} subjects are outlying in more than {OUTLYING_SHARE:.0%} of the regions: "
            f"{listed(names)}",
            "They are kept: look at their scans",
        )


def _atlas(cohort: Cohort) -> Iterator[Finding]:
    if cohort.atlas is None:
        yield Finding("note", "no atlas knows the regions", "Pictures come without lobes")
        return
    places = zip(cohort.regions, cohort.places, strict=True)
    unknown = [name for name, place in places if place is None]
    if unknown:
        yield Finding(
            "note",
            f"{len(unknown)} regions are not in the atlas {cohort.atlas.title}: {listed(unknown)}",
            "They are used, but have no lobe and no place",
        )


def _first(marked: Any) -> int:
    return int(np.flatnonzero(marked)[0])
