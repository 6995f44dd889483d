"""Review of time series: empty regions, few volumes, filters, copies, censoring and motion.

`series_quality` measures the quality of series, with one row per subject.

The spectrum shows whether series were filtered. A low-pass filter leaves hardly any power above its
border frequency, and a high-pass filter leaves hardly any below. Frequencies are in Hz if the TR
(the time from one volume to the next) is known. Otherwise a TR of 2 s is assumed, and frequencies
are shares of the highest frequency.

Censored volumes cut runs into pieces. Motion, measured as mean framewise displacement, changes
correlations between regions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.signal import detrend, periodogram  # type: ignore[attr-defined]

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.series import (
    FEWEST_VOLUMES,
    MIN_EFFECTIVE_VOLUMES,
    SeriesCohort,
    effective_volumes,
    scaled_runs,
    whiten,
)
from sgbn.core.moments import one_blas_thread
from sgbn.core.problems import Finding
from sgbn.core.types import Array, Mask
from sgbn.prepare.balance import IMBALANCE
from sgbn.prepare.findings import leave_out_regions, leave_out_subjects, marked
from sgbn.prepare.independence import (
    copies_of,
    find_sessions,
    lag_one,
    near_pairs,
    unnamed_persons,
)

REGION_EMPTY = 0.05  # a region that is empty in a larger share of the subjects is left out
FILTERED = 0.5  # share of low-pass subjects who must also have a high-pass filter for "band-pass"
CHANCE_SHARE = 0.05  # share of subjects in whom a filter is seen, or not seen, by chance
COMPARED = 256  # number of cells of two series that are compared, to find copies
COPY = 0.01  # largest difference of these cells in copies, in standard deviations
SAME_FILTERS = "Filter all subjects in the same way, or the groups may differ by the filter."


def leave_out_empty_regions(cohort: SeriesCohort) -> tuple[SeriesCohort, list[Finding]]:
    """Leave out regions that are empty in many subjects."""
    empty = np.isnan(cohort.values).sum(axis=0) > REGION_EMPTY * len(cohort)
    names = marked(cohort.regions, empty)
    finding = Finding("warning", "regions.empty", regions=names, most=REGION_EMPTY).says(
        "left out {regions:region} that are empty in more than {most:.0%} of the subjects: "
        "{regions}"
    )
    return leave_out_regions(cohort, empty, finding)


def leave_out_empty_subjects(cohort: SeriesCohort) -> tuple[SeriesCohort, list[Finding]]:
    """Leave out subjects with an empty region."""
    gaps = np.isnan(cohort.values)
    empty, gappy = (np.asarray(gaps.any(axis=axis)) for axis in (1, 0))
    names = {"subjects": marked(cohort.ids, empty), "regions": marked(cohort.regions, gappy)}
    finding = Finding("warning", "subjects.empty", **names).says(
        "left out {subjects}, in whom at least one of these regions is empty: {regions}",
        "To keep them, exclude the regions ({exclude=}).",
    )
    return leave_out_subjects(cohort, empty, finding)


def leave_out_short_series(cohort: SeriesCohort) -> tuple[SeriesCohort, list[Finding]]:
    """Leave out subjects whose effective number of volumes is too small."""
    short = effective_numbers(cohort) < MIN_EFFECTIVE_VOLUMES
    names = marked(cohort.ids, short)
    finding = Finding(
        "warning", "subjects.short", subjects=names, least=MIN_EFFECTIVE_VOLUMES
    ).says(
        "left out {subjects}, whose series are worth fewer than {least} independent volumes",
        "Usual causes are short series, a band-pass filter, and values that change slowly.",
    )
    return leave_out_subjects(cohort, short, finding)


def check_filters(cohort: SeriesCohort) -> Iterator[Finding]:
    """Check whether series were filtered, and say what this means for the analysis."""
    spectra = spectra_of(cohort)
    high, low = filters_seen(spectra)
    # A low-pass filter is more serious. Its finding also reports a band-pass filter.
    if low.mean() > CHANCE_SHARE:
        borders = np.array([spectrum.border for spectrum in spectra])
        yield from _low_pass(cohort, low, high, np.median(borders[low]))
        yield from _filtered_groups(cohort, low)
    elif high.mean() > CHANCE_SHARE:
        yield Finding("warning", "filters.high", n=high.sum(), of=len(high)).says(
            "a high-pass filter is seen in {n} of {of} subjects",
            "It removes drifts, as it should, but also part of the signal. Do not filter the "
            "series again.",
        )
        yield from _partly_filtered(high)
    if cohort.tr is None:
        yield Finding("note", "series.tr").says(
            "the time from one volume to the next (TR) is not known",
            "2 s is assumed to name the frequencies of filters. Give it in seconds ({tr=}).",
        )


def _low_pass(cohort: SeriesCohort, low: Mask, high: Mask, border: float) -> Iterator[Finding]:
    values = {
        "kind": "band-pass" if high[low].mean() >= FILTERED else "low-pass",
        "n": low.sum(),
        "of": len(low),
        "border": border,
        "tr": cohort.tr or USUAL_TR,
        "worth": np.median(effective_numbers(cohort)[low]),
        "volumes": int(np.median(np.array(cohort.n_volumes)[low])),
    }
    yield Finding("warning", "filters.low", **values).says(
        "a {kind:s} filter is seen in {n} of {of} subjects: changes faster than about {border:.1g} "
        "Hz are missing, at a TR of {tr:g} s",
        "Then {volumes} volumes are worth about {worth:.0f} independent ones. Series without a "
        "low-pass filter contain more information.",
    )
    yield from _partly_filtered(low)


def _filtered_groups(cohort: SeriesCohort, seen: Mask) -> Iterator[Finding]:
    """Stop if a filter is seen in nearly all subjects of one group and in hardly any of another."""
    rates = {name: seen[cohort.group == name].mean() for name in cohort.groups}
    if rates and min(rates.values()) <= CHANCE_SHARE and max(rates.values()) >= 1 - CHANCE_SHARE:
        filtered = [name for name, rate in rates.items() if rate > CHANCE_SHARE]
        yield Finding("stop", "filters.groups", groups=filtered).says(
            "a filter is seen in subjects of {groups}, but in hardly any subject of another group",
            SAME_FILTERS,
        )


def _partly_filtered(seen: Mask) -> Iterator[Finding]:
    if seen.mean() < 1 - CHANCE_SHARE:
        yield Finding("warning", "filters.some").says(
            "not all subjects seem to be filtered", SAME_FILTERS
        )


def check_series_independence(cohort: SeriesCohort) -> Iterator[Finding]:
    """Check whether series are copies of each other, or sessions of a person."""
    checks = (copied_series, find_sessions, unnamed_persons)
    yield from next(filter(None, ([*check(cohort)] for check in checks)), [])


def copied_series(cohort: SeriesCohort) -> Iterator[Finding]:
    """Report series of different subjects that are the same up to rounding, level and scale."""
    lengths = np.array(cohort.n_volumes)
    pairs = []
    for length in np.unique(lengths):
        # Copies have the same length; only such series can be compared cell by cell.
        rows = np.flatnonzero(lengths == length)
        cells = np.array([_some_cells(cohort.series[row]) for row in rows.tolist()])
        pairs.append(rows[near_pairs(cells, COPY)])
    near = np.concatenate(pairs)
    if len(near):
        yield Finding("stop", "series.copies", **copies_of(cohort, near)).says(
            "series are copies of each other or nearly so ({n:set}): {subjects}",
            "Keep only one of each: the same file was copied or named twice.",
        )


def _some_cells(series: Array) -> Array:
    """Return some cells of a series, in standard deviations of their region."""
    # A few hundred cells, spread over volumes and regions, are enough to tell two series apart.
    places = np.linspace(0, series.size - 1, min(COMPARED, series.size)).astype(np.intp)
    volumes, columns = np.unravel_index(places, series.shape)
    return (series[volumes, columns] - series.mean(axis=0)[columns]) / series.std(axis=0)[columns]


USUAL_TR = 2.0  # seconds; assumed if the TR is not known
SLOW, FAST = 0.01, 0.1  # Hz; borders of the usual band-pass filter
DRIFT = 0.006  # Hz; below the border of any high-pass filter in use (1 / 128 s and more)
FIRST_SURE = 2  # cycles per run; removing a quadratic trend changes only slower frequencies
MIN_SHARE_OF_LONGEST_RUN = 0.5  # length over the longest run; shorter pieces blur the spectrum
BESIDE = 0.015, 0.05  # Hz; a band that no filter of resting-state series removes
# A high-pass filter is seen if the density of drifts over the density in BESIDE is below this.
HIGH_PASS = 0.1  # in unfiltered ABIDE the ratio is 0.12 to 1.3
SOFT_HIGH_PASS = 0.25  # for the median over many subjects; with a Butterworth filter it is 0.16
MIN_SUBJECTS_FOR_MEDIAN = 10  # with fewer, each subject is judged alone
# A low-pass filter is seen if the density above a border over the density below it is below this.
LOW_PASS = 0.01  # the ratio is 0.18 in unfiltered ABIDE, and 0.04 in an AR(1) process of 0.9
BORDERS = np.arange(0.15, 0.75, 0.02)  # borders of low-pass filters, over the highest frequency
BELOW, ABOVE = (0.5, 0.9), 1.2  # compared parts of the spectrum, as multiples of a border
FIELDS = [
    *(("volumes", np.intp), ("runs", np.intp), ("empty_regions", np.intp)),
    *(("autocorrelation", np.float64), ("effective_volumes", np.float64)),
    *(("slow_power", np.float64), ("fast_power", np.float64)),
    *(("high_pass_filter", np.bool_), ("low_pass_filter", np.bool_), ("mean_fd", np.float64)),
]


def series_quality(cohort: SeriesCohort) -> NDArray[Any]:
    """Return measures of the quality of each subject's series.

    Parameters
    ----------
    cohort : SeriesCohort
        The subjects with their series.

    Returns
    -------
    ndarray of records
        One record per subject: ``subject_id``, ``volumes``, ``runs``, ``empty_regions``,
        ``autocorrelation`` (from one volume to the next, mean over the regions),
        ``effective_volumes`` (how many independent volumes the series are worth to a network),
        ``slow_power`` and ``fast_power`` (shares of the variance below 0.01 Hz and above 0.1 Hz; if
        the TR is not known, below 4 % and above 40 % of the highest frequency),
        ``high_pass_filter`` and ``low_pass_filter`` (whether such a filter is seen), and
        ``mean_fd`` (mean framewise displacement; NaN if it is not a covariate). Measures of the
        series are NaN if all regions are empty.
    """
    table = np.zeros(len(cohort), [("subject_id", f"U{max(map(len, cohort.ids))}"), *FIELDS])
    empty = np.isnan(cohort.values)
    spectra = spectra_of(cohort)
    table["subject_id"] = cohort.ids
    table["volumes"] = cohort.n_volumes
    table["runs"] = [len(lengths) for lengths in cohort.run_lengths]
    table["empty_regions"] = empty.sum(axis=1)
    table["autocorrelation"] = _of_runs(cohort, lag_one)
    table["effective_volumes"] = effective_numbers(cohort)
    table["slow_power"] = [spectrum.slow for spectrum in spectra]
    table["fast_power"] = [spectrum.fast for spectrum in spectra]
    table["high_pass_filter"], table["low_pass_filter"] = filters_seen(spectra)
    column = motion_column(cohort.covariates)
    known = column is not None and cohort.covariates[column].dtype.kind == "f"
    table["mean_fd"] = cohort.covariates[str(column)] if known else np.nan
    return table


def effective_numbers(cohort: SeriesCohort) -> Array:
    """Return how many independent volumes the series of each subject are worth to a network.

    The number is the `n` of `sgbn.subject_moments`. That function raises an error
    for subjects with an empty region or too few volumes. Here empty regions are ignored.
    """
    with one_blas_thread():
        return _of_runs(cohort, lambda runs: effective_volumes(*whiten(runs)))


def _of_runs(cohort: SeriesCohort, measure: Callable[[list[Array]], float]) -> Array:
    """Return a measure of the runs of each subject; NaN if all its regions are empty."""
    subjects = (_runs(cohort, row) for row in range(len(cohort)))
    return np.array([measure(runs) if runs[0].shape[1] else np.nan for runs in subjects])


def _runs(cohort: SeriesCohort, row: int) -> list[Array]:
    """Return the runs of a subject, without empty regions, centred and with mean squares of 1."""
    runs, is_flat = scaled_runs(cohort.series[row], cohort.run_lengths[row])
    return [run[:, ~is_flat] for run in runs]


class Spectrum(NamedTuple):
    """Measures of the spectrum of a subject, as means over regions and runs.

    Attributes
    ----------
    slow, fast : float
        Shares of the variance below 0.01 Hz and above 0.1 Hz.
    drifts : float
        Density of slow drifts over the density in the band `BESIDE`; NaN if runs are too short.
    edge : float
        Density above a border over the density below it, at the border where the ratio is smallest.
    border : float
        Lowest border with hardly any power above it, in Hz; NaN if there is none.
    """

    slow: float
    fast: float
    drifts: float
    edge: float
    border: float


def spectra_of(cohort: SeriesCohort) -> list[Spectrum]:
    """Return the measures of the spectrum of each subject."""
    with one_blas_thread():
        return [_spectrum(cohort, row) for row in range(len(cohort))]


def _spectrum(cohort: SeriesCohort, row: int) -> Spectrum:
    tr = cohort.tr or USUAL_TR
    longest = max(cohort.run_lengths[row])
    # A short piece has too few frequencies to show a filter's border.
    runs = [run for run in _runs(cohort, row) if len(run) >= MIN_SHARE_OF_LONGEST_RUN * longest]
    if not runs[0].shape[1]:
        return Spectrum(*[np.nan] * 5)
    parts = np.array([_spectrum_of_run(run, tr) for run in runs])
    slow, fast, drifts, *edges = np.average(parts, axis=0, weights=[len(run) for run in runs])
    # A filter is seen at several borders. Its own border is the lowest with hardly any power above.
    seen = np.array(edges) < LOW_PASS
    border = float(ABOVE * BORDERS[seen][0] / (2 * tr)) if seen.any() else np.nan
    return Spectrum(slow, fast, drifts, float(np.nanmin(edges)), border)


def _spectrum_of_run(run: Array, tr: float) -> list[float]:
    """Return the shares of slow and fast changes, the drifts, and the ratio at each border."""
    # A trend would add power to all low frequencies.
    run = detrend(run, axis=0)
    hertz, by_region = periodogram(run, 1 / tr, axis=0, detrend=False)
    power = by_region.mean(axis=1)
    slow, fast = (power[part].sum() / power.sum() for part in (hertz < SLOW, hertz > FAST))
    sure = np.arange(len(hertz)) >= FIRST_SURE
    drifts = _ratio(power, sure & (hertz <= DRIFT), _between(hertz, *BESIDE))
    # A Hann window leaks far less power from other frequencies than a filter leaves.
    power = periodogram(run, 1 / tr, "hann", axis=0, detrend=False)[1].mean(axis=1)
    edges = [
        _ratio(power, hertz >= ABOVE * border, _between(hertz, low * border, high * border))
        for border in BORDERS / (2 * tr)
        for low, high in [BELOW]
    ]
    return [slow, fast, drifts, *edges]


def _between(hertz: Array, low: float, high: float) -> Mask:
    return (hertz > low) & (hertz <= high)


def _ratio(power: Array, part: Mask, other: Mask) -> float:
    """Return the mean density of one part of the spectrum over another; NaN if one is empty."""
    if not part.any() or not power[other].any():
        return np.nan
    return float(power[part].mean() / power[other].mean())


def filters_seen(spectra: Sequence[Spectrum]) -> tuple[Mask, Mask]:
    """Mark the subjects with a high-pass filter, and the subjects with a low-pass filter.

    A soft high-pass filter can be seen only in the median of many subjects.
    """
    drifts = np.array([spectrum.drifts for spectrum in spectra])
    edges = np.array([spectrum.edge for spectrum in spectra])
    limit, known = HIGH_PASS, drifts[~np.isnan(drifts)]
    if len(known) >= MIN_SUBJECTS_FOR_MEDIAN and np.median(known) < SOFT_HIGH_PASS:
        limit = 2 * SOFT_HIGH_PASS
    return drifts < limit, edges < LOW_PASS


CENSORED = "censored"  # key of the provenance: how many volumes were left out


def check_censored(cohort: SeriesCohort) -> Iterator[Finding]:
    """Report how many volumes were censored, and how many more were left out with them."""
    censored = cohort.provenance.get(CENSORED)
    if not censored:
        return
    n, rows = censored["volumes"] + censored["short"], censored["subjects"]
    yield Finding("note", "series.censored", n=n, rows=rows, least=FEWEST_VOLUMES).says(
        "{n:volume} of {rows:subject} are censored (n/a in all regions), or in pieces shorter "
        "than {least} volumes",
        "Runs are cut there. Check that all groups keep about the same number of volumes: "
        "sgbn.prepare.series_quality counts them.",
    )


MEAN_FD = "mean_fd"
NAME_MOTION = (
    "Motion changes correlations between regions, so that differences may come from it alone. Name "
    "mean framewise displacement as a covariate ({covariates=})."
)
# Keys of the provenance: motion that is known but not a covariate, and motion that the reader made
# a covariate although the user did not name it.
UNNAMED = "unnamed_motion"
TAKEN = "taken_motion"
# Names of columns of motion, in lower case and without characters other than letters and digits.
NAMES = re.compile(
    r"(func)?(mean|avg|average)?(fd|framewisedisplacement)(mean|avg|jenkinson|power)?|"
    r"(mean)?(head)?motion(mean)?"
)


def motion_column(columns: Iterable[str]) -> str | None:
    """Return the column whose name means mean framewise displacement; None without one."""
    motion = [name for name in columns if NAMES.fullmatch(re.sub(r"[\W_]+", "", name).lower())]
    return MEAN_FD if MEAN_FD in motion else next(iter(motion), None)


def check_motion(cohort: Cohort) -> Iterator[Finding]:
    """Check whether motion is a covariate and, if not, whether the groups differ in it."""
    if motion_column(cohort.covariates) is not None:
        if TAKEN in cohort.provenance:
            yield Finding("note", "motion.taken", name=cohort.provenance[TAKEN]).says(
                "motion was found beside the series, and is held fixed as the covariate {name}",
                "You did not name it. To leave it out, exclude it ({exclude=}).",
            )
        return
    known = cohort.provenance.get(UNNAMED, {})
    if not known:
        yield Finding("note", "motion.unknown").says("nothing is known about motion", NAME_MOTION)
    # The cohort does not have this column, but its reader noted these facts.
    for name, facts in known.items():
        if facts["p"] is not None and facts["p"] < IMBALANCE:
            yield Finding("warning", "motion.groups", name=name, p=facts["p"]).says(
                "the groups differ in motion ({name}, p = {p:.2g}), but it is not a covariate",
                NAME_MOTION,
            )
        else:
            yield Finding("note", "motion.unnamed", name=name).says(
                "motion is known ({name}), but is not a covariate", NAME_MOTION
            )
