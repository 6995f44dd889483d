"""Measure the effective number of volumes of simulated series, with and without band-pass."""

import numpy as np
from scipy.signal import butter, lfilter, sosfiltfilt

from sgbn.cohort.series import subject_moments

# TR and the first number of volumes are those of ABIDE at NYU.
TR = 2.0  # seconds
# Regions are independent: the true correlation is 0, so that the variance of r is known directly.
REGIONS = 8
VOLUMES = (176, 400)
COEFFICIENT = 0.4  # coefficient of the autoregression of each region
WARM_UP = 50  # first volumes, which are dropped because they depend on the start
FILTERS = {  # name -> kind, and limits in Hz
    "none": None,
    "ideal, 0.01 to 0.1 Hz": ("ideal", 0.01, 0.1),
    "ideal, 0.01 to 0.08 Hz": ("ideal", 0.01, 0.08),
    "Butterworth of order 2, 0.01 to 0.1 Hz": ("butterworth", 0.01, 0.1),
}


def effective_runs(seed, n_subjects):
    """Return the mean effective numbers beside 1 / var r, which they should equal."""
    runs = []
    for T in VOLUMES:
        for name, band in FILTERS.items():
            # All filters get the same series.
            rng = np.random.default_rng([seed, T])
            series = [band_passed(autoregression(rng, T), band) for _ in range(n_subjects)]
            runs.append({"volumes": T, "filter": name} | excess(subject_moments(series)))
    return runs


def excess(moments):
    """Return by how many percent the effective number is too large, and the standard error."""
    pairs = np.triu_indices(moments.m, 1)
    # The variance is taken around 0, because regions are independent.
    variance = np.square(moments.R[:, *pairs]).mean(axis=1)
    true, n = 1 / variance.mean(), moments.n.mean()
    # The relative error of the ratio is the relative error of the mean variance.
    error = variance.std(ddof=1) / np.sqrt(len(variance)) / variance.mean()
    return {
        "1 / var r": float(true),
        "n": float(n),
        "too large by %": float(100 * (n / true - 1)),
        "standard error": float(100 * error * n / true),
    }


def autoregression(rng, T):
    """Draw independent series, each with the same autocorrelation."""
    noise = rng.standard_normal((T + WARM_UP, REGIONS))
    # The filter starts at 0, so that its first volumes vary too little.
    return lfilter([1.0], [1.0, -COEFFICIENT], noise, axis=0)[WARM_UP:]


def band_passed(series, band):
    """Filter series as the usual pipelines do."""
    if band is None:
        return series
    kind, low, high = band
    if kind == "butterworth":
        sections = butter(2, (low, high), "bandpass", output="sos", fs=1 / TR)
        # The filter runs forwards and backwards, so that no phase is shifted.
        return sosfiltfilt(sections, series, axis=0)
    hertz = np.fft.rfftfreq(len(series), TR)
    spectrum = np.fft.rfft(series, axis=0)
    spectrum[(hertz < low) | (hertz > high)] = 0  # an ideal filter removes these frequencies
    return np.fft.irfft(spectrum, len(series), axis=0)
