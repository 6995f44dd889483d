"""The content of a file of another tool: a graph with names, and with weights if known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sgbn.cohort.simulate import BenchmarkNetwork
from sgbn.core.equivalence import cpdag
from sgbn.core.exceptions import InputError
from sgbn.core.gaussian import GaussianNetwork, NetworkLike
from sgbn.core.graph import find_cycle
from sgbn.core.types import Mask
from sgbn.io.exports.network_tables import network_of, support_mask
from sgbn.learn.confidence import drawn_graph

DIRECTIONS = ("graph", "supported", "cpdag")

Edge = tuple[str, str]


class NamedGraph(NamedTuple):
    """A graph from a file, or for a file.

    Attributes
    ----------
    graph : ndarray of bool, shape (m, m)
        ``graph[i, j]`` is the arrow from ``names[i]`` to ``names[j]``. If ``graph[j, i]`` is set
        too, the edge is a line: it has no direction.
    names : tuple of str
        Names of the nodes.
    network : GaussianNetwork or None
        The network with its weights, if the file has all weights and variances. A weight belongs to
        a direction, so all edges of the network have a direction, also the lines of `graph`.
    supported : ndarray of bool, shape (m, m), or None
        Edges whose direction is supported. None if the file does not say it.
    """

    graph: Mask
    names: tuple[str, ...]
    network: GaussianNetwork | None = None
    supported: Mask | None = None


def named_graph(
    network: NetworkLike | NamedGraph | BenchmarkNetwork,
    directions: str = "graph",
    supported: ArrayLike | None = None,
) -> NamedGraph:
    """Return the graph of a network, a fitted learner or a file, with the chosen directions."""
    if directions not in DIRECTIONS:
        raise InputError(f"directions is {directions!r}. Give one of {', '.join(DIRECTIONS)}.")
    if isinstance(network, BenchmarkNetwork):
        network = NamedGraph(network.graph, network.names)
    if isinstance(network, NamedGraph):
        given = network
        # The argument replaces the mask of the file.
        mask = given.supported if supported is None else np.asarray(supported, bool)
    else:
        weights = network_of(network)
        given = NamedGraph(weights.coef != 0, weights.names, weights)
        supported = getattr(network, "supported_", None) if supported is None else supported
        # Without half samples no direction is supported. The mask is then None, so that a file does
        # not say of each edge that it is not supported.
        is_known = directions == "supported" or supported is not None
        mask = support_mask(network, None, supported) if is_known else None
    if mask is not None and mask.shape != given.graph.shape:
        raise InputError(
            f"supported has shape {mask.shape}, but the graph has {len(given.names)} nodes. Give "
            "one value for each pair of nodes."
        )
    if directions == "graph":
        return given._replace(supported=mask)
    # If the file has weights, they give each of its lines a direction.
    graph = given.graph if given.network is None else given.network.coef != 0
    return given._replace(graph=_directed(graph, given.names, directions, mask), supported=None)


def _directed(graph: Mask, names: tuple[str, ...], directions: str, mask: Mask | None) -> Mask:
    """Return the graph with lines for edges that are reversible ("cpdag") or not supported."""
    if directions == "cpdag":
        check_acyclic(graph, names)
        # `cpdag` sets both entries of a reversible edge, like a line of `NamedGraph`.
        return np.asarray(cpdag(graph) != 0)
    if mask is None:
        raise InputError(
            "it is not known which directions of this network are supported. Give the mask "
            "`supported`, one value for each pair of variables, or choose directions='graph'."
        )
    return drawn_graph(graph, mask)


def check_acyclic(graph: Mask, names: tuple[str, ...]) -> None:
    """Raise InputError if there is a directed cycle. The message names its nodes."""
    cycle = find_cycle(graph)
    if cycle is not None:
        circle = " -> ".join(names[k] for k in (*cycle, cycle[0]))
        raise InputError(f"the graph has a directed cycle: {circle}. Remove one of these edges.")


def edges_and_lines(content: NamedGraph) -> tuple[list[Edge], list[Edge]]:
    """Return the arrows and the lines of a graph as pairs of names.

    The names of a line are in the direction of its weight, if it has one.
    """
    # Without weights, the upper triangle gives each line once, not twice.
    both = content.graph & content.graph.T
    way = np.triu(both) if content.network is None else both & (content.network.coef != 0)
    arrows, lines = (
        [(content.names[i], content.names[j]) for i, j in np.argwhere(mask)]
        for mask in (content.graph & ~both, way)
    )
    return arrows, lines


def weights_of(content: NamedGraph) -> dict[Edge, float]:
    """Return edge -> weight; an empty dict if the weights are not known."""
    if content.network is None:
        return {}
    coef, names = content.network.coef, content.names
    return {(names[i], names[j]): float(coef[i, j]) for i, j in np.argwhere(coef)}


def check_dag(content: NamedGraph, tool: str) -> None:
    """Raise InputError unless all edges are arrows, for a format that has no lines."""
    _, lines = edges_and_lines(content)
    if lines:
        source, target = lines[0]
        raise InputError(
            f"a file for {tool} cannot hold edges without a direction, such as {source!r} - "
            f"{target!r}. Choose directions='graph' (--directions graph) and a network whose edges "
            "all have a direction, such as networks/GROUP.json. Or choose a format that has lines: "
            "dagitty, tetrad, dot."
        )
    check_acyclic(content.graph, content.names)
