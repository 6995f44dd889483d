"""Autocorrelated series of subjects."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def true_graph():
    """0 -> 2 <- 1, 2 -> 3, and 4 -> 5, of which nothing decides the direction."""
    graph = np.zeros((6, 6), bool)
    graph[[0, 1, 2, 4], [2, 2, 3, 5]] = True
    return graph


@pytest.fixture(scope="session")
def simulated(autoregressive, true_graph):
    """Function (S, T, seed) -> series of S subjects whose weights on the graph differ."""

    def make(S=12, T=200, seed=0):
        rng = np.random.default_rng(seed)
        series = []
        for _ in range(S):
            B = true_graph * rng.uniform(0.35, 0.75, true_graph.shape)
            mixing = np.linalg.inv(np.eye(6) - B)
            series.append(autoregressive(T, 6, [0.6], rng.integers(2**31), mixing))
        return series

    return make
