"""The blood's response to neural activity, as a filter that each region's activity passes."""

from __future__ import annotations

import numpy as np
from scipy.signal import fftconvolve, lfilter  # type: ignore[attr-defined]
from scipy.stats import gamma  # type: ignore[attr-defined]

from sgbn.types import Array

PEAK, UNDERSHOOT = 6.0, 16.0  # shapes of the two gammas: the canonical response, seconds
RATIO = 6.0  # the undershoot is a sixth of the response
DURATION = 32.0  # seconds after which nothing is left of the response
LEAST_PEAK = 2.0  # seconds; an earlier peak is not a response of the blood
MOST_TR = 5.0  # seconds; slower volumes would miss the response
MEMORY = 64  # volumes after which an autoregression of at most MOST_AUTOREGRESSION has faded
MOST_AUTOREGRESSION = 0.9


def canonical_response(tr: float, delay: float = 0.0) -> Array:
    """Sample the double-gamma response at the volumes that follow an impulse.

    Parameters
    ----------
    tr : float
        Seconds from volume to volume.
    delay : float
        Seconds by which the response is later, and wider, than the canonical one.

    Returns
    -------
    ndarray of shape (volumes,)
        Its sum of squares is one, so that white noise keeps its variance.
    """
    t = np.arange(0.0, DURATION, tr)
    # A later peak is wider too: the variance of a gamma grows with its shape.
    peak = max(PEAK + delay, LEAST_PEAK)
    response: Array = gamma.pdf(t, peak) - gamma.pdf(t, peak + UNDERSHOOT - PEAK) / RATIO
    return response / np.linalg.norm(response)


def smoothing_filters(tr: float, delays: Array, autoregression: float) -> Array:
    """Make one filter per region: autoregression, then the blood's response.

    Returns
    -------
    ndarray of shape (volumes, regions)
        Each column has a sum of squares of one.
    """
    responses = np.column_stack([canonical_response(tr, delay) for delay in delays])
    # The tail of the autoregression outlasts the response.
    padded = np.vstack([responses, np.zeros((MEMORY, len(delays)))])
    filters: Array = lfilter([1.0], [1.0, -autoregression], padded, axis=0)
    return filters / np.linalg.norm(filters, axis=0)


def fading_filter(autoregression: float, n_regions: int) -> Array:
    """Make the filter of an autoregression alone, one equal column per region."""
    column = np.float64(autoregression) ** np.arange(MEMORY)
    return np.tile((column / np.linalg.norm(column))[:, None], n_regions)


def filtered(activity: Array, filters: Array) -> Array:
    """Filter each region, and keep the volumes that know their whole past.

    Parameters
    ----------
    activity, filters : ndarray of shape (volumes, regions)
        Activity of each region, and the filter that it passes.

    Returns
    -------
    ndarray of shape (len(activity) - len(filters) + 1, regions)
    """
    passed: Array = fftconvolve(activity, filters, mode="valid", axes=0)
    return passed
