r"""Base classes of the baselines, which learn a graph first and then its weights.

Steps that several searches for Markov blankets share.

GS: Markov blankets by growing and shrinking (Margaritis and Thrun, 1999).

IAMB: Markov blankets by incremental association (Tsamardinos, Aliferis and Statnikov, 2003).

Inter-IAMB: a variant of IAMB that shrinks the blanket after each step of growth.

IAMBnPC: IAMB with the PC algorithm to shrink the blankets.

Inter-IAMBnPC: a variant of IAMBnPC that shrinks the blanket after each step of growth.

Partial correlations from the correlation matrix, and tests of conditional independence.

For variables i and j and a set Z of k other variables, the partial correlation r is the correlation
of the residuals of i and j after regression on Z. If i and j are independent given Z, then for n
samples of Gaussian data

.. math:: \sqrt{n - k - 3} \, \operatorname{atanh} r \approx N(0, 1), \qquad
          r \sqrt{(n - k - 2) / (1 - r^2)} \sim t_{n - k - 2}.

The first is Fisher's z test, the second the exact t test. Both tests find a dependence if
\|atanh r\| reaches a border that depends only on k. The *strength* is \|atanh r\| divided by this
border: 1 or more means dependence. For the same k, a larger strength means a smaller p. With
Fisher's z this also holds for different k.

If no degree of freedom is left, nothing can be tested: p is 1 and the strength is 0, which means
independence. Members of Z that are linear combinations of the others are left out. A variable that
Z determines entirely has r = 0 with every other variable.

Functions that turn Markov blankets into a partially directed graph, and this into a DAG.

Graphs are boolean matrices as in `sgbn.core.equivalence`. Results depend on the order of the
variables only if there are ties, or if no DAG agrees with all tests (`closest_dag`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit

from sgbn.core.equivalence import close_orientations, consistent_extension, skeleton, v_structures
from sgbn.core.graph import is_dag
from sgbn.core.jit import jit, jit_inside
from sgbn.core.moments import Moments, one_blas_thread
from sgbn.core.problems import Problem
from sgbn.core.types import Array, Graph, Indices
from sgbn.core.validation import SHARE, allowed
from sgbn.learn.base import NetworkEstimator, least_squares
from sgbn.learn.lasso import SINGULAR

MAX_QUICK_BLANKET = 20  # variables; two more double the time


class LearnedGraph(NamedTuple):
    """The result of a baseline, in the canonical order of its moments.

    Attributes
    ----------
    blankets : ndarray of bool, shape (m, m)
        ``blankets[i, j]`` is True if j is in the Markov blanket of i. A learner without blankets
        gives the candidates among which it searched the edges of i. The matrix need not be
        symmetric. Its diagonal is False.
    pdag : ndarray of bool, shape (m, m)
        The graph with the known directions. If only ``pdag[i, j]`` is set, the edge is i -> j. If
        both ``pdag[i, j]`` and ``pdag[j, i]`` are set, its direction is open. A learner of a DAG
        gives its `cpdag`.
    dag : ndarray of bool, shape (m, m)
        The edges of `pdag`, all of them directed: ``dag[i, j]`` is i -> j. Weights are fitted to
        this graph. A learner of a PDAG gets it from `closest_dag`.
    """

    blankets: Graph
    pdag: Graph
    dag: Graph


class GraphEstimator(NetworkEstimator):
    """The base class of learners that learn a graph and then fit its weights by least squares.

    A learner implements `learn_graph`. If it has parameters, it is a dataclass whose fields give
    their defaults and their allowed values. `L1MB` is a short example.
    """

    @abstractmethod
    def learn_graph(self, moments: Moments) -> LearnedGraph:
        """Return the graph learned from ``moments.R``, the correlations of m variables."""

    def learn(self, moments: Moments, values: Array, names: list[str]) -> Self:  # noqa: ARG002
        """Learn the graph, fit its weights by least squares, and store both."""
        # One thread, so that rounding does not depend on the number of processors.
        with one_blas_thread():
            learned = self.learn_graph(moments)
        self._store(moments, least_squares(moments, learned.dag.T.astype(float), names), names)
        # `to_user` takes rows of parents: the transpose of an adjacency matrix.
        self.blankets_ = moments.to_user(learned.blankets.T.astype(float)) != 0
        self.pdag_ = moments.to_user(learned.pdag.T.astype(float)) != 0
        self.consistent_ = extends(learned.dag, learned.pdag)
        return self


@dataclass(eq=False, repr=False)
class ConstraintEstimator(GraphEstimator):
    """The base class of learners of Markov blankets by tests of conditional independence.

    A learner implements `_blankets`. It may replace `_test`, which is Fisher's z at the level
    `significance`, and `_orient`, which finds neighbours and colliders within the blankets. `IAMB`
    is a short example. A method that only selects candidates by tests, and directs edges by a
    score, is a `GraphEstimator` instead.
    """

    significance: Any = allowed(0.05, SHARE)  # None is allowed in TC, which then computes a level

    @abstractmethod
    def _blankets(self, test: IndependenceTest, moments: Moments) -> Graph:
        """Return the blankets: ``[i, j]`` is True if j is in the blanket of i.

        A blanket holds the parents, the children, and the other parents of the children. The matrix
        need not be symmetric: only pairs that are in each other's blanket are used.
        """

    def _test(self, moments: Moments) -> IndependenceTest:
        """Return the test of conditional independence for a sample."""
        borders = fisher_z_borders(moments.n, moments.m, self.significance)
        return IndependenceTest(moments.R, borders)

    def _orient(self, test: IndependenceTest, mutual: Graph) -> Graph:
        """Return the PDAG from a symmetric matrix of blankets."""
        joined = neighbours(test, mutual)
        return direct(joined, colliders(test, mutual, joined))

    def learn_graph(self, moments: Moments) -> LearnedGraph:
        """Return the graph. Tests find the blankets; pairs in each other's blanket are oriented."""
        test = self._test(moments)
        blankets = self._blankets(test, moments)
        largest = int((blankets & blankets.T).sum(axis=0).max())
        if largest > MAX_QUICK_BLANKET:
            Problem("blanket.large", n=largest).warn(
                "a Markov blanket has {n:variable}, so the search may take very long",
                "Lower {significance=}, or use SGBN.",
            )
        P = self._orient(test, blankets & blankets.T)
        return LearnedGraph(blankets, P, closest_dag(P))


