"""Linear Gaussian structural equation models with random weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.graph import adjacency
from sgbn.core.types import Array
from sgbn.core.validation import OneOf

UNEQUAL_SD = (0.5, 1.5)  # range of the standard deviations of unequal noise


def random_weights(
    graph: ArrayLike, rng: np.random.Generator, low: float = 0.5, high: float = 1.0
) -> Array:
    """Draw weights for the edges of a graph, of random sign and uniform absolute value.

    Parameters
    ----------
    graph : array-like of shape (m, m), or network
        ``graph[i, j] != 0`` is the edge i -> j.
    rng : Generator
        Random generator of the weights.
    low, high : float
        Range of the absolute values.

    Returns
    -------
    ndarray of shape (m, m)
        Weight of each edge i -> j, and 0 for all other pairs.
    """
    support = adjacency(graph)
    size = rng.uniform(low, high, support.shape)
    sign = rng.choice([-1.0, 1.0], support.shape)
    weights: Array = support * size * sign
    return weights


def simulate_sem(
    graph: ArrayLike,
    n_samples: int,
    *,
    low: float = 0.5,
    high: float = 1.0,
    noise: str = "equal",
    random_state: int | np.random.Generator | None = None,
) -> tuple[Array, GaussianNetwork]:
    """Sample from a linear Gaussian model with random weights on a DAG (the data of Exp-II).

    Parameters
    ----------
    graph : array-like of shape (m, m), or network
        ``graph[i, j] != 0`` is the edge i -> j. The result of `load_network` is accepted.
    n_samples : int
        Number of rows to draw.
    low, high : float
        Range of the absolute values of the weights. Their signs are random.
    noise : {"equal", "unequal"}
        Standard deviations of the noise: all 1, or one per variable, uniform on [0.5, 1.5].
    random_state : int, Generator or None
        Seed or generator of weights, noise and rows.

    Returns
    -------
    X : ndarray of shape (n_samples, m)
        One row per sample.
    network : GaussianNetwork
        The true network.
    """
    OneOf("equal", "unequal").check("noise", noise)
    rng = np.random.default_rng(random_state)
    coef = random_weights(graph, rng, low, high)
    sd = rng.uniform(*UNEQUAL_SD, len(coef)) if noise == "unequal" else np.ones(len(coef))
    network = GaussianNetwork(coef, noise_variance=sd**2)
    return network.sample(n_samples, rng), network
