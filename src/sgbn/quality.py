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
    if not len(cohort):
        return cohort, []
    empty = np.isnan(cohort.values).mean(axis=0) > REGION_MISSING
    what = f"lack more than {REGION_MISSING:.0%} of their cells"
    return _without(cohort, empty, what)


def _leave_out_constant_regions(cohort: Cohort) -> tuple[Cohort, list[Finding]]:
    constant = np.full(len(cohort.regions), False)
    filled = _filled(cohort.values)
    for group in cohort.groups or [None]:
        rows = np.full(len(cohort), True) if group is None else cohort.group == group
        if np.sum(rows) > 1:  # a group of one is reported as such
            constant |= constant_columns(filled[rows])
    return _without(cohort, constant, "have the same value in all subjects of a group")


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
    single = [str(name) for name, count in zip(sites, counts, strict=True) if count == 1]
    if single:
        yield Finding(
            "warning",
            f"{len(single)} sites have one subject: {listed(single)}",
            "Their means are shrunk towards the others', their spread is left as it is",
        )
    if cohort.group is None or len(cohort.groups) < 2:
        return
    pure = [str(name) for name in sites if len(np.unique(cohort.group[cohort.site == name])) == 1]
    if len(pure) == len(sites):
        yield Finding(
            "stop",
            "every site has subjects of one group only, so that sites and groups cannot be told "
            "apart",
            "Leave the site out and say so when you report, or add sites with several groups",
        )
    elif pure:
        yield Finding(
            "warning",
            f"{len(pure)} sites have subjects of one group only: {listed(pure)}",
            "They cannot tell their site from their group; harmonising hides part of the "
            "difference",
        )


def _covariates(cohort: Cohort) -> Iterator[Finding]:
    for name, column in cohort.covariates.items():
        missing = np.isnan(column) if column.dtype.kind == "f" else column == ""
        if missing.any():
            yield Finding(
                "note",
                f"the covariate {name!r} is missing in {missing.sum()} subjects, first "
                f"{cohort.ids[_first(missing)]!r}",
                "It is imputed by its median, or by its most frequent value",
            )
        levels = np.unique(column[~missing])
        if len(levels) < 2:
            yield Finding("warning", f"the covariate {name!r} never varies", "It has no effect")
        elif cohort.group is not None and len(cohort.groups) > 1:
            yield from _imbalance(name, column[~missing], cohort.group[~missing])


def _imbalance(name: str, column: NDArray[Any], group: NDArray[np.str_]) -> Iterator[Finding]:
    """Whether the groups differ in a covariate."""
    levels, level = np.unique(column, return_inverse=True)
    groups, member = np.unique(group, return_inverse=True)
    table = np.zeros((len(levels), len(groups)))
    np.add.at(table, (level, member), 1)
    if table.shape[0] == table.shape[1] and np.all((table > 0).sum(axis=1) == 1):
        yield Finding(
            "stop",
            f"the covariate {name!r} is the group under another name",
            "Do not name it as a covariate: taking it out would take the groups out",
        )
        return
    if column.dtype.kind == "f" and len(levels) > 2:
        parts = [column[member == k] for k in range(len(groups))]
        if min(map(len, parts)) < 2:
            return
        p = _p_value(stats.f_oneway(*parts).pvalue)
        numbers = [f"{g} {part.mean():.4g}" for g, part in zip(groups, parts, strict=True)]
    else:
        p = _p_value(stats.chi2_contingency(table).pvalue)  # type: ignore[attr-defined]
        shares = table[-1] / table.sum(axis=0)
        numbers = [f"{g} {share:.0%} {levels[-1]}" for g, share in zip(groups, shares, strict=True)]
    if p < IMBALANCE:
        yield Finding(
            "warning",
            f"the groups differ in {name!r} ({', '.join(numbers)}; p = {p:.2g})",
            "It is regressed out of the regions; what remains of it cannot be told from the group",
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
            "They are imputed by the median of their region",
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
    elif combined:
        yield Finding(
            "warning",
            f"{listed(combined)} is a linear combination of other regions",
            "Exclude it if it is a total: its edges mean little",
        )


def _same_rows(values: Array) -> tuple[int, int] | None:
    """First two rows that are equal."""
    _, first, inverse = np.unique(
        np.nan_to_num(values), axis=0, return_index=True, return_inverse=True
    )
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