def blanket_matrix(blankets: Sequence[Sequence[int]]) -> Graph:
    """Return the blankets as a matrix: ``[i, j]`` is True if j is in the blanket of i."""
    members = np.zeros((len(blankets), len(blankets)), dtype=bool)
    for i, blanket in enumerate(blankets):
        members[i, list(blanket)] = True
    return members


def shrink(test: IndependenceTest, target: int, blanket: Sequence[int]) -> list[int]:
    """Return the blanket without each member that is independent of the target given the others.

    Members are removed one at a time. Members that were added first are tested first.
    """
    for member in blanket:
        rest = [k for k in blanket if k != member]
        if test.strength(target, member, rest) < 1.0:
            return shrink(test, target, rest)
    return list(blanket)


class GS(ConstraintEstimator):
    """A network from Markov blankets that grow and shrink (GS).

    The blanket of a variable grows step by step. Each step adds the first column that depends on
    the variable given the blanket so far. Then the method removes each member that is independent
    of the variable given the other members. Edges and arrows follow from the blankets as in `IAMB`.
    **The result depends on the order of the columns**: use `IAMB` unless you want to compare with
    this method. Blankets and graph are the same as from ``gs`` of bnlearn with ``test="zf"``.

    Parameters
    ----------
    significance : float, default=0.05
        Level of each test (Fisher's z).

    Attributes
    ----------
    coef_, coef_std_, intercept_, noise_variance_, order_, network_, pdag_, blankets_, consistent_
        As in `IAMB`.

    References
    ----------
    D. Margaritis and S. Thrun, Bayesian network induction via local neighborhoods, NIPS 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.paper.markov import GS
    >>> a = np.random.default_rng(0).standard_normal((500, 3))
    >>> a[:, 2] += a[:, 0] + a[:, 1]
    >>> GS().fit(a).network_
    GaussianNetwork(3 variables, 2 edges)
    """

    def _blankets(self, test: IndependenceTest, moments: Moments) -> Graph:
        """Return the blankets, which grow in the order of the user's columns and then shrink."""
        # The user's columns from left to right, as in bnlearn. The canonical order would hide how
        # much the method depends on the order of the columns.
        order = np.argsort(moments.columns)
        return blanket_matrix([shrink(test, i, _grow(test, i, order)) for i in range(moments.m)])


