"""Write networks as relation matrices of BIDS extension proposal 17 (BEP017, a draft).

The proposal names three parts: the matrix (``_relmat``), a JSON file that describes its numbers,
and a table of the nodes of its rows and columns (``_nodeindices``). The names of the files consist
of entities: ``seg-aal`` names the atlas, and ``meas-StandardisedWeight`` names the kind of numbers
(XCP-D calls this entity ``stat``). The label of an entity has ASCII letters and digits only.
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

from sgbn.cohort.atlas import UNKNOWN_LOBE, Atlas, AtlasLike, as_atlas
from sgbn.core.exceptions import InputError
from sgbn.core.gaussian import GaussianNetwork, NetworkLike
from sgbn.io.exports.files import PathName, beside, check_text, write_json, write_matrix
from sgbn.io.exports.network_tables import PLACE, network_of, node_table, standardised_weights

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
    the node table are ``n/a``. Unlike `write_csv`, it adds no apostrophe to names, because the
    files are made for programs, not for a spreadsheet.

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
    about = _about(beside(stem, "").name if group is None else group, atlas)
    start = bids_stem(stem, atlas)
    matrix_start = beside(start, f"_meas-{MEASURE}{MATRIX}")
    # Checked before a file is written, because two groups of one label would share all files.
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
        raise InputError(
            f"{str(path)!r} already holds the group {other!r}. {group!r} would get the same file "
            "name, because file names have letters and digits only. Rename one of the two groups, "
            "or write to another folder."
        )


def _about(group: str, atlas: Atlas | None) -> dict[str, Any]:
    """Return the true names of group and atlas, because the file name has only their labels."""
    return {"Group": group} | ({} if atlas is None else {"Atlas": atlas.name})


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
