r"""Statistics of edges from the influences of the rows, by the same formula for any design.

A unit u is a row, a person or a family. Let :math:`\theta` be the weights of an edge in the groups,
and :math:`\psi^{(g)}_u` the sum of the influences of the unit's rows on the weight of group g. The
covariances of the groups' weights and Wald's statistic are

.. math:: C_{gh} = \frac{n}{n - r} \sum_u \psi^{(g)}_u \psi^{(h)}_u, \qquad
          Q = (D \theta)^T (D C D^T)^{-1} D \theta

where n is the number of rows, D forms the differences from the first group, and r is the rank of
the effects that are held fixed. With two groups, Q is the square of
:math:`t = (\theta^{(2)} - \theta^{(1)}) / \sqrt{C_{11} + C_{22} - 2 C_{12}}`. The influences are
the HC3 influences of `sgbn.inference.influence`. So noise may differ between groups, and may depend
on the parents. C has off-diagonal entries only if a unit has rows in several groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.core.types import Array, Graph, Indices, Mask
from sgbn.inference.influence import edge_influences, pair_influences
from sgbn.inference.joint import GroupWeights

Edges = NDArray[np.int64]


class Estimates(NamedTuple):
    """The weights of edges in the groups, and their covariances between groups.

    Attributes
    ----------
    weights : ndarray of shape (groups, k)
        Weight of each of the k edges in each group.
    covariances : ndarray of shape (groups, groups, k)
        Covariances of the groups' weights, for each edge.
    """

    weights: Array
    covariances: Array

    def statistic(self, members: Sequence[int]) -> Array:
        """Return the statistic of each edge for these groups; 0 if it is not defined.

        For two groups it is the t of the second minus the first. For more groups it is the root of
        Wald's Q.
        """
        groups = list(members)
        b, C = self.weights[groups], self.covariances[np.ix_(groups, groups)]
        if len(groups) == 2:
            # A variance of 0 or NaN comes from a singular regression. The statistic is then set to
            # 0, which is never significant.
            with np.errstate(divide="ignore", invalid="ignore"):
                t = (b[1] - b[0]) / np.sqrt(C[0, 0] + C[1, 1] - 2 * C[0, 1])
        else:
            t = _root_of_q(b, C)
        return np.where(np.isfinite(t), t, 0.0)

    def part(self, chosen: Mask | slice) -> Estimates:
        """Return the estimates of some of the edges."""
        return Estimates(self.weights[:, chosen], self.covariances[..., chosen])

    def standard_error(self, first: int, last: int) -> Array:
        """Return the standard error of the difference between two groups."""
        C = self.covariances
        error: Array = np.sqrt(C[first, first] + C[last, last] - 2 * C[first, last])
        return error

    def matrices(self, edges: Edges, m: int) -> list[GroupWeights]:
        """Return weights and variances of each group as matrices; noise variances are NaN."""
        i, j = edges.T
        matrices = []
        for g, weights in enumerate(self.weights):
            B, V = np.zeros((m, m)), np.zeros((m, m))
            B[i, j], V[i, j] = weights, self.covariances[g, g]
            matrices.append(GroupWeights(B, V, np.full(m, np.nan)))
        return matrices


class Ways(NamedTuple):
    """The estimates of pairs in three ways: both directions and the correlation; see `all_ways`."""

    forward: Estimates
    backward: Estimates
    correlation: Estimates

    def statistics(self, members: Sequence[int]) -> Array:
        """Return the statistic of each pair in each way, of shape (k, 3)."""
        return np.column_stack([estimates.statistic(members) for estimates in self])


@dataclass(frozen=True)
class Units:
    """The rows of each group, in the order of their units.

    Attributes
    ----------
    rows : tuple of ndarray of int
        Rows of each group.
    starts : tuple of ndarray of int, or None
        Places in `rows` at which the rows of each unit begin. None if each row is a unit.
    numbers : tuple of ndarray of int
        Number of each unit that has rows in the group.
    count : int
        Number of units in all groups.
    inflation : float
        n / (n - r), since the effects that are held fixed use up r degrees of freedom.
    """

    rows: tuple[Indices, ...]
    starts: tuple[Indices, ...] | None
    numbers: tuple[Indices, ...]
    count: int
    inflation: float

    @classmethod
    def of(cls, codes: Indices, labels: Indices | None, rank: int) -> Units:
        """Return the units given by the label of each row; without labels each row is a unit."""
        n = len(codes)
        unit_codes = np.arange(n) if labels is None else np.unique(labels, return_inverse=True)[1]
        # Rows in the order of their units, so that reduceat below can add the influences of a unit.
        by_unit = np.argsort(unit_codes, kind="stable")
        rows = tuple(by_unit[codes[by_unit] == c] for c in range(int(codes.max()) + 1))
        parts = [np.unique(unit_codes[place], return_index=True) for place in rows]
        starts = None if labels is None else tuple(first for _, first in parts)
        numbers = tuple(unit for unit, _ in parts)
        return cls(rows, starts, numbers, int(unit_codes.max()) + 1, n / (n - rank))

    def covariances(self, influences: Sequence[Array]) -> Array:
        """Return the covariances between groups, from the influences (k, n_g) of each group."""
        n_groups, k = len(influences), len(influences[0])
        C = np.zeros((n_groups, n_groups, k))
        if self.starts is None:
            for g, influence in enumerate(influences):
                # Each row is a unit and is in one group only. So covariances between groups are 0.
                C[g, g] = np.einsum("kn,kn->k", influence, influence)
            return self.inflation * C
        sums = np.zeros((n_groups, k, self.count))
        for g, influence in enumerate(influences):
            sums[g][:, self.numbers[g]] = np.add.reduceat(influence, self.starts[g], axis=1)
        return self.inflation * np.einsum("gku,hku->ghk", sums, sums)


class GroupColumns(NamedTuple):
    """The residuals of one group, one row per region, and their products."""

    columns: Array
    products: Array


def group_columns(residuals: Array, units: Units) -> list[GroupColumns]:
    """Return the residuals of the groups in the form that `sgbn.inference.influence` takes."""
    columns = [np.ascontiguousarray(residuals[rows].T) for rows in units.rows]
    return [GroupColumns(group, group @ group.T) for group in columns]


def one_way(groups: Sequence[GroupColumns], edges: Edges, units: Units) -> Estimates:
    """Return the weights of edges, given the other parents of the target.

    Edges with the same target must lie next to each other.
    """
    targets = edges[:, 1]
    first = np.flatnonzero(np.diff(targets, prepend=-1))
    starts = np.append(first, len(edges)).astype(np.int64)
    influences = [edge_influences(*group, edges, starts) for group in groups]
    return _estimates(influences, units)


def all_ways(groups: Sequence[GroupColumns], edges: Edges, given: Graph, units: Units) -> Ways:
    """Return the weight of i -> j, the weight of j -> i, and the partial correlation of each pair.

    All three are estimated given the same other regions. The correlation is Fisher's z.
    """
    by_group = [pair_influences(*group, edges, given) for group in groups]
    forward, backward, correlation = (
        _estimates([(weights[way], influences[way]) for weights, influences in by_group], units)
        for way in range(3)
    )
    return Ways(forward, backward, correlation)


def parents_of_both(parents: Graph, edges: Edges) -> Graph:
    """Return, for each pair i, j, the parents of i or j, without i and j."""
    i, j = edges.T
    given: Graph = (parents[:, i] | parents[:, j]).T
    places = np.arange(len(edges))
    # If i is a parent of j, it must not be a further regressor beside itself.
    given[places, i] = given[places, j] = False
    return np.ascontiguousarray(given)


def _estimates(influences: Sequence[tuple[Array, Array]], units: Units) -> Estimates:
    """Return the estimates from the weights and influences of each group."""
    weights = np.array([weight for weight, _ in influences])
    return Estimates(weights, units.covariances([influence for _, influence in influences]))


def _root_of_q(b: Array, C: Array) -> Array:
    """Return the root of Wald's statistic Q of each edge; NaN if it cannot be computed."""
    d = (b[1:] - b[0]).T  # (k, groups - 1)
    C = np.moveaxis(C, -1, 0)
    # Covariances of the differences from the first group, D C D'.
    V = C[:, 1:, 1:] - C[:, 1:, :1] - C[:, :1, 1:] + C[:, :1, :1]
    usable = np.isfinite(V).all(axis=(1, 2)) & np.isfinite(d).all(axis=1)
    # Nearly singular covariances would make any difference look huge.
    usable[usable] &= np.linalg.cond(V[usable]) < 1e12
    root = np.full(len(d), np.nan)
    solved = np.linalg.solve(V[usable], d[usable][..., None])[..., 0]
    root[usable] = np.sqrt(np.einsum("ki,ki->k", d[usable], solved))
    return root