def _grow(test: IndependenceTest, target: int, order: Indices) -> list[int]:
    """Return the blanket of the target after growth.

    Each step adds the first variable in `order` that depends on the target given the blanket.
    """
    blanket: list[int] = []
    while True:
        dependent = test.strengths(target, blanket)[order] >= 1.0
        if not dependent.any():
            return blanket
        blanket.append(int(order[np.argmax(dependent)]))


class IAMB(ConstraintEstimator):
    """A network from Markov blankets by incremental association (IAMB).

    The blanket of a target variable grows step by step. Each step adds the variable that depends
    most on the target, given the blanket so far. Then the method removes each member that is
    independent of the target given the other members. Two variables in each other's blanket are
    joined, unless a subset of the smaller blanket separates them. Arrows come from triples
    ``i - k - j`` in which i and j are not joined. Such a triple becomes ``i -> k <- j``, unless k
    together with a subset of the blanket of i or of j, whichever is smaller, separates i and j. If
    triples contradict each other, the triple with the strongest dependence counts. Meek's rules
    direct further edges. Blankets and graph are the same as from ``iamb`` of bnlearn with
    ``test="zf"``. The time grows as 2 to the power of the size of the blankets.

    Parameters
    ----------
    significance : float, default=0.05
        Level of each test (Fisher's z). With n samples, a pair cannot be tested given n - 3 or more
        variables, and then counts as independent.

    Attributes
    ----------
    pdag_ : ndarray of bool, shape (n_features, n_features)
        The learned graph. If only ``pdag_[i, j]`` is set, the edge is i -> j. If ``pdag_[j, i]`` is
        set as well, its direction is open.
    blankets_ : ndarray of bool, shape (n_features, n_features)
        ``blankets_[i, j]`` is True if j was found in the blanket of i.
    consistent_ : bool
        Whether some DAG has the arrows and the v-structures of `pdag_`. It is False if tests
        contradict each other. In this case `coef_` still has every edge, but arrows on a directed
        cycle were reversed, or a v-structure was added. A greedy search chooses few arrows to
        reverse.
    coef_, coef_std_, intercept_, noise_variance_, order_, network_
        As in `ORSGBN`, from least squares on one DAG with the edges of `pdag_`.

    References
    ----------
    I. Tsamardinos, C. Aliferis and A. Statnikov, Algorithms for large scale Markov blanket
    discovery, FLAIRS 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.paper.markov import IAMB
    >>> a = np.random.default_rng(0).standard_normal((500, 3))
    >>> a[:, 2] += a[:, 0] + a[:, 1]
    >>> IAMB().fit(a).pdag_.astype(int)
    array([[0, 0, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """

    def _blankets(self, test: IndependenceTest, moments: Moments) -> Graph:
        return blanket_matrix([self._blanket(test, i) for i in range(moments.m)])

    def _blanket(self, test: IndependenceTest, target: int) -> list[int]:
        """Return the blanket of the target, which first grows and then shrinks."""
        blanket: list[int] = []
        while (added := strongest(test, target, blanket)) is not None:
            blanket.append(added)
        return self._shrink(test, target, blanket)

    def _shrink(self, test: IndependenceTest, target: int, blanket: list[int]) -> list[int]:
        """Return the blanket without false members; other methods replace this step."""
        return shrink(test, target, blanket)


def strongest(test: IndependenceTest, target: int, blanket: Sequence[int]) -> int | None:
    """Return the variable that depends most on the target given the blanket.

    If no variable depends on the target, return None.
    """
    strengths = test.strengths(target, blanket)
    best = int(np.argmax(strengths))
    return best if strengths[best] >= 1.0 else None


class InterIAMB(IAMB):
    """A network from Markov blankets by interleaved incremental association (inter-IAMB).

    It differs from `IAMB` in one point: the blanket shrinks after each added variable, which keeps
    it small. Blankets and graph are the same as from ``inter.iamb`` of bnlearn with
    ``test="zf"``. We assume that this is the IAMB1 of Exp-II, which names its variants of IAMB only
    by numbers.

    Parameters
    ----------
    significance : float, default=0.05
        As in `IAMB`.

    Attributes
    ----------
    coef_, coef_std_, intercept_, noise_variance_, order_, network_, pdag_, blankets_, consistent_
        As in `IAMB`.
    """

    def _blanket(self, test: IndependenceTest, target: int) -> list[int]:
        """Return the blanket of the target, which shrinks after each added variable."""
        blanket: list[int] = []
        seen: set[frozenset[int]] = set()
        # A blanket that was there before ends the loop. This happens if no variable is added, and
        # also if variables are added and removed again without end.
        while frozenset(blanket) not in seen:
            seen.add(frozenset(blanket))
            added = strongest(test, target, blanket)
            if added is not None:
                blanket = self._shrink(test, target, [*blanket, added])
        return blanket


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
        # A shared neighbour is a common child if it is not in the set that separates the two.
        return [
            member
            for x, member in enumerate(blanket, start=1)
            if joined[0, x]
            or not separators[0, x].issuperset(np.flatnonzero(joined[0] & joined[x]))
        ]


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


