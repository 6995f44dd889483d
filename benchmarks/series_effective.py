"""Effective numbers of volumes of simulated series, before and after band-pass filters."""

import numpy as np
from scipy.signal import butter, lfilter, sosfiltfilt

from sgbn import subject_moments

# TR and the first number of volumes are those of ABIDE at NYU.
TR = 2.0  # seconds
# Independent, so that the true correlation is 0 and the variance of r is seen directly.
REGIONS = 8  # independent ones
VOLUMES = (176, 400)
COEFFICIENT = 0.4  # of the autoregression of each region
WARM_UP = 50  # volumes until it has forgotten its start
FILTERS = {  # kind, and borders in Hz
    "none": None,
    "ideal, 0.01 to 0.1 Hz": ("ideal", 0.01, 0.1),
    "ideal, 0.01 to 0.08 Hz": ("ideal", 0.01, 0.08),
    "Butterworth of order 2, 0.01 to 0.1 Hz": ("butterworth", 0.01, 0.1),
}


def effective_runs(seed, n_subjects):
    """Compare mean effective numbers with 1 / var r, which is what they should be."""
    runs = []
    for T in VOLUMES:
        for name, band in FILTERS.items():
            rng = np.random.default_rng([seed, T])  # the same series for each filter
            series = [band_passed(autoregression(rng, T), band) for _ in range(n_subjects)]
            runs.append({"volumes": T, "filter": name} | excess(subject_moments(series)))
    return runs


def excess(moments):
    """Return by how many percent the effective number is too large, and the standard error."""
    pairs = np.triu_indices(moments.m, 1)
    variance = np.square(moments.R[:, *pairs]).mean(axis=1)  # around 0: regions are independent
    true, n = 1 / variance.mean(), moments.n.mean()
    # Of a ratio whose denominator is the mean variance: relative errors carry over.
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
    # A recursive filter starts at rest: its first volumes vary too little.
    return lfilter([1.0], [1.0, -COEFFICIENT], noise, axis=0)[WARM_UP:]


def band_passed(series, band):
    """Filter series as pipelines of users do."""
    if band is None:
        return series
    kind, low, high = band
    if kind == "butterworth":
        sections = butter(2, (low, high), "bandpass", output="sos", fs=1 / TR)
        # Forwards and backwards, as pipelines do: no phase is shifted.
        return sosfiltfilt(sections, series, axis=0)
    hertz = np.fft.rfftfreq(len(series), TR)
    spectrum = np.fft.rfft(series, axis=0)
    spectrum[(hertz < low) | (hertz > high)] = 0  # a filter with vertical borders
    return np.fft.irfft(spectrum, len(series), axis=0)
