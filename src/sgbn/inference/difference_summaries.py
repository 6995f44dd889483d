r"""Differences that concern more than one edge: connected sets of changed edges, hubs and lobes.

The sum of the sizes of weights grows with their noise. So groups of unequal noise differ in this
sum without any difference of weights. The tests therefore use the change along the common sign,

.. math:: s = \sum_{ij} \operatorname{sign}(\bar\theta_{ij}) (\theta^{(2)}_{ij} -
          \theta^{(1)}_{ij}), \qquad s / \sqrt{\textstyle\sum_{ij} v^{(1)}_{ij} + v^{(2)}_{ij}}

where :math:`\theta^{(g)}_{ij}` is the weight of i -> j in group g, v its variance, and
:math:`\bar\theta` the mean of the groups, weighted by 1 / v. If the weights are equal, this mean is
uncorrelated with their difference. So s has mean 0 whatever the noise. With more than two groups,
let :math:`s_g` be the change of group g from the mean. The statistic is then the root of
:math:`\sum_g s_g^2 / \sum_{ij} v^{(g)}_{ij}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.core.graph import joined_parts
from sgbn.core.types import Array, Indices, Mask
from sgbn.inference.joint import GroupWeights
from sgbn.inference.permutation_p import ROUND_OFF, reached

Edges = NDArray[np.int64]

PRESENT_T = 2.0  # weight over standard error from which an edge counts as present in a group
ONE_EDGE = 1.0  # lower limit of the spread of a count, so that one rare edge is not a large change


class Component(NamedTuple):
    """A connected set of edges that change in one direction.

    Attributes
    ----------
    sign : int
        1 if the weights are greater in the last group, -1 if they are smaller. It is 0 for more
        than two groups, whose differences have no sign.
    pairs : ndarray of shape (k, 2)
        Source and target of each edge, as column numbers.
    strength : float
        Sum over the edges of the amount by which their statistics exceed the threshold.
    """

    sign: int
    pairs: Indices
    strength: float


def components_of(
    statistic: Array, edges: Edges, threshold: float, signs: Sequence[int] = (1, -1)
) -> list[Component]:
    """Find connected sets of edges whose statistics exceed a threshold, for each sign separately.

    This is a network-based statistic (Zalesky et al., 2010) for directed edges. Two edges are
    connected if they share a region. The strongest set comes first.

    Parameters
    ----------
    statistic : ndarray of shape (k,)
        Statistic of each edge.
    edges : ndarray of int of shape (k, 2)
        Source and target of each edge.
    threshold : float
        Size that a statistic must exceed.
    signs : sequence of int
        The signs to look for. 0 is for statistics that have no sign, such as the root of Q.
    """
    components = []
    for sign in signs:
        # Statistics without a sign (0) are all positive.
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
    """Return the number of each edge's component."""
    if len(edges) == 1:  # as in most permutations
        return np.zeros(1, np.intp)
    m = int(edges.max()) + 1
    return joined_parts(edges[:, 0], edges[:, 1], m)[edges[:, 0]]


def strengths(weights: Sequence[GroupWeights], lobes: Indices) -> dict[str, Array]:
    """Return how much the groups differ in sums over edges, without a correction for noise.

    The sums are the in- and out-strength of every region (the sum of the sizes of its weights), and
    the strength and number of edges from lobe to lobe. With two groups, the change is the second
    minus the first. With more groups, it is the range over the groups. An edge counts as present in
    a group if its weight is at least twice its largest standard error in any group. So all groups
    have the same limit, but counts, like sums of sizes, still depend on noise.
    """
    sums = [_sums(np.abs(group.weights), lobes) for group in weights]
    changes = {name: _change([group[name] for group in sums]) for name in sums[0]}
    return changes | {"number": _change_of_numbers(weights, lobes)}


def _change_of_numbers(weights: Sequence[GroupWeights], lobes: Indices) -> Array:
    """Return the change of the number of edges from lobe to lobe, see `strengths`."""
    least_size = PRESENT_T * np.sqrt(np.max([group.variances for group in weights], axis=0))
    sizes = (np.abs(group.weights) for group in weights)
    return _change([_lobe_sums((size > 0) & (size >= least_size), lobes) for size in sizes])


def strength_statistics(weights: Sequence[GroupWeights], lobes: Indices) -> dict[str, Array]:
    """Return studentised changes along the common sign, and changes of numbers of edges."""
    B = np.array([group.weights for group in weights])
    V = np.array([group.variances for group in weights])
    known = (np.isfinite(V) & (V > 0)).all(axis=0)
    # Unknown variances are set to 1, which does not matter: `known` keeps them out of every sum.
    V = np.where(known, V, 1.0)
    mean = (B / V).sum(axis=0) / (1 / V).sum(axis=0)
    # The common mean is uncorrelated with the difference. The sign in one group would depend on
    # the noise of this group.
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
    """Return z and p of statistics. Each p is corrected over the family of its statistic.

    Parameters
    ----------
    observed : ndarray of shape (k,)
        Statistics of the data.
    null : ndarray of shape (permutations, k)
        Statistics of the permutations.
    family : ndarray of int of shape (k,)
        Number of each statistic's family.
    counts : ndarray of bool of shape (k,)
        True for statistics that are numbers of edges. These are centred and divided by their spread
        over the permutations. The others are studentised already. To divide them by their spread
        too would exaggerate changes of regions that hardly ever have an edge.
    two_sided : bool
        Whether strongly negative statistics count too.

    Returns
    -------
    z, p : ndarray of shape (k,)
        A statistic that never varies has z = 0 and p = 1.
    """
    both = np.vstack([observed, null])  # the data are one of the permutations
    # A lobe without edges has the same sum in all permutations. Its p is set to 1.
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
    """Return sums of changes divided by the roots of their variances; 0 without an edge."""
    sums, variances = _sums(change, lobes), _sums(variance, lobes)
    return {
        name: total / np.sqrt(np.where(variances[name] > 0, variances[name], 1.0))
        for name, total in sums.items()
    }


def _change(groups: list[Array]) -> Array:
    """Return the second group minus the first; the range if there are more than two groups."""
    change: Array = groups[1] - groups[0] if len(groups) == 2 else np.ptp(groups, axis=0)
    return change
