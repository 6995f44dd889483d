"""What the baselines share: they learn a graph first, and its weights by least squares."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

from sgbn.exceptions import warn
from sgbn.moments import Moments, one_blas_thread
from sgbn.parameters import SHARE, Parameters
from sgbn.structure.base import NetworkEstimator
from sgbn.structure.baselines.orientation import (
    closest_dag,
    colliders,
    direct,
    extends,
    neighbours,
)
from sgbn.structure.baselines.partial_correlation import IndependenceTest, fisher_z_borders
from sgbn.structure.given_graph import least_squares
from sgbn.types import Array, Graph

MAX_QUICK_BLANKET = 20  # variables; each two more double the time


class LearnedGraph(NamedTuple):
    """What a baseline learns, in the canonical order of its moments.

    Attributes
    ----------
    blankets : ndarray of bool, shape (m, m)
        ``blankets[i, j]`` says that j is in the Markov blanket of i. A learner that finds none
        gives the candidates among which it searched the edges of i. They need not be mutual. The
        diagonal is False.
    pdag : ndarray of bool, shape (m, m)
        The graph with the directions that are known: ``pdag[i, j]`` alone is i -> j, and i - j is
        set both ways. A learner of a DAG gives its `cpdag`.
    dag : ndarray of bool, shape (m, m)
        The edges of `pdag`, all of them directed: ``dag[i, j]`` is i -> j. The weights are those
        of this graph. A learner of a PDAG gets it from `closest_dag`.
    """

    blankets: Graph
    pdag: Graph
    dag: Graph


class GraphEstimator(NetworkEstimator):
    """Base of the learners of a graph whose weights are then those of least squares.

    A learner has `learn_graph`. If it has parameters, its `__init__` stores them, and its table
    `_parameters` says what they may be. `L1MB` is a short example.
    """

    @abstractmethod
    def learn_graph(self, moments: Moments) -> LearnedGraph:
        """Learn the graph from ``moments.R``, the correlations of `m` variables in `n` samples."""

    def learn(self, moments: Moments, values: Array, names: list[str]) -> Self:  # noqa: ARG002
        """Learn the graph, and its weights by least squares."""
        # one thread: products have the same bits on any number of processors
        with one_blas_thread():
            learned = self.learn_graph(moments)
        B = least_squares(moments, learned.dag.T.astype(float), names)
        self._store(moments, B, names)
        self.blankets_ = _to_user(moments, learned.blankets)
        self.pdag_ = _to_user(moments, learned.pdag)
        self.consistent_ = extends(learned.dag, learned.pdag)
        return self


def _to_user(moments: Moments, graph: Graph) -> Graph:
    """Reorder a graph to the user's columns."""
    # `to_user` takes rows of parents, which is the transpose of an adjacency matrix
    return moments.to_user(graph.T.astype(float)) != 0


class ConstraintEstimator(GraphEstimator):
    """Base of the learners of Markov blankets by tests of conditional independence.

    A learner has `_blankets`. It may replace `_test` (Fisher's z at the level `significance`) and
    `_orient`, which by default finds neighbours and colliders within the blankets. A method that
    only selects candidates by tests, and directs edges by a score, is a `GraphEstimator`. `IAMB`
    is a short example.
    """

    _parameters: ClassVar[Parameters] = {"significance": SHARE}

    def __init__(self, significance: float = 0.05) -> None:
        self.significance: Any = significance  # TC also takes None, and computes a level then

    @abstractmethod
    def _blankets(self, test: IndependenceTest, moments: Moments) -> Graph:
        """Learn the blankets: ``[i, j]`` says that j is in the blanket of i.

        A blanket has parents, children and the children's other parents. Blankets need not be
        mutual: only pairs that are in each other's blanket are used.
        """

    def _test(self, moments: Moments) -> IndependenceTest:
        borders = fisher_z_borders(moments.n, moments.m, self.significance)
        return IndependenceTest(moments.R, borders)

    def _orient(self, test: IndependenceTest, mutual: Graph) -> Graph:
        """Return the PDAG from blankets that are mutual: i - j is set both ways."""
        joined = neighbours(test, mutual)
        return direct(joined, colliders(test, mutual, joined))

    def learn_graph(self, moments: Moments) -> LearnedGraph:
        """Learn blankets by tests, and orient what they have in common."""
        test = self._test(moments)
        blankets = self._blankets(test, moments)
        largest = int((blankets & blankets.T).sum(axis=0).max())
        if largest > MAX_QUICK_BLANKET:
            warn(
                f"a Markov blanket has {largest} variables, and up to 2^{largest} of its subsets "
                "are searched: this may take very long. Lower `significance`, or use SGBN."
            )
        P = self._orient(test, blankets & blankets.T)
        return LearnedGraph(blankets, P, closest_dag(P))
