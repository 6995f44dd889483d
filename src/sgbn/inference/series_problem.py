"""The weights of each subject that the tests of series compare.

The graph of these weights was learned without the groups. Each subject has one weight per edge, and
three further numbers per pair: both directions and the partial correlation. The tests use nothing
else of the series. The precision of these numbers differs between subjects, because numbers of
volumes differ. The statistics allow for it, see `sgbn.inference.adjusted_means`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from sgbn.cohort.series import SubjectMoments
from sgbn.core.types import Array, Graph, Indices
from sgbn.inference.adjusted_means import AdjustedMeans
from sgbn.inference.closed_tests import Members
from sgbn.inference.difference_fit import most_parents_of
from sgbn.inference.difference_input import GroupData
from sgbn.inference.difference_problem import Fit, NamedEdges, Problem, lobe_numbers
from sgbn.inference.edge_statistics import Edges, Estimates, Ways, parents_of_both
from sgbn.learn.series import subject_weights

N_WAYS = len(Ways._fields)


@dataclass(frozen=True, kw_only=True)
class SeriesProblem(Problem):
    """The data that every permutation of subjects needs.

    Attributes
    ----------
    graph : ndarray of bool of shape (m, m)
        The graph of all subjects. It is the same in all permutations, since it was learned without
        the groups.
    edges : ndarray of int of shape (k, 2)
        Source and target of each edge, sorted by target.
    weights : ndarray of shape (n, 4 k + 3 l)
        Weights of each subject. First come the k edges. Then come their pairs in three `Ways`: both
        directions and the partial correlation. Last come the l pairs that were named beforehand, in
        the same three ways.
    means : AdjustedMeans
        The model of the group means of these weights.
    """

    graph: Graph
    edges: Edges
    weights: Array
    means: AdjustedMeans

    @property
    def content(self) -> Array:
        """The weights of the subjects: all statistics are computed from them."""
        return self.weights

    def fit(self) -> Fit:
        """Return the fit to the data, without a permutation."""
        return self._fit_of(self.means.estimates(self.weights))

    def refit(self, members: Members) -> Callable[[Indices], Fit]:
        """Return a function that fits permuted rows; it takes the row that moves to each place."""
        permuted = self.means.permuted(self.weights, members)
        return lambda rows: self._fit_of(permuted(rows))

    def _fit_of(self, estimates: Estimates) -> Fit:
        """Return the estimates of all columns of `weights` as a `Fit`."""
        k = len(self.edges)
        n_named = 0 if self.named is None else len(self.named.edges)
        # The columns of `weights` have the order that the docstring of the class describes.
        sizes = [k] * (1 + N_WAYS) + [n_named] * N_WAYS
        ends = np.cumsum([0, *sizes])
        weights, *ways = (estimates.part(slice(first, last)) for first, last in pairwise(ends))
        return Fit(
            self.graph,
            self.edges,
            # The graph was learned without the groups. So all edges are in one class.
            np.full(k, True),
            weights,
            Ways(*ways[:N_WAYS]),
            None if self.named is None else Ways(*ways[N_WAYS:]),
        )


def series_problem_of(
    data: GroupData,
    moments: SubjectMoments,
    graph: Graph,
    alternative: str,
    named: Sequence[tuple[int, int]] = (),
    among: Graph | None = None,
) -> SeriesProblem:
    """Compute the weights of each subject on a graph.

    Parameters
    ----------
    data : GroupData
        Groups, covariates and labels of the subjects.
    moments : SubjectMoments
        Correlations of the same subjects.
    graph : ndarray of bool of shape (m, m)
        The DAG; ``graph[i, j]`` is i -> j.
    alternative : {"two-sided", "greater", "less"}
        Direction of the tests of edges.
    named : sequence of (int, int)
        Edges that were named beforehand.
    among : ndarray of bool of shape (m, m), optional
        Edges between regions that were named beforehand.
    """
    # Edges must be sorted by target, see `Fit`.
    targets, sources = np.nonzero(graph.T)
    edges = np.column_stack([sources, targets]).astype(np.int64)
    given = parents_of_both(graph, edges)
    parts = [
        subject_weights(moments, graph)[:, sources, targets],
        *pair_weights(moments, edges, given),
    ]
    beforehand = None
    if len(named):
        pairs = np.array(named, np.int64)
        beforehand = NamedEdges(pairs, parents_of_both(graph, pairs))
        parts += pair_weights(moments, *beforehand)
    rows = replace(data, values=data.values[:0], ids=())
    means = AdjustedMeans.of(rows)
    most_parents_of(data, means.rank)  # raises InputError if a group is too small for the effects
    return SeriesProblem(
        data=rows,
        sd=np.ones(len(data.regions)),
        lobes=lobe_numbers(data.lobes),
        alternative=alternative,
        named=beforehand,
        among=among,
        graph=graph,
        edges=edges,
        weights=np.column_stack(parts),
        means=means,
    )


def pair_weights(moments: SubjectMoments, edges: Edges, given: Graph) -> list[Array]:
    """Return the weight of i -> j, the weight of j -> i, and the partial correlation of each pair.

    Each has the shape (subjects, k). All three are estimated given the same other regions. The
    correlation is Fisher's z.
    """
    by_way = np.empty((N_WAYS, len(moments), len(edges)))
    for e, (i, j) in enumerate(edges.tolist()):
        regions = np.array([*np.flatnonzero(given[e]), i, j])
        C = _left_of_pair(moments, regions)
        r, s, product = C[:, 0, 0], C[:, 1, 1], C[:, 0, 1]
        by_way[:, :, e] = product / r, product / s, np.arctanh(product / np.sqrt(r * s))
    return list(by_way)


def _left_of_pair(moments: SubjectMoments, regions: Indices) -> Array:
    """Return the covariances (subjects, 2, 2) of the last two regions, given the others."""
    C = moments.R[:, regions[:, None], regions]
    # Each step eliminates the first region, for all subjects at once. Correlations have no zero on
    # the diagonal.
    for _ in range(len(regions) - 2):
        slopes = C[:, 0, 1:] / C[:, :1, 0]
        C = C[:, 1:, 1:] - slopes[:, :, None] * C[:, :1, 1:]
    return C
