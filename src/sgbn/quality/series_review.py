"""Review of time series: empty regions, few volumes, filters, copies, sessions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sgbn.cohort import Cohort
from sgbn.exceptions import listed
from sgbn.quality.findings import Finding, leave_out_regions, leave_out_subjects, marked
from sgbn.quality.groups import FEW_SUBJECTS, check_sizes
from sgbn.quality.independence import (
    OVERRULED,
    copies_in_words,
    find_sessions,
    unnamed_persons,
)
from sgbn.quality.likeness import near_pairs
from sgbn.quality.series_quality import SLOW, USUAL_TR, effective_numbers, filters_seen, spectra_of
from sgbn.series_cohort import SeriesCohort
from sgbn.structure.series.subject_moments import MIN_EFFECTIVE_VOLUMES
from sgbn.types import Array, Mask

REGION_EMPTY = 0.05  # share of the subjects above which an empty region is left out
FILTERED = 0.5  # share of low-pass filtered subjects who need a high-pass filter for "band-pass"
CHANCE_SHARE = 0.05  # of the subjects in whom a filter is seen, or not seen, by chance
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
    n_empty = np.isnan(cohort.values).sum(axis=0)
    what = (
        f"empty in more than {REGION_EMPTY:.0%} of the subjects, up to {n_empty.max(initial=0)} of "
        f"{len(cohort)}"
    )
    return leave_out_regions(cohort, n_empty > REGION_EMPTY * len(cohort), ("is", "are"), what)


def leave_out_empty_subjects(cohort: SeriesCohort) -> tuple[SeriesCohort, list[Finding]]:
    """Leave out subjects with an empty region."""
    empty = np.isnan(cohort.values)
    regions = marked(cohort.regions, np.asarray(empty.any(axis=0)))
    what = f"an empty region ({listed(regions, 3)})"
    return leave_out_subjects(cohort, np.asarray(empty.any(axis=1)), ("has", "have"), what)


def leave_out_short_series(cohort: SeriesCohort) -> tuple[SeriesCohort, list[Finding]]:
    """Leave out subjects whose effective number of volumes is too small."""
    return leave_out_subjects(
        cohort,
        effective_numbers(cohort) < MIN_EFFECTIVE_VOLUMES,
        ("has", "have"),
        f"volumes that are worth fewer than {MIN_EFFECTIVE_VOLUMES} independent ones",
        ". Series that are short, or band-pass filtered, or stay alike for long are usual causes",
    )


def check_series_sizes(cohort: Cohort) -> Iterator[Finding]:
    """Whether there are groups, each of enough subjects."""
    yield from check_sizes(cohort, FEW_SUBJECTS, FEW_ACTION)


def check_filters(cohort: SeriesCohort) -> Iterator[Finding]:
    """Whether series were filtered, and what that means."""
    spectra = spectra_of(cohort)
    high, low = filters_seen(spectra)
    # A low-pass filter is graver, and a band-pass filter is named with it.
    if low.mean() > CHANCE_SHARE:
        border = np.median(
            [spectrum.border for spectrum, seen in zip(spectra, low, strict=True) if seen]
        )
        yield from _low_pass(cohort, low, high, border)
        yield from _filtered_groups(cohort, low)
    elif high.mean() > CHANCE_SHARE:
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
    """Stop if a filter is seen in nearly all subjects of one group and in hardly any of another."""
    if cohort.group is None:
        return
    shares = {name: seen[cohort.group == name] for name in cohort.groups}
    rates = [marks.mean() for marks in shares.values()]
    if min(rates) <= CHANCE_SHARE and max(rates) >= 1 - CHANCE_SHARE:
        counts = ", ".join(
            f"{marks.sum()} of {len(marks)} in {name}" for name, marks in shares.items()
        )
        yield Finding(
            "stop",
            f"the groups were filtered differently: a filter is seen in {counts}",
            "Process all subjects alike: any difference between groups may come from the filter",
        )


def _share(seen: Mask) -> str:
    return f"{seen.sum()} of {len(seen)} subjects"


def _mixed(seen: Mask) -> str:
    if seen.mean() >= 1 - CHANCE_SHARE:
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
    for finding in copies or [*find_sessions(cohort)] or [*unnamed_persons(cohort)]:
        if overruled and finding.level == "stop":
            yield finding._replace(level="warning", action=OVERRULED)
        else:
            yield finding if finding in copies else finding._replace(action=REMEDY)


def copied_series(cohort: SeriesCohort) -> Iterator[Finding]:
    """Series of two subjects that are the same, but for rounding, level and scale."""
    lengths = np.array(cohort.n_volumes)
    pairs = []
    for length in np.unique(lengths):
        # Copies have the same length; only such series can be compared cell by cell.
        rows = np.flatnonzero(lengths == length)
        cells = np.array([_some_cells(cohort, row) for row in rows.tolist()])
        pairs.append(rows[near_pairs(cells, COPY)])
    near = np.concatenate(pairs)
    if len(near):
        what, rows_said = copies_in_words(cohort, near, "series")
        action = "Leave all but one of each out: the same file was copied or named twice"
        yield Finding("stop", what, f"{action}. {rows_said}")


def _some_cells(cohort: SeriesCohort, row: int) -> Array:
    """Cells of a series spread over volumes and regions, in standard deviations of their region."""
    series = cohort.series[row]
    # Some hundred cells are enough to tell two series apart.
    places = np.linspace(0, series.size - 1, min(COMPARED, series.size)).astype(np.intp)
    volumes, columns = np.unravel_index(places, series.shape)
    centred = series[volumes, columns] - series.mean(axis=0)[columns]
    cells: Array = centred / series.std(axis=0)[columns]
    return cells
