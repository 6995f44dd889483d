"""The response of the blood to neural activity, as a linear filter of each region."""

from __future__ import annotations

import numpy as np
from scipy.signal import fftconvolve, lfilter  # type: ignore[attr-defined]
from scipy.stats import gamma  # type: ignore[attr-defined]

from sgbn.core.types import Array

PEAK, UNDERSHOOT = 6.0, 16.0  # seconds; shapes of the two gammas of the canonical response
RATIO = 6.0  # the undershoot is a sixth of the response
DURATION = 32.0  # seconds; afterwards the response is zero
LEAST_PEAK = 2.0  # seconds; the blood does not respond earlier
MOST_TR = 5.0  # seconds; slower volumes would miss the response
MEMORY = 64  # volumes; afterwards an autoregression of MOST_AUTOREGRESSION has faded
MOST_AUTOREGRESSION = 0.9


def canonical_response(tr: float, delay: float = 0.0) -> Array:
    """Return the double-gamma response to an impulse, one value per volume.

    Parameters
    ----------
    tr : float
        Seconds from volume to volume.
    delay : float
        Seconds by which the response is later than the canonical response. A later response is
        also wider.

    Returns
    -------
    ndarray of shape (volumes,)
        The response. Its sum of squares is one, so that white noise keeps its variance.
    """
    t = np.arange(0.0, DURATION, tr)
    # The variance of a gamma grows with its shape, so that a later peak is wider.
    peak = max(PEAK + delay, LEAST_PEAK)
    response: Array = gamma.pdf(t, peak) - gamma.pdf(t, peak + UNDERSHOOT - PEAK) / RATIO
    return response / np.linalg.norm(response)


def smoothing_filters(tr: float, delays: Array, autoregression: float) -> Array:
    """Return one filter per region: autoregression, and then the response of the blood.

    Parameters
    ----------
    tr : float
        Seconds from volume to volume.
    delays : ndarray of shape (regions,)
        Seconds by which the response of each region is later than the canonical response.
    autoregression : float
        Coefficient of the autoregression of order one.

    Returns
    -------
    ndarray of shape (volumes, regions)
        The filters. Each column has a sum of squares of one.
    """
    responses = np.column_stack([canonical_response(tr, delay) for delay in delays])
    # The autoregression continues after the end of the response.
    padded = np.vstack([responses, np.zeros((MEMORY, len(delays)))])
    filters: Array = lfilter([1.0], [1.0, -autoregression], padded, axis=0)
    return filters / np.linalg.norm(filters, axis=0)


def fading_filter(autoregression: float, n_regions: int) -> Array:
    """Return the filter of an autoregression alone, with the same column for each region."""
    column = np.float64(autoregression) ** np.arange(MEMORY)
    return np.tile((column / np.linalg.norm(column))[:, None], n_regions)


def filtered(activity: Array, filters: Array) -> Array:
    """Return the filtered activity, without the first volumes, whose past is incomplete.

    Parameters
    ----------
    activity, filters : ndarray of shape (volumes, regions)
        Activity of each region, and its filter.

    Returns
    -------
    ndarray of shape (len(activity) - len(filters) + 1, regions)
        The filtered activity.
    """
    passed: Array = fftconvolve(activity, filters, mode="valid", axes=0)
    return passed
