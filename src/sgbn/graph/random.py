"""Random graphs."""

from __future__ import annotations

import numpy as np

from sgbn.types import Mask


def random_dag(
    m: int, degree: float, random_state: int | np.random.Generator | None = None
) -> Mask:
    """Return a random DAG on `m` nodes in which a node has `degree` neighbours on average.

    Every pair of nodes is joined with the same probability. The direction of the edges follows a
    random order of the nodes.
    """
    rng = np.random.default_rng(random_state)
    probability = min(1.0, degree / max(m - 1, 1))
    forward = np.triu(rng.random((m, m)) < probability, 1)
    position = rng.permutation(m)
    # Without the random order, parents would always have smaller indices than their children. This
    # would favour learners that prefer the order of the columns.
    return forward[np.ix_(position, position)]
