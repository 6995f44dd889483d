"""The best DAGs of an equivalence class: one for each direction of each undirected edge.

The undirected edges of a PDAG form components, and each component can be directed independently of
the others. A DAG of the class has one source in each component. Once a source is chosen, all its
edges lead away from it, and Meek's rules direct further edges. The edges that are still undirected
form smaller components, which are treated in the same way. So the search never lists all DAGs of
the class, whose number grows exponentially.

An undirected edge is called open, and a DAG of the class is called a member.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from sgbn.graph.equivalence import close_orientations, consistent_extension, v_structures
from sgbn.types import Graph

Parents = tuple[int, ...]
Score = Callable[[int, Parents], float]  # score of a node with its parents, sorted by index

MAX_TRIED_SOURCES = 5000  # takes some seconds; a clique of 9 open nodes needs 2,300


class Member(NamedTuple):
    """A DAG of the class, restricted to some nodes: its score, and the parents of each node."""

    score: float
    parents: dict[int, Parents]

    def has(self, i: int, j: int) -> bool:
        """Return whether the member has the arrow i -> j between two of its nodes."""
        return i in self.parents[j]


def open_components(P: Graph) -> list[list[int]]:
    """Return the components that undirected edges join, each as a list of nodes in rising order."""
    undirected = P & P.T
    n_parts, part = connected_components(csr_array(undirected), directed=False)
    ends = undirected.any(axis=0)
    members: list[list[int]] = [[] for _ in range(n_parts)]
    for node in np.flatnonzero(ends).tolist():
        members[part[node]].append(node)
    return [nodes for nodes in members if nodes]


def best_each_way(P: Graph, nodes: list[int], score: Score) -> list[Member] | None:
    """Return the best member for each direction of each open edge of a component.

    Parameters
    ----------
    P : ndarray of bool, shape (m, m)
        A PDAG that is closed under Meek's rules, such as `cpdag` and `orient_known` return.
    nodes : list of int
        One of its `open_components`.
    score : callable
        A function that returns the score of a node with its parents; larger is better. The score
        of a member is the sum over its nodes.

    Returns
    -------
    list of Member, or None
        The best member comes first. For each direction of each open edge, the list has the best
        of the members with this arrow. None if the component is so large that the search would
        take too long.
    """
    try:
        return _Search(score).of_component(P, nodes)
    except _TooManyError:
        return None


class _TooManyError(Exception):
    """More sources were tried than `MAX_TRIED_SOURCES`."""


class _Search:
    """A recursive search over sources that remembers the components it has solved."""

    def __init__(self, score: Score) -> None:
        self.score = score
        self.tried = 0
        self.known: dict[tuple[tuple[int, ...], bytes], list[Member]] = {}

    def of_component(self, P: Graph, nodes: list[int]) -> list[Member]:
        """Return the best members of one open component, the best one first."""
        # The arrows into the component are part of the key: outside parents change a node's score.
        key = tuple(nodes), P[:, nodes].tobytes()
        if key not in self.known:
            part = P[np.ix_(nodes, nodes)]
            n_parents = np.count_nonzero(part & ~part.T, axis=0)  # inside the component
            sources = [node for node, count in zip(nodes, n_parents, strict=True) if not count]
            rooted = (self._rooted(P, nodes, source) for source in sources)
            members = [self._completed(Q, nodes) for Q in rooted if Q is not None]
            self.known[key] = _best_for_each_arrow(P, nodes, list(chain(*members)))
        return self.known[key]

    def _rooted(self, P: Graph, nodes: list[int], source: int) -> Graph | None:
        """Return P with the open edges of a source directed away from it, closed by Meek's rules.

        The result is None if no member has this source.
        """
        self.tried += 1
        if self.tried > MAX_TRIED_SOURCES:
            raise _TooManyError
        inside = np.ix_(nodes, nodes)
        directed = P[inside]
        # This removes no arrow: `of_component` only tries nodes without parents in the component.
        directed[:, nodes.index(source)] = False
        directed = close_orientations(directed)
        # A member of the class has no v-structures in addition to those of the PDAG.
        if v_structures(directed) or consistent_extension(directed) is None:
            return None
        result = P.copy()
        result[inside] = directed
        return result

    def _completed(self, P: Graph, nodes: list[int]) -> list[Member]:
        """Return the best members once the source is chosen.

        The edges that are still open form components. The best member consists of the best member
        of each component. The best member with a certain arrow differs from it only in the
        component of this arrow.
        """
        belongs = set(nodes)
        parts = [part for part in open_components(P) if belongs.issuperset(part)]
        settled = belongs.difference(*parts) if parts else belongs
        # A settled node has no undirected edge left: all entries in its column are parents.
        parents = {j: tuple(np.flatnonzero(P[:, j]).tolist()) for j in sorted(settled)}
        base = Member(sum(self.score(j, known) for j, known in parents.items()), parents)
        choices = [self.of_component(P, part) for part in parts]
        best = [members[0] for members in choices]
        changed = [
            _joined([base, *best[:k], member, *best[k + 1 :]])
            for k, members in enumerate(choices)
            for member in members[1:]
        ]
        return [_joined([base, *best]), *changed]


def _joined(parts: list[Member]) -> Member:
    """Return one member made of members on different nodes."""
    parents = dict(chain.from_iterable(part.parents.items() for part in parts))
    return Member(sum(part.score for part in parts), parents)


def _best_for_each_arrow(P: Graph, nodes: list[int], members: list[Member]) -> list[Member]:
    """Return the best member with each arrow; the best of all members comes first."""
    members = sorted(members, key=lambda member: -member.score)  # stable: ties keep their order
    # Arrows that no kept member has yet. Members come best first, so that the first member with
    # one of these arrows is the best one with it.
    missing = {(i, j) for i in nodes for j in nodes if P[i, j] and P[j, i]}
    # Every member directs every open edge: so the first member, the best of all, is always kept.
    kept = []
    for member in members:
        new = {(i, j) for i, j in missing if member.has(i, j)}
        if new:
            missing -= new
            kept.append(member)
    return kept
