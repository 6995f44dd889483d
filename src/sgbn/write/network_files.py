"""Write networks for BrainNet Viewer (Xia, Wang & He 2013, PLoS ONE 8:e68910).

Prepare networks for nilearn's `plot_connectome`.

Write graph files: GraphML (Gephi, Cytoscape, igraph) and node-link JSON (networkx, D3).

Write a network in all formats at once.

Write networks as relation matrices of BIDS extension proposal 17 (BEP017, a draft).

The proposal names three parts: the matrix (``_relmat``), a JSON file that describes its numbers,
and a table of the nodes of its rows and columns (``_nodeindices``). The names of the files consist
of entities: ``seg-aal`` names the atlas, and ``meas-StandardisedWeight`` names the kind of numbers
(XCP-D calls this entity ``stat``). The label of an entity has ASCII letters and digits only.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sgbn.cohort.atlas import UNKNOWN_LOBE, Atlas, AtlasLike, as_atlas
from sgbn.core.gaussian import GaussianNetwork, NetworkLike
from sgbn.core.problems import InputError, Problem
from sgbn.core.types import Array, Mask
from sgbn.learn.confidence import EdgeConfidence
from sgbn.write.tables import (
    ENDS,
    PLACE,
    PathName,
    beside,
    check_text,
    edge_table,
    network_of,
    node_table,
    standardised_weights,
    support_mask,
    with_columns,
    write_csv,
    write_file,
    write_json,
    write_matrix,
    write_text,
)

if TYPE_CHECKING:
    import networkx as nx


NO_LABEL = "-"  # what BrainNet Viewer itself uses for an empty label
MIN_NODE_SIZE = 1.0  # size of a region without edges, so that it is visible

# White space ends a label, and "#" begins a comment.
_ENDS_LABEL = re.compile(r"[\s#]+")


def write_brainnet(
    stem: PathName,
    network: NetworkLike,
    atlas: AtlasLike,
    *,
    confidence: EdgeConfidence | None = None,
    supported: ArrayLike | None = None,
) -> list[Path]:
    """Write STEM.node, STEM.edge and STEM_arrows.edge for BrainNet Viewer.

    Each row of STEM.node is a region: x, y, z (MNI, in mm), colour, size and label, separated by
    tabs. The colour is the number of the lobe, counted from 1 in the order of the atlas. The size
    is 1 plus the sum of the absolute standardised weights of all edges of the region. Blanks and
    "#" in a label become "_", because BrainNet Viewer would end the label there. An empty label
    becomes "-".

    STEM.edge has all edges as lines. The standardised weight of an edge between i and j is both in
    row i, column j and in row j, column i. STEM_arrows.edge has the edges whose direction is
    supported. Row i, column j is i -> j. This file is written only if there are such edges.
    BrainNet Viewer draws arrows if "Directed" is ticked in its options for edges. Its threshold
    hides negative weights, unless absolute values are chosen.

    Regions without coordinates in the atlas cannot be drawn. They are left out, and a warning names
    them.

    Parameters
    ----------
    stem : path
        Folder and start of the file names.
    network : GaussianNetwork or fitted learner
        Network to write.
    atlas : Atlas, str or path
        Atlas with the places of the regions.
    confidence, supported : optional
        Which directions are supported, see `edge_table`.

    Returns
    -------
    list of Path
        Paths of the files.
    """
    gaussian = network_of(network)
    atlas = as_atlas(atlas)
    nodes, weights = node_table(gaussian, atlas), standardised_weights(gaussian)
    check_text(nodes["region"])  # before the first of three files is written
    # All three files have only the regions with coordinates, because the viewer matches rows and
    # columns by number.
    drawn = has_place(nodes)
    check_drawn(nodes["region"], weights, drawn)
    # All lobes of the atlas, so that a lobe has the same colour in every network.
    lobes = dict.fromkeys(region.lobe for region in atlas.regions)
    colours = {lobe: k for k, lobe in enumerate(lobes, start=1)}
    rows = [_row(node, colours) for node in nodes[drawn].to_dict("records")]
    kept = weights[np.ix_(drawn, drawn)]  # in a DAG, at least one of the two weights of a pair is 0
    files = [
        write_text(beside(stem, ".node"), "\n".join(rows) + "\n"),
        write_matrix(beside(stem, ".edge"), pd.DataFrame(kept + kept.T), header=False),
    ]
    # `network` and not `gaussian`, because only a learner has the supported directions.
    mask = support_mask(network, confidence, supported)[np.ix_(drawn, drawn)]
    arrows = np.where(mask, kept, 0.0)
    if arrows.any():
        path = beside(stem, "_arrows.edge")
        files.append(write_matrix(path, pd.DataFrame(arrows), header=False))
    return files


def has_place(nodes: pd.DataFrame) -> Mask:
    """Return which rows of a table of nodes have coordinates."""
    return np.isfinite(nodes[PLACE].to_numpy(float)).all(axis=1)


def _row(node: dict[Any, Any], colours: dict[str, int]) -> str:
    size = MIN_NODE_SIZE + node["in_strength"] + node["out_strength"]
    label = _ENDS_LABEL.sub("_", node["region"]) or NO_LABEL
    cells = [*(node[axis] for axis in PLACE), colours[node["lobe"]], size, label]
    return "\t".join(map(str, cells))


GIVE_PLACES = "Give an atlas that has these regions ({atlas=})."


def check_drawn(regions: pd.Series[Any], weights: Array, drawn: Mask) -> None:
    """Warn about what a picture leaves out. Raise InputError if it would show no region."""
    missing = regions[~drawn].tolist()
    if not missing:
        return
    if not drawn.any():
        raise InputError("regions.no-places", regions=missing).says(
            "the atlas has coordinates for none of the regions {regions}", GIVE_PLACES
        )
    # Edges with one end that is drawn and one that is not are counted too.
    edges = np.count_nonzero(weights) - np.count_nonzero(weights[np.ix_(drawn, drawn)])
    Problem("regions.no-place", regions=missing, n=edges).warn(
        "regions without coordinates are left out, with {n:edge}: {regions}", GIVE_PLACES
    )


class Connectome(NamedTuple):
    """The arguments of `nilearn.plotting.plot_connectome`, and the names of the regions.

    Attributes
    ----------
    adjacency : ndarray of shape (k, k)
        Standardised weights. The matrix is symmetric, so that edges are drawn as lines.
    coordinates : ndarray of shape (k, 3)
        Centres in MNI space, in mm.
    names : tuple of str
        Names of the k regions that have coordinates.
    """

    adjacency: Array
    coordinates: Array
    names: tuple[str, ...]


def connectome(network: NetworkLike, atlas: AtlasLike) -> Connectome:
    """Return the adjacency and the coordinates that nilearn's `plot_connectome` draws.

    Regions without coordinates in the atlas cannot be drawn. They are left out, and a warning names
    them.

    Parameters
    ----------
    network : GaussianNetwork or fitted learner
        Network to draw.
    atlas : Atlas, str or path
        Atlas with the places of the regions, such as ``cohort.atlas``.

    Returns
    -------
    Connectome
        The adjacency, the coordinates and the names of the regions.

    Examples
    --------
    >>> import sgbn
    >>> net = sgbn.GaussianNetwork([[0, 0.8], [0, 0]], names=["lh_insula", "rh_insula"])
    >>> found = sgbn.connectome(net, "dk")
    >>> found.adjacency.round(3).tolist()
    [[0.0, 0.625], [0.625, 0.0]]

    ``nilearn.plotting.plot_connectome(found.adjacency, found.coordinates)`` draws it.
    """
    gaussian = network_of(network)
    nodes, weights = node_table(gaussian, as_atlas(atlas)), standardised_weights(gaussian)
    drawn = has_place(nodes)
    check_drawn(nodes["region"], weights, drawn)
    kept = weights[np.ix_(drawn, drawn)]
    places = nodes.loc[drawn, PLACE].to_numpy(float)
    # In a DAG, at least one of the two weights of a pair is 0. The sum is the other weight.
    return Connectome(kept + kept.T, places, tuple(nodes.loc[drawn, "region"]))


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


def export_network(
    network: NetworkLike,
    stem: PathName,
    atlas: AtlasLike | None = None,
    more_edge_columns: pd.DataFrame | None = None,
    *,
    confidence: EdgeConfidence | None = None,
    supported: ArrayLike | None = None,
    group: str | None = None,
) -> list[Path]:
    """Write a network in all formats.

    - STEM_edges.csv and STEM_nodes.csv are tables for people, see `edge_table`, `node_table` and
      `write_csv`.
    - STEM.graphml and STEM.json (node-link) are for graph programs, see `write_graphml` and
      `write_node_link`.
    - STEM.node, STEM.edge and STEM_arrows.edge are for BrainNet Viewer, see `write_brainnet`. They
      are written if at least one region has coordinates.
    - group-STEM_seg-ATLAS_meas-StandardisedWeight_relmat.tsv is a relation matrix of BIDS, see
      `write_relation_matrix`.

    `write_network` writes further formats, such as the formats of bnlearn, DAGitty and lavaan.

    Parameters
    ----------
    network : GaussianNetwork or fitted learner
        Network to write.
    stem : path
        Folder and start of the file names. The folder is made if it is absent.
    atlas : Atlas, str or path, optional
        Atlas with the places of the regions, such as ``cohort.atlas``.
    more_edge_columns : DataFrame, optional
        Table with the columns source and target, and with further columns about these edges. The
        further columns are written to the CSV and the graph files. Rows that are not edges of the
        network are left out.
    confidence, supported : optional
        How often half samples contain the edges, and which directions are supported, see
        `edge_table`. Only supported directions are arrows. A learner without half samples, such as
        `SGBN`, has no supported directions.
    group : str, optional
        True name of the group, for the JSON of the relation matrix. By default it is the name of
        the stem.

    Returns
    -------
    list of Path
        Paths of the files. No file is written if a name or column is refused.
    """
    atlas = None if atlas is None else as_atlas(atlas)
    nodes = node_table(network, atlas)
    known: dict[str, Any] = {"confidence": confidence, "supported": supported}
    edges = with_columns(edge_table(network, **known), more_edge_columns)
    # Added after the call of `edge_table`, which does not have this parameter.
    known["more_edge_columns"] = more_edge_columns
    annotated_graph(network, atlas, **known)  # refuses names before a file is written
    folder = beside(stem, "").parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("folder.unwritable", folder=folder, cause=error).says(
            "{folder} cannot be made ({cause})", "Give another folder."
        ) from error
    written = [
        write_csv(edges, beside(stem, "_edges.csv")),
        write_csv(nodes, beside(stem, "_nodes.csv")),
        write_graphml(beside(stem, ".graphml"), network, atlas, **known),
        write_node_link(beside(stem, ".json"), network, atlas, **known),
    ]
    # Without coordinates BrainNet Viewer cannot draw anything, so `write_brainnet` would refuse.
    if atlas is not None and has_place(nodes).any():
        written += write_brainnet(stem, network, atlas, confidence=confidence, supported=supported)
    return [*written, *write_relation_matrix(stem, network, atlas, group=group)]


MATRIX, NODES = "_relmat", "_nodeindices"
MEASURE = "StandardisedWeight"

# Entities that may come before seg. Any other word before a dash is part of the name of a group.
_ENTITY = r"(?:group|cohort|sub|ses|sample|task|acq|dir|run|space|res|den|atlas|seg)-[A-Za-z0-9]+"
_ENTITIES = re.compile(rf"{_ENTITY}(?:_{_ENTITY})*")

_MEASURE = "standardised edge weight of a Gaussian Bayesian network"
_MEANING = (
    "Row i, column j is the weight of the directed edge from node i to node j. It is the change of "
    "j, in standard deviations of j, if i changes by one standard deviation and all other parents "
    "of j stay the same. Zero means no edge. Rows and columns are in the order of the node file, "
    "and the header names the columns. The edges form a directed acyclic graph. The table of edges "
    "says whether the direction of an edge is supported. A direction without support is only the "
    "direction in one graph among others."
)
_COLUMNS = {
    "index": "Row and column of the matrix, counted from 0.",
    "name": "Name of the region in the data.",
    "label": "Name of the region in the atlas.",
    "lobe": "Lobe of the region.",
    "hemisphere": "L or R; n/a on the midline or if it is unknown.",
    "x": "Centre in MNI space, left to right.",
    "y": "Centre in MNI space, back to front.",
    "z": "Centre in MNI space, bottom to top.",
}


def write_relation_matrix(
    stem: PathName,
    network: NetworkLike,
    atlas: AtlasLike | None = None,
    *,
    group: str | None = None,
) -> list[Path]:
    """Write a matrix and a table of its nodes, each with a JSON file that describes it.

    For the stem ``patients`` and the atlas AAL, the matrix is
    ``group-patients_seg-aal_meas-StandardisedWeight_relmat.tsv``, and the table of nodes is
    ``group-patients_seg-aal_nodeindices.tsv``. Each has a ``.json`` file of the same name. A stem
    that consists of entities, such as ``sub-01_task-rest``, stays as it is. Labels have ASCII
    letters and digits only. The true names are in the JSON.

    The matrix holds standardised weights and is directed: row i, column j is i -> j. Its first line
    names the columns, as in every TSV file of BIDS. The rows have the same order. Missing cells of
    the node table are ``n/a``. Names that a spreadsheet program would run as a formula get an
    apostrophe in front, as in `write_csv`.

    Parameters
    ----------
    stem : path
        Folder and start of the file names.
    network : GaussianNetwork or fitted learner
        Network to write.
    atlas : Atlas, str or path, optional
        Atlas with the places of the regions. Without it, the file names have no ``seg``.
    group : str, optional
        True name of the group, for the JSON. By default it is the name of the stem.

    Returns
    -------
    list of Path
        Paths of the files.

    Raises
    ------
    InputError
        If the folder has the matrix of another group with the same label.
    """
    gaussian = network_of(network)
    atlas = None if atlas is None else as_atlas(atlas)
    # Only the last part of the stem, because folders are not part of the name of a group.
    # The file name has only labels of group and atlas, and the JSON has their true names.
    group = beside(stem, "").name if group is None else group
    about = {"Group": group} | ({} if atlas is None else {"Atlas": atlas.name})
    start = bids_stem(stem, atlas)
    matrix_start = beside(start, f"_meas-{MEASURE}{MATRIX}")
    # Checked before a file is written, because two groups of one label would share all files.
    _check_not_taken(beside(matrix_start, ".json"), group)
    nodes = _node_indices(gaussian, atlas)
    for column in ("name", "label", "lobe"):
        check_text(nodes[column])
    matrix = pd.DataFrame(standardised_weights(gaussian), columns=list(gaussian.names))
    node_file = beside(start, f"{NODES}.tsv")
    about_nodes = {
        name: {"Description": text} | ({"Units": "mm"} if name in PLACE else {})
        for name, text in _COLUMNS.items()
    }
    return [
        write_matrix(beside(matrix_start, ".tsv"), matrix, header=True),
        write_json(beside(matrix_start, ".json"), about | _about_matrix(node_file.name)),
        write_matrix(node_file, nodes, header=True),
        write_json(beside(start, f"{NODES}.json"), about_nodes),
    ]


def bids_stem(stem: PathName, atlas: Atlas | None) -> Path:
    """Return a path whose name consists of entities.

    These are the entities of the stem. If it has none, its name becomes the entity ``group``. With
    an atlas, ``seg`` follows.
    """
    path = beside(stem, "")
    name = path.name if _ENTITIES.fullmatch(path.name) else f"group-{label(path.name)}"
    # A stem of entities may already name its atlas.
    if atlas is not None and "seg-" not in name:
        name += f"_seg-{label(atlas.name)}"
    return path.with_name(name)


def label(name: str) -> str:
    """Return the label of an entity: the ASCII letters and digits of a name, without accents."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    # A name in another script would have an empty label, so its label is a checksum.
    return re.sub("[^A-Za-z0-9]", "", plain) or sha256(name.encode()).hexdigest()[:8]


