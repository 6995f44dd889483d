"""Quality of region time series: one row per subject.

The spectrum shows what was filtered. A low-pass filter leaves hardly anything above its border, a
high-pass filter hardly anything below. Frequencies are in Hz where the TR is known. Otherwise they
are taken as if a volume came every 2 s, so that they are shares of the highest frequency.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.signal import detrend, periodogram  # type: ignore[attr-defined]

from sgbn.moments import one_blas_thread
from sgbn.quality.motion import motion_column
from sgbn.series_cohort import SeriesCohort
from sgbn.structure.series.subject_moments import effective_volumes, scaled_runs, whiten
from sgbn.types import Array, Mask

USUAL_TR = 2.0  # seconds, where none is known
SLOW, FAST = 0.01, 0.1  # Hz: borders of the usual band-pass filter
DRIFT = 0.006  # Hz: below the border of any high-pass filter in use (1 / 128 s and more)
FIRST_SURE = 2  # cycles per run: what a quadratic trend takes out is slower
MIN_SHARE_OF_LONGEST_RUN = 0.5  # of the longest run: shorter pieces blur the spectrum
BESIDE = 0.015, 0.05  # Hz: what no filter of resting-state series takes out
HIGH_PASS = 0.1  # density of drifts over that beside them; unfiltered ABIDE: 0.12 to 1.3
SOFT_HIGH_PASS = 0.25  # the same, as a median over many subjects: of a Butterworth filter 0.16
MIN_SUBJECTS_FOR_MEDIAN = 10  # with fewer, each subject is judged alone
LOW_PASS = 0.01  # density above a border over that below; unfiltered ABIDE 0.18, AR(1) of 0.9 0.04
BORDERS = np.arange(0.15, 0.75, 0.02)  # of a low-pass filter, over the highest frequency
BELOW, ABOVE = (0.5, 0.9), 1.2  # parts of the spectrum beside a border, over that border
FIELDS = [
    *(("volumes", np.intp), ("runs", np.intp), ("empty_regions", np.intp)),
    *(("autocorrelation", np.float64), ("effective_volumes", np.float64)),
    *(("slow_power", np.float64), ("fast_power", np.float64)),
    *(("high_pass_filter", np.bool_), ("low_pass_filter", np.bool_), ("mean_fd", np.float64)),
]


def series_quality(cohort: SeriesCohort) -> NDArray[Any]:
    """Describe the series of each subject.

    Parameters
    ----------
    cohort : SeriesCohort

    Returns
    -------
    ndarray of records
        One per subject: ``subject_id``, ``volumes``, ``runs``, ``empty_regions``,
        ``autocorrelation`` (from one volume to the next, mean over the regions),
        ``effective_volumes`` (how many independent volumes the series are worth to a network),
        ``slow_power`` and ``fast_power`` (shares of the variance below 0.01 Hz and above 0.1 Hz; of
        4 % and above 40 % of the highest frequency where the TR is not known),
        ``high_pass_filter`` and ``low_pass_filter`` (whether one is seen), and ``mean_fd`` (mean
        framewise displacement, NaN where it is not a covariate). NaN where all regions are empty.
    """
    table = np.zeros(len(cohort), [("subject_id", f"U{max(map(len, cohort.ids))}"), *FIELDS])
    empty = np.isnan(cohort.values)
    spectra = spectra_of(cohort)
    table["subject_id"] = cohort.ids
    table["volumes"] = cohort.n_volumes
    table["runs"] = [len(lengths) for lengths in cohort.run_lengths]
    table["empty_regions"] = empty.sum(axis=1)
    table["autocorrelation"] = [_lag_one(_runs(cohort, row)) for row in range(len(cohort))]
    table["effective_volumes"] = effective_numbers(cohort)
    table["slow_power"] = [spectrum.slow for spectrum in spectra]
    table["fast_power"] = [spectrum.fast for spectrum in spectra]
    table["high_pass_filter"], table["low_pass_filter"] = filters_seen(spectra)
    column = motion_column(cohort.covariates)
    known = column is not None and cohort.covariates[column].dtype.kind == "f"
    table["mean_fd"] = cohort.covariates[str(column)] if known else np.nan
    return table


def effective_numbers(cohort: SeriesCohort) -> Array:
    """Return how many volumes each subject's series are worth, as a network counts them.

    The same as `n` of `sgbn.structure.series.subject_moments`, which refuses subjects with an empty
    region or too few volumes; here regions that are not empty are counted.
    """
    with one_blas_thread():
        return np.array([_effective(_runs(cohort, row)) for row in range(len(cohort))])


def _runs(cohort: SeriesCohort, row: int) -> list[Array]:
    """Return the runs of a subject, without empty regions, centred and with mean squares of 1."""
    runs, is_flat = scaled_runs(cohort.series[row], cohort.run_lengths[row])
    return [run[:, ~is_flat] for run in runs]


def _lag_one(runs: Sequence[Array]) -> float:
    if not runs[0].shape[1]:
        return np.nan
    products = sum((run[1:] * run[:-1]).sum(axis=0) for run in runs)
    return float((products / sum(np.square(run).sum(axis=0) for run in runs)).mean())


def _effective(runs: Sequence[Array]) -> float:
    if not runs[0].shape[1]:
        return np.nan
    return effective_volumes(*whiten(runs))


class Spectrum(NamedTuple):
    """What the spectrum of a subject shows, a mean over regions and runs.

    Attributes
    ----------
    slow, fast : float
        Shares of the variance below 0.01 Hz and above 0.1 Hz.
    drifts : float
        Density of slow drifts over that of the band beside them; NaN where runs are too short.
    edge : float
        Density above a border over that below it, at the border where this is least.
    border : float
        Lowest border above which hardly anything is left, in Hz; NaN without one.
    """

    slow: float
    fast: float
    drifts: float
    edge: float
    border: float


def spectra_of(cohort: SeriesCohort) -> list[Spectrum]:
    """Return what the spectrum of each subject shows."""
    with one_blas_thread():
        return [_spectrum(cohort, row) for row in range(len(cohort))]


def _spectrum(cohort: SeriesCohort, row: int) -> Spectrum:
    tr = cohort.tr or USUAL_TR
    longest = max(cohort.run_lengths[row])
    # A short piece has too few frequencies to show a filter's border.
    runs = [run for run in _runs(cohort, row) if len(run) >= MIN_SHARE_OF_LONGEST_RUN * longest]
    if not runs[0].shape[1]:
        return Spectrum(*[np.nan] * 5)
    weights = [len(run) for run in runs]
    parts = np.array([_spectrum_of_run(run, tr) for run in runs])
    slow, fast, drifts, *edges = np.average(parts, axis=0, weights=weights)
    # The lowest border is the filter's: above it nothing is left at the higher ones either.
    seen = np.array(edges) < LOW_PASS
    border = float(ABOVE * BORDERS[seen][0] / (2 * tr)) if seen.any() else np.nan
    return Spectrum(slow, fast, drifts, float(np.nanmin(edges)), border)


def _spectrum_of_run(run: Array, tr: float) -> list[float]:
    """Shares of slow and fast changes, drifts, and the density at each border."""
    # A trend would put power into all low frequencies.
    run = detrend(run, axis=0)
    hertz, by_region = periodogram(run, 1 / tr, axis=0, detrend=False)
    power = by_region.mean(axis=1)
    slow, fast = (power[part].sum() / power.sum() for part in (hertz < SLOW, hertz > FAST))
    sure = np.arange(len(hertz)) >= FIRST_SURE
    drifts = _ratio(power, sure & (hertz <= DRIFT), _between(hertz, *BESIDE))
    # what a Hann window lets through from other frequencies is far below what a filter leaves
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
    """Mean density of one part of the spectrum over that of another; NaN where one is empty."""
    if not part.any() or not power[other].any():
        return np.nan
    return float(power[part].mean() / power[other].mean())


def filters_seen(spectra: Sequence[Spectrum]) -> tuple[Mask, Mask]:
    """Mark the subjects in whom a high-pass filter and a low-pass filter are seen.

    A soft high-pass filter shows only in the median of many subjects.
    """
    drifts = np.array([spectrum.drifts for spectrum in spectra])
    edges = np.array([spectrum.edge for spectrum in spectra])
    limit, known = HIGH_PASS, drifts[~np.isnan(drifts)]
    if len(known) >= MIN_SUBJECTS_FOR_MEDIAN and np.median(known) < SOFT_HIGH_PASS:
        limit = 2 * SOFT_HIGH_PASS
    return drifts < limit, edges < LOW_PASS
