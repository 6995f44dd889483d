"""From Markov blankets to a partially directed graph, and on to a DAG.

Graphs are boolean matrices as in `sgbn.graph.equivalence`. Nothing here depends on the order of
the variables but ties and, where a graph cannot be had as the tests want it, the fall-backs.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from sgbn.graph.acyclicity import is_dag
from sgbn.graph.equivalence import (
    close_orientations,
    consistent_extension,
    skeleton,
    v_structures,
)
from sgbn.structure.baselines.partial_correlation import IndependenceTest
from sgbn.types import Graph, Indices


class Collider(NamedTuple):
    """Evidence for i -> k <- j; if colliders contradict each other, the strongest is used."""

    strength: float
    i: int
    k: int
    j: int


def smaller_sides(first: Graph, second: Graph) -> list[Indices]:
    """Return the smaller of two sets, given as masks; both where they are equally large."""
    size = np.count_nonzero(first), np.count_nonzero(second)
    sides = [first] if size[0] < size[1] else [second] if size[0] > size[1] else [first, second]
    return [np.flatnonzero(side) for side in sides]


def without(mask: Graph, *variables: int) -> Graph:
    """Copy of a mask in which `variables` are not set."""
    rest = mask.copy()
    rest[list(variables)] = False
    return rest


def neighbours(test: IndependenceTest, blankets: Graph) -> Graph:
    """Pairs of a symmetric matrix of blankets that no subset of the smaller blanket separates."""
    joined = blankets.copy()
    for i, j in np.argwhere(np.triu(blankets)):
        sides = smaller_sides(without(blankets[i], j), without(blankets[j], i))
        if any(test.weakest(i, j, side).separated for side in sides):
            joined[i, j] = joined[j, i] = False
    return joined


def colliders(test: IndependenceTest, blankets: Graph, joined: Graph) -> list[Collider]:
    """Find the colliders i -> k <- j among all i - k - j whose ends i and j are not joined.

    k is a collider if no tested set that contains k separates i and j. The tested sets are k with
    subsets of the smaller blanket of the two ends. The strength is the smallest dependence of i
    and j given one of these sets.
    """
    evidence = []
    for k in range(len(joined)):
        for i, j in combinations(np.flatnonzero(joined[k]).tolist(), 2):
            if not joined[i, j]:
                sides = smaller_sides(without(blankets[i], j, k), without(blankets[j], i, k))
                strength = min(test.weakest(i, j, side, fixed=[k]).strength for side in sides)
                if strength >= 1.0:
                    evidence.append(Collider(strength, i, k, j))
    return evidence


def direct(joined: Graph, evidence: list[Collider]) -> Graph:
    """Direct the edges of a skeleton by colliders, then all that follows (Meek's rules).

    The strongest collider comes first; one that contradicts an arrow of those before, or closes a
    directed cycle with them, is left out.
    """
    P = joined.copy()
    for _, i, k, j in sorted(evidence, key=lambda one: -one.strength):
        attempt = P.copy()
        attempt[k, i] = attempt[k, j] = False
        # an arrow of a stronger collider would be turned, or a cycle closed: the tests contradict
        if P[i, k] and P[j, k] and is_dag(attempt & ~attempt.T):
            P = attempt
    return close_orientations(P)


def closest_dag(P: Graph) -> Graph:
    """Return a DAG with the skeleton of a PDAG, its arrows and its v-structures if there is one.

    Tests can err in ways that no DAG agrees with. Then sinks are taken off one by one, as in
    `consistent_extension`, but where no variable qualifies the one is taken that turns the fewest
    arrows, then the one that makes the fewest new v-structures, then the one of the largest index.
    Every edge stays, and arrows are turned only where they lie on a directed cycle.
    """
    extension = consistent_extension(P)
    if extension is not None:
        return extension
    A = np.zeros_like(P)
    left = P.copy()
    remaining = set(range(len(P)))
    while remaining:
        sink = min(remaining, key=lambda x: (*_faults_of_sink(left, x), -x))
        A[:, sink] = skeleton(left)[:, sink]
        left[sink] = left[:, sink] = False
        remaining.discard(sink)
    return A


def _faults_of_sink(P: Graph, x: int) -> tuple[int, int]:
    """Count the arrows turned, and the v-structures made, if all edges of x led to it."""
    joined = skeleton(P)
    is_parent = P[:, x] & ~P[x]
    n_new = sum(
        not joined[i, j] and not (is_parent[i] and is_parent[j])
        for i, j in combinations(np.flatnonzero(joined[x]).tolist(), 2)
    )
    return int(np.count_nonzero(P[x] & ~P[:, x])), n_new


def extends(A: Graph, P: Graph) -> bool:
    """Whether the DAG A has all arrows of the PDAG P and no v-structure that P has not."""
    arrows_kept = not np.any(P & ~P.T & ~A)
    return arrows_kept and v_structures(A) == v_structures(P)
