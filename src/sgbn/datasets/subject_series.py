"""Weights and series of one simulated subject."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sgbn.datasets.group_networks import limited
from sgbn.datasets.haemodynamics import fading_filter, filtered
from sgbn.types import Array

MOST_EXPLAINED = 0.9  # largest share of a region's variance that its parents explain in a subject
HIDDEN_SHARE = 0.4  # of the variance that parents leave, made by the unmeasured inputs of a region
HIDDEN_TARGETS = 4  # regions that each unmeasured input drives


class Signal(NamedTuple):
    """What turns the weights of a subject into series, the same for all subjects."""

    smoothed: float  # share of the variance of neural activity
    smoothing: Array  # filters of the smoothed part (volumes x regions)
    autoregression: float  # of the rest
    loadings: Array  # of the own parts of the regions on unmeasured inputs (inputs x regions)


def hidden_loadings(n_hidden: int, m: int, rng: np.random.Generator) -> Array:
    """Let each unmeasured input drive some regions.

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
    """Draw standardised weights of a subject around those of its group, on the same edges.

    Parameters
    ----------
    weights : ndarray of shape (m, m)
        Weights of the group.
    heterogeneity : float
        Standard deviation of each weight.
    factor : ndarray of shape (m, m)
        Factor by which each weight is multiplied.
    """
    spread = heterogeneity * rng.standard_normal(weights.shape)
    drawn: Array = (weights + spread) * (weights != 0) * factor
    return limited(drawn, MOST_EXPLAINED)[0]


def own_series(
    weights: Array, signal: Signal, n_volumes: int, noise: float, rng: np.random.Generator
) -> Array:
    """Draw series of a subject; every region has variance one.

    Activity that is smoothed and activity that is not come from the same network.
    """
    m = len(weights)
    fading = fading_filter(signal.autoregression, m)
    # The first volumes only fill the filters, and are cut off by them.
    slow = _activity(weights, signal.loadings, n_volumes + len(signal.smoothing) - 1, rng)
    fast = _activity(weights, signal.loadings, n_volumes + len(fading) - 1, rng)
    neural = np.sqrt(signal.smoothed) * filtered(slow, signal.smoothing)
    neural += np.sqrt(1 - signal.smoothed) * filtered(fast, fading)
    measured = rng.standard_normal(neural.shape)
    series: Array = np.sqrt(1 - noise) * neural + np.sqrt(noise) * measured
    return series


def _activity(weights: Array, loadings: Array, length: int, rng: np.random.Generator) -> Array:
    """Draw volumes of a network that do not depend on each other."""
    m = len(weights)
    _, explained = limited(weights, most=np.inf)
    noise = np.sqrt(1 - (loadings**2).sum(axis=0)) * rng.standard_normal((length, m))
    noise += rng.standard_normal((length, len(loadings))) @ loadings
    # x = W' x + e for each volume, so that x = (I - W')^-1 e.
    drawn: Array = np.linalg.solve((np.eye(m) - weights).T, (np.sqrt(1 - explained) * noise).T).T
    return drawn
