"""IAMBnPC: IAMB with the PC algorithm to shrink the blankets."""

from __future__ import annotations

import numpy as np

from sgbn.core.types import Graph
from sgbn.structure.baselines.iamb import IAMB
from sgbn.structure.baselines.orientation import without
from sgbn.structure.baselines.partial_correlation import IndependenceTest

Separators = dict[tuple[int, int], set[int]]


class IAMBnPC(IAMB):
    """A network from Markov blankets by incremental association, shrunk by PC (IAMBnPC).

    It differs from `IAMB` in how a blanket shrinks. `IAMB` tests a member given all other members,
    which needs many samples. Here, the PC algorithm searches smaller separating sets among the
    variable and its blanket. Members that stay joined to the variable are kept. A separated member
    is kept if it shares with the variable a neighbour that is not in their separating set: it is
    then another parent of a common child. We assume that this is the IAMB2 of Exp-II, which names
    its variants of IAMB only by numbers.

    Parameters
    ----------
    significance : float, default=0.05
        As in `IAMB`.

    Attributes
    ----------
    coef_, coef_std_, intercept_, noise_variance_, order_, network_, pdag_, blankets_, consistent_
        As in `IAMB`.
    """

    def _shrink(self, test: IndependenceTest, target: int, blanket: list[int]) -> list[int]:
        """Return the members that are neighbours of the target, or parents of a common child."""
        members = [target, *blanket]
        # The usual memory layout, because numba would compile the kernel again for another one.
        R = np.ascontiguousarray(test.R[np.ix_(members, members)])
        joined, separators = pc_skeleton(test._replace(R=R))
        return [
            member
            for x, member in enumerate(blanket, start=1)
            if joined[0, x] or _is_spouse(joined, separators, x)
        ]


def _is_spouse(joined: Graph, separators: Separators, x: int) -> bool:
    """Return whether x and variable 0, which are not joined, share a child.

    A shared neighbour is a child if it is not in the set that separates the two.
    """
    common = np.flatnonzero(joined[0] & joined[x])
    return any(c not in separators[0, x] for c in common)


def pc_skeleton(test: IndependenceTest) -> tuple[Graph, Separators]:
    """Return the skeleton by the PC algorithm, and the sets that separate pairs.

    Two variables are joined if no subset of the neighbours of either separates them. The size of
    the subsets grows from 0. For one size, all pairs use the same neighbours, so that the order of
    the pairs does not matter (PC-stable).

    Returns
    -------
    joined : ndarray of bool, shape (m, m)
        The skeleton, a symmetric matrix.
    separators : dict
        The separating set of every pair (i, j) with i < j that is not joined.
    """
    joined = ~np.eye(len(test.R), dtype=bool)
    separators: Separators = {}
    size = 0
    while joined.sum(axis=1).max() > size:
        # PC-stable: for this size, pairs that are separated meanwhile still count as neighbours.
        before = joined.copy()
        for i, j in np.argwhere(np.triu(before)).tolist():
            separator = _separator(test, before, i, j, size)
            if separator is not None:
                separators[i, j] = separator
                joined[i, j] = joined[j, i] = False
        size += 1
    return joined, separators


def _separator(test: IndependenceTest, joined: Graph, i: int, j: int, size: int) -> set[int] | None:
    """Return `size` neighbours of i that separate i and j.

    If there are none, try the neighbours of j. Return None if these do not separate them either.
    """
    for side in (without(joined[i], j), without(joined[j], i)):
        if np.count_nonzero(side) >= size:
            link = test.weakest(i, j, np.flatnonzero(side), size=size)
            if link.separated:
                return set(link.given.tolist())
    return None
