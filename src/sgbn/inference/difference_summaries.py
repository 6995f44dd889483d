r"""Differences of more than one edge: connected sets of changed edges, hubs, lobes.

The sum of the sizes of weights grows with their noise, so that groups of unequal noise differ in it
without any difference of weights. What is tested is the change along the common sign,

.. math:: s = \sum_{ij} \operatorname{sign}(\bar\theta_{ij}) (\theta^{(2)}_{ij} -
          \theta^{(1)}_{ij}), \qquad s / \sqrt{\textstyle\sum_{ij} v^{(1)}_{ij} + v^{(2)}_{ij}}

with the mean of the groups weighted by 1 / v. It is uncorrelated with the difference where the
weights are equal, so that s has mean 0 whatever the noise. Of more than two groups it is the root
of :math:`\sum_g s_g^2 / \sum_{ij} v^{(g)}_{ij}` of their changes from the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.graph.parts import joined_parts
from sgbn.inference.joint import GroupWeights
from sgbn.inference.permutation_p import ROUND_OFF, reached
from sgbn.types import Array, Indices, Mask

Edges = NDArray[np.int64]

PRESENT_T = 2.0  # of a weight over its standard error, for an edge to count as present in a group
ONE_EDGE = 1.0  # least spread of a number of edges: a rare single one is not a large change


class Component(NamedTuple):
    """A connected set of edges that change in one direction.

    Attributes
    ----------
    sign : int
        1 where weights are greater in the last group, -1 where they are less, 0 of more than two
        groups, whose differences have no sign.
    pairs : ndarray of shape (k, 2)
        Source and target of each edge, as column numbers.
    strength : float
        How much its statistics exceed the threshold, added up.
    """

    sign: int
    pairs: Indices
    strength: float


def components_of(
    statistic: Array, edges: Edges, threshold: float, signs: Sequence[int] = (1, -1)
) -> list[Component]:
    """Find connected sets of edges beyond a threshold, positive and negative ones apart.

    A network-based statistic (Zalesky et al., 2010) for directed edges: two edges are connected
    where they share a region. The strongest set comes first. A sign of 0 is that of a statistic
    that has none.

    Parameters
    ----------
    statistic : ndarray of shape (k,)
    edges : ndarray of int of shape (k, 2)
    """
    components = []
    for sign in signs:
        # A sign of 0 stands for statistics without one, such as the root of Q, which are all
        # positive.
        excess = (sign or 1) * statistic - threshold
        beyond = excess > 0
        if not beyond.any():
            continue
        pairs, own_excess = edges[beyond], excess[beyond]
        labels = _components(pairs)
        for label in np.unique(labels):
            members = labels == label
            components.append(Component(sign, pairs[members], float(own_excess[members].sum())))
    return sorted(components, key=lambda component: -component.strength)


def _components(edges: Edges) -> NDArray[Any]:
    """Component of each edge."""
    if len(edges) == 1:  # as in most permutations
        return np.zeros(1, np.intp)
    m = int(edges.max()) + 1
    return joined_parts(edges[:, 0], edges[:, 1], m)[edges[:, 0]]


def strengths(weights: Sequence[GroupWeights], lobes: Indices) -> dict[str, Array]:
    """How much the groups differ in sums over edges, as they are.

    In- and out-strength of every region (sum of the sizes of its weights), strength and number of
    edges from lobe to lobe. Of two groups the second less the first, of more the range. An edge
    counts as present in a group where its weight is twice the largest standard error of any group:
    one yardstick for all, but counts, like sums of sizes, still depend on noise.
    """
    sums = [_sums(np.abs(group.weights), lobes) for group in weights]
    changes = {name: _change([group[name] for group in sums]) for name in sums[0]}
    return changes | {"number": _change_of_numbers(weights, lobes)}


def _change_of_numbers(weights: Sequence[GroupWeights], lobes: Indices) -> Array:
    """Change of the number of edges from lobe to lobe, see `strengths`."""
    yardstick = PRESENT_T * np.sqrt(np.max([group.variances for group in weights], axis=0))
    sizes = (np.abs(group.weights) for group in weights)
    return _change([_lobe_sums((size > 0) & (size >= yardstick), lobes) for size in sizes])


def strength_statistics(weights: Sequence[GroupWeights], lobes: Indices) -> dict[str, Array]:
    """Return studentised changes along the common sign, and changes of numbers of edges."""
    B = np.array([group.weights for group in weights])
    V = np.array([group.variances for group in weights])
    known = (np.isfinite(V) & (V > 0)).all(axis=0)
    # Unknown variances get any weight: `known` takes these edges out of every sum.
    V = np.where(known, V, 1.0)
    mean = (B / V).sum(axis=0) / (1 / V).sum(axis=0)
    # The sign of the common mean, which is uncorrelated with the difference. The sign of either
    # group would be tied to its noise.
    sign = np.where(known, np.sign(mean), 0.0)
    if len(B) == 2:
        statistics = _studentised(sign * (B[1] - B[0]), known * V.sum(axis=0), lobes)
    else:
        parts = [
            _studentised(sign * (b - mean), known * v, lobes) for b, v in zip(B, V, strict=True)
        ]
        statistics = {
            name: np.linalg.norm([group[name] for group in parts], axis=0) for name in parts[0]
        }
    return statistics | {"number": _change_of_numbers(weights, lobes)}


def corrected(
    observed: Array, null: Array, family: Indices, counts: Mask, two_sided: bool = True
) -> tuple[Array, Array]:
    """Correct statistics over the family of each; counts are standardised by their permutations.

    Parameters
    ----------
    observed : ndarray of shape (k,)
    null : ndarray of shape (permutations, k)
    family : ndarray of int of shape (k,)
    counts : ndarray of bool of shape (k,)
        Which of them are numbers of edges; the others are studentised already. To divide those by
        their spread as well would make much of regions that hardly ever have an edge.
    two_sided : bool
        Whether low values count as well.

    Returns
    -------
    z, p : ndarray of shape (k,)
        A statistic that never varies has z = 0 and p = 1.
    """
    both = np.vstack([observed, null])  # the data are one of the permutations
    # A lobe without edges has the same sum in all permutations. Its p is 1, not a share of ties.
    varies = np.ptp(both, axis=0) > ROUND_OFF * np.abs(both).max(axis=0)
    mean = np.where(counts, both.mean(axis=0), 0.0)
    spread = np.where(counts, np.maximum(both.std(axis=0), ONE_EDGE), 1.0)
    z = np.where(varies, (both - mean) / spread, 0.0)
    sizes = np.abs(z) if two_sided else z
    p = np.ones(len(observed))
    for member in np.unique(family):
        tested = (family == member) & varies
        # The largest of a family in each permutation corrects over the family (max-T).
        highest = sizes[1:, tested].max(axis=1, initial=-np.inf)
        p[tested] = [reached(value, highest) for value in sizes[0, tested]]
    return z[0], p


def _sums(edges: NDArray[Any], lobes: Indices) -> dict[str, Array]:
    """Add up the edges into and out of each region, and from lobe to lobe."""
    ends = {"in": edges.sum(axis=0), "out": edges.sum(axis=1)}
    return ends | {"strength": _lobe_sums(edges, lobes)}


def _lobe_sums(edges: NDArray[Any], lobes: Indices) -> Array:
    """Add up the edges from each lobe to each lobe; -1 marks regions without a lobe."""
    # Unknown lobes are -1, which no column has.
    member = (lobes[:, None] == np.arange(lobes.max() + 1)).astype(float)
    total: Array = (member.T @ edges @ member).ravel()
    return total


def _studentised(change: Array, variance: Array, lobes: Indices) -> dict[str, Array]:
    """Divide sums by the square roots of their variances; 0 without an edge."""
    tops, squares = _sums(change, lobes), _sums(variance, lobes)
    return {
        name: tops[name] / np.sqrt(np.where(squares[name] > 0, squares[name], 1.0)) for name in tops
    }


def _change(groups: list[Array]) -> Array:
    change: Array = groups[1] - groups[0] if len(groups) == 2 else np.ptp(groups, axis=0)
    return change
