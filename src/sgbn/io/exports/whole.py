"""Write a network in all formats at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike

from sgbn.cohort.atlas import AtlasLike, as_atlas
from sgbn.core.exceptions import InputError
from sgbn.core.gaussian import NetworkLike
from sgbn.io.exports.brainnet import has_place, write_brainnet
from sgbn.io.exports.csv_files import write_csv
from sgbn.io.exports.files import PathName, beside
from sgbn.io.exports.graphs import annotated_graph, write_graphml, write_node_link
from sgbn.io.exports.network_tables import edge_table, node_table, with_columns
from sgbn.io.exports.relation_matrix import write_relation_matrix
from sgbn.learn.confidence import EdgeConfidence


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
        raise InputError(
            f"the folder {str(folder)!r} cannot be made: {error.strerror or error}. Give another."
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
