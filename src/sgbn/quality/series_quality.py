"""The quality of region time series, with one row per subject.

The spectrum shows whether series were filtered. A low-pass filter leaves hardly any power above its
border frequency, and a high-pass filter leaves hardly any below. Frequencies are in Hz if the TR
(the time from one volume to the next) is known. Otherwise a TR of 2 s is assumed, and frequencies
are shares of the highest frequency.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.signal import detrend, periodogram  # type: ignore[attr-defined]

from sgbn.cohort.series import SeriesCohort, effective_volumes, scaled_runs, whiten
from sgbn.core.moments import one_blas_thread
from sgbn.core.types import Array, Mask
from sgbn.quality.motion import motion_column

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
    """Return how many independent volumes the series of each subject are worth to a network.

    The number is the `n` of `sgbn.subject_moments`. That function raises an error
    for subjects with an empty region or too few volumes. Here empty regions are ignored.
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
    weights = [len(run) for run in runs]
    parts = np.array([_spectrum_of_run(run, tr) for run in runs])
    slow, fast, drifts, *edges = np.average(parts, axis=0, weights=weights)
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
