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
    """What a baseline learns, in canonical order.

    ``blankets[i, j]`` says that j is in the blanket of i; the DAG is the PDAG directed throughout.
    """

    blankets: Graph
    pdag: Graph
    dag: Graph


class GraphEstimator(NetworkEstimator):
    """Base of the learners of a graph whose weights are then those of least squares."""

    @abstractmethod
    def learn_graph(self, moments: Moments) -> LearnedGraph:
        """Learn the graph."""

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
    """Base of the learners by tests of conditional independence, Fisher's z if nothing else."""

    _parameters: ClassVar[Parameters] = {"significance": SHARE}

    def __init__(self, significance: float = 0.05) -> None:
        self.significance: Any = significance  # TC also takes None, and computes a level then

    @abstractmethod
    def _blankets(self, test: IndependenceTest, moments: Moments) -> Graph:
        """Learn the blanket of every variable."""

    def _test(self, moments: Moments) -> IndependenceTest:
        borders = fisher_z_borders(moments.n, moments.m, self.significance)
        return IndependenceTest(moments.R, borders)

    def _orient(self, test: IndependenceTest, mutual: Graph) -> Graph:
        """PDAG from blankets that are mutual."""
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
