"""TC: total conditioning (Pellet and Elisseeff, 2008).

TC-bw: total conditioning with backward elimination (Pellet and Elisseeff, 2008).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
from scipy.sparse.csgraph import connected_components

from sgbn.core.moments import Moments
from sgbn.core.problems import InputError
from sgbn.core.types import Array, Graph
from sgbn.core.validation import NONE, SHARE, allowed
from sgbn.paper.l1mb import inverse_gram
from sgbn.paper.markov import (
    Collider,
    ConstraintEstimator,
    IndependenceTest,
    Link,
    blanket_matrix,
    direct,
    exact_t_borders,
    smaller_sides,
    without,
)

MAX_LEVEL = 0.05  # largest default level of a test; 2 / (m (m - 1)) would be 1 for two variables


@dataclass(eq=False, repr=False)
class TC(ConstraintEstimator):
    """A network from total conditioning (TC).

    The moral graph links two variables that depend on each other given all others. They are joined
    in the network, or they are parents of the same child. For two linked variables with common
    neighbours, the method searches a set that separates them. If it finds one, it removes the link,
    and the common neighbours that are not in this set are children of both. Meek's rules direct
    further edges.

    Parameters
    ----------
    significance : float, default=None
        Level of each test (exact t). None means 2 / (m (m - 1)), but at most 0.05. At this level,
        one of the m (m - 1) / 2 pairs of m variables is expected to be linked by chance.

    Attributes
    ----------
    coef_, coef_std_, intercept_, noise_variance_, order_, network_, pdag_, blankets_, consistent_
        As in `IAMB`; `blankets_` is the moral graph.

    Raises
    ------
    InputError
        By `fit`, if there are not more samples than variables, or if a column is a linear
        combination of the others. In both cases, no pair can be tested given all other variables.

    References
    ----------
    J.-P. Pellet and A. Elisseeff, Using Markov blankets for causal structure learning, JMLR 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.paper.tc import TC
    >>> a = np.random.default_rng(0).standard_normal((500, 3))
    >>> a[:, 2] += a[:, 0] + a[:, 1]
    >>> fitted = TC().fit(a)
    >>> int(fitted.blankets_.sum()) // 2, int(fitted.pdag_.sum())
    (3, 2)
    """

    significance: float | None = allowed(None, NONE | SHARE)

    def _test(self, moments: Moments) -> IndependenceTest:
        """Return the exact t test at the level `significance`, or at its default level."""
        n, m = moments.n, moments.m
        level = self.significance or min(MAX_LEVEL, 2 / (m * (m - 1)))
        return IndependenceTest(moments.R, exact_t_borders(n, m, level))

    def _blankets(self, test: IndependenceTest, moments: Moments) -> Graph:
        """Return the moral graph: pairs that depend on each other given all others."""
        precision = self._precision(moments)
        return strengths_given_all_others(precision, test.borders) >= 1.0

    def _precision(self, moments: Moments) -> Array:
        """Return the inverse correlation matrix, or raise InputError if there is none."""
        precision = inverse_gram(moments.R) if moments.n > moments.m else None
        if precision is None:
            raise InputError("tc.singular", n=moments.n, m=moments.m).says(
                "{n:sample} of {m:variable} have no inverse correlation matrix",
                "Drop columns (none may be a linear combination of others), or use IAMB.",
            )
        return precision

    def _orient(self, test: IndependenceTest, mutual: Graph) -> Graph:
        """Return the PDAG: links of separated pairs are removed, and colliders give arrows."""
        separators = {}
        for i, j in np.argwhere(np.triu(mutual)).tolist():
            separator = separator_of_spouses(test, mutual, i, j)
            if separator is not None:
                separators[i, j] = separator
        joined = mutual.copy()
        for i, j in separators:
            joined[i, j] = joined[j, i] = False
        # Common neighbours that are not in the separating set are colliders. Their strength is the
        # dependence of i and j given the separating set and k.
        evidence = [
            Collider(test.strength(i, j, [*given, k]), i, k, j)
            for (i, j), given in separators.items()
            for k in np.flatnonzero(joined[i] & joined[j]).tolist()
            if k not in given
        ]
        return direct(joined, evidence)


def strengths_given_all_others(precision: Array, borders: Array) -> Array:
    """Return the strength of every pair given all others, from the inverse correlation matrix."""
    root = np.sqrt(np.diag(precision))
    # This is minus the partial correlation; the strength does not depend on the sign.
    r = precision / np.outer(root, root)
    np.fill_diagonal(r, 0.0)
    return np.arctanh(np.abs(r)) / borders[len(r) - 2]


def separator_of_spouses(test: IndependenceTest, moral: Graph, i: int, j: int) -> set[int] | None:
    """Return a set that separates two linked variables, or None if none is found.

    Two linked variables with such a set are not joined in the network, but share a child. Take the
    neighbours that only i has, and the neighbours that only j has. The smaller of these two groups
    is used, or one after the other if they have the same size. The first sets that are tried
    consist of this group and some of the common neighbours. If none of these sets separates the
    pair, variables of the group are left out as well. A common neighbour that is not in the set may
    be a common child of i and j. A variable of the group that a path joins to this child may be its
    descendant. A set with such a descendant does not separate i and j.
    """
    common = moral[i] & moral[j]
    if not common.any():
        return None
    links = _weakest_links(test, moral, i, j, common)
    return next((set(link.given.tolist()) for link in links if link.separated), None)


def _weakest_links(
    test: IndependenceTest, moral: Graph, i: int, j: int, common: Graph
) -> Iterator[Link]:
    """Yield the weakest links of i and j given the sets that `separator_of_spouses` describes."""
    sides = smaller_sides(without(moral[i] & ~common, j), without(moral[j] & ~common, i))
    for side in sides:
        yield test.weakest(i, j, np.flatnonzero(common), fixed=side)
    # The connected components of the moral graph without i and j.
    apart = moral.copy()
    apart[[i, j]] = apart[:, [i, j]] = False
    _, component = connected_components(apart, directed=False)
    for side in sides:
        # The first round used whole sides. A descendant of a common child in a side makes i and j
        # dependent, so that now the variables below such a child are optional.
        for some in _subsets(np.flatnonzero(common).tolist()):
            left_out = np.flatnonzero(without(common, *some))
            below = np.isin(component[side], component[left_out])
            yield test.weakest(i, j, side[below], fixed=[*side[~below], *some])


def _subsets(members: list[int]) -> Iterator[tuple[int, ...]]:
    """Return all subsets, from small to large."""
    sizes = range(len(members) + 1)
    return chain.from_iterable(combinations(members, size) for size in sizes)


class TCbw(TC):
    """A network from total conditioning with backward elimination (TC-bw).

    It differs from `TC` in the moral graph. The blanket of a target variable begins with all other
    variables. The method removes the member that depends least on the target given the other
    members, and repeats this until all members depend on the target. Two variables are linked if
    each is in the blanket of the other.

    Parameters
    ----------
    significance : float, default=None
        As in `TC`.

    Attributes
    ----------
    coef_, coef_std_, intercept_, noise_variance_, order_, network_, pdag_, blankets_, consistent_
        As in `IAMB`.

    Raises
    ------
    InputError
        By `fit`, for the same reasons as in `TC`.

    References
    ----------
    The same as for `TC`.
    """

    def _blankets(self, test: IndependenceTest, moments: Moments) -> Graph:
        precision = self._precision(moments)
        return blanket_matrix([_eliminate(precision, test.borders, i) for i in range(moments.m)])


def _eliminate(precision: Array, borders: Array, target: int) -> list[int]:
    """Return the blanket of the target by backward elimination from all others.

    After each removal, the inverse correlation matrix of the remaining variables is computed from
    the matrix before the removal.
    """
    left = np.arange(len(precision))
    while left.size > 1:
        strengths = strengths_given_all_others(precision, borders)[left == target][0]
        strengths[left == target] = np.inf
        weakest = int(np.argmin(strengths))
        if strengths[weakest] >= 1.0:
            break
        row = precision[weakest]
        rest = np.arange(left.size) != weakest
        # The Schur complement is the inverse of the matrix without this variable, in O(m^2).
        precision = (precision - np.outer(row, row) / row[weakest])[np.ix_(rest, rest)]
        left = left[rest]
    return [int(k) for k in left if k != target]
