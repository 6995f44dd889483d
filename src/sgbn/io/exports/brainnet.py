"""Networks for BrainNet Viewer (Xia, Wang & He 2013, PLoS ONE 8:e68910)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sgbn.atlases import Atlas, AtlasLike, as_atlas
from sgbn.exceptions import InputError, listed, warn
from sgbn.gaussian import NetworkLike
from sgbn.io.exports.files import PathName, beside, check_text, write_matrix, write_text
from sgbn.io.exports.network_tables import (
    PLACE,
    network_of,
    node_table,
    standardised_weights,
    support_mask,
)
from sgbn.structure.ensemble import EdgeConfidence

NO_LABEL = "-"  # BrainNet Viewer's own
MIN_NODE_SIZE = 1.0  # of a region without edges, so that it is seen

# A label ends at white space, and "#" begins a comment.
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

    A row of STEM.node is a region: x, y, z (MNI, in mm), colour, size, label, with tabs between.
    The colour is the number of the lobe, from 1 in the order of the atlas; the size is 1 plus the
    absolute standardised weights of all its edges. Blanks and "#" in a label become "_", as
    BrainNet Viewer would end the label there; an empty one is "-".

    STEM.edge has all edges as lines: the standardised weight of an edge between i and j is in row i
    and column j as well as in row j and column i. STEM_arrows.edge, which is written if there are
    any, has those whose direction is supported: row i and column j is i -> j, as BrainNet Viewer
    draws it once "Directed" is ticked among its options of edges. Its threshold hides negative
    weights unless absolute values are asked for.

    Regions without coordinates in the atlas cannot be drawn: they are left out, and a warning
    names them.

    Parameters
    ----------
    stem : path
        Folder and start of the file names.
    network : GaussianNetwork or fitted learner
        Network to write.
    atlas : Atlas, str or path
        Where the regions lie.
    confidence, supported : optional
        Which directions are supported, see `edge_table`.

    Returns
    -------
    list of Path
        The files written.
    """
    gaussian = network_of(network)
    atlas = as_atlas(atlas)
    nodes, weights = node_table(gaussian, atlas), standardised_weights(gaussian)
    check_text(nodes["region"])  # before the first of three files is written
    # Rows and columns of all three files are those that have a place: the viewer goes by their
    # number.
    drawn = has_place(nodes)
    check_drawn(nodes["region"], weights, drawn, "the files for BrainNet Viewer")
    colours = {lobe: k for k, lobe in enumerate(_lobes(atlas), start=1)}
    rows = [_row(node, colours) for node in nodes[drawn].to_dict("records")]
    kept = weights[np.ix_(drawn, drawn)]  # a DAG: of each pair one of the two weights is 0
    files = [
        write_text(beside(stem, ".node"), "\n".join(rows) + "\n"),
        write_matrix(beside(stem, ".edge"), pd.DataFrame(kept + kept.T), header=False),
    ]
    # The learner, not the network: only a learner says which directions are supported.
    mask = support_mask(network, confidence, supported)[np.ix_(drawn, drawn)]
    arrows = np.where(mask, kept, 0.0)
    if arrows.any():
        path = beside(stem, "_arrows.edge")
        files.append(write_matrix(path, pd.DataFrame(arrows), header=False))
    return files


def has_place(nodes: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which rows of a table of nodes have coordinates."""
    return np.isfinite(nodes[PLACE].to_numpy(float)).all(axis=1)


def _lobes(atlas: Atlas) -> list[str]:
    """Return all lobes of an atlas, so that a lobe has the same colour in every network."""
    return list(dict.fromkeys(region.lobe for region in atlas.regions))


def _row(node: dict[Any, Any], colours: dict[str, int]) -> str:
    size = MIN_NODE_SIZE + node["in_strength"] + node["out_strength"]
    label = _ENDS_LABEL.sub("_", node["region"]) or NO_LABEL
    cells = [*(node[axis] for axis in PLACE), colours[node["lobe"]], size, label]
    return "\t".join(map(str, cells))


def check_drawn(
    regions: pd.Series[Any],
    weights: np.ndarray[Any, Any],
    drawn: np.ndarray[Any, Any],
    picture: str,
) -> None:
    """Say which regions and edges a picture leaves out; refuse to leave out all."""
    missing = regions[~drawn].tolist()
    if not missing:
        return
    if not drawn.any():
        raise InputError(
            f"the atlas has coordinates for none of the regions ({listed(missing)}). Give the "
            "atlas of these regions; read_atlas reads your own table of coordinates."
        )
    # Of all edges: one that joins a drawn region to one that is not cannot be drawn either.
    edges = np.count_nonzero(weights) - np.count_nonzero(weights[np.ix_(drawn, drawn)])
    warn(
        f"the atlas has no coordinates for {listed(missing)}. Left out of {picture}: these "
        f"regions and {edges} edges. Give an atlas that has them; read_atlas reads your own table."
    )
