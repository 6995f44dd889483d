r"""Statistics of edges from the influences of the rows: one rule for any design.

With :math:`\psi^{(g)}_u` the influences of the rows of unit u (a row, a person or a family) on a
weight of group g, added up, the covariances of the groups' weights and Wald's statistic are

.. math:: C_{gh} = \frac{n}{n - r} \sum_u \psi^{(g)}_u \psi^{(h)}_u, \qquad
          Q = (D \theta)^T (D C D^T)^{-1} D \theta

with differences D from the first group, and the rank r of what is held fixed. Of two groups it is
the square of :math:`t = (\theta^{(2)} - \theta^{(1)}) / \sqrt{C_{11} + C_{22} - 2 C_{12}}`. The
influences are those of HC3, see `sgbn.inference.influence`: noise may differ between groups, and
depend on the parents. C has off-diagonal entries only where a unit has rows in several groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.inference.influence import edge_influences, pair_influences
from sgbn.inference.joint import GroupWeights
from sgbn.types import Array, Graph, Indices, Mask

Edges = NDArray[np.int64]


class Estimates(NamedTuple):
    """Weights of edges in the groups, and their covariances between groups.

    Attributes
    ----------
    weights : ndarray of shape (groups, k)
    covariances : ndarray of shape (groups, groups, k)
    """

    weights: Array
    covariances: Array

    def statistic(self, members: Sequence[int]) -> Array:
        """Return the statistic of each edge for these groups; 0 where it is not defined.

        Two groups have t of the second less the first; more groups have the root of Wald's Q.
        """
        groups = list(members)
        b, C = self.weights[groups], self.covariances[np.ix_(groups, groups)]
        if len(groups) == 2:
            # A variance of 0 or NaN comes from a singular regression; the statistic is 0 then,
            # which never counts as a find.
            with np.errstate(divide="ignore", invalid="ignore"):
                t = (b[1] - b[0]) / np.sqrt(C[0, 0] + C[1, 1] - 2 * C[0, 1])
        else:
            t = _root_of_q(b, C)
        return np.where(np.isfinite(t), t, 0.0)

    def part(self, chosen: Mask | slice) -> Estimates:
        """Estimates of some of the edges."""
        return Estimates(self.weights[:, chosen], self.covariances[..., chosen])

    def standard_error(self, first: int, last: int) -> Array:
        """Return the standard error of the difference between two groups."""
        C = self.covariances
        error: Array = np.sqrt(C[first, first] + C[last, last] - 2 * C[first, last])
        return error

    def matrices(self, edges: Edges, m: int) -> list[GroupWeights]:
        """Weights and variances of each group as matrices; noise variances are not known here."""
        i, j = edges.T
        matrices = []
        for g, weights in enumerate(self.weights):
            B, V = np.zeros((m, m)), np.zeros((m, m))
            B[i, j], V[i, j] = weights, self.covariances[g, g]
            matrices.append(GroupWeights(B, V, np.full(m, np.nan)))
        return matrices


class Ways(NamedTuple):
    """Estimates of pairs, looked at in three ways; see `all_ways`."""

    forward: Estimates
    backward: Estimates
    correlation: Estimates

    def statistics(self, members: Sequence[int]) -> Array:
        """Statistic of each pair in each way, of shape (k, 3)."""
        return np.column_stack([estimates.statistic(members) for estimates in self])


@dataclass(frozen=True)
class Units:
    """Rows of each group in order of their units.

    Attributes
    ----------
    rows : tuple of ndarray of int
        Rows of each group.
    starts : tuple of ndarray of int, or None
        Where the rows of each unit begin; None where each row is a unit of its own.
    numbers : tuple of ndarray of int
        Number of each of these units.
    count : int
        Units of all groups.
    inflation : float
        n / (n - r): what is held fixed has taken r degrees of freedom.
    """

    rows: tuple[Indices, ...]
    starts: tuple[Indices, ...] | None
    numbers: tuple[Indices, ...]
    count: int
    inflation: float

    @classmethod
    def of(cls, codes: Indices, labels: Indices | None, rank: int) -> Units:
        """Units by the label of each row; without labels each row is one."""
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
        """Covariances between groups from the influences (k, n_g) of the rows of each."""
        n_groups, k = len(influences), len(influences[0])
        C = np.zeros((n_groups, n_groups, k))
        if self.starts is None:
            for g, influence in enumerate(influences):
                # Each row is a unit and in one group only: covariances between groups are 0.
                C[g, g] = np.einsum("kn,kn->k", influence, influence)
            return self.inflation * C
        sums = np.zeros((n_groups, k, self.count))
        for g, influence in enumerate(influences):
            sums[g][:, self.numbers[g]] = np.add.reduceat(influence, self.starts[g], axis=1)
        return self.inflation * np.einsum("gku,hku->ghk", sums, sums)


class GroupColumns(NamedTuple):
    """Residuals of one group, one row per region, and their products."""

    columns: Array
    products: Array


def group_columns(residuals: Array, units: Units) -> list[GroupColumns]:
    """Residuals of the groups, as `sgbn.inference.influence` takes them."""
    columns = [np.ascontiguousarray(residuals[rows].T) for rows in units.rows]
    return [GroupColumns(group, group @ group.T) for group in columns]


def one_way(groups: Sequence[GroupColumns], edges: Edges, units: Units) -> Estimates:
    """Weights of edges given the other parents of their child; edges of a child are together."""
    targets = edges[:, 1]
    first = np.flatnonzero(np.diff(targets, prepend=-1))
    starts = np.append(first, len(edges)).astype(np.int64)
    influences = [edge_influences(*group, edges, starts) for group in groups]
    return _estimates(influences, units)


def all_ways(groups: Sequence[GroupColumns], edges: Edges, given: Graph, units: Units) -> Ways:
    """Weight of i in the regression of j, of j in that of i, and their partial correlation.

    All three beside the same others; the correlation as Fisher's z.
    """
    by_group = [pair_influences(*group, edges, given) for group in groups]
    forward, backward, correlation = (
        _estimates([(weights[way], influences[way]) for weights, influences in by_group], units)
        for way in range(3)
    )
    return Ways(forward, backward, correlation)


def parents_of_both(parents: Graph, edges: Edges) -> Graph:
    """For each pair i, j the parents of i or j, without i and j."""
    i, j = edges.T
    given: Graph = (parents[:, i] | parents[:, j]).T
    places = np.arange(len(edges))
    # Where i is a parent of j it would be given beside itself.
    given[places, i] = given[places, j] = False
    return np.ascontiguousarray(given)


def _estimates(influences: Sequence[tuple[Array, Array]], units: Units) -> Estimates:
    weights = np.array([weight for weight, _ in influences])
    return Estimates(weights, units.covariances([influence for _, influence in influences]))


def _root_of_q(b: Array, C: Array) -> Array:
    """Root of Wald's statistic of the equality of several weights; NaN where it is not known."""
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
