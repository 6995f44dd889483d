"""How a learned graph differs from the true one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbn.exceptions import InputError


@dataclass(frozen=True)
class GraphComparison:
    """Counts of what a learned graph has right and wrong.

    A reversed edge is counted in `reversed`, in `false` (the wrong direction is not in the
    truth) and in `missing` (the right one was not found), as in the paper's tables.
    """

    n_true: int
    n_learned: int
    false: int
    missing: int
    reversed: int
    adjacencies_found: int

    @property
    def errors(self) -> int:
        """False plus missing edges: the paper's total error."""
        return self.false + self.missing

    @property
    def precision(self) -> float:
        """Share of the learned edges that are true, direction included (1 if none learned)."""
        return (self.n_learned - self.false) / self.n_learned if self.n_learned else 1.0

    @property
    def recall(self) -> float:
        """Share of the true edges that were learned, direction included (1 if none exist)."""
        return (self.n_true - self.missing) / self.n_true if self.n_true else 1.0

    @property
    def skeleton_precision(self) -> float:
        """Share of the learned adjacencies that are true, whatever the direction."""
        return self.adjacencies_found / self.n_learned if self.n_learned else 1.0

    @property
    def skeleton_recall(self) -> float:
        """Share of the true adjacencies that were learned, whatever the direction."""
        return self.adjacencies_found / self.n_true if self.n_true else 1.0


def compare_graphs(learned: Any, true: Any) -> GraphComparison:
    """Compare the edges of two DAGs on the same nodes in the same order.

    Parameters
    ----------
    learned, true : array-like of shape (m, m), DataFrame or GaussianNetwork
        For two groups, which is which decides what counts as false and what as missing.
    """
    (A, first), (B, second) = (_matrix_and_names(graph) for graph in (learned, true))
    if A.ndim != 2 or A.shape[0] != A.shape[1] or A.shape != B.shape:
        raise InputError(
            f"the graphs have shapes {A.shape} and {B.shape}: give two square matrices, or two "
            "networks, on the same variables."
        )
    if first and second and first != second:
        raise InputError("the two networks have other variables, or in another order.")
    A, B = A != 0, B != 0
    return GraphComparison(
        n_true=int(B.sum()),
        n_learned=int(A.sum()),
        false=int((A & ~B).sum()),
        missing=int((B & ~A).sum()),
        reversed=int((A & B.T & ~B).sum()),
        adjacencies_found=int((A & (B | B.T)).sum()),
    )


def _matrix_and_names(graph: Any) -> tuple[NDArray[Any], list[str]]:
    """Matrix of a graph, and the names of its nodes if it is a table or a network."""
    if hasattr(graph, "columns"):
        return np.asarray(graph), [str(column) for column in graph.columns]
    if hasattr(graph, "coef"):
        return np.asarray(graph.coef), list(graph.names)
    return np.asarray(graph), []


def shd(first: Any, second: Any) -> int:
    """Structural Hamming distance: pairs of nodes that two graphs join differently.

    Parameters
    ----------
    first, second : array-like of shape (m, m)
        DAGs, or PDAGs such as `cpdag` makes, in which i - j is set both ways.
    """
    A, B = (np.asarray(graph) != 0 for graph in (first, second))
    if A.shape != B.shape:
        raise InputError(f"the graphs have different shapes: {A.shape} and {B.shape}.")
    different = A != B
    return int(np.triu(different | different.T, 1).sum())
