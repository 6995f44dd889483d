"""What Gaussian data can tell about arrows: DAGs that imply the same distributions.

A partially directed graph (PDAG) is a boolean matrix P: i -> j where P[i, j] alone is set, i - j
where P[j, i] is set as well. A CPDAG has the arrows that all DAGs of an equivalence class share.
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
    """Return which pairs are joined, whatever the direction: a symmetric matrix."""
    support = adjacency(A)
    return support | support.T


class _Neighbours:
    """A PDAG as sets: parents, children, undirected neighbours and all neighbours of each node."""

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
        """Make i - j the arrow i -> j."""
        self.undirected[i].discard(j)
        self.undirected[j].discard(i)
        self.children[i].add(j)
        self.parents[j].add(i)

    def remove(self, x: int) -> None:
        """Take node x and its edges out."""
        for y in self.joined[x]:
            for kind in (self.parents, self.children, self.undirected, self.joined):
                kind[y].discard(x)


def v_structures(A: ArrayLike) -> list[tuple[int, int, int]]:
    """Return all i -> k <- j whose ends i < j are not joined, as (i, k, j) in order of k.

    In a PDAG only directed edges count.
    """
    near = _Neighbours(adjacency(A))
    return [
        (i, k, j)
        for k, parents in enumerate(near.parents)
        for i, j in combinations(sorted(parents), 2)
        if j not in near.joined[i]
    ]


def cpdag(A: ArrayLike) -> Graph:
    """Return the CPDAG of a DAG: edges are directed if all equivalent DAGs agree on them.

    Raises
    ------
    InputError
        If A has a directed cycle.
    """
    support = adjacency(A)
    if not is_dag(support):
        raise InputError(
            "only a DAG has a CPDAG; this graph has a directed cycle. Remove an edge of it."
        )
    return _class_of(support, support)


def _class_of(support: Graph, evidence: Graph) -> Graph:
    """Close the skeleton of a DAG under those of its v-structures whose arrows are `evidence`."""
    P = skeleton(support)
    for i, k, j in v_structures(support):
        if evidence[i, k] and evidence[j, k]:
            P[k, i] = P[k, j] = False
    return close_orientations(P)


def close_orientations(P: ArrayLike) -> Graph:
    """Direct all undirected edges of a PDAG that its arrows decide (Meek's four rules).

    It works in rounds. Each looks only at the edges that the arrows of the last round may decide.
    """
    P = adjacency(P)
    near = _Neighbours(P)
    new: list[Arrow] = [(i, j) for i, children in enumerate(near.children) for j in children]
    while new:
        decided = {arrow for a, b in new for arrow in _concerned(near, a, b)}
        # All of a round are decided before one is directed, so that their order plays no part.
        decided = {(i, j) for i, j in decided if _is_decided(near, i, j)}
        # Where the arrows contradict each other, both ways may be decided: one is taken.
        new = [(i, j) for i, j in decided if i < j or (j, i) not in decided]
        for i, j in new:
            near.direct(i, j)
            P[j, i] = False
    return P


def _concerned(near: _Neighbours, a: int, b: int) -> Iterator[Arrow]:
    """Yield the ways to direct an edge that a rule may decide because of the arrow a -> b."""
    for i in near.undirected[b]:
        yield b, i  # rule 1
        yield i, b  # rules 2, 3 and 4, whose last arrow is a -> b
    for i in near.undirected[a]:
        yield a, i  # rule 2, whose first arrow is a -> b
        for j in near.undirected[i] & near.children[b]:
            yield i, j  # rule 4, whose first arrow is a -> b


def _is_decided(near: _Neighbours, i: int, j: int) -> bool:
    """Return whether the arrows around the undirected edge i - j leave only i -> j."""
    return (
        _would_collide(near, i, j)
        or _would_close_a_cycle(near, i, j)
        or _two_ways_in(near, i, j)
        or _round_about(near, i, j)
    )


def _would_collide(near: _Neighbours, i: int, j: int) -> bool:
    """Rule 1: a -> i - j with a and j apart; the other way would be a new v-structure."""
    return not near.parents[i] <= near.joined[j]


def _would_close_a_cycle(near: _Neighbours, i: int, j: int) -> bool:
    """Rule 2: i -> k -> j beside i - j."""
    return not near.children[i].isdisjoint(near.parents[j])


def _two_ways_in(near: _Neighbours, i: int, j: int) -> bool:
    """Rule 3: i - k -> j and i - l -> j with k and l apart, beside i - j."""
    between = near.undirected[i] & near.parents[j]
    return any(far not in near.joined[k] for k, far in combinations(between, 2))


def _round_about(near: _Neighbours, i: int, j: int) -> bool:
    """Rule 4: i - k -> l -> j with k and j apart and i joined to l, beside i - j.

    Needed only where arrows come from prior knowledge.
    """
    first = near.undirected[i] - near.joined[j]
    last = near.joined[i] & near.parents[j]
    return any(not near.children[k].isdisjoint(last) for k in first)


def orient_known(P: ArrayLike, known: ArrayLike) -> Graph:
    """Return the PDAG of the DAGs of an equivalence class that agree with prior knowledge.

    Parameters
    ----------
    P : array-like of shape (m, m)
        The CPDAG of the class.
    known : array-like of shape (m, m)
        Where set, i -> j is the direction if i and j are joined. It says nothing about pairs that
        are not joined.

    Returns
    -------
    ndarray of bool, shape (m, m)
        Directed are the edges that all those DAGs direct the same way.

    Raises
    ------
    InputError
        If no DAG of the class agrees.
    """
    support = adjacency(P)
    forbidden = _forbidden(support, known)
    # Only arrows can disagree: a line is free to be directed.
    _check_agrees(support & ~support.T, forbidden)
    closed = close_orientations(support & ~forbidden)
    if v_structures(closed) != v_structures(support) or consistent_extension(closed) is None:
        raise InputError(
            "the known directions contradict each other: on this graph they lead to a directed "
            "cycle or to a collider (a -> b <- c) that the graph excludes. Remove some of them."
        )
    return closed


def edge_kinds(
    A: ArrayLike, known: ArrayLike | None = None, required: ArrayLike | None = None
) -> Labels:
    """Return why each edge of a DAG has its direction, in the order of ``np.argwhere(A)``.

    Parameters
    ----------
    A : array-like of shape (m, m)
        A DAG that agrees with `known`.
    known : array-like of shape (m, m), optional
        Prior knowledge as in `orient_known`.
    required : array-like of shape (m, m), optional
        Edges that are there because they had to be: nothing that rests on them is compelled.

    Returns
    -------
    ndarray of str
        "compelled": all equivalent DAGs have the edge in this direction. "prior knowledge": not
        all of them, but all that agree with `known`; or a required edge decides it. "reversible":
        some of these have it the other way round. All of it holds if the edges of A are right.

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
    # The first reason that holds counts: what the data decide needs no prior knowledge.
    return np.select(reasons, ["compelled", "prior knowledge"], "reversible")


def _forbidden(P: Graph, known: ArrayLike) -> Graph:
    """Return the directions that `known` excludes, among the joined pairs of P."""
    arrows = adjacency(known)
    if arrows.shape != P.shape:
        raise InputError(f"known has shape {arrows.shape}, the graph {P.shape}: make them equal.")
    forbidden: Graph = skeleton(P) & arrows.T
    # If both ways were excluded, the edge itself would be lost below.
    for i, j in np.argwhere(forbidden & forbidden.T):
        raise InputError(f"known has both {i} -> {j} and {j} -> {i}: set one of them only.")
    return forbidden


def _check_agrees(directed: Graph, forbidden: Graph) -> None:
    for i, j in np.argwhere(directed & forbidden):
        raise InputError(
            f"the graph has {i} -> {j}, but known has {j} -> {i}: learn the graph with this "
            "knowledge, or remove it."
        )


def consistent_extension(P: ArrayLike) -> Graph | None:
    """Return a DAG with the skeleton, arrows and v-structures of a PDAG; None if there is none.

    The algorithm of Dor and Tarsi: again and again take a sink whose undirected neighbours are
    joined to all its other neighbours, and direct its edges towards it. Of several the one of the
    largest index is taken, so that edges run from small to large indices where nothing decides.
    """
    result = adjacency(P)
    near = _Neighbours(result)
    remaining = set(range(len(result)))
    # A heap of negative indices: the largest index comes first. Nodes that are not in it are not
    # free sinks.
    candidates = [-x for x in remaining]
    heapify(candidates)
    while candidates:
        x = -heappop(candidates)
        if x not in remaining or not _is_free_sink(near, x):
            continue
        result[x, list(near.undirected[x])] = False
        near.remove(x)
        remaining.discard(x)
        for y in near.joined[x]:  # only these may have become free
            heappush(candidates, -y)
    return None if remaining else result


def _is_free_sink(near: _Neighbours, x: int) -> bool:
    if near.children[x]:
        return False
    return all(near.joined[x] - near.joined[y] == {y} for y in near.undirected[x])
