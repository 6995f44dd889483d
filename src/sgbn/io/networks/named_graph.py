"""The content of a file of another tool: a graph with names, and with weights if known."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sgbn.cohort.simulate import BenchmarkNetwork
from sgbn.core.equivalence import cpdag
from sgbn.core.exceptions import InputError
from sgbn.core.gaussian import NetworkLike
from sgbn.core.types import Mask
from sgbn.io.exports.network_tables import network_of, support_mask
from sgbn.learn.confidence import drawn_graph
from sgbn.read.network import NamedGraph, check_acyclic

DIRECTIONS = ("graph", "supported", "cpdag")


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