def _check_not_taken(path: Path, group: str) -> None:
    """Raise InputError if the file is the matrix of another group with the same label."""
    try:
        other = json.loads(path.read_text()).get("Group")
    except (OSError, ValueError, AttributeError):
        return  # there is no such file, or it is not a file of sgbn
    if other != group:
        raise InputError("file.taken", file=path, other=other, group=group).says(
            "{file} already holds the group {other}, and {group} would get the same name",
            "Rename one of the two, or write to another folder.",
        )


def _node_indices(network: GaussianNetwork, atlas: Atlas | None) -> pd.DataFrame:
    """Return a table of the nodes in the order of the matrix. Unknown text is None, not empty."""
    nodes = node_table(network, atlas).rename(columns={"region": "name"})
    nodes["lobe"] = nodes["lobe"].replace(UNKNOWN_LOBE, "")
    # Empty text would give an empty cell, but BIDS prescribes n/a.
    for column in ("label", "lobe", "hemisphere"):
        nodes[column] = nodes[column].where(nodes[column] != "", None)
    nodes.insert(0, "index", np.arange(len(nodes)))
    return nodes[list(_COLUMNS)]


def _about_matrix(node_file: str) -> dict[str, Any]:
    """Return the description of a matrix, with the keys that the proposal requires."""
    release = version("sgbn")
    return {
        "NodeFiles": [node_file],
        "RelationshipMeasure": _MEASURE,
        "MeasureDescription": _MEANING,
        "Weighted": True,
        "Directed": True,
        "ValidDiagonal": False,
        "NonNegative": False,
        "StorageFormat": "Full",
        "Software": f"sgbn {release}",
        "GeneratedBy": [{"Name": "sgbn", "Version": release}],
    }
