"""Equivalence classes: sets of DAGs that imply the same distributions.

Gaussian data cannot choose between the DAGs of a class.

A partially directed graph (PDAG) is a boolean matrix P. If only P[i, j] is set, it has the arrow
i -> j. If P[j, i] is set as well, it has the undirected edge i - j, also called a line. The CPDAG
of an equivalence class has the arrows that all DAGs of the class share; its other edges are lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from sgbn.exceptions import InputError
from sgbn.graph.acyclicity import adjacency, is_dag
from sgbn.types import Graph, Labels

Arrow = tuple[int, int]


def skeleton(A: ArrayLike) -> Graph:
    """Return a symmetric matrix that is True for pairs of nodes with an edge in any direction."""
    support = adjacency(A)
    return support | support.T


class _Neighbours:
    """A PDAG as four sets per node: parents, children, undirected neighbours, all neighbours."""

    def __init__(self, P: Graph) -> None:
        m = len(P)
        self.parents: list[set[int]] = [set() for _ in range(m)]
        self.children: list[set[int]] = [set() for _ in range(m)]
        self.undirected: list[set[int]] = [set() for _ in range(m)]
        for i, j in np.argwhere(P).tolist():
            if P[j, i]:
                self.undirected[i].add(j)
            else:
                self.children[i].add(j)
                self.parents[j].add(i)
        rows = zip(self.parents, self.children, self.undirected, strict=True)
        self.joined = [set.union(*row) for row in rows]

    def direct(self, i: int, j: int) -> None:
        """Turn the undirected edge i - j into the arrow i -> j."""
        self.undirected[i].discard(j)
        self.undirected[j].discard(i)
        self.children[i].add(j)
        self.parents[j].add(i)

    def remove(self, x: int) -> None:
        """Remove the edges of node x from the sets of its neighbours."""
        for y in self.joined[x]:
            for kind in (self.parents, self.children, self.undirected, self.joined):
                kind[y].discard(x)


def v_structures(A: ArrayLike) -> list[tuple[int, int, int]]:
    """Return all v-structures i -> k <- j as (i, k, j) with i < j, sorted by k.

    No edge joins i and j. In a PDAG only directed edges count.
    """
    near = _Neighbours(adjacency(A))
    return [
        (i, k, j)
        for k, parents in enumerate(near.parents)
        for i, j in combinations(sorted(parents), 2)
        if j not in near.joined[i]
    ]


def cpdag(A: ArrayLike) -> Graph:
    """Return the CPDAG of a DAG: an edge is directed if all equivalent DAGs direct it the same way.

    Raises
    ------
    InputError
        If A has a directed cycle.
    """
    support = adjacency(A)
    if not is_dag(support):
        raise InputError(
            "only a DAG has a CPDAG, but this graph has a directed cycle. Remove an edge of the "
            "cycle."
        )
    return _class_of(support, support)


def _class_of(support: Graph, evidence: Graph) -> Graph:
    """Return the PDAG that follows from those v-structures of a DAG that count as evidence.

    A v-structure counts if both of its arrows are set in `evidence`.
    """
    P = skeleton(support)
    for i, k, j in v_structures(support):
        if evidence[i, k] and evidence[j, k]:
            P[k, i] = P[k, j] = False
    return close_orientations(P)


def close_orientations(P: ArrayLike) -> Graph:
    """Return a PDAG with all arrows that follow from the given ones by Meek's four rules.

    The function works in rounds. Each round looks only at the edges that the arrows of the last
    round may decide.
    """
    P = adjacency(P)
    near = _Neighbours(P)
    new: list[Arrow] = [(i, j) for i, children in enumerate(near.children) for j in children]
    while new:
        decided = {arrow for a, b in new for arrow in _concerned(near, a, b)}
        # All edges of a round are decided before any is directed: their order has no effect.
        decided = {(i, j) for i, j in decided if _is_decided(near, i, j)}
        # If the arrows contradict each other, both directions may be decided: i < j is taken.
        new = [(i, j) for i, j in decided if i < j or (j, i) not in decided]
        for i, j in new:
            near.direct(i, j)
            P[j, i] = False
    return P


def _concerned(near: _Neighbours, a: int, b: int) -> Iterator[Arrow]:
    """Yield the arrows that one of the four rules may add because of the new arrow a -> b."""
    for i in near.undirected[b]:
        yield b, i  # rule 1
        yield i, b  # rules 2, 3 and 4, if a -> b is the last arrow of the rule
    for i in near.undirected[a]:
        yield a, i  # rule 2, if a -> b is its first arrow
        for j in near.undirected[i] & near.children[b]:
            yield i, j  # rule 4, if a -> b is its first arrow


def _is_decided(near: _Neighbours, i: int, j: int) -> bool:
    """Return whether one of the four rules directs the undirected edge i - j as i -> j."""
    return (
        _would_collide(near, i, j)
        or _would_close_a_cycle(near, i, j)
        or _two_ways_in(near, i, j)
        or _round_about(near, i, j)
    )


def _would_collide(near: _Neighbours, i: int, j: int) -> bool:
    """Return whether rule 1 holds: a -> i - j, and a and j are not joined.

    The arrow j -> i would be a new v-structure.
    """
    return not near.parents[i] <= near.joined[j]


def _would_close_a_cycle(near: _Neighbours, i: int, j: int) -> bool:
    """Return whether rule 2 holds: i -> k -> j. The arrow j -> i would close a cycle."""
    return not near.children[i].isdisjoint(near.parents[j])


def _two_ways_in(near: _Neighbours, i: int, j: int) -> bool:
    """Return whether rule 3 holds: i - k -> j and i - l -> j, and k and l are not joined."""
    between = near.undirected[i] & near.parents[j]
    return any(far not in near.joined[k] for k, far in combinations(between, 2))


def _round_about(near: _Neighbours, i: int, j: int) -> bool:
    """Return whether rule 4 holds: i - k -> l -> j, i and l are joined, and k and j are not.

    The rule is needed only if arrows come from prior knowledge.
    """
    first = near.undirected[i] - near.joined[j]
    last = near.joined[i] & near.parents[j]
    return any(not near.children[k].isdisjoint(last) for k in first)


def orient_known(P: ArrayLike, known: ArrayLike) -> Graph:
    """Return the PDAG of those DAGs of a class that agree with prior knowledge.

    Parameters
    ----------
    P : array-like of shape (m, m)
        The CPDAG of the class.
    known : array-like of shape (m, m)
        Not zero at ``[i, j]`` if an edge between i and j must be i -> j. It has no effect on pairs
        that are not joined.

    Returns
    -------
    ndarray of bool, shape (m, m)
        A PDAG in which an edge is directed if all these DAGs direct it the same way.

    Raises
    ------
    InputError
        If no DAG of the class agrees with `known`.
    """
    support = adjacency(P)
    forbidden = _forbidden(support, known)
    # Only arrows can disagree with the knowledge: a line can be directed either way.
    _check_agrees(support & ~support.T, forbidden)
    closed = close_orientations(support & ~forbidden)
    if v_structures(closed) != v_structures(support) or consistent_extension(closed) is None:
        raise InputError(
            "the known directions contradict each other: in this graph they lead to a directed "
            "cycle or to a collider (a -> b <- c) that the graph excludes. Remove some of them."
        )
    return closed


def edge_kinds(
    A: ArrayLike, known: ArrayLike | None = None, required: ArrayLike | None = None
) -> Labels:
    """Return the reason for the direction of each edge of a DAG, in the order of `np.argwhere(A)`.

    Parameters
    ----------
    A : array-like of shape (m, m)
        A DAG that agrees with `known`.
    known : array-like of shape (m, m), optional
        Prior knowledge as in `orient_known`.
    required : array-like of shape (m, m), optional
        Edges that the learner had to include. A direction that follows from one of them is
        "prior knowledge" and not "compelled".

    Returns
    -------
    ndarray of str
        "compelled": all equivalent DAGs have the edge in this direction. "prior knowledge": not
        all equivalent DAGs have this direction, but all that agree with `known` have it. A
        direction that follows from a required edge gets the same label. "reversible": some
        equivalent DAG that agrees with `known` has the opposite direction. All this supposes that
        the edges of A are right.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.graph import edge_kinds
    >>> chain = np.eye(3, k=1)  # 0 -> 1 -> 2
    >>> edge_kinds(chain).tolist()
    ['reversible', 'reversible']
    >>> first = [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    >>> edge_kinds(chain, known=first).tolist()
    ['prior knowledge', 'prior knowledge']
    """
    support = adjacency(A)
    P = oriented = cpdag(support)
    if known is not None:
        _check_agrees(support, _forbidden(support, known))
        oriented = orient_known(P, known)
    if required is not None:
        P = _class_of(support, ~adjacency(required))
    reasons = [~P.T[support], ~oriented.T[support]]
    # The first reason that holds counts: a direction that the data decide needs no knowledge.
    return np.select(reasons, ["compelled", "prior knowledge"], "reversible")


def _forbidden(P: Graph, known: ArrayLike) -> Graph:
    """Return the directions of the edges of P that `known` excludes."""
    arrows = adjacency(known)
    if arrows.shape != P.shape:
        raise InputError(
            f"known has shape {arrows.shape}, but the graph has shape {P.shape}: give known the "
            "shape of the graph."
        )
    forbidden: Graph = skeleton(P) & arrows.T
    # If both directions were excluded, the edge itself would be lost later.
    for i, j in np.argwhere(forbidden & forbidden.T):
        raise InputError(f"known has both {i} -> {j} and {j} -> {i}: set only one of them.")
    return forbidden


def _check_agrees(directed: Graph, forbidden: Graph) -> None:
    """Raise InputError if an arrow of the graph has a forbidden direction."""
    for i, j in np.argwhere(directed & forbidden):
        raise InputError(
            f"the graph has {i} -> {j}, but known has {j} -> {i}. Learn the graph with this "
            "knowledge, or remove this direction from known."
        )


def consistent_extension(P: ArrayLike) -> Graph | None:
    """Return a DAG with the skeleton, arrows and v-structures of a PDAG, or None if there is none.

    This is the algorithm of Dor and Tarsi. It takes a node without children whose undirected
    neighbours are joined to all its other neighbours, directs the node's edges towards it, removes
    the node, and repeats this. If there are several such nodes, it takes the largest index. So
    edges lead from small to large indices if nothing else decides.
    """
    result = adjacency(P)
    near = _Neighbours(result)
    remaining = set(range(len(result)))
    # A heap of negative indices, so that the largest index comes first. Nodes that are not in the
    # heap are not free sinks.
    candidates = [-x for x in remaining]
    heapify(candidates)
    while candidates:
        x = -heappop(candidates)
        if x not in remaining or not _is_free_sink(near, x):
            continue
        result[x, list(near.undirected[x])] = False
        near.remove(x)
        remaining.discard(x)
        for y in near.joined[x]:  # only neighbours of x may have become free sinks
            heappush(candidates, -y)
    return None if remaining else result


def _is_free_sink(near: _Neighbours, x: int) -> bool:
    """Return whether all edges of x can be directed towards it without a new v-structure."""
    if near.children[x]:
        return False
    return all(near.joined[x] - near.joined[y] == {y} for y in near.undirected[x])