class InterIAMBnPC(IAMBnPC, InterIAMB):
    """A network from interleaved IAMB with blankets that shrink by PC (inter-IAMBnPC).

    Blankets grow as in `InterIAMB` and shrink as in `IAMBnPC`. We assume that this is the IAMB3 of
    Exp-II, which names its variants of IAMB only by numbers.

    Parameters
    ----------
    significance : float, default=0.05
        As in `IAMB`.

    Attributes
    ----------
    coef_, coef_std_, intercept_, noise_variance_, order_, network_, pdag_, blankets_, consistent_
        As in `IAMB`.
    """


Places = NDArray[np.int64]

MAX_CORRELATION = 1.0 - 2.0**-53  # limit for |r|, so that atanh is finite for copies of a column


@jit_inside
def _project(R, Z, size, L, v, x):  # type: ignore[no-untyped-def]
    """Project variable v on the first `size` members of Z, made orthonormal.

    The rows of `L` are the members of Z in the orthonormal coordinates. `x` is set to the
    coordinates of v. Return the share of the variance of v that the projection leaves.
    """
    rest = 1.0
    for h in range(size):
        x[h] = 0.0
        # A member that the members before it determine has L[h, h] = 0, and adds nothing.
        if L[h, h] > 0.0:
            x[h] = R[v, Z[h]]
            for g in range(h):
                x[h] -= x[g] * L[h, g]
            x[h] /= L[h, h]
            rest -= x[h] * x[h]
    return rest


@jit
def _partial_correlations(R, i, targets, Z):  # type: ignore[no-untyped-def]
    """Return the partial correlation of i with each of `targets` given Z.

    `L` becomes a Cholesky factor of R[Z, Z].
    """
    k = Z.size
    L = np.empty((k, k))
    for h in range(k):
        rest = _project(R, Z, h, L, Z[h], L[h])
        L[h, h] = np.sqrt(rest) if rest > SINGULAR else 0.0
    x_of_i = np.empty(k)
    rest_of_i = _project(R, Z, k, L, i, x_of_i)
    x = np.empty(k)
    r = np.zeros(targets.size)
    for t in range(targets.size):
        rest = _project(R, Z, k, L, targets[t], x)
        if min(rest_of_i, rest) > SINGULAR:
            covariance = R[i, targets[t]]
            for h in range(k):
                covariance -= x_of_i[h] * x[h]
            r[t] = max(
                -MAX_CORRELATION, min(covariance / np.sqrt(rest_of_i * rest), MAX_CORRELATION)
            )
    return r


@jit_inside
def _next_combination(chosen, top):  # type: ignore[no-untyped-def]
    """Change `chosen`, in place, to the next combination; return False after the last one.

    A combination is a rising sequence of numbers below `top`.
    """
    size = chosen.size
    k = size - 1
    while k >= 0 and chosen[k] == top - size + k:
        k -= 1
    if k < 0:
        return False
    chosen[k] += 1
    for h in range(k + 1, size):
        chosen[h] = chosen[h - 1] + 1
    return True


@jit
def _weakest(R, borders, i, j, fixed, optional, size, given):  # type: ignore[no-untyped-def]
    """Return the smallest strength of i and j given `fixed` and `size` of the `optional` variables.

    The search ends at the first strength below 1. `given` is set to the variables of the result.
    """
    n_fixed = fixed.size
    Z = np.empty(n_fixed + size, np.int64)
    for h in range(n_fixed):
        Z[h] = fixed[h]
    chosen = np.empty(size, np.int64)
    for h in range(size):
        chosen[h] = h
    other = np.empty(1, np.int64)
    other[0] = j
    weakest = np.inf
    while True:
        for h in range(size):
            Z[n_fixed + h] = optional[chosen[h]]
        # Each size of the set has its own border, so that strengths of all sizes can be compared.
        strength = np.arctanh(abs(_partial_correlations(R, i, other, Z)[0])) / borders[Z.size]
        if strength < weakest:
            weakest = strength
            for h in range(Z.size):
                given[h] = Z[h]
        if weakest < 1.0 or not _next_combination(chosen, optional.size):
            return weakest


