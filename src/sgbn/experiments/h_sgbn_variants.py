"""Two ways to solve H-SGBN that go wrong (Section 4.1), kept to show how.

Both solve all columns with one and the same path matrix P, instead of searching P anew before
each column as `sgbn.HSGBN` does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.graph import is_dag
from sgbn.solvers.lasso import lasso_gram
from sgbn.structure.reachability import descendant_prices
from sgbn.types import Array, Mask


class History(NamedTuple):
    """Edges and acyclicity after each iteration, and the period that it falls into (0: none)."""

    n_edges: NDArray[np.int64]
    is_dag: Mask
    period: int


def h_sgbn_whole(R: Array, alpha: float, penalty: float, n_iter: int = 40) -> History:
    """H-SGBN (WHOLE): all columns at once for a fixed P, then P anew, and so on.

    Paper: Section 4.1, Section 5.2: oscillates.
    """
    units = np.ones(len(R))
    B = lasso_gram(R, np.full(R.shape, alpha)).x
    supports = [B != 0]
    for _ in range(n_iter):
        B = lasso_gram(R, descendant_prices(B, alpha, penalty, units), start=B).x
        supports.append(B != 0)
    return _history(supports)


def h_sgbn_frozen(R: Array, alpha: float, penalty: float, n_iter: int = 3) -> History:
    """Columns one by one with the P of the start throughout.

    Paper: Section 4.1, footnote: leads to graphs with cycles only. (Or to none at all: where P is
    full, a strong penalty forbids every edge.)
    """
    B = lasso_gram(R, np.full(R.shape, alpha)).x
    W = descendant_prices(B, alpha, penalty, np.ones(len(R)))
    supports = [B != 0]
    for _ in range(n_iter):
        B = lasso_gram(R, W, start=B).x
        supports.append(B != 0)
    return _history(supports)


def _history(supports: list[Mask]) -> History:
    last = supports[-1]
    earlier = [k for k in range(len(supports) - 1) if np.array_equal(supports[k], last)]
    return History(
        np.array([support.sum() for support in supports]),
        np.array([is_dag(support) for support in supports]),
        len(supports) - 1 - earlier[-1] if earlier else 0,
    )
