"""How a learned graph differs from the true one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sgbn.exceptions import InputError
from sgbn.graph.acyclicity import GraphLike, adjacency
from sgbn.graph.equivalence import cpdag
from sgbn.types import Graph


@dataclass(frozen=True, eq=False, repr=False)
class GraphComparison:
    """What a learned graph has right and wrong.

    A reversed edge is counted three times, as in the paper's tables: in `reversed`, in `false`
    (the truth does not have it in this direction) and in `missing` (the true direction was not
    found).
    """

    learned: Graph
    true: Graph

    def __repr__(self) -> str:
        counts = ("n_true", "n_learned", "false", "missing", "reversed", "adjacencies_found")
        return f"GraphComparison({', '.join(f'{name}={getattr(self, name)}' for name in counts)})"

    @property
    def n_true(self) -> int:
        """Edges of the true graph."""
        return int(self.true.sum())

    @property
    def n_learned(self) -> int:
        """Edges of the learned graph."""
        return int(self.learned.sum())

    @property
    def false(self) -> int:
        """Learned edges that the true graph does not have in this direction."""
        return int((self.learned & ~self.true).sum())

    @property
    def missing(self) -> int:
        """True edges that were not learned in this direction."""
        return int((self.true & ~self.learned).sum())

    @property
    def reversed(self) -> int:
        """Learned edges that the true graph has the other way round."""
        return int((self.learned & self.true.T & ~self.true).sum())

    @property
    def adjacencies_found(self) -> int:
        """Learned edges that join a truly joined pair, whatever the direction."""
        # Edges are pairs: a DAG never has both directions.
        return int((self.learned & (self.true | self.true.T)).sum())

    @property
    def errors(self) -> int:
        """False plus missing edges: the paper's total error."""
        return self.false + self.missing

    @property
    def shd(self) -> int:
        """Structural Hamming distance of the graphs: `errors`, but a reversed edge counts once."""
        return shd(self.learned, self.true)

    @property
    def shd_cpdag(self) -> int:
        """Structural Hamming distance of the CPDAGs: what data can tell apart (DAGs only)."""
        return shd(cpdag(self.learned), cpdag(self.true))

    @property
    def pdag_errors(self) -> int:
        """False plus missing edges of the CPDAGs, see the function `pdag_errors` (DAGs only)."""
        return pdag_errors(self.learned, self.true)

    @property
    def precision(self) -> float:
        """Share of the learned edges that are true, direction included (1 if none is learned)."""
        return (self.n_learned - self.false) / self.n_learned if self.n_learned else 1.0

    @property
    def recall(self) -> float:
        """Share of the true edges that were learned, direction included (1 if there is none)."""
        return (self.n_true - self.missing) / self.n_true if self.n_true else 1.0

    @property
    def skeleton_precision(self) -> float:
        """Share of the learned adjacencies that are true, whatever the direction."""
        return self.adjacencies_found / self.n_learned if self.n_learned else 1.0

    @property
    def skeleton_recall(self) -> float:
        """Share of the true adjacencies that were learned, whatever the direction."""
        return self.adjacencies_found / self.n_true if self.n_true else 1.0


def compare_graphs(learned: GraphLike, true: GraphLike) -> GraphComparison:
    """Compare the edges of two DAGs on the same nodes.

    Parameters
    ----------
    learned, true : array-like of shape (m, m), DataFrame, network or fitted learner
        The two DAGs. Where both have names, these are matched. Where two groups are compared, an
        edge of the first alone counts as false and one of the second alone as missing.
    """
    return GraphComparison(*_on_the_same_nodes(learned, true))


def shd(first: GraphLike, second: GraphLike) -> int:
    """Return the structural Hamming distance: pairs of nodes that two graphs join differently.

    Parameters
    ----------
    first, second : array-like of shape (m, m), DataFrame or GaussianNetwork
        DAGs, or PDAGs such as `cpdag` makes, in which i - j is set both ways.
    """
    A, B = _on_the_same_nodes(first, second)
    different = A != B
    # Either direction may differ, or both, as for a reversed edge: it is one pair.
    return int(np.triu(different | different.T, 1).sum())


def pdag_errors(learned: GraphLike, true: GraphLike) -> int:
    """Return how many edges, arrows or lines, only one of the CPDAGs of two DAGs has.

    A directed edge in place of an undirected or reversed one is one false and one missing edge:
    this is to the CPDAGs what `GraphComparison.errors` is to the DAGs.

    Parameters
    ----------
    learned, true : array-like of shape (m, m), DataFrame or GaussianNetwork
        The two DAGs.

    Notes
    -----
    The third table of the paper's Exp-II ("falsely identified P-DAG structures") does not say how
    it counts. Its numbers exceed the total errors throughout, except in cells of Mildew that belong
    to another network. For Chain, which has 6 edges, they exceed 6. This excludes two counts: `shd`
    of the CPDAGs and, where Chain's skeleton is right, differing entries of their boolean matrices.

    Of the counts that remain, this one comes nearest to the table's ratios of PDAG to total errors,
    when OR-SGBN learns the nine networks with as many edges as in the paper. A count of differing
    entries, with an arrow coded as -1 and a line as 1 both ways, is too high: a lost line counts
    twice.

    Examples
    --------
    >>> from sgbn.graph import pdag_errors
    >>> chain, collider = [[0, 1, 0], [0, 0, 1], [0, 0, 0]], [[0, 1, 0], [0, 0, 0], [0, 1, 0]]
    >>> pdag_errors(collider, chain)  # two arrows are false, two lines are missing
    4
    """
    # As two kinds of edges: an entry alone does not tell an arrow from half of a line.
    P, Q = (cpdag(graph) for graph in _on_the_same_nodes(learned, true))
    arrows = (P & ~P.T) != (Q & ~Q.T)
    lines = np.triu((P & P.T) != (Q & Q.T))  # a line is set both ways and counts once
    return int(arrows.sum() + lines.sum())


def _on_the_same_nodes(first: GraphLike, second: GraphLike) -> tuple[Graph, Graph]:
    """Return the adjacency matrices of two graphs; where both have names, these are matched."""
    A, B = adjacency(first), adjacency(second)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or A.shape != B.shape:
        raise InputError(
            f"the graphs have shapes {A.shape} and {B.shape}: give two square matrices, or two "
            "networks, on the same variables."
        )
    names, other_names = _names(first), _names(second)
    # A matrix has no names: it is taken to have the order of the other graph.
    if names and other_names and names != other_names:
        if sorted(names) != sorted(other_names):
            only = sorted(set(names) ^ set(other_names))
            raise InputError(
                f"the two networks have different variables: {only[0]!r} is in one of them only "
                f"({len(only)} such). Compare networks on the same variables."
            )
        place = [other_names.index(name) for name in names]
        B = B[np.ix_(place, place)]
    return A, B


def _names(graph: Any) -> list[str]:
    """Return the names of the nodes of a table, a network or a learner; none for a matrix."""
    if hasattr(graph, "columns"):
        return [str(column) for column in graph.columns]
    return list(getattr(getattr(graph, "network_", graph), "names", []))
