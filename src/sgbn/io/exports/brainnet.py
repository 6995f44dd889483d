"""Write networks for BrainNet Viewer (Xia, Wang & He 2013, PLoS ONE 8:e68910)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sgbn.cohort.atlas import Atlas, AtlasLike, as_atlas
from sgbn.core.exceptions import InputError, listed, warn
from sgbn.core.gaussian import NetworkLike
from sgbn.io.exports.files import PathName, beside, check_text, write_matrix, write_text
from sgbn.io.exports.network_tables import (
    PLACE,
    network_of,
    node_table,
    standardised_weights,
    support_mask,
)
from sgbn.learn.confidence import EdgeConfidence

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
    check_drawn(nodes["region"], weights, drawn, "the files for BrainNet Viewer")
    colours = {lobe: k for k, lobe in enumerate(_lobes(atlas), start=1)}
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


def has_place(nodes: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which rows of a table of nodes have coordinates."""
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
    """Warn about what a picture leaves out. Raise InputError if it would show no region."""
    missing = regions[~drawn].tolist()
    if not missing:
        return
    if not drawn.any():
        raise InputError(
            f"the atlas has coordinates for none of the regions ({listed(missing)}). Give the "
            "atlas of these regions. read_atlas reads your own table of coordinates."
        )
    # Edges with one end that is drawn and one that is not are counted too.
    edges = np.count_nonzero(weights) - np.count_nonzero(weights[np.ix_(drawn, drawn)])
    warn(
        f"the atlas has no coordinates for {listed(missing)}. Left out of {picture}: these "
        f"regions, and {edges} edges that begin or end there. Give an atlas that has these "
        "regions. read_atlas reads your own table of coordinates."
    )