def partial_correlations(R: Array, i: int, targets: ArrayLike, Z: ArrayLike) -> Array:
    """Return the partial correlation of variable i with each of `targets`, given the variables Z.

    Parameters
    ----------
    R : ndarray of shape (m, m)
        Correlation matrix.
    i : int
        Index of the variable.
    targets, Z : sequence of int
        Indices of variables.
    """
    return _partial_correlations(R, i, _places(targets), _places(Z))


def _places(variables: ArrayLike) -> Places:
    """Return indices as an array of the one type for which the kernels are compiled."""
    return np.array(variables, dtype=np.int64)


def fisher_z_borders(n: int, m: int, significance: float) -> Array:
    r"""Return the smallest \|atanh r\| that is significant in Fisher's z test.

    There is one border for each number of given variables, from 0 to m. A border is infinite if too
    few samples are left for a test.
    """
    z = -ndtri(significance / 2)
    return _borders(n - 3, m, lambda degrees: z / np.sqrt(degrees))


def exact_t_borders(n: int, m: int, significance: float) -> Array:
    """Return the same borders as `fisher_z_borders`, but for the exact t test."""

    def border(degrees: Array) -> Array:
        t = -stdtrit(degrees, significance / 2)
        return np.arctanh(t / np.sqrt(degrees + t**2))

    return _borders(n - 2, m, border)


def _borders(most: int, m: int, border: Callable[[Array], Array]) -> Array:
    """Return the borders given 0 to m variables; each takes one of `most` degrees of freedom."""
    degrees = np.arange(most, most - m - 1, -1, dtype=float)
    borders = np.full(m + 1, np.inf)  # without degrees of freedom, no pair reaches the border
    testable = degrees >= 1
    borders[testable] = border(degrees[testable])
    return borders


class Link(NamedTuple):
    """The smallest strength that was found for a pair, and the variables that were given for it."""

    strength: float
    given: Places

    @property
    def separated(self) -> bool:
        """Return whether the pair is independent given this set."""
        return self.strength < 1.0


class IndependenceTest(NamedTuple):
    """Tests of conditional independence in one sample.

    Attributes
    ----------
    R : ndarray of shape (m, m)
        Correlation matrix.
    borders : ndarray of shape (m + 1,)
        Result of `fisher_z_borders` or `exact_t_borders`.
    """

    R: Array
    borders: Array

    def strengths(self, i: int, Z: ArrayLike) -> Array:
        """Return the strength of i with every variable given Z; 0 with i and the members of Z."""
        Z = _places(Z)
        r = partial_correlations(self.R, i, np.arange(len(self.R)), Z)
        r[i] = 0.0
        r[Z] = 0.0
        return np.arctanh(np.abs(r)) / self.borders[Z.size]

    def strength(self, i: int, j: int, Z: ArrayLike) -> float:
        """Return the strength of i with j given Z."""
        return self.weakest(i, j, (), fixed=Z).strength

    def weakest(
        self, i: int, j: int, optional: ArrayLike, fixed: ArrayLike = (), size: int | None = None
    ) -> Link:
        """Return the smallest strength of i and j given `fixed` and any subset of `optional`.

        Subsets are tried from small to large. The search ends at the first subset that separates
        i and j. So all 2^k subsets are tried only if none of them separates the pair.

        Parameters
        ----------
        i, j : int
            Indices of the pair.
        optional, fixed : sequence of int
            Indices of variables.
        size : int, optional
            Size of the subsets; by default all sizes are tried.
        """
        optional, fixed = _places(optional), _places(fixed)
        sizes = range(optional.size + 1) if size is None else range(size, size + 1)
        best = Link(np.inf, fixed)
        for k in sizes:
            given = np.empty(fixed.size + k, np.int64)
            strength = _weakest(self.R, self.borders, i, j, fixed, optional, k, given)
            if strength < best.strength:
                best = Link(strength, given)
            if best.separated:
                break
        return best


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
    return not np.any(P & ~P.T & ~A) and v_structures(A) == v_structures(P)
