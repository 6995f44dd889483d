"""Synthetic series for the tests of their quality."""

import numpy as np
from scipy import signal

from sgbn.cohort.series import SeriesCohort

TR = 2.0


def autoregressive(rng, phi=0.5, volumes=200, regions=10):
    """Series of an AR(1) process whose regions share some noise."""
    noise = rng.standard_normal((volumes + 50, regions)) @ (np.eye(regions) + 0.3)
    return signal.lfilter([1.0], [1.0, -phi], noise, axis=0)[50:]


def butterworth(series, low=None, high=None, order=2):
    """Series filtered as nilearn, AFNI and FSL users do."""
    kind = "bandpass" if low and high else "highpass" if low else "lowpass"
    border = np.array([one for one in (low, high) if one]) * 2 * TR
    sos = signal.butter(order, border if len(border) > 1 else border[0], kind, output="sos")
    return signal.sosfiltfilt(sos, series, axis=0)


def cut_out(series, low, high):
    """Series without the frequencies outside a band, as C-PAC and DPABI filter."""
    spectrum = np.fft.rfft(series - series.mean(axis=0), axis=0)
    hertz = np.fft.rfftfreq(len(series), TR)
    spectrum[(hertz < low) | (hertz > high)] = 0
    return np.fft.irfft(spectrum, len(series), axis=0)


def cosines_out(series, seconds=128):
    """Series without slow cosines, as fMRIPrep and SPM filter."""
    T = len(series)
    t = np.arange(T)
    k = np.arange(int(2 * T * TR / seconds) + 1)
    slow = np.cos(np.pi * np.outer(2 * t + 1, k) / (2 * T))
    return series - slow @ np.linalg.lstsq(slow, series, rcond=None)[0]


def cohort_of(change=lambda series: series, n=12, phi=0.5, tr=TR, **given):
    """Cohort of subjects of two groups."""
    rng = np.random.default_rng(0)
    shape = {key: given.pop(key) for key in ("volumes", "regions") if key in given}
    series = [change(autoregressive(rng, phi, **shape)) for _ in range(n)]
    given = {"group": np.array(["A", "B"])[np.arange(n) % 2]} | given
    return SeriesCohort.of(series, tr=tr, **given)
