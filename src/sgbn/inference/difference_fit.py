"""What is fitted to the groups, in the data and in every permutation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sgbn.exceptions import InputError, counted, listed, shown
from sgbn.inference.closed_tests import Members
from sgbn.inference.difference_input import GroupData
from sgbn.inference.difference_problem import Fit, NamedEdges, Problem, lobe_numbers
from sgbn.inference.edge_statistics import (
    GroupColumns,
    Units,
    all_ways,
    group_columns,
    one_way,
    parents_of_both,
)
from sgbn.inference.joint import GROUP_GAMMA, POOLED_GAMMA, SharedOrder
from sgbn.inference.rows import check_groups_vary
from sgbn.structure import SGBN
from sgbn.structure.nuisance import Nuisance, nuisance_of
from sgbn.types import Array, Graph, Indices

ROWS_PER_PARENT = 5  # of the smallest group: with fewer, leverages near 1 decide the statistics
COPY = 1e-8  # 1 - |correlation| of residuals, below which one region is a copy of another


@dataclass(frozen=True, kw_only=True)
class TableProblem(Problem):
    """What every permutation of the rows of a table needs.

    Attributes
    ----------
    residuals : ndarray of shape (n, m)
        Without nuisance effects, in standard deviations `sd`. Each worker has them instead of the
        values.
    most_parents : int
        A fifth of the subjects of the smallest group, less what nuisance effects take of them.
    """

    residuals: Array
    nuisance: Nuisance
    shared: SharedOrder
    units: Units
    separate: bool
    most_parents: int

    @property
    def content(self) -> Array:
        """Residuals, which all statistics come from."""
        return self.residuals

    def refit(self, members: Members) -> Callable[[Indices], Fit]:  # noqa: ARG002
        """Return what fits the groups anew, given the row that comes to each place."""
        return lambda rows: self.fit(self.nuisance.residuals(self.residuals[rows]))

    def fit(self, residuals: Array) -> Fit:
        """Choose parents, with the labels as they are, and estimate the groups' weights."""
        groups = group_columns(residuals, self.units)
        pooled, parents = self.choose(groups)
        targets, sources = np.nonzero(parents.T)
        edges = np.column_stack([sources, targets]).astype(np.int64)
        named = None
        if self.named is not None:
            named = all_ways(groups, self.named.edges, self.named.given, self.units)
        return Fit(
            parents,
            edges,
            pooled[sources, targets],
            one_way(groups, edges, self.units),
            all_ways(groups, edges, parents_of_both(parents, edges), self.units),
            named,
        )

    def choose(self, groups: Sequence[GroupColumns]) -> tuple[Graph, Graph]:
        """Return the parents that the pooled rows choose, and these with the parents of groups."""
        n, most = len(self.residuals), self.most_parents
        products = [group.products for group in groups]
        S = np.sum(products, axis=0) / n
        # Parents of the pool do not see the labels; those of a group do, and are compared with each
        # other only (`from_pool`).
        pooled = self.shared.parents_of(S, n, POOLED_GAMMA, most)
        parents = pooled.copy()
        for group in groups if self.separate else ():
            size = group.columns.shape[1]
            parents |= self.shared.parents_of(group.products / size, size, GROUP_GAMMA, most)
        return pooled, surest_parents(parents, pooled, products, most)


def surest_parents(parents: Graph, pooled: Graph, products: Sequence[Array], most: int) -> Graph:
    """Keep at most so many parents of each region.

    Those that the pooled rows chose come first, then those with the largest correlation with the
    region in any group.
    """
    kept = parents.copy()
    for j in np.flatnonzero(parents.sum(axis=0) > most):
        # Squared correlations are at most 1, so that 2 for the pooled ones puts these first.
        sizes = [np.square(S[:, j]) / (np.diag(S) * S[j, j]) for S in products]
        rank = np.where(parents[:, j], np.max(sizes, axis=0) + 2 * pooled[:, j], -1.0)
        kept[np.argsort(-rank, kind="stable")[most:], j] = False
    return kept


def problem_of(
    data: GroupData,
    learner: SGBN,
    separate: bool,
    alternative: str,
    edges: Sequence[tuple[int, int]] = (),
    among: Graph | None = None,
    penalty: float = 1.0,
) -> TableProblem:
    """Take nuisance effects out, and learn the order."""
    nuisance = nuisance_of(data.codes, data.covariates, data.sites)
    most = most_parents_of(data, nuisance.rank)
    check_groups_vary(data.values, data.codes, data.groups, data.regions)
    residuals = nuisance.residuals(data.values)
    sd = residuals.std(axis=0)
    # Per standard deviation, so that thresholds and singular pivots mean the same for all regions.
    residuals /= sd
    _refuse_copies(residuals, data.regions)
    shared = SharedOrder(residuals, learner, data.regions, penalty)
    if shared.max_parents is not None:
        most = min(most, shared.max_parents)
    return TableProblem(
        # Workers need the residuals only.
        data=replace(data, values=data.values[:0], ids=()),
        sd=sd,
        lobes=lobe_numbers(data.lobes),
        alternative=alternative,
        named=_named(edges, shared, residuals, most),
        among=among,
        residuals=residuals,
        nuisance=nuisance,
        shared=shared,
        units=Units.of(data.codes, data.units, nuisance.rank),
        separate=separate,
        most_parents=most,
    )


def _named(
    edges: Sequence[tuple[int, int]], shared: SharedOrder, residuals: Array, most: int
) -> NamedEdges | None:
    """Edges named beforehand, each beside the parents that the pooled rows choose for its ends.

    These were chosen without the labels, and stay the same in all permutations: p is that of the
    edge's own permutations. Both ends together have at most as many as one region may have.
    """
    if not len(edges):
        return None
    # Half as many parents as usual: the pair is tested beside those of both ends.
    n, pairs = len(residuals), np.array(edges, np.int64)
    pooled = shared.parents_of(residuals.T @ residuals / n, n, POOLED_GAMMA, max(1, most // 2))
    return NamedEdges(pairs, parents_of_both(pooled, pairs))


def most_parents_of(data: GroupData, rank: int) -> int:
    """Return how many parents a region may have, which depends on the smallest group.

    Rows of one person or family count as one.

    Raises
    ------
    InputError
        If, after nuisance effects, a group has too few rows left for even one parent.
    """
    units = np.arange(len(data.codes)) if data.units is None else data.units
    sizes = np.bincount(np.unique(np.column_stack([data.codes, units]), axis=0)[:, 0])
    smallest = int(sizes.argmin())
    # Nuisance effects are estimated over all rows: each group pays in proportion to its size.
    lost = rank / len(data.codes) * sizes[smallest]
    most = int((sizes[smallest] - lost) / ROWS_PER_PARENT)
    if most < 1:
        raise InputError(
            f"group {shown(data.groups[smallest])} has {counted(sizes[smallest], 'subject')}, of "
            f"which means, covariates and sites take {lost:.1f}: a weight needs {ROWS_PER_PARENT} "
            "or more beside these. Add subjects, or leave out covariates or sites."
        )
    return most


def _refuse_copies(residuals: Array, regions: Sequence[str]) -> None:
    """Refuse regions that are copies of others once nuisance effects are taken out."""
    R = np.abs(residuals.T @ residuals) / len(residuals)
    i, j = np.nonzero(np.triu(R > 1 - COPY, 1))
    if len(i):
        pairs = [
            f"{regions[a]} and {regions[b]}" for a, b in zip(i.tolist(), j.tolist(), strict=True)
        ]
        raise InputError(
            f"{listed(pairs)} are copies of each other, so that no weight between them is known. "
            "Leave one of each pair out."
        )
