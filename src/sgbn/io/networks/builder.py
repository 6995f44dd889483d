"""A graph that grows while a file is read."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sgbn.exceptions import InputError
from sgbn.gaussian import GaussianNetwork
from sgbn.io.networks.named_graph import Edge, NamedGraph, check_acyclic
from sgbn.io.networks.texts import number_of

INTERCEPT, VARIANCE = "intercept", "noise_variance"  # what DAGitty's and dot files call them
MAX_VARIABLES = 20_000  # a graph is a matrix of all pairs: 400 MB


class GraphBuilder:
    """Collects nodes, edges and numbers; raises InputError with the place of a repeated one.

    Parameters
    ----------
    unit : str
        What errors count to name a place of the file: by default its lines.

    Attributes
    ----------
    names : dict of str to None
        Nodes, in the order in which they were added.
    intercept, noise_variance : dict of str to float
        What the file says of a node.
    """

    def __init__(self, unit: str = "line") -> None:
        self._unit = unit
        self.names: dict[str, None] = {}
        # None is an edge without a weight: whether it is there and what it weighs are two
        # questions.
        self._weights: dict[Edge, float | None] = {}
        self._lines: set[Edge] = set()
        self.intercept: dict[str, float] = {}
        self.noise_variance: dict[str, float] = {}

    def add_node(self, name: str) -> None:
        """Add a node, unless it is there."""
        self.names[name] = None
        if len(self.names) > MAX_VARIABLES:
            raise InputError(
                f"more than {MAX_VARIABLES} variables: sgbn holds a graph as a matrix. Give a "
                "smaller graph."
            )

    def describe_node(self, name: str, about: Mapping[str, str], line: int) -> None:
        """Add a node with what its attributes say of intercept and variance."""
        self.add_node(name)
        if INTERCEPT in about:
            self.intercept[name] = number_of(about[INTERCEPT], line)
        if VARIANCE in about:
            self.set_variance(name, number_of(about[VARIANCE], line), line)

    def add_edge(
        self, source: str, target: str, line: int, weight: float | None = None, *, arrow: bool
    ) -> None:
        """Add an arrow, or else a line, whose weight belongs to this direction."""
        if source == target:
            raise InputError(f"{self._unit} {line}: {source!r} has an edge to itself. Remove it.")
        # Two arrows to and fro are a cycle, which `graph` refuses with all of its names.
        taken = self._lines if arrow else self._weights
        # An arrow against a line, or a line against anything, joins the pair a second time.
        if (source, target) in self._weights or (target, source) in taken:
            raise InputError(
                f"{self._unit} {line}: a second edge between {source!r} and {target!r}. Keep one."
            )
        for name in (source, target):
            self.add_node(name)
        self._weights[source, target] = weight
        if not arrow:
            self._lines.add((source, target))

    def set_variance(self, name: str, variance: float, line: int) -> None:
        """Note the variance of a node's noise."""
        if variance < 0:
            raise InputError(
                f"{self._unit} {line}: the variance of {name!r} is negative. Correct it."
            )
        self.noise_variance[name] = variance

    def graph(self) -> NamedGraph:
        """All that was added; with a network, if all edges and nodes have their numbers."""
        if not self.names:
            raise InputError("the file names no variable. Check its format, and that it is whole.")
        names = tuple(self.names)
        place = {name: k for k, name in enumerate(names)}
        coef = np.zeros((len(names), len(names)))
        graph = np.zeros(coef.shape, dtype=bool)
        for (source, target), weight in self._weights.items():
            i, j = place[source], place[target]
            graph[i, j] = True
            coef[i, j] = np.nan if weight is None else weight  # NaN is an edge without a number
        # Lines alone may go round: only arrows make a directed cycle.
        arrows = graph.copy()
        for source, target in self._lines:
            arrows[place[source], place[target]] = False
            graph[place[target], place[source]] = True
        check_acyclic(arrows, names)
        return NamedGraph(graph, names, self._network(coef, names))

    def _network(self, coef: np.ndarray, names: tuple[str, ...]) -> GaussianNetwork | None:
        """Network with the numbers of the file; None if some are missing."""
        # A weight of 0 would be no edge of a network, and so count as missing.
        whole = np.count_nonzero(coef) == len(self._weights) and np.isfinite(coef).all()
        # An intercept may be missing, and is then 0; a variance has no such value.
        if not whole or not self.noise_variance.keys() >= set(names):
            return None
        check_acyclic(coef != 0, names)  # lines have a direction too, that of their weight
        intercept = [self.intercept.get(name, 0.0) for name in names]
        variance = [self.noise_variance[name] for name in names]
        return GaussianNetwork(coef, intercept, variance, names)
