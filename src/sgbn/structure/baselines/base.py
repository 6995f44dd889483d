"""Base classes of the baselines, which learn a graph first and then its weights."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

from sgbn.core.exceptions import warn
from sgbn.core.moments import Moments, one_blas_thread
from sgbn.core.types import Array, Graph
from sgbn.core.validation import SHARE, Parameters
from sgbn.learn.base import NetworkEstimator, least_squares
from sgbn.structure.baselines.orientation import (
    closest_dag,
    colliders,
    direct,
    extends,
    neighbours,
)
from sgbn.structure.baselines.partial_correlation import IndependenceTest, fisher_z_borders

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

    A learner implements `learn_graph`. If it has parameters, its `__init__` stores them, and its
    table `_parameters` lists their allowed values. `L1MB` is a short example.
    """

    @abstractmethod
    def learn_graph(self, moments: Moments) -> LearnedGraph:
        """Return the graph learned from ``moments.R``, the correlations of m variables."""

    def learn(self, moments: Moments, values: Array, names: list[str]) -> Self:  # noqa: ARG002
        """Learn the graph, fit its weights by least squares, and store both."""
        # One thread, so that rounding does not depend on the number of processors.
        with one_blas_thread():
            learned = self.learn_graph(moments)
        B = least_squares(moments, learned.dag.T.astype(float), names)
        self._store(moments, B, names)
        self.blankets_ = _to_user(moments, learned.blankets)
        self.pdag_ = _to_user(moments, learned.pdag)
        self.consistent_ = extends(learned.dag, learned.pdag)
        return self


def _to_user(moments: Moments, graph: Graph) -> Graph:
    """Return a graph in the user's order of columns."""
    # `to_user` takes rows of parents: the transpose of an adjacency matrix.
    return moments.to_user(graph.T.astype(float)) != 0


class ConstraintEstimator(GraphEstimator):
    """The base class of learners of Markov blankets by tests of conditional independence.

    A learner implements `_blankets`. It may replace `_test`, which is Fisher's z at the level
    `significance`, and `_orient`, which finds neighbours and colliders within the blankets. `IAMB`
    is a short example. A method that only selects candidates by tests, and directs edges by a
    score, is a `GraphEstimator` instead.
    """

    _parameters: ClassVar[Parameters] = {"significance": SHARE}

    def __init__(self, significance: float = 0.05) -> None:
        self.significance: Any = significance  # None is allowed in TC, which then computes a level

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
            warn(
                f"a Markov blanket has {largest} variables, so that up to 2^{largest} subsets must "
                "be searched. This may take very long. Lower significance, or use SGBN."
            )
        P = self._orient(test, blankets & blankets.T)
        return LearnedGraph(blankets, P, closest_dag(P))
