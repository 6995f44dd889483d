"""How a learned graph differs from the true one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


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


def compare_graphs(learned: ArrayLike, true: ArrayLike) -> GraphComparison:
    """Compare the supports of two DAGs on the same nodes."""
    A = np.asarray(learned) != 0
    B = np.asarray(true) != 0
    if A.shape != B.shape:
        raise ValueError(f"the graphs have different shapes: {A.shape} and {B.shape}")
    return GraphComparison(
        n_true=int(B.sum()),
        n_learned=int(A.sum()),
        false=int((A & ~B).sum()),
        missing=int((B & ~A).sum()),
        reversed=int((A & B.T & ~B).sum()),
        adjacencies_found=int((A & (B | B.T)).sum()),
    )
