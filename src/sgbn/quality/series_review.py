"""Review of time series: empty regions, few volumes, filters, copies, sessions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.series import MIN_EFFECTIVE_VOLUMES, SeriesCohort
from sgbn.core.exceptions import listed
from sgbn.core.types import Array, Mask
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

REGION_EMPTY = 0.05  # a region that is empty in a larger share of the subjects is left out
FILTERED = 0.5  # share of low-pass subjects who must also have a high-pass filter for "band-pass"
CHANCE_SHARE = 0.05  # share of subjects in whom a filter is seen, or not seen, by chance
COMPARED = 256  # number of cells of two series that are compared, to find copies
COPY = 0.01  # largest difference of these cells in copies, in standard deviations
FEW_ACTION = "Only large differences can be found with so few subjects"
REMEDY = (
    "If a person has several series, name the column that identifies the person: --subject COLUMN "
    "(subject=) if these series are in one group, --pair COLUMN (pair=) if each person has one "
    "series in every group. Or keep one series per subject. If each series is of a different "
    "subject, give --rows-are-subjects, Settings(rows_are_subjects=True)"
)


def leave_out_empty_regions(cohort: SeriesCohort) -> tuple[SeriesCohort, list[Finding]]:
    """Leave out regions that are empty in many subjects."""
    n_empty = np.isnan(cohort.values).sum(axis=0)
    what = (
        f"empty in more than {REGION_EMPTY:.0%} of the subjects (in up to "
        f"{n_empty.max(initial=0)} of {len(cohort)})"
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
        f"series that are worth fewer than {MIN_EFFECTIVE_VOLUMES} independent volumes",
        ". Usual causes are short series, a band-pass filter, and values that change slowly",
    )


def check_series_sizes(cohort: Cohort) -> Iterator[Finding]:
    """Check that there are groups, and that each has enough subjects."""
    yield from check_sizes(cohort, FEW_SUBJECTS, FEW_ACTION)


def check_filters(cohort: SeriesCohort) -> Iterator[Finding]:
    """Check whether series were filtered, and say what this means for the analysis."""
    spectra = spectra_of(cohort)
    high, low = filters_seen(spectra)
    # A low-pass filter is more serious. Its finding also reports a band-pass filter.
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
            "The filter removes drifts, as it should, but also part of the signal. Do not filter "
            "the series again" + _mixed(high),
        )
    if cohort.tr is None:
        yield Finding(
            "note",
            "the time from one volume to the next (TR) is not known",
            "It is used only to name the frequencies of filters. Give it with --tr SECONDS (tr=)",
        )


def _low_pass(cohort: SeriesCohort, low: Mask, high: Mask, border: float) -> Iterator[Finding]:
    kind = "band-pass" if high[low].mean() >= FILTERED else "low-pass"
    worth = np.median(effective_numbers(cohort)[low])
    volumes = int(np.median(np.array(cohort.n_volumes)[low]))
    yield Finding(
        "warning",
        f"a {kind} filter is seen in {_share(low)}: changes faster than about "
        f"{_frequency(border, cohort.tr)} are missing",
        f"With such a filter, consecutive volumes repeat each other: {volumes} volumes are worth "
        f"about {worth:.0f} independent volumes, and this number is what counts. Series without a "
        f"low-pass filter contain more information{_mixed(low)}",
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
            "Process all subjects in the same way, because any difference between the groups may "
            "come from the filter",
        )


def _share(seen: Mask) -> str:
    return f"{seen.sum()} of {len(seen)} subjects"


def _mixed(seen: Mask) -> str:
    if seen.mean() >= 1 - CHANCE_SHARE:
        return ""
    return (
        ". Not all subjects seem to be filtered. Process all subjects in the same way, because "
        "otherwise the groups may differ by the filter"
    )


def _frequency(hertz: float, tr: float | None) -> str:
    if tr is not None:
        return f"{hertz:.1g} Hz"
    return f"{2 * USUAL_TR * hertz:.0%} of the highest frequency"


def check_series_independence(
    cohort: SeriesCohort, *, overruled: bool = False
) -> Iterator[Finding]:
    """Check whether series are copies of each other, or sessions of a person.

    If the user said that all series are subjects (`overruled`), stops become warnings.
    """
    copies = [*copied_series(cohort)]
    for finding in copies or [*find_sessions(cohort)] or [*unnamed_persons(cohort)]:
        if overruled and finding.level == "stop":
            yield finding._replace(level="warning", action=OVERRULED)
        else:
            yield finding if finding in copies else finding._replace(action=REMEDY)


def copied_series(cohort: SeriesCohort) -> Iterator[Finding]:
    """Report series of different subjects that are the same up to rounding, level and scale."""
    lengths = np.array(cohort.n_volumes)
    pairs = []
    for length in np.unique(lengths):
        # Copies have the same length; only such series can be compared cell by cell.
        rows = np.flatnonzero(lengths == length)
        cells = np.array([_some_cells(cohort, row) for row in rows.tolist()])
        pairs.append(rows[near_pairs(cells, COPY)])
    near = np.concatenate(pairs)
    if len(near):
        what, all_copies = copies_in_words(cohort, near, "series")
        action = "Keep only one of each: the same file was copied or named twice"
        yield Finding("stop", what, f"{action}. {all_copies}")


def _some_cells(cohort: SeriesCohort, row: int) -> Array:
    """Return some cells of a series, in standard deviations of their region."""
    series = cohort.series[row]
    # A few hundred cells, spread over volumes and regions, are enough to tell two series apart.
    places = np.linspace(0, series.size - 1, min(COMPARED, series.size)).astype(np.intp)
    volumes, columns = np.unravel_index(places, series.shape)
    centred = series[volumes, columns] - series.mean(axis=0)[columns]
    cells: Array = centred / series.std(axis=0)[columns]
    return cells
