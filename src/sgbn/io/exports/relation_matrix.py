"""Networks as relation matrices after BIDS extension proposal 17 (BEP017, a draft).

The proposal names three parts: the matrix (``_relmat``), a JSON file that says what its numbers
are, and a table of the nodes that its rows and columns stand for (``_nodeindices``). Names of files
are made of entities, such as ``seg-aal`` for the atlas and ``meas-StandardisedWeight`` for what the
numbers are (XCP-D calls the latter ``stat``); their labels have ASCII letters and digits only.
"""

from __future__ import annotations

import json
import re
import unicodedata
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sgbn.atlases import UNKNOWN_LOBE, Atlas, AtlasLike, as_atlas
from sgbn.exceptions import InputError
from sgbn.gaussian import GaussianNetwork, NetworkLike
from sgbn.io.exports.files import PathName, beside, check_text, write_json, write_matrix
from sgbn.io.exports.network_tables import PLACE, network_of, node_table, standardised_weights

MATRIX, NODES = "_relmat", "_nodeindices"
MEASURE = "StandardisedWeight"

# Entities that may stand before seg; another word before a dash is a part of a group's name.
_ENTITY = r"(?:group|cohort|sub|ses|sample|task|acq|dir|run|space|res|den|atlas|seg)-[A-Za-z0-9]+"
_ENTITIES = re.compile(rf"{_ENTITY}(?:_{_ENTITY})*")

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
    stem: PathName,
    network: NetworkLike,
    atlas: AtlasLike | None = None,
    *,
    group: str | None = None,
) -> list[Path]:
    """Write a matrix and a table of its nodes, each with a JSON file that describes it.

    For the stem ``patients`` and the atlas AAL these are
    ``group-patients_seg-aal_meas-StandardisedWeight_relmat.tsv`` and ``.json``, and
    ``group-patients_seg-aal_nodeindices.tsv`` and ``.json``. A stem that is made of entities
    already, such as ``sub-01_task-rest``, is kept. Labels have ASCII letters and digits only; the
    true names are in the JSON.

    The matrix holds standardised weights and is directed: row i, column j is i -> j. Its first
    line names the columns, as in every TSV file of BIDS; rows have the same order. Missing cells
    of the node table are ``n/a``. Names are written as they are, unlike by `write_csv`: the files
    are made for programs, not for a spreadsheet.

    Parameters
    ----------
    stem : path
        Folder and start of the file names.
    network : GaussianNetwork or fitted learner
        Network to write.
    atlas : Atlas, str or path, optional
        Where the regions lie. Without it the names have no ``seg``.
    group : str, optional
        True name of the group, for the JSON; by default that of the stem.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    InputError
        If the folder has the matrix of another group whose label is the same.
    """
    gaussian = network_of(network)
    atlas = None if atlas is None else as_atlas(atlas)
    # The last part of the stem: folders are not part of a group's name.
    about = _about(beside(stem, "").name if group is None else group, atlas)
    start = bids_stem(stem, atlas)
    matrix_start = beside(start, f"_meas-{MEASURE}{MATRIX}")
    # Before anything is written: two groups of one label would share all four files.
    _check_not_taken(beside(matrix_start, ".json"), about["Group"])
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
    """Path whose name is made of entities: the stem's, or ``group``, and the atlas as ``seg``."""
    path = beside(stem, "")
    name = path.name if _ENTITIES.fullmatch(path.name) else f"group-{label(path.name)}"
    # A stem of entities may name its atlas already.
    if atlas is not None and "seg-" not in name:
        name += f"_seg-{label(atlas.name)}"
    return path.with_name(name)


def label(name: str) -> str:
    """Label of an entity: the ASCII letters and digits of a name, without accents."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    # A name in another script keeps nothing: its label is made of what it is written with.
    return re.sub("[^A-Za-z0-9]", "", plain) or sha256(name.encode()).hexdigest()[:8]


def _check_not_taken(path: Path, group: str) -> None:
    """Refuse to replace the matrix of another group, which happens to have the same label."""
    try:
        other = json.loads(path.read_text()).get("Group")
    except (OSError, ValueError, AttributeError):
        return  # there is none, or it is not a file of sgbn
    if other != group:
        raise InputError(
            f"{str(path)!r} already holds the group {other!r}, and {group!r} would get the same "
            "file name, which has letters and digits only. Rename one of the two groups, or write "
            "to another folder."
        )


def _about(group: str, atlas: Atlas | None) -> dict[str, Any]:
    """Return the true names of group and atlas; the file name has only their labels."""
    return {"Group": group} | ({} if atlas is None else {"Atlas": atlas.name})


def _node_indices(network: GaussianNetwork, atlas: Atlas | None) -> pd.DataFrame:
    """Table of the nodes in the order of the matrix; missing cells are missing, not empty."""
    nodes = node_table(network, atlas).rename(columns={"region": "name"})
    nodes["lobe"] = nodes["lobe"].replace(UNKNOWN_LOBE, "")
    # Empty text would be an empty cell, where BIDS has n/a.
    for column in ("label", "lobe", "hemisphere"):
        nodes[column] = nodes[column].where(nodes[column] != "", None)
    nodes.insert(0, "index", np.arange(len(nodes)))
    return nodes[list(_COLUMNS)]


def _about_matrix(node_file: str) -> dict[str, Any]:
    """Return the description of a matrix that the proposal asks for."""
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
