r"""Differences of more than one edge: connected sets of changed edges, hubs, lobes.

Sums of sizes of weights are biased by noise, the more the smaller the group. Permutations have the
same bias, so that what a sum is compared with is its own mean and spread over them:
:math:`z = (s - \bar s^*) / sd(s^*)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sgbn.inference.joint import Graph, GroupWeights

Array = NDArray[np.float64]

PRESENT_T = 2.0  # of a weight over its standard error, for an edge to count as present in a group


class Component(NamedTuple):
    """A connected set of edges that change in one direction.

    Attributes
    ----------
    sign : int
        1 where weights are greater in the last group, -1 where they are less.
    pairs : ndarray of shape (k, 2)
        Source and target of each edge, as column numbers.
    strength : float
        How much its statistics exceed the threshold, added up.
    """

    sign: int
    pairs: NDArray[np.intp]
    strength: float


def components_of(statistic: Array, tested: Graph, threshold: float) -> list[Component]:
    """Find connected sets of edges beyond a threshold, positive and negative ones apart.

    A network-based statistic (Zalesky et al., 2010) for directed edges: two edges are connected
    where they share a region. The strongest set comes first.
    """
    found = []
    for sign in (1, -1):
        excess = np.where(tested, sign * statistic - threshold, 0.0)
        sources, targets = np.nonzero(excess > 0)
        if not len(sources):
            continue
        ones = np.ones(len(sources))
        graph = coo_array((ones, (sources, targets)), shape=statistic.shape)
        _, labels = connected_components(graph, directed=False)
        for label in np.unique(labels[sources]):
            own = labels[sources] == label
            pairs = np.column_stack([sources[own], targets[own]])
            found.append(Component(sign, pairs, float(excess[tuple(pairs.T)].sum())))
    return sorted(found, key=lambda component: -component.strength)


def strengths(weights: Sequence[GroupWeights], lobes: NDArray[np.intp]) -> dict[str, Array]:
    """How much the groups differ in sums over edges.

    In- and out-strength of every region (sum of the sizes of its weights), strength and number of
    edges from lobe to lobe. Of two groups the second less the first, of more the range.
    """
    member = (lobes[:, None] == np.arange(lobes.max() + 1)).astype(float)
    sums: dict[str, list[Array]] = {name: [] for name in ("in", "out", "strength", "number")}
    for own in weights:
        size = np.abs(own.weights)
        present = (own.weights != 0) & (size >= PRESENT_T * np.sqrt(own.variances))
        sums["in"].append(size.sum(axis=0))
        sums["out"].append(size.sum(axis=1))
        sums["strength"].append((member.T @ size @ member).ravel())
        sums["number"].append((member.T @ present @ member).ravel())
    return {
        name: groups[1] - groups[0] if len(groups) == 2 else np.ptp(groups, axis=0)
        for name, groups in sums.items()
    }


def corrected(observed: Array, null: Array, family: NDArray[np.intp]) -> tuple[Array, Array]:
    """Standardise sums by their permutations, and correct over the family that each belongs to.

    Parameters
    ----------
    observed : ndarray of shape (k,)
    null : ndarray of shape (permutations, k)
    family : ndarray of int of shape (k,)

    Returns
    -------
    z, p : ndarray of shape (k,)
        A sum that never varies has z = 0 and p = 1.
    """
    mean, sd = null.mean(axis=0), null.std(axis=0)
    scale = np.where(sd > 0, sd, np.inf)
    z, z_null = (observed - mean) / scale, np.abs(null - mean) / scale
    p = np.ones(len(observed))
    for member in np.unique(family):
        own = family == member
        highest = z_null[:, own].max(axis=1)
        p[own] = [reached(abs(value), highest) for value in z[own]]
    return z, p


def reached(value: float, null: Array) -> float:
    """Share of the null statistics, and the value itself, that reach the value."""
    return float((1 + (null >= value).sum()) / (1 + len(null)))
