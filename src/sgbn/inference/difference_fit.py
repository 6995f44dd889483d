"""The fit of parents and weights to the groups of a table, for the data and each permutation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sgbn.cohort.effects import Nuisance, nuisance_of
from sgbn.cohort.rows import check_groups_vary
from sgbn.core.exceptions import InputError, counted, listed, shown
from sgbn.core.types import Array, Graph, Indices
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
from sgbn.learn.sgbn import SGBN

ROWS_PER_PARENT = 5  # in the smallest group; with fewer, single rows decide the statistics
COPY = 1e-8  # 1 - |correlation| of residuals, below which one region is a copy of another


@dataclass(frozen=True, kw_only=True)
class TableProblem(Problem):
    """The data that every permutation of the rows of a table needs.

    Attributes
    ----------
    residuals : ndarray of shape (n, m)
        The values without nuisance effects, in units of the standard deviations `sd`. Workers
        receive the residuals instead of the values.
    nuisance : Nuisance
        Means of the groups, and effects of covariates and sites.
    shared : SharedOrder
        The order of the regions, along which parents are chosen.
    units : Units
        Sets of rows that belong to one person or family, or single rows that are independent.
    separate : bool
        Whether parents that only one group chooses are added to the parents of the pooled rows.
    most_parents : int
        Largest number of parents of a region; see `most_parents_of`.
    """

    residuals: Array
    nuisance: Nuisance
    shared: SharedOrder
    units: Units
    separate: bool
    most_parents: int

    @property
    def content(self) -> Array:
        """The residuals: all statistics are computed from them."""
        return self.residuals

    def refit(self, members: Members) -> Callable[[Indices], Fit]:  # noqa: ARG002
        """Return a function that fits permuted rows; it takes the row that moves to each place."""
        return lambda rows: self.fit(self.nuisance.residuals(self.residuals[rows]))

    def fit(self, residuals: Array) -> Fit:
        """Choose the parents of each region, and estimate the weights in each group."""
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
        """Return the parents of the pooled rows, and their union with the parents of the groups."""
        n, most = len(self.residuals), self.most_parents
        products = [group.products for group in groups]
        S = np.sum(products, axis=0) / n
        # Pooled parents are chosen without the group labels, the parents of a group with them. So
        # edges are compared only with edges of the same kind (`from_pool`).
        pooled = self.shared.parents_of(S, n, POOLED_GAMMA, most)
        parents = pooled.copy()
        for group in groups if self.separate else ():
            size = group.columns.shape[1]
            parents |= self.shared.parents_of(group.products / size, size, GROUP_GAMMA, most)
        return pooled, surest_parents(parents, pooled, products, most)


def surest_parents(parents: Graph, pooled: Graph, products: Sequence[Array], most: int) -> Graph:
    """Keep at most `most` parents of each region.

    Parents that the pooled rows chose come first. Then come the parents with the largest
    correlation with the region in any group.
    """
    kept = parents.copy()
    for j in np.flatnonzero(parents.sum(axis=0) > most):
        # Squared correlations are at most 1, so that adding 2 puts the pooled parents first.
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
    """Take nuisance effects out of the values, and learn the order of the regions.

    The parameters are the same as in `edge_differences`, but `edges` and `among` hold numbers of
    regions.
    """
    nuisance = nuisance_of(data.codes, data.covariates, data.sites)
    most = most_parents_of(data, nuisance.rank)
    check_groups_vary(data.values, data.codes, data.groups, data.regions)
    residuals = nuisance.residuals(data.values)
    sd = residuals.std(axis=0)
    # In standard deviations, so that one threshold for singular matrices suits all regions.
    residuals /= sd
    _refuse_copies(residuals, data.regions)
    shared = SharedOrder(residuals, learner, data.regions, penalty)
    if shared.max_parents is not None:
        most = min(most, shared.max_parents)
    return TableProblem(
        # Workers need only the residuals. Without the values, less is sent to them.
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
    """Return the edges that were named beforehand, with the other regressors of each test.

    These regressors are the parents of both regions. The pooled rows choose them, without the group
    labels. They stay the same in all permutations, so that the p of an edge comes from its own
    permutations. Both regions together have at most as many parents as one region may have.
    """
    if not len(edges):
        return None
    # Each region has half as many parents as usual, since the test uses the parents of both.
    n, pairs = len(residuals), np.array(edges, np.int64)
    pooled = shared.parents_of(residuals.T @ residuals / n, n, POOLED_GAMMA, max(1, most // 2))
    return NamedEdges(pairs, parents_of_both(pooled, pairs))


def most_parents_of(data: GroupData, rank: int) -> int:
    """Return the largest number of parents that a region may have.

    Nuisance effects use up `rank` degrees of freedom. The smallest group's share of them is
    subtracted from its number of subjects, and a fifth of the rest is returned. Rows of one person
    or family count as one subject.

    Raises
    ------
    InputError
        If the smallest group has too few subjects for even one parent.
    """
    units = np.arange(len(data.codes)) if data.units is None else data.units
    sizes = np.bincount(np.unique(np.column_stack([data.codes, units]), axis=0)[:, 0])
    smallest = int(sizes.argmin())
    # Nuisance effects are estimated over all rows: each group loses in proportion to its size.
    lost = rank / len(data.codes) * sizes[smallest]
    most = int((sizes[smallest] - lost) / ROWS_PER_PARENT)
    if most < 1:
        raise InputError(
            f"group {shown(data.groups[smallest])} has {counted(sizes[smallest], 'subject')}. "
            f"Means, covariates and sites use up {lost:.1f} of them. At least {ROWS_PER_PARENT} "
            "must remain to estimate a weight. Add subjects, or leave out covariates or sites."
        )
    return most


def _refuse_copies(residuals: Array, regions: Sequence[str]) -> None:
    """Raise InputError if two regions are copies after nuisance effects are taken out."""
    R = np.abs(residuals.T @ residuals) / len(residuals)
    i, j = np.nonzero(np.triu(R > 1 - COPY, 1))
    if len(i):
        pairs = [
            f"{regions[a]} and {regions[b]}" for a, b in zip(i.tolist(), j.tolist(), strict=True)
        ]
        raise InputError(
            "these regions are copies of each other, so that weights between them cannot be "
            f"estimated: {listed(pairs)}. Leave out one region of each pair."
        )
