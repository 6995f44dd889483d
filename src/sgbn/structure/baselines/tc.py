"""TC: total conditioning (Pellet and Elisseeff, 2008)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations
from typing import ClassVar

import numpy as np
from scipy.sparse.csgraph import connected_components

from sgbn.exceptions import InputError
from sgbn.moments import Moments
from sgbn.parameters import NONE, SHARE, Parameters
from sgbn.structure.baselines.base import ConstraintEstimator
from sgbn.structure.baselines.orientation import Collider, direct, smaller_sides, without
from sgbn.structure.baselines.partial_correlation import IndependenceTest, Link, exact_t_borders
from sgbn.structure.neighbourhood import inverse_gram
from sgbn.types import Array, Graph

MAX_LEVEL = 0.05  # of a test: 2 / (m (m - 1)) is 1 for two variables


class TC(ConstraintEstimator):
    """Network by total conditioning (TC).

    Two variables that depend on each other given all others form the moral graph: they are joined,
    or parents of the same child. In each triangle of it a set is searched that separates two of
    its corners: the common neighbours outside of that set are their children, and the link between
    them goes. Meek's rules direct what follows.

    Parameters
    ----------
    significance : float, default=None
        Level of each test (exact t). None is 2 / (m (m - 1)), at which one of the m (m - 1) / 2
        pairs is expected to be linked by chance; but at most 0.05.

    Attributes
    ----------
    coef_, coef_std_, intercept_, noise_variance_, order_, network_, pdag_, blankets_, consistent_
        As in `IAMB`; `blankets_` is the moral graph.

    Raises
    ------
    InputError
        Raised by `fit` if there are not more samples than variables, or if a column is a linear
        combination of the others: then nothing can be tested given all others.

    References
    ----------
    J.-P. Pellet and A. Elisseeff, Using Markov blankets for causal structure learning, JMLR 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.structure.baselines import TC
    >>> a = np.random.default_rng(0).standard_normal((500, 3))
    >>> a[:, 2] += a[:, 0] + a[:, 1]
    >>> fitted = TC().fit(a)
    >>> int(fitted.blankets_.sum()) // 2, int(fitted.pdag_.sum())
    (3, 2)
    """

    _parameters: ClassVar[Parameters] = {"significance": NONE | SHARE}

    def __init__(self, significance: float | None = None) -> None:
        self.significance = significance

    def _test(self, moments: Moments) -> IndependenceTest:
        n, m = moments.n, moments.m
        level = self.significance or min(MAX_LEVEL, 2 / (m * (m - 1)))
        return IndependenceTest(moments.R, exact_t_borders(n, m, level))

    def _blankets(self, test: IndependenceTest, moments: Moments) -> Graph:
        precision = self._precision(moments)
        return strengths_given_all_others(precision, test.borders) >= 1.0

    def _precision(self, moments: Moments) -> Array:
        """Inverse correlation matrix."""
        precision = inverse_gram(moments.R) if moments.n > moments.m else None
        if precision is None:
            raise InputError(
                f"{type(self).__name__} tests each pair given all other variables. It needs more "
                "samples than variables, and no column may be a combination of others. Here are "
                f"n = {moments.n} samples of m = {moments.m} variables. Drop columns, or use IAMB."
            )
        return precision

    def _orient(self, test: IndependenceTest, mutual: Graph) -> Graph:
        separators = {}
        for i, j in np.argwhere(np.triu(mutual)).tolist():
            separator = separator_of_spouses(test, mutual, i, j)
            if separator is not None:
                separators[i, j] = separator
        joined = mutual.copy()
        for i, j in separators:
            joined[i, j] = joined[j, i] = False
        return direct(joined, list(_colliders(test, joined, separators)))


def strengths_given_all_others(precision: Array, borders: Array) -> Array:
    """Strength of every pair given all others, from the inverse of the correlation matrix."""
    root = np.sqrt(np.diag(precision))
    # minus the partial correlation; the sign is lost below anyway
    r = precision / np.outer(root, root)
    np.fill_diagonal(r, 0.0)
    return np.arctanh(np.abs(r)) / borders[len(r) - 2]


def separator_of_spouses(test: IndependenceTest, moral: Graph, i: int, j: int) -> set[int] | None:
    """Set that separates two linked variables, if one shows that they only share a child.

    It holds some common neighbours, and all other neighbours of the variable that has fewer;
    failing that, of these only some of those that may descend from a common child, because a path
    leads to them from a common neighbour that is left out.
    """
    common = moral[i] & moral[j]
    if not common.any():
        return None
    links = _weakest_links(test, moral, i, j, common)
    return next((set(link.given.tolist()) for link in links if link.separated), None)


def _weakest_links(
    test: IndependenceTest, moral: Graph, i: int, j: int, common: Graph
) -> Iterator[Link]:
    """Links i - j given the sets of `separator_of_spouses`, the more likely ones first."""
    sides = smaller_sides(without(moral[i] & ~common, j), without(moral[j] & ~common, i))
    for side in sides:
        yield test.weakest(i, j, np.flatnonzero(common), fixed=side)
    # which variables a path joins that leads neither through i nor through j
    apart = moral.copy()
    apart[[i, j]] = apart[:, [i, j]] = False
    _, component = connected_components(apart, directed=False)
    for side in sides:
        # the first round took whole sides: a descendant of a common child among them joins i and j
        for some in _subsets(np.flatnonzero(common).tolist()):
            left_out = np.flatnonzero(without(common, *some))
            below = np.isin(component[side], component[left_out])
            yield test.weakest(i, j, side[below], fixed=[*side[~below], *some])


def _subsets(members: list[int]) -> Iterator[tuple[int, ...]]:
    """All subsets, from small to large."""
    sizes = range(len(members) + 1)
    return chain.from_iterable(combinations(members, size) for size in sizes)


def _colliders(
    test: IndependenceTest, joined: Graph, separators: dict[tuple[int, int], set[int]]
) -> Iterator[Collider]:
    """Take common neighbours outside of the separating sets, by how much each ties the pair."""
    for (i, j), given in separators.items():
        for k in np.flatnonzero(joined[i] & joined[j]).tolist():
            if k not in given:
                yield Collider(test.strength(i, j, [*given, k]), i, k, j)
