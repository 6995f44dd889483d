r"""The possible parents of a region in the networks of an equivalence class.

In a linear Gaussian network the total effect of a region s depends only on the parents of s. It is
the coefficient of s in a regression on s and its parents. So one network for each possible set of
parents of s shows every value that an effect of s can have over the class (Maathuis and others
2009).

A set of parents is possible if some DAG of the class has it. It consists of the known parents and
of neighbours whose edge to s has no direction in the class. These neighbours must be joined to each
other and to the known parents. Otherwise two parents without an edge between them would be a new
collision at s (a -> s <- b). No cycle and no collision elsewhere may follow.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from sgbn.core.equivalence import close_orientations, consistent_extension, skeleton, v_structures
from sgbn.core.exceptions import InputError
from sgbn.core.graph import adjacency
from sgbn.core.types import Graph

MOST_SETS = 4096  # largest number of sets of parents that are tried


def possible_graphs(P: ArrayLike, node: int) -> list[Graph]:
    """Return one DAG of the class for each possible set of parents of a node.

    Parameters
    ----------
    P : array-like of shape (m, m)
        CPDAG, or a PDAG in which prior knowledge directs more edges. An edge i - j without
        direction has both ``P[i, j]`` and ``P[j, i]`` set.
    node : int
        Number of the region.

    Raises
    ------
    InputError
        If there are more sets than can be tried.
    """
    pdag = adjacency(P)
    # All members of a class have the same collisions. Graphs with other collisions are not in it.
    collisions = v_structures(pdag)
    cliques = list(_cliques(pdag, node))
    graphs = (_with_parents(pdag, node, chosen, collisions) for chosen in cliques)
    return [graph for graph in graphs if graph is not None]


def _cliques(P: Graph, node: int) -> Iterator[tuple[int, ...]]:
    """Yield each set of undirected neighbours that are joined to each other and to all parents."""
    joined = skeleton(P)
    known = np.flatnonzero(P[:, node] & ~P[node])
    neighbours = [
        int(k) for k in np.flatnonzero(P[:, node] & P[node]) if joined[np.ix_([k], known)].all()
    ]
    # An explicit stack, so that the number of sets that are tried is bounded.
    stack: list[tuple[int, ...]] = [()]
    for _ in range(MOST_SETS):
        if not stack:
            return
        chosen = stack.pop()
        yield chosen
        # Numbers rise within a set, so that each set comes once.
        later = [k for k in neighbours if not chosen or k > chosen[-1]]
        stack += [(*chosen, k) for k in later if joined[k, list(chosen)].all()]
    if stack:
        raise InputError(
            f"more than {MOST_SETS} sets of parents are possible. Direct some edges by prior "
            "knowledge (tiers), or give a graph with fewer edges."
        )


def _with_parents(
    P: Graph, node: int, chosen: tuple[int, ...], collisions: list[tuple[int, int, int]]
) -> Graph | None:
    """Return a DAG of the class in which, of the undirected neighbours, only `chosen` are parents.

    Return None if the class has no such DAG.
    """
    directed = P.copy()
    open_ends = P[:, node] & P[node]
    directed[open_ends, node] = False
    directed[list(chosen), node] = True
    directed[node, list(chosen)] = False
    # Further directions follow from these. Without them an extension may add a collision.
    closed = close_orientations(directed)
    graph = consistent_extension(closed)
    # By the last condition, edges that prior knowledge directs keep their direction.
    if graph is None or v_structures(graph) != collisions or not np.all(graph <= directed):
        return None
    return graph
