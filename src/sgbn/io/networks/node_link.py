"""Write and read networks as node-link JSON, which sgbn also writes to each results folder."""

from __future__ import annotations

import json
from typing import Any, TypeGuard

from sgbn.cohort.simulate import BenchmarkNetwork
from sgbn.core.exceptions import InputError
from sgbn.read.network import (
    INTERCEPT,
    VARIANCE,
    GraphBuilder,
    NamedGraph,
    check_dag,
    edges_and_lines,
    weights_of,
)


def node_link_text(content: NamedGraph) -> str:
    """Return a graph as node-link JSON, with its numbers and supported directions if known.

    Unlike `sgbn.io.write_node_link`, it adds no standardised weights and no places of regions.
    """
    check_dag(content, "node-link JSON")
    nodes: list[dict[str, Any]] = [{"id": name} for name in content.names]
    if content.network is not None:
        for k, node in enumerate(nodes):
            node[INTERCEPT] = float(content.network.intercept[k])
            node[VARIANCE] = float(content.network.noise_variance[k])
    weights, place = weights_of(content), {name: k for k, name in enumerate(content.names)}
    edges: list[dict[str, Any]] = []
    for source, target in edges_and_lines(content)[0]:
        edge: dict[str, Any] = {"source": source, "target": target}
        if weights:
            edge["weight"] = weights[source, target]
        if content.supported is not None:
            edge["supported"] = bool(content.supported[place[source], place[target]])
        edges.append(edge)
    graph = {"directed": True, "multigraph": False, "graph": {}, "nodes": nodes, "edges": edges}
    return json.dumps(graph, indent=1, allow_nan=False) + "\n"


def read_node_link(text: str) -> NamedGraph:
    """Return the graph of node-link JSON, with its weights and supported directions if given."""
    nodes, edges = _parts(text)
    builder = GraphBuilder("entry")  # messages count entries, not lines
    names = [_text(node, "id", f"node {k}") for k, node in enumerate(nodes, start=1)]
    for k, (name, node) in enumerate(zip(names, nodes, strict=True), start=1):
        builder.add_node(name)
        if INTERCEPT in node:
            builder.intercept[name] = _number(node, INTERCEPT, name)
        if VARIANCE in node:
            builder.set_variance(name, _number(node, VARIANCE, name), k)
    # The builder accepts a node twice, because some formats name nodes only in edges.
    if len(set(names)) < len(names):
        raise InputError("two nodes have the same id. Rename one of them.")
    supported: set[tuple[str, str]] | None = set()
    for k, edge in enumerate(edges, start=1):
        source, target = (_text(edge, end, f"edge {k}") for end in ("source", "target"))
        for name in (source, target):
            if name not in builder.names:
                raise InputError(f"edge {k}: there is no node {name!r}. Correct the name.")
        weight = _number(edge, "weight", f"edge {k}") if "weight" in edge else None
        builder.add_edge(source, target, k, weight, arrow=True)
        if "supported" not in edge:
            # If one edge does not say whether it is supported, the mask is unknown. This is not the
            # same as "not supported".
            supported = None
        elif supported is not None and edge["supported"] is True:
            supported.add((source, target))
    return _with_support(builder.graph(), supported)


def _with_support(content: NamedGraph, supported: set[tuple[str, str]] | None) -> NamedGraph:
    if supported is None:
        return content
    mask = BenchmarkNetwork.from_arcs(content.names, supported).graph
    return content._replace(supported=mask)


def _parts(text: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the nodes and the edges of a directed graph."""
    try:
        content = json.loads(text)
    # Deeply nested brackets cause a RecursionError.
    except (ValueError, RecursionError) as error:
        raise InputError(f"it is not JSON ({error}). Check that the file is complete.") from None
    content = content if isinstance(content, dict) else {}
    nodes, edges = content.get("nodes"), content.get("edges")
    if not _is_list_of_tables(nodes) or not _is_list_of_tables(edges):
        raise InputError(
            "the JSON has no lists 'nodes' and 'edges', so it is not a node-link graph. Give a "
            "file such as networks/GROUP.json in a results folder."
        )
    if content.get("directed") is not True or content.get("multigraph") is True:
        raise InputError(
            "the JSON says that the graph is not directed, or that it may have several edges per "
            "pair (multigraph). Give a directed graph with one edge per pair."
        )
    return nodes, edges


def _is_list_of_tables(part: object) -> TypeGuard[list[dict[str, Any]]]:
    return isinstance(part, list) and all(isinstance(entry, dict) for entry in part)


def _text(table: dict[str, Any], key: str, where: str) -> str:
    value = table.get(key)
    if not isinstance(value, str):
        raise InputError(f"{where}: {key!r} is missing or is not text. Correct it.")
    return value


def _number(table: dict[str, Any], key: str, where: str) -> float:
    value = table[key]
    # True is an int in Python. Very large integers cannot become a float.
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e300:
        raise InputError(
            f"{where}: {key} is {str(value)[:40]!r}, which is not a finite number. Correct it."
        )
    return float(value)
