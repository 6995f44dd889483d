"""Collect the nodes and edges of a graph while a file is read."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sgbn.core.exceptions import InputError
from sgbn.core.gaussian import GaussianNetwork
from sgbn.io.networks.named_graph import Edge, NamedGraph, check_acyclic
from sgbn.io.networks.texts import number_of

INTERCEPT, VARIANCE = "intercept", "noise_variance"  # names of the attributes of a node in files
MAX_VARIABLES = 20_000  # a graph is a matrix of all pairs, which then takes 400 MB


class GraphBuilder:
    """Collects nodes, edges and numbers, and refuses an edge that is there twice.

    Parameters
    ----------
    unit : str
        Word before the number of a place in messages, such as "line" in "line 3".

    Attributes
    ----------
    names : dict of str to None
        Names of the nodes, in the order in which they were added.
    intercept, noise_variance : dict of str to float
        Name of a node -> its number, for the nodes whose number is in the file.
    """

    def __init__(self, unit: str = "line") -> None:
        self._unit = unit
        self.names: dict[str, None] = {}
        # The weight of an edge is None if the file does not say it.
        self._weights: dict[Edge, float | None] = {}
        self._lines: set[Edge] = set()
        self.intercept: dict[str, float] = {}
        self.noise_variance: dict[str, float] = {}

    def add_node(self, name: str) -> None:
        """Add a node, unless it was added before."""
        self.names[name] = None
        if len(self.names) > MAX_VARIABLES:
            raise InputError(
                f"it has more than {MAX_VARIABLES} variables. Give a smaller graph, because "
                "sgbn keeps a graph as a matrix in memory."
            )

    def describe_node(self, name: str, about: Mapping[str, str], line: int) -> None:
        """Add a node with the intercept and the variance that its attributes give."""
        self.add_node(name)
        if INTERCEPT in about:
            self.intercept[name] = number_of(about[INTERCEPT], line)
        if VARIANCE in about:
            self.set_variance(name, number_of(about[VARIANCE], line), line)

    def add_edge(
        self, source: str, target: str, line: int, weight: float | None = None, *, arrow: bool
    ) -> None:
        """Add an arrow or a line. A weight is always for source -> target, also for a line."""
        if source == target:
            raise InputError(f"{self._unit} {line}: {source!r} has an edge to itself. Remove it.")
        # Two arrows in opposite directions are a cycle. `graph` refuses it, and names its nodes.
        taken = self._lines if arrow else self._weights
        # An arrow opposite to a line, or a line opposite to any edge, joins the pair a second time.
        if (source, target) in self._weights or (target, source) in taken:
            raise InputError(
                f"{self._unit} {line}: this is a second edge between {source!r} and {target!r}. "
                "Keep one."
            )
        for name in (source, target):
            self.add_node(name)
        self._weights[source, target] = weight
        if not arrow:
            self._lines.add((source, target))

    def set_variance(self, name: str, variance: float, line: int) -> None:
        """Store the variance of the noise of a node."""
        if variance < 0:
            raise InputError(
                f"{self._unit} {line}: the variance of {name!r} is negative. Correct it."
            )
        self.noise_variance[name] = variance

    def graph(self) -> NamedGraph:
        """Return the graph. It has a network if no weight and no variance is missing."""
        if not self.names:
            raise InputError(
                "the file names no variable. Check its format, and that it is complete."
            )
        names = tuple(self.names)
        place = {name: k for k, name in enumerate(names)}
        coef = np.zeros((len(names), len(names)))
        graph = np.zeros(coef.shape, dtype=bool)
        for (source, target), weight in self._weights.items():
            i, j = place[source], place[target]
            graph[i, j] = True
            # NaN means that the weight is not known.
            coef[i, j] = np.nan if weight is None else weight
        # Lines may form a circle, since only arrows can form a directed cycle.
        arrows = graph.copy()
        for source, target in self._lines:
            arrows[place[source], place[target]] = False
            graph[place[target], place[source]] = True
        check_acyclic(arrows, names)
        return NamedGraph(graph, names, self._network(coef, names))

    def _network(self, coef: np.ndarray, names: tuple[str, ...]) -> GaussianNetwork | None:
        """Return the network with the numbers of the file; None if some are missing."""
        # A weight of 0 counts as missing, because in a network it would not be an edge.
        whole = np.count_nonzero(coef) == len(self._weights) and np.isfinite(coef).all()
        # A missing intercept counts as 0. A missing variance has no such default.
        if not whole or not self.noise_variance.keys() >= set(names):
            return None
        check_acyclic(coef != 0, names)  # here lines count too, in the direction of their weight
        intercept = [self.intercept.get(name, 0.0) for name in names]
        variance = [self.noise_variance[name] for name in names]
        return GaussianNetwork(coef, intercept, variance, names)
