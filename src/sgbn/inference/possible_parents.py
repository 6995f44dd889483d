r"""What the parents of a region may be, over the networks of an equivalence class.

In a linear Gaussian network the total effect of s depends on the graph through the parents of s
only: it is the coefficient of s beside these in a regression. So one network for each possible set
of parents of s has every value that an effect of s can have over the class (Maathuis and others
2009). A set is possible when some DAG of the class has it: the new parents are joined to each
other and to those that are known (else they would collide), and no cycle and no other collision
follows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from sgbn.exceptions import InputError
from sgbn.graph.acyclicity import adjacency
from sgbn.graph.equivalence import close_orientations, consistent_extension, skeleton, v_structures
from sgbn.types import Graph

MOST_SETS = 4096  # of possible parents that are tried


def possible_graphs(P: ArrayLike, node: int) -> list[Graph]:
    """One DAG of the class for each possible set of parents of a node.

    Parameters
    ----------
    P : array-like of shape (m, m)
        CPDAG, or a PDAG that prior knowledge directs further: i - j where both are set.
    node : int

    Raises
    ------
    InputError
        If there are more sets than can be tried.
    """
    pdag = adjacency(P)
    # Members of a class share these: a set of parents that adds one leaves the class.
    collisions = v_structures(pdag)
    cliques = list(_cliques(pdag, node))
    graphs = (_with_parents(pdag, node, chosen, collisions) for chosen in cliques)
    return [graph for graph in graphs if graph is not None]


def _cliques(P: Graph, node: int) -> Iterator[tuple[int, ...]]:
    """Yield sets of undirected neighbours, joined to each other and to the known parents."""
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
        # Rising numbers, so that each set is met once.
        later = [k for k in neighbours if not chosen or k > chosen[-1]]
        stack += [(*chosen, k) for k in later if joined[k, list(chosen)].all()]
    if stack:
        raise InputError(
            f"more than {MOST_SETS} sets of parents are possible. Direct some edges by prior "
            "knowledge (tiers), or take a sparser graph."
        )


def _with_parents(
    P: Graph, node: int, chosen: tuple[int, ...], collisions: list[tuple[int, int, int]]
) -> Graph | None:
    """DAG of the class in which exactly `chosen` are parents among the undirected neighbours."""
    directed = P.copy()
    open_ends = P[:, node] & P[node]
    directed[open_ends, node] = False
    directed[list(chosen), node] = True
    directed[node, list(chosen)] = False
    # Directions that follow; without them an extension may add a collision.
    closed = close_orientations(directed)
    graph = consistent_extension(closed)
    # The last condition: an edge that prior knowledge directs keeps its direction.
    if graph is None or v_structures(graph) != collisions or not np.all(graph <= directed):
        return None
    return graph
