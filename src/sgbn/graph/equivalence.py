"""What Gaussian data can tell about arrows: DAGs that imply the same distributions.

A partially directed graph (PDAG) is a boolean matrix P: i -> j where P[i, j] alone is set, i - j
where P[j, i] is set as well. A CPDAG has the arrows that all DAGs of an equivalence class share.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgbn.exceptions import InputError
from sgbn.graph.acyclicity import is_dag

Graph = NDArray[np.bool_]


def skeleton(A: ArrayLike) -> Graph:
    """Which pairs are joined, whatever the direction: a symmetric matrix."""
    support = np.asarray(A) != 0
    joined: Graph = support | support.T
    return joined


def v_structures(A: ArrayLike) -> list[tuple[int, int, int]]:
    """All i -> k <- j whose ends i < j are not joined, as (i, k, j) in order of k.

    In a PDAG only directed edges count.
    """
    support = np.asarray(A) != 0
    directed = support & ~support.T
    joined = skeleton(support)
    found = []
    for k in range(len(support)):
        parents = np.flatnonzero(directed[:, k])
        for place, i in enumerate(parents):
            found += [(int(i), k, int(j)) for j in parents[place + 1 :] if not joined[i, j]]
    return found


def cpdag(A: ArrayLike) -> Graph:
    """CPDAG of a DAG: directed are the edges that every equivalent DAG directs the same way.

    Raises
    ------
    InputError
        If A has a directed cycle.
    """
    support = np.asarray(A) != 0
    if not is_dag(support):
        raise InputError("only a DAG has a CPDAG; this graph has a directed cycle.")
    P = skeleton(support)
    for i, k, j in v_structures(support):
        P[k, i] = P[k, j] = False
    return close_orientations(P)


def close_orientations(P: ArrayLike) -> Graph:
    """Direct all undirected edges of a PDAG that its arrows decide (Meek's four rules)."""
    P = np.array(np.asarray(P) != 0)
    joined = skeleton(P)
    apart = ~joined & ~np.eye(len(P), dtype=bool)
    while True:
        undirected = P & P.T
        directed = P & ~P.T
        decided = undirected & (
            _would_collide(directed, apart)
            | _would_close_a_cycle(directed)
            | _two_ways_in(directed, undirected, apart)
            | _round_about(directed, undirected, joined, apart)
        )
        if not decided.any():
            return P
        # Where the arrows contradict each other, both ways may be decided: one is taken.
        decided &= ~np.tril(decided & decided.T)
        P &= ~decided.T


def _product(A: Graph, B: Graph) -> Graph:
    """Whether some k has A[i, k] and B[k, j]."""
    result: Graph = A.astype(np.float32) @ B.astype(np.float32) > 0
    return result


def _would_collide(directed: Graph, apart: Graph) -> Graph:
    """Rule 1: a -> i - j with a and j apart; the other way would be a new v-structure."""
    return _product(directed.T, apart)


def _would_close_a_cycle(directed: Graph) -> Graph:
    """Rule 2: i -> k -> j beside i - j."""
    return _product(directed, directed)


def _two_ways_in(directed: Graph, undirected: Graph, apart: Graph) -> Graph:
    """Rule 3: i - k -> j and i - l -> j with k and l apart, beside i - j."""
    decided = np.zeros_like(directed)
    for i, j in np.argwhere(undirected):
        between = np.flatnonzero(undirected[i] & directed[:, j])
        decided[i, j] = apart[np.ix_(between, between)].any()
    return decided


def _round_about(directed: Graph, undirected: Graph, joined: Graph, apart: Graph) -> Graph:
    """Rule 4: i - k -> l -> j with k and j apart and i joined to l, beside i - j.

    Needed only where arrows come from prior knowledge.
    """
    decided = np.zeros_like(directed)
    for i, j in np.argwhere(undirected):
        last = directed[:, j] & joined[i]
        first = undirected[i] & apart[:, j]
        decided[i, j] = directed[np.ix_(first, last)].any()
    return decided


def consistent_extension(P: ArrayLike) -> Graph | None:
    """Return a DAG with the skeleton, arrows and v-structures of a PDAG; None if there is none.

    The algorithm of Dor and Tarsi: again and again take a sink whose undirected neighbours are
    joined to all its other neighbours, and direct its edges towards it. Of several the one of the
    largest index is taken, so that edges run from small to large indices where nothing decides.
    """
    P = np.array(np.asarray(P) != 0)
    result = P & ~P.T
    left = P.copy()
    remaining = set(range(len(P)))
    while remaining:
        sink = next((x for x in sorted(remaining, reverse=True) if _is_free_sink(left, x)), None)
        if sink is None:
            return None
        result[:, sink] |= left[:, sink]
        left[sink] = left[:, sink] = False
        remaining.discard(sink)
    return result


def _is_free_sink(P: Graph, x: int) -> bool:
    if np.any(P[x] & ~P[:, x]):
        return False
    neighbours = np.flatnonzero(P[:, x])
    joined = skeleton(P)
    np.fill_diagonal(joined, True)
    undirected = neighbours[P[x, neighbours]]
    return bool(joined[np.ix_(undirected, neighbours)].all())
