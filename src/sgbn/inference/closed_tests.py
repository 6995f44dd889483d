r"""Closed tests, which show which groups differ when more than two are compared.

The hypothesis "groups a and b are equal" is rejected only if every hypothesis that implies it is
rejected too (Marcus, Peritz and Gabriel 1976). Such a hypothesis divides the groups into sets, says
that the groups within each set are equal, and has a and b in the same set. With three groups a, b
and c there are two such hypotheses: "a = b" and "a = b = c". If a hypothesis has several sets of
two or more groups, its p is the smallest p of these sets times their number (Bonferroni). The p of
a set comes from permutations that exchange rows between the groups of this set only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from sgbn.core.types import Array

Members = tuple[int, ...]

MOST_GROUPS = 5  # with six groups, 57 sets of groups would have to be permuted


def sets_of_groups(n_groups: int) -> list[Members]:
    """Return all sets of two or more groups, the largest first."""
    sizes = range(n_groups, 1, -1)
    return [members for size in sizes for members in combinations(range(n_groups), size)]


def partitions(groups: Sequence[int]) -> Iterator[list[Members]]:
    """Yield each partition of the groups, as the list of its sets of two or more groups."""
    if not groups:
        yield []
        return
    # Choose the set of the first group, then partition the rest. So each partition comes once.
    first, rest = groups[0], groups[1:]
    for size in range(len(rest) + 1):
        for partners in combinations(rest, size):
            left = [group for group in rest if group not in partners]
            first_set = [(first, *partners)] if partners else []
            for more_sets in partitions(left):
                yield first_set + more_sets


def closed_p(pair: Members, p_of: Mapping[Members, Array]) -> Array:
    """Return the closed p of each edge for the hypothesis that two groups are equal.

    Parameters
    ----------
    pair : tuple of two int
        Numbers of the two groups.
    p_of : mapping of groups to ndarray of shape (k,)
        The p of the k edges, for every set of two or more groups.
    """
    groups = sorted({group for members in p_of for group in members})
    largest_p = np.zeros(len(p_of[pair]))
    for sets in partitions(groups):
        # Only a hypothesis that puts both groups in one set implies that they are equal.
        if any(set(pair) <= set(members) for members in sets):
            smallest = np.min([p_of[members] for members in sets], axis=0)
            largest_p = np.maximum(largest_p, np.minimum(len(sets) * smallest, 1.0))
    return largest_p
