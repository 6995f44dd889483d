"""Networks as relation matrices after BIDS extension proposal 17 (BEP017, a draft).

The proposal names three parts: the matrix (``_relmat``), a JSON file that says what its numbers
are, and a table of the nodes that its rows and columns stand for (``_nodeindices``).
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sgbn.atlases import UNKNOWN_LOBE, AtlasLike
from sgbn.gaussian import GaussianNetwork, NetworkLike
from sgbn.io.exports.files import PathName, beside, check_text, write_json, write_matrix
from sgbn.io.exports.network_tables import PLACE, network_of, node_table, standardised_weights

MATRIX, NODES = "_relmat", "_nodeindices"

_MEASURE = "standardised edge weight of a Gaussian Bayesian network"
_MEANING = (
    "Row i, column j is the weight of the directed edge from node i to node j: the change of j, in "
    "its standard deviations, for one standard deviation of i, all other parents of j held fixed. "
    "Zero means no edge. Rows and columns are in the order of the node file, and the header names "
    "the columns. Edges form a directed acyclic graph; what supports the direction of an "
    "edge is in the table of edges, and without support it is that of one graph among others."
)
_COLUMNS = {
    "index": "Row and column of the matrix, counted from 0.",
    "name": "Name of the region in the data.",
    "label": "Name of the region in the atlas.",
    "lobe": "Lobe of the region.",
    "hemisphere": "L or R; n/a on the midline or where it is unknown.",
    "x": "Centre in MNI space, left to right.",
    "y": "Centre in MNI space, back to front.",
    "z": "Centre in MNI space, bottom to top.",
}


def write_relation_matrix(
    stem: PathName, network: NetworkLike, atlas: AtlasLike | None = None
) -> list[Path]:
    """Write STEM_relmat.tsv and .json, STEM_nodeindices.tsv and .json.

    The matrix holds standardised weights and is directed: row i, column j is i -> j. Its first
    line names the columns, as in every TSV file of BIDS; rows have the same order. Missing cells
    of the node table are ``n/a``. Names are written as they are, unlike by `write_csv`: the files
    are made for programs, not for a spreadsheet.

    Parameters
    ----------
    stem : path
        Folder and start of the file names, such as ``group-patients_atlas-AAL``.
    network : GaussianNetwork or fitted learner
    atlas : Atlas, str or path, optional
        Where the regions lie.

    Returns
    -------
    list of Path
        The files written.
    """
    found = network_of(network)
    nodes = _node_indices(found, atlas)
    for column in ("name", "label", "lobe"):
        check_text(nodes[column])
    matrix = pd.DataFrame(standardised_weights(found), columns=list(found.names))
    node_file = beside(stem, f"{NODES}.tsv")
    about_nodes = {name: _about_column(name) for name in nodes.columns}
    return [
        write_matrix(beside(stem, f"{MATRIX}.tsv"), matrix, header=True),
        write_json(beside(stem, f"{MATRIX}.json"), _about_matrix(node_file.name)),
        write_matrix(node_file, nodes, header=True),
        write_json(beside(stem, f"{NODES}.json"), about_nodes),
    ]


def _node_indices(network: GaussianNetwork, atlas: AtlasLike | None) -> pd.DataFrame:
    """Table of the nodes in the order of the matrix; missing cells are missing, not empty."""
    nodes = node_table(network, atlas).rename(columns={"region": "name"})
    nodes["lobe"] = nodes["lobe"].replace(UNKNOWN_LOBE, "")
    for column in ("label", "lobe", "hemisphere"):
        nodes[column] = nodes[column].where(nodes[column] != "", None)
    nodes.insert(0, "index", np.arange(len(nodes)))
    return nodes[list(_COLUMNS)]


def _about_column(name: str) -> dict[str, str]:
    about = {"Description": _COLUMNS[name]}
    return about | {"Units": "mm"} if name in PLACE else about


def _about_matrix(node_file: str) -> dict[str, Any]:
    """Say what the proposal asks to be said of a matrix."""
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
