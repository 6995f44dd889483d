"""Write graph files: GraphML (Gephi, Cytoscape, igraph) and node-link JSON (networkx, D3)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from numpy.typing import ArrayLike

from sgbn.cohort.atlas import AtlasLike
from sgbn.core.gaussian import NetworkLike
from sgbn.io.exports.files import PathName, check_text, write_file, write_json
from sgbn.io.exports.network_tables import (
    ENDS,
    edge_table,
    network_of,
    node_table,
    with_columns,
)
from sgbn.learn.confidence import EdgeConfidence

if TYPE_CHECKING:
    import networkx as nx


def write_graphml(
    path: PathName,
    network: NetworkLike,
    atlas: AtlasLike | None = None,
    *,
    more_edge_columns: pd.DataFrame | None = None,
    confidence: EdgeConfidence | None = None,
    supported: ArrayLike | None = None,
) -> Path:
    """Write a directed graph as GraphML.

    The attributes of a node are intercept, noise_variance and the columns of `node_table`. The
    attributes of an edge are the columns of `edge_table` and the further columns. An attribute is
    left out if its value is unknown (empty, NaN or infinite).

    All edges in the file are directed, because a weight belongs to a direction. Draw an edge as an
    arrow if its attribute `supported` is true, and as a line if it is false. Graph programs can
    choose the shape of the arrow head by this attribute.

    Parameters
    ----------
    path : path
        File to write.
    network : GaussianNetwork or fitted learner
        Network to write.
    atlas : Atlas, str or path, optional
        Atlas with the places of the regions.
    more_edge_columns : DataFrame, optional
        Table with the columns source and target, and with further columns about these edges.
    confidence, supported : optional
        How often half samples contain the edges, and which directions are supported, see
        `edge_table`.

    Returns
    -------
    Path
        Path of the file.

    Raises
    ------
    InputError
        If a name or label has control characters, which XML cannot hold.
    """
    # Imported here, because the import of networkx takes time.
    import networkx as nx

    graph = annotated_graph(network, atlas, more_edge_columns, confidence, supported)
    # nx.write_graphml would use lxml if it is installed, and the file would depend on that.
    return write_file(path, lambda stream: nx.write_graphml_xml(graph, stream))


def write_node_link(
    path: PathName,
    network: NetworkLike,
    atlas: AtlasLike | None = None,
    *,
    more_edge_columns: pd.DataFrame | None = None,
    confidence: EdgeConfidence | None = None,
    supported: ArrayLike | None = None,
) -> Path:
    """Write a directed graph as node-link JSON.

    ``networkx.node_link_graph(data, edges="edges")`` reads it. Parameters, attributes and errors
    are the same as in `write_graphml`. The JSON has no NaN.

    Returns
    -------
    Path
        Path of the file.
    """
    graph = annotated_graph(network, atlas, more_edge_columns, confidence, supported)
    # networkx is not used, because its versions differ in the name of the list of edges.
    content = {
        "directed": True,
        "multigraph": False,
        "graph": {},
        "nodes": [{"id": name, **about} for name, about in graph.nodes(data=True)],
        "edges": [{"source": i, "target": j, **about} for i, j, about in graph.edges(data=True)],
    }
    return write_json(path, content)


def annotated_graph(
    network: NetworkLike,
    atlas: AtlasLike | None = None,
    more_edge_columns: pd.DataFrame | None = None,
    confidence: EdgeConfidence | None = None,
    supported: ArrayLike | None = None,
) -> nx.DiGraph:
    """Return a graph with all known attributes of its nodes and edges, as plain Python values."""
    graph = network_of(network).to_networkx()  # it has intercepts, variances and weights
    nodes = node_table(network, atlas)
    known = edge_table(network, confidence=confidence, supported=supported)
    edges = with_columns(known, more_edge_columns)
    for row in nodes.to_dict("records"):
        check_text(row.values())
        graph.nodes[row["region"]].update(_known(row, leave_out=["region"]))
    for row in edges.to_dict("records"):
        about = _known(row, leave_out=ENDS)
        # Names of columns are checked too, because they become attributes in the XML.
        check_text([*about, *about.values()])
        graph.edges[row["source"], row["target"]].update(about)
    return graph


def _known(row: Mapping[Any, Any], leave_out: list[str]) -> dict[str, Any]:
    """Return the values of a row that are known."""
    plain = {
        # JSON cannot hold scalars of numpy, and networkx has no GraphML type for some of them.
        str(name): value.item() if hasattr(value, "item") else value
        for name, value in row.items()
        if name not in leave_out
    }
    return {name: value for name, value in plain.items() if _is_known(value)}


def _is_known(value: Any) -> bool:
    if isinstance(value, float):  # JSON has neither NaN nor infinity
        return math.isfinite(value)
    return value is not None and value is not pd.NA and value != ""
