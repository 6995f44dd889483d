"""Members of an equivalence class that score best, for each way of each open edge.

The undirected edges of a PDAG fall apart into components, each of which can be directed by itself.
A member has one source in each component. Once a source is chosen, all its edges lead away from it,
Meek's rules direct more, and what is still open falls apart again. So the best members are found
without a list of all of them, whose number grows exponentially.
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
Score = Callable[[int, Parents], float]  # of a node with these parents, in rising order

MAX_TRIED_SOURCES = 5000  # some seconds: a clique of 9 open nodes takes 2,300


class Member(NamedTuple):
    """A DAG of the class, restricted to some nodes."""

    score: float
    parents: dict[int, Parents]

    def has(self, i: int, j: int) -> bool:
        """Whether the member has the arrow i -> j, between two of its nodes."""
        return i in self.parents[j]


def open_components(P: Graph) -> list[list[int]]:
    """Return the nodes of each component that undirected edges join, in rising order."""
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
        A PDAG that is closed under Meek's rules, as `cpdag` and `orient_known` make it.
    nodes : list of int
        One of its `open_components`.
    score : callable
        Gives the score of a node with its parents; the larger the better. The score of a member is
        the sum over its nodes.

    Returns
    -------
    list of Member, or None
        The best comes first. For every open edge and each of its directions, the list has a
        member whose score no other member with this arrow exceeds. None if the component is so
        large that the search would take too long.
    """
    try:
        return _Search(score).of_component(P, nodes)
    except _TooManyError:
        return None


class _TooManyError(Exception):
    """More sources were tried than `MAX_TRIED_SOURCES`."""


class _Search:
    """The recursion over sources, which remembers the components that it has solved."""

    def __init__(self, score: Score) -> None:
        self.score = score
        self.tried = 0
        self.known: dict[tuple[tuple[int, ...], bytes], list[Member]] = {}

    def of_component(self, P: Graph, nodes: list[int]) -> list[Member]:
        """Return the best members of one open component, the best one first."""
        # The arrows into the component count too: parents outside are part of a node's score.
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
        """Direct the open edges of a source away from it; None if no member has this source."""
        self.tried += 1
        if self.tried > MAX_TRIED_SOURCES:
            raise _TooManyError
        inside = np.ix_(nodes, nodes)
        directed = P[inside]
        # Only lines are lost: `of_component` tries no node that has parents inside.
        directed[:, nodes.index(source)] = False
        directed = close_orientations(directed)
        # A member of the class has no v-structure that the PDAG does not show.
        if v_structures(directed) or consistent_extension(directed) is None:
            return None
        result = P.copy()
        result[inside] = directed
        return result

    def _completed(self, P: Graph, nodes: list[int]) -> list[Member]:
        """Return the best members once the source is chosen.

        What is still open falls apart into components. The best member takes the best of each; to
        have an arrow of one component, it is enough to change that component alone.
        """
        belongs = set(nodes)
        parts = [part for part in open_components(P) if belongs.issuperset(part)]
        settled = belongs.difference(*parts) if parts else belongs
        # A settled node is on no line any more: all in its column are parents.
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
    parents = dict(chain.from_iterable(part.parents.items() for part in parts))
    return Member(sum(part.score for part in parts), parents)


def _best_for_each_arrow(P: Graph, nodes: list[int], members: list[Member]) -> list[Member]:
    """Keep the best member, and the best one that has each arrow; the best comes first."""
    members = sorted(members, key=lambda member: -member.score)  # stable: ties as they came
    # Arrows that no member kept so far has: the first member with one of them is its best.
    missing = {(i, j) for i in nodes for j in nodes if P[i, j] and P[j, i]}
    # Every member directs every line: the first, which is the best, is always kept.
    kept = []
    for member in members:
        new = {(i, j) for i, j in missing if member.has(i, j)}
        if new:
            missing -= new
            kept.append(member)
    return kept
