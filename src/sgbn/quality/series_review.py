"""Review of time series: empty regions, few volumes, filters, copies, sessions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sgbn.cohort import Cohort
from sgbn.exceptions import counted, listed
from sgbn.quality.findings import Finding
from sgbn.quality.groups import FEW_SUBJECTS, check_sizes
from sgbn.quality.independence import (
    OVERRULED,
    copies_in_words,
    find_sessions,
    near_pairs,
    unnamed_persons,
)
from sgbn.quality.series_quality import (
    SLOW,
    USUAL_TR,
    effective_numbers,
    filters_seen,
    spectra_of,
)
from sgbn.series_cohort import SeriesCohort
from sgbn.structure.series.subject_moments import FEWEST_EFFECTIVE
from sgbn.types import Array, Mask

REGION_EMPTY = 0.05  # share of the subjects above which an empty region is left out
FILTERED = 0.5  # share of the subjects from which on a filter is said to be that of the study
SOME = 0.05  # share of the subjects up to which filters are seen, or not seen, by chance
COMPARED = 256  # cells of two series that are compared, to find copies
COPY = 0.01  # standard deviations by which each of them may differ
FEW_ACTION = "Only large differences can be found with so few"
REMEDY = (
    "If a person has several series, name the column that says who it is: --subject COLUMN "
    "(subject=) where they are in one group, --pair COLUMN (pair=) where each person is there once "
    "in every group. Or keep one series per subject. If each is another subject, say so: "
    "--rows-are-subjects, Settings(rows_are_subjects=True)"
)


def leave_out_empty_regions(cohort: SeriesCohort) -> tuple[SeriesCohort, list[Finding]]:
    """Leave out regions that are empty in many subjects."""
    empty = np.isnan(cohort.values)
    many = empty.sum(axis=0) > REGION_EMPTY * len(cohort)
    if not many.any():
        return cohort, []
    names = [name for name, out in zip(cohort.regions, many, strict=True) if out]
    kept = [name for name, out in zip(cohort.regions, many, strict=True) if not out]
    what = (
        f"{counted(len(names), 'region is', 'regions are')} empty in more than {REGION_EMPTY:.0%} "
        f"of the subjects, up to {empty.sum(axis=0).max()} of {len(cohort)}: {listed(names)}"
    )
    action = "It is left out" if len(names) == 1 else "They are left out"
    return cohort.subset(regions=kept), [Finding("warning", what, action)]


def leave_out_empty_subjects(cohort: SeriesCohort) -> tuple[SeriesCohort, list[Finding]]:
    """Leave out subjects with an empty region."""
    empty = np.isnan(cohort.values)
    regions = [name for k, name in enumerate(cohort.regions) if empty[:, k].any()]
    out = np.asarray(empty.any(axis=1))
    return _without(cohort, out, f"an empty region ({listed(regions, 3)})")


def leave_out_short_series(cohort: SeriesCohort) -> tuple[SeriesCohort, list[Finding]]:
    """Leave out subjects whose volumes are worth too few."""
    worth = effective_numbers(cohort)
    return _without(
        cohort,
        worth < FEWEST_EFFECTIVE,
        f"volumes that are worth fewer than {FEWEST_EFFECTIVE} independent ones",
        ". Series that are short, or band-pass filtered, or stay alike for long are usual causes",
    )


def _without(
    cohort: SeriesCohort, out: Mask, what: str, why: str = ""
) -> tuple[SeriesCohort, list[Finding]]:
    if not out.any():
        return cohort, []
    names = [name for name, bad in zip(cohort.ids, out, strict=True) if bad]
    have = counted(len(names), "subject has", "subjects have")
    action = ("It is left out" if len(names) == 1 else "They are left out") + why
    found = Finding("warning", f"{have} {what}: {listed(names)}", action, tuple(names))
    return cohort.subset(~out), [found]


def check_series_sizes(cohort: Cohort) -> Iterator[Finding]:
    """Whether there are groups, each of enough subjects."""
    yield from check_sizes(cohort, FEW_SUBJECTS, FEW_ACTION)


def check_filters(cohort: SeriesCohort) -> Iterator[Finding]:
    """Whether series were filtered, and what that means."""
    spectra = spectra_of(cohort)
    high, low = filters_seen(spectra)
    if low.mean() > SOME:
        border = np.median([one.border for one, seen in zip(spectra, low, strict=True) if seen])
        yield from _low_pass(cohort, low, high, border)
        yield from _filtered_groups(cohort, low)
    elif high.mean() > SOME:
        yield Finding(
            "warning",
            f"a high-pass filter is seen in {_share(high)}: changes slower than about "
            f"{_frequency(SLOW, cohort.tr)} are missing",
            "It takes out drifts, as it should, and part of the signal. Do not filter again"
            + _mixed(high),
        )
    if cohort.tr is None:
        yield Finding(
            "note",
            "the time from volume to volume (TR) is not known",
            "It is used only to name the frequencies of filters: --tr SECONDS (tr=) gives it",
        )


def _low_pass(cohort: SeriesCohort, low: Mask, high: Mask, border: float) -> Iterator[Finding]:
    kind = "band-pass" if high[low].mean() >= FILTERED else "low-pass"
    worth = np.median(effective_numbers(cohort)[low])
    volumes = int(np.median(np.array(cohort.n_volumes)[low]))
    yield Finding(
        "warning",
        f"a {kind} filter is seen in {_share(low)}: changes faster than about "
        f"{_frequency(border, cohort.tr)} are missing",
        f"Volumes that follow each other repeat each other then: {volumes} of them are worth about "
        f"{worth:.0f} independent ones, and that number is what counts. Series without a low-pass "
        f"filter tell more{_mixed(low)}",
    )


def _filtered_groups(cohort: SeriesCohort, seen: Mask) -> Iterator[Finding]:
    """Stop at groups that were filtered unlike each other."""
    if cohort.group is None:
        return
    shares = {name: seen[cohort.group == name] for name in cohort.groups}
    rates = [own.mean() for own in shares.values()]
    if min(rates) <= SOME and max(rates) >= 1 - SOME:
        counts = ", ".join(f"{own.sum()} of {len(own)} in {name}" for name, own in shares.items())
        yield Finding(
            "stop",
            f"the groups were filtered unlike each other: a filter is seen in {counts}",
            "Process all subjects alike: no difference could be told from that of the filter",
        )


def _share(seen: Mask) -> str:
    return f"{seen.sum()} of {len(seen)} subjects"


def _mixed(seen: Mask) -> str:
    if seen.mean() >= 1 - SOME:
        return ""
    return ". Not all subjects seem to be filtered: process all alike, or groups may differ by it"


def _frequency(hertz: float, tr: float | None) -> str:
    if tr is not None:
        return f"{hertz:.1g} Hz"
    return f"{2 * USUAL_TR * hertz:.0%} of the highest frequency"


def check_series_independence(
    cohort: SeriesCohort, *, overruled: bool = False
) -> Iterator[Finding]:
    """Whether series are copies of each other, or sessions of a person.

    Who says that they are subjects all the same (`overruled`) is warned, and not stopped.
    """
    copies = [*copied_series(cohort)]
    for one in copies or [*find_sessions(cohort)] or [*unnamed_persons(cohort)]:
        if overruled and one.level == "stop":
            yield one._replace(level="warning", action=OVERRULED)
        else:
            yield one if one in copies else one._replace(action=REMEDY)


def copied_series(cohort: SeriesCohort) -> Iterator[Finding]:
    """Series of two subjects that are the same, but for rounding, level and scale."""
    lengths = np.array(cohort.n_volumes)
    pairs = []
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        cells = np.array([_some_cells(cohort, row) for row in rows.tolist()])
        pairs.append(rows[near_pairs(cells, COPY)])
    found = np.concatenate(pairs)
    if len(found):
        what, rows_said = copies_in_words(cohort, found, "series")
        action = "Leave all but one of each out: the same file was copied or named twice"
        yield Finding("stop", what, f"{action}. {rows_said}")


def _some_cells(cohort: SeriesCohort, row: int) -> Array:
    """Cells of a series spread over volumes and regions, in standard deviations of their region."""
    series = cohort.series[row]
    places = np.linspace(0, series.size - 1, min(COMPARED, series.size)).astype(np.intp)
    volumes, columns = np.unravel_index(places, series.shape)
    centred = series[volumes, columns] - series.mean(axis=0)[columns]
    found: Array = centred / series.std(axis=0)[columns]
    return found
