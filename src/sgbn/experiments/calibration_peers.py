"""What else is done to find differences between groups: methods to compare the tests with.

Correlations and partial correlations of two groups differ by Fisher's z,

    ``z = (atanh r2 - atanh r1) / sqrt(1 / (n1 - k - 3) + 1 / (n2 - k - 3))``

with k regions held fixed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtr

from sgbn.gaussian import GaussianNetwork
from sgbn.structure import SGBN

Array = NDArray[np.float64]
Graph = NDArray[np.bool_]

LEVEL = 0.05
FISHER_LOSS = 3  # rows that Fisher's z of a correlation loses
NBS_Z = 3.0  # pairs beyond it make components
N_PERMUTATIONS = 199
EQUAL = 1e-6  # weights and correlations of the population that differ by less are equal


class Pair(NamedTuple):
    """Rows of two groups and the truth about them.

    Attributes
    ----------
    changed : ndarray of bool
        Edges of the truth that differ.
    options : mapping
        Groups, covariates and sites, as `edge_differences` takes them.
    seed : int
        Of permutations.
    """

    values: Array
    codes: NDArray[np.intp]
    networks: tuple[GaussianNetwork, GaussianNetwork]
    changed: Graph
    options: Mapping[str, Any]
    seed: int

    @property
    def rows(self) -> tuple[Array, Array]:
        """Rows of each group."""
        return self.values[self.codes == 0], self.values[self.codes == 1]


class Found(NamedTuple):
    """Discoveries; `equal` marks pairs for which nothing is to be found, if that is defined."""

    edges: Graph
    directed: bool
    equal: Graph | None = None


def naive(pair: Pair) -> Found:
    """Pairs that one of two networks joins only, or both with opposite sign."""
    signs = []
    for rows in pair.rows:
        coef = SGBN(n_kicks=0).fit(rows).coef_
        signs.append(np.sign(coef + coef.T))
    return Found(signs[0] != signs[1], False)


def correlation(pair: Pair) -> Found:
    """Differences of correlations at a false discovery rate of 5 %."""
    return Found(_discoveries(_z_of(*pair.rows)), False, _equal_correlations(pair))


def partial_correlation(pair: Pair) -> Found | None:
    """Differences of partial correlations given all others; none where rows are too few."""
    m = pair.values.shape[1]
    sizes = [n - (m - 2) for n in _sizes(pair)]
    if min(sizes) <= FISHER_LOSS:
        return None
    population = [_partial(network.covariance) for network in pair.networks]
    equal = np.abs(population[0] - population[1]) < EQUAL
    first, second = (_partial(np.cov(rows.T)) for rows in pair.rows)
    return Found(_discoveries(_fisher(first, second, *sizes)), False, equal)


def network_based_statistic(pair: Pair) -> Found:
    """Pairs of connected components whose number of pairs is rare among permutations."""
    rng = np.random.default_rng(pair.seed)
    first, second = (rows - rows.mean(axis=0) for rows in pair.rows)
    pooled = np.vstack([first, second])
    n = len(first)
    largest = [
        max(_components(_z_of(pooled[places[:n]], pooled[places[n:]]))[1], default=0)
        for places in (rng.permutation(len(pooled)) for _ in range(N_PERMUTATIONS))
    ]
    z = _z_of(first, second)
    labels, sizes = _components(z)
    p = [(1 + np.sum(np.array(largest) >= size)) / (1 + N_PERMUTATIONS) for size in sizes]
    kept = np.array([size > 0 and own <= LEVEL for size, own in zip(sizes, p, strict=True)])
    return Found((np.abs(z) > NBS_Z) & kept[labels][:, None], False, _equal_correlations(pair))


PEERS = {
    "difference of two networks": naive,
    "correlations": correlation,
    "partial correlations": partial_correlation,
    "NBS on correlations": network_based_statistic,
}


def _sizes(pair: Pair) -> tuple[int, int]:
    first, second = np.bincount(pair.codes).tolist()
    return first, second


def _fisher(first: Array, second: Array, n1: int, n2: int) -> Array:
    """Z of the difference of two matrices of correlations; 0 on the diagonal."""
    off = ~np.eye(len(first), dtype=bool)
    difference = np.arctanh(np.where(off, second, 0.0)) - np.arctanh(np.where(off, first, 0.0))
    z: Array = difference / np.sqrt(1 / (n1 - FISHER_LOSS) + 1 / (n2 - FISHER_LOSS))
    return z


def _z_of(first: Array, second: Array) -> Array:
    return _fisher(_correlation(first), _correlation(second), len(first), len(second))


def _correlation(rows: Array) -> Array:
    R: Array = np.asarray(np.corrcoef(rows.T))
    return R


def _partial(S: Array) -> Array:
    P = np.linalg.inv(S)
    d = np.sqrt(np.diag(P))
    R: Array = -P / np.outer(d, d)
    return R


def _equal_correlations(pair: Pair) -> Graph:
    R = []
    for network in pair.networks:
        sd = np.sqrt(np.diag(network.covariance))
        R.append(network.covariance / np.outer(sd, sd))
    equal: Graph = np.abs(R[0] - R[1]) < EQUAL
    return equal


def _discoveries(z: Array) -> Graph:
    """Pairs found by the rule of Benjamini and Hochberg."""
    i, j = np.triu_indices(len(z), 1)
    p = 2 * ndtr(-np.abs(z[i, j]))
    ranked = np.sort(p)
    passed = np.flatnonzero(ranked <= LEVEL * np.arange(1, len(p) + 1) / len(p))
    found = np.zeros(z.shape, bool)
    if len(passed):
        found[i, j] = p <= ranked[passed[-1]]
    return found


def _components(z: Array) -> tuple[NDArray[np.intp], list[int]]:
    """Component of each region, and the number of pairs in each component."""
    i, j = np.nonzero(np.triu(np.abs(z) > NBS_Z, 1))
    graph = coo_array((np.ones(len(i)), (i, j)), shape=z.shape)
    n, labels = connected_components(graph, directed=False)
    return labels, np.bincount(labels[i], minlength=n).tolist()
