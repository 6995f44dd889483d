"""Draw the weights and the series of one simulated subject."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sgbn.core.types import Array
from sgbn.datasets.group_networks import limited
from sgbn.datasets.haemodynamics import fading_filter, filtered

MOST_EXPLAINED = 0.9  # largest share of a region's variance that its parents explain in a subject
# Unmeasured inputs make up this share of a region's variance that its parents do not explain.
HIDDEN_SHARE = 0.4
HIDDEN_TARGETS = 4  # regions that each unmeasured input drives


class Signal(NamedTuple):
    """The settings that turn weights into series. They are the same for all subjects.

    Attributes
    ----------
    smoothed : float
        Share of the variance of neural activity that is smoothed.
    smoothing : ndarray of shape (volumes, regions)
        Filters of the smoothed part.
    autoregression : float
        Autoregression of the part that is not smoothed.
    loadings : ndarray of shape (inputs, regions)
        Loadings of the noise of each region on the unmeasured inputs.
    """

    smoothed: float
    smoothing: Array
    autoregression: float
    loadings: Array


def hidden_loadings(n_hidden: int, m: int, rng: np.random.Generator) -> Array:
    """Draw the loadings of m regions on unmeasured inputs, each of which drives some regions.

    The sum of squares of a region's loadings is HIDDEN_SHARE, or zero if no input drives it.
    """
    loadings = np.zeros((n_hidden, m))
    for row in loadings:
        targets = rng.permutation(m)[:HIDDEN_TARGETS]
        row[targets] = rng.uniform(0.5, 1.0, len(targets))
    size = np.linalg.norm(loadings, axis=0)
    return loadings * np.sqrt(HIDDEN_SHARE) / np.where(size > 0, size, 1.0)


def own_weights(
    weights: Array, heterogeneity: float, factor: Array, rng: np.random.Generator
) -> Array:
    """Draw the standardised weights of a subject, on the edges of its group.

    Parameters
    ----------
    weights : ndarray of shape (m, m)
        Weights of the group.
    heterogeneity : float
        Standard deviation of each weight between subjects.
    factor : ndarray of shape (m, m)
        Factor by which each drawn weight is multiplied.
    rng : Generator
        Random generator of the weights.
    """
    spread = heterogeneity * rng.standard_normal(weights.shape)
    drawn: Array = (weights + spread) * (weights != 0) * factor
    return limited(drawn, MOST_EXPLAINED)[0]


def own_series(
    weights: Array, signal: Signal, n_volumes: int, noise: float, rng: np.random.Generator
) -> Array:
    """Draw the series of a subject, in which every region has variance one.

    Smoothed and unsmoothed activity are drawn from the same network.
    """
    m = len(weights)
    fading = fading_filter(signal.autoregression, m)
    # The filters need some volumes before the first one, and cut them off.
    slow = _activity(weights, signal.loadings, n_volumes + len(signal.smoothing) - 1, rng)
    fast = _activity(weights, signal.loadings, n_volumes + len(fading) - 1, rng)
    # Square roots, because shares are shares of the variance.
    neural = np.sqrt(signal.smoothed) * filtered(slow, signal.smoothing)
    neural += np.sqrt(1 - signal.smoothed) * filtered(fast, fading)
    measured = rng.standard_normal(neural.shape)
    series: Array = np.sqrt(1 - noise) * neural + np.sqrt(noise) * measured
    return series


def _activity(weights: Array, loadings: Array, length: int, rng: np.random.Generator) -> Array:
    """Draw independent volumes from a network."""
    m = len(weights)
    _, explained = limited(weights, most=np.inf)
    noise = np.sqrt(1 - (loadings**2).sum(axis=0)) * rng.standard_normal((length, m))
    noise += rng.standard_normal((length, len(loadings))) @ loadings
    # x = W' x + e for each volume, so that x = (I - W')^-1 e.
    drawn: Array = np.linalg.solve((np.eye(m) - weights).T, (np.sqrt(1 - explained) * noise).T).T
    return drawn
