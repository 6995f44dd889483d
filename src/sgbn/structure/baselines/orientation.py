"""Functions that turn Markov blankets into a partially directed graph, and this into a DAG.

Graphs are boolean matrices as in `sgbn.core.equivalence`. Results depend on the order of the
variables only if there are ties, or if no DAG agrees with all tests (`closest_dag`).
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from sgbn.core.equivalence import close_orientations, consistent_extension, skeleton, v_structures
from sgbn.core.graph import is_dag
from sgbn.core.types import Graph, Indices
from sgbn.structure.baselines.partial_correlation import IndependenceTest


class Collider(NamedTuple):
    """Evidence for i -> k <- j; if colliders contradict each other, the strongest is used."""

    strength: float
    i: int
    k: int
    j: int


def smaller_sides(first: Graph, second: Graph) -> list[Indices]:
    """Return the smaller of two sets that are given as masks; both if they have the same size."""
    size = np.count_nonzero(first), np.count_nonzero(second)
    sides = [first] if size[0] < size[1] else [second] if size[0] > size[1] else [first, second]
    return [np.flatnonzero(side) for side in sides]


def without(mask: Graph, *variables: int) -> Graph:
    """Return a copy of a mask in which `variables` are not set."""
    rest = mask.copy()
    rest[list(variables)] = False
    return rest


def neighbours(test: IndependenceTest, blankets: Graph) -> Graph:
    """Return the pairs in each other's blanket that stay joined, as a symmetric matrix.

    A pair stays joined if no subset of the smaller of the two blankets separates it.
    """
    joined = blankets.copy()
    for i, j in np.argwhere(np.triu(blankets)):
        sides = smaller_sides(without(blankets[i], j), without(blankets[j], i))
        if any(test.weakest(i, j, side).separated for side in sides):
            joined[i, j] = joined[j, i] = False
    return joined


def colliders(test: IndependenceTest, blankets: Graph, joined: Graph) -> list[Collider]:
    """Return the colliders i -> k <- j among all triples i - k - j with i and j not joined.

    k is a collider if no tested set separates i and j. Each tested set is k together with a subset
    of the blanket of i or of j, whichever is smaller; both are used if they have the same size. The
    strength of a collider is the smallest dependence of i and j over all tested sets.
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
    """Return a skeleton with the arrows of colliders, and with the arrows of Meek's rules.

    The strongest collider comes first. A collider is left out if it contradicts an arrow of a
    stronger one, or if it closes a directed cycle with stronger ones.
    """
    P = joined.copy()
    for _, i, k, j in sorted(evidence, key=lambda collider: -collider.strength):
        attempt = P.copy()
        attempt[k, i] = attempt[k, j] = False
        if P[i, k] and P[j, k] and is_dag(attempt & ~attempt.T):
            P = attempt
    return close_orientations(P)


def closest_dag(P: Graph) -> Graph:
    """Return a DAG with the skeleton of a PDAG and, if possible, its arrows and v-structures.

    This is impossible if tests were wrong in such a way that no DAG agrees. Then sinks are removed
    one by one, as in `consistent_extension`. If no variable is a free sink, the next sink is the
    variable for which the fewest arrows must be reversed. If several variables are equal in this,
    it is the variable that makes the fewest new v-structures, and then the variable with the
    largest index. No edge is lost. Only arrows on a directed cycle are reversed.
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
    """Return the numbers of reversed arrows and of new v-structures if all edges of x led to x."""
    joined = skeleton(P)
    is_parent = P[:, x] & ~P[x]
    n_new = sum(
        not joined[i, j] and not (is_parent[i] and is_parent[j])
        for i, j in combinations(np.flatnonzero(joined[x]).tolist(), 2)
    )
    return int(np.count_nonzero(P[x] & ~P[:, x])), n_new


def extends(A: Graph, P: Graph) -> bool:
    """Return whether the DAG A has all arrows of the PDAG P and the same v-structures."""
    arrows_kept = not np.any(P & ~P.T & ~A)
    return arrows_kept and v_structures(A) == v_structures(P)
