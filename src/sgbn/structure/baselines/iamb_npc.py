"""IAMBnPC: IAMB whose blankets shrink by the PC algorithm."""

from __future__ import annotations

import numpy as np

from sgbn.structure.baselines.iamb import IAMB
from sgbn.structure.baselines.orientation import without
from sgbn.structure.baselines.partial_correlation import IndependenceTest
from sgbn.types import Graph

Separators = dict[tuple[int, int], set[int]]


class IAMBnPC(IAMB):
    """Network by incremental association Markov blankets that shrink by PC (IAMBnPC).

    As `IAMB`, but the blanket that has grown is not shrunk by tests given all its other members,
    which many samples are needed for: the PC algorithm on the variable and its blanket searches
    separating subsets. Those joined to the variable stay, and their other parents: the variables
    that a subset without some common neighbour separates. This is taken to be the IAMB2 of
    Exp-II, which names its variants of IAMB by numbers only.

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
        members = [target, *blanket]
        # one memory layout, else the kernel would be compiled a second time
        R = np.ascontiguousarray(test.R[np.ix_(members, members)])
        joined, separators = pc_skeleton(test._replace(R=R))
        return [
            member
            for x, member in enumerate(blanket, start=1)
            if joined[0, x] or _is_spouse(joined, separators, x)
        ]


def _is_spouse(joined: Graph, separators: Separators, x: int) -> bool:
    """Whether x and variable 0, which are not joined, share a neighbour that is a collider."""
    common = np.flatnonzero(joined[0] & joined[x])
    return any(c not in separators[0, x] for c in common)


def pc_skeleton(test: IndependenceTest) -> tuple[Graph, Separators]:
    """Find the skeleton by the PC algorithm.

    Two variables are joined if no subset of the neighbours of either separates them. Subsets grow
    from size 0. For one size, all pairs use the same neighbours, so that the order of the pairs
    does not matter (PC-stable).

    Returns
    -------
    joined : ndarray of bool, shape (m, m)
    separators : dict
        The set that separated i < j, for every pair (i, j) that is not joined.
    """
    joined = ~np.eye(len(test.R), dtype=bool)
    separators: Separators = {}
    size = 0
    while joined.sum(axis=1).max() > size:
        # PC-stable: removals of this size take effect with the next one
        before = joined.copy()
        for i, j in np.argwhere(np.triu(before)).tolist():
            separator = _separator(test, before, i, j, size)
            if separator is not None:
                separators[i, j] = separator
                joined[i, j] = joined[j, i] = False
        size += 1
    return joined, separators


def _separator(test: IndependenceTest, joined: Graph, i: int, j: int, size: int) -> set[int] | None:
    """Search `size` neighbours of i, else of j, that separate them."""
    for side in (without(joined[i], j), without(joined[j], i)):
        if np.count_nonzero(side) >= size:
            link = test.weakest(i, j, np.flatnonzero(side), size=size)
            if link.separated:
                return set(link.given.tolist())
    return None
