"""Networks as tables: one row per edge, or one row per region."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sgbn.atlases import UNKNOWN_LOBE, AtlasLike, as_atlas
from sgbn.exceptions import InputError, listed
from sgbn.gaussian import GaussianNetwork, NetworkLike
from sgbn.graph import edge_kinds
from sgbn.io.frames import to_frame
from sgbn.structure.ensemble import EdgeConfidence, supported_of
from sgbn.types import Array, Mask

ENDS = ["source", "target"]
PLACE = ["x", "y", "z"]


def edge_table(
    network: NetworkLike,
    *,
    confidence: EdgeConfidence | None = None,
    supported: ArrayLike | None = None,
) -> pd.DataFrame:
    """Edges of a network, or of a fitted learner, the strongest first.

    Parameters
    ----------
    network : GaussianNetwork or fitted learner
        Network to list.
    confidence : EdgeConfidence, optional
        What half samples say of its edges; by default what the learner knows, as `SGBNEnsemble`
        does.
    supported : array-like of bool, shape (m, m), optional
        Edges whose direction is supported. By default those of `supported_` of the learner, or that
        the confidence supports: none without half samples.

    Returns
    -------
    DataFrame
        Columns source, target, weight (in the units of the data), low and high (ends of its
        interval, if the learner has one), weight_std (per standard deviation that the network
        implies), by the size of which the rows are sorted; supported: whether the direction is, so
        that the edge is to be drawn as an arrow; with half samples adjacent (the share of their
        networks that join the two) and this_way (of these, the share with this direction); and
        graph_direction: what the arrow rests on in this one graph, see `sgbn.graph.edge_kinds`.
        Only a learner knows of prior knowledge, of equal variances and of non-Gaussian
        residuals.
    """
    learner, network = network, network_of(network)
    confidence = getattr(learner, "confidence_", None) if confidence is None else confidence
    arrows, weights = support_mask(learner, confidence, supported), standardised_or_nan(network)
    # A mask picks entries row by row, in the order of `network.edges()`.
    edges = network.coef != 0
    table = to_frame(network.edges())
    for name in ("low", "high"):
        if (limits := getattr(learner, f"coef_{name}_", None)) is not None:
            table[name] = limits[edges]
    table["weight_std"], table["supported"] = weights[edges], arrows[edges]
    if confidence is not None:
        table["adjacent"] = adjacent = confidence.adjacency_[edges]
        # The share of joined half samples means nothing where none joins the pair.
        table["this_way"] = np.where(adjacent > 0, confidence.direction_[edges], np.nan)
    kinds = getattr(learner, "edge_kinds_", None)
    table["graph_direction"] = edge_kinds(network.coef) if kinds is None else kinds
    # Stable, so that edges of equal weight keep the order of the network.
    strongest_first = table["weight_std"].abs().sort_values(ascending=False, kind="stable").index
    return table.loc[strongest_first].reset_index(drop=True)


def support_mask(
    network: NetworkLike, confidence: EdgeConfidence | None, supported: ArrayLike | None
) -> Mask:
    """Mask of supported edges: what is given, else what the learner or its half samples say."""
    if supported is None:
        return supported_of(network, confidence)
    mask, shape = np.asarray(supported, bool), network_of(network).coef.shape
    if mask.shape != shape:
        raise InputError(
            f"supported has shape {mask.shape}, but the network has {shape[0]} regions. Give one "
            "value for each pair of regions."
        )
    return mask


def node_table(network: NetworkLike, atlas: AtlasLike | None = None) -> pd.DataFrame:
    """Regions of a network, or of a fitted learner, in its order.

    Parameters
    ----------
    network : GaussianNetwork or fitted learner
        Network to list.
    atlas : Atlas, str or path, optional
        Where the regions lie, such as ``cohort.atlas``. Regions are found by name, whatever the
        spelling.

    Returns
    -------
    DataFrame
        Columns region; label (its name in the atlas), lobe, hemisphere ("L", "R", "" on the
        midline), x, y, z (MNI, in mm); parents and children (how many); in_strength and
        out_strength (sums of the absolute standardised weights of its edges in and out). Of a
        region that the atlas does not know, label and hemisphere are "", the lobe is "unknown"
        and the coordinates are NaN.
    """
    network = network_of(network)
    known = None if atlas is None else as_atlas(atlas)
    places = [None if known is None else known.find(name) for name in network.names]
    strength = np.abs(standardised_weights(network))
    joined = network.coef != 0
    table = pd.DataFrame(
        {
            "region": list(network.names),
            "label": ["" if place is None else place.name for place in places],
            "lobe": [UNKNOWN_LOBE if place is None else place.lobe for place in places],
            "hemisphere": ["" if place is None else place.hemisphere for place in places],
        }
    )
    centres = [(np.nan,) * 3 if place is None else (place.x, place.y, place.z) for place in places]
    # reshape, since an empty list has no second axis.
    table[PLACE] = np.array(centres, dtype=float).reshape(-1, 3)
    # Columns of coef are children: a sum down counts the parents.
    table["parents"], table["children"] = joined.sum(axis=0), joined.sum(axis=1)
    table["in_strength"], table["out_strength"] = strength.sum(axis=0), strength.sum(axis=1)
    return table


def with_columns(edges: pd.DataFrame, more: pd.DataFrame | None) -> pd.DataFrame:
    """Table of edges with further columns, found by source and target.

    Parameters
    ----------
    edges : DataFrame
        As `edge_table` makes it.
    more : DataFrame, optional
        With the columns source and target. Rows that are not edges here are left out, and edges
        that are not among the rows have missing cells.
    """
    if more is None:
        return edges
    _check_columns(more, edges.columns)
    # Left, so that every edge stays; a duplicate in `more`, refused above, would double its edge.
    return edges.merge(more, on=ENDS, how="left", sort=False)


def _check_columns(more: pd.DataFrame, taken: Collection[str]) -> None:
    """Refuse further columns that cannot be told to belong to one edge each."""
    if not isinstance(more, pd.DataFrame) or not set(ENDS) <= set(more.columns):
        raise InputError(
            "more_edge_columns must be a DataFrame that has the columns 'source' and 'target' "
            "beside others. Add these two."
        )
    names = list(more.columns)
    further = [name for name in names if name not in ENDS]
    twice = [name for name in further if name in taken or names.count(name) > 1]
    if twice:
        raise InputError(f"more_edge_columns: {listed(twice)} is a column already. Rename it.")
    rows = more.duplicated(ENDS)
    if rows.any():
        first = more.loc[rows, ENDS].iloc[0]
        raise InputError(
            f"more_edge_columns has two rows for {first['source']!r} -> {first['target']!r}. Keep "
            "one."
        )


def network_of(network: NetworkLike) -> GaussianNetwork:
    """Take the network itself, or that of a fitted learner."""
    gaussian = getattr(network, "network_", network)
    if not isinstance(gaussian, GaussianNetwork):
        raise InputError(
            f"{type(gaussian).__name__} is neither a network nor a fitted learner. Fit it first; "
            "if it is a Pipeline, give its last step."
        )
    return gaussian


def standardised_weights(network: GaussianNetwork) -> Array:
    """Weights per standard deviation that the network implies; [i, j] is that of i -> j.

    Raises
    ------
    InputError
        If an edge has none, because one of its ends has no variance.
    """
    weights = standardised_or_nan(network)
    # An edge of weight 0 here would silently vanish from every file.
    lost = np.argwhere((network.coef != 0) & (~np.isfinite(weights) | (weights == 0)))
    if lost.size:
        source, target = (network.names[k] for k in lost[0])
        raise InputError(
            f"the edge {source!r} -> {target!r} has no standardised weight: one of its ends does "
            "not vary (it was set by do(), or its scale is out of range). Export the network "
            "before the intervention, or rescale it."
        )
    return weights


def standardised_or_nan(network: GaussianNetwork) -> Array:
    """Standardised weights; NaN or infinite where an end of an edge has no variance."""
    sd = np.sqrt(np.diag(network.covariance))
    i, j = np.nonzero(network.coef)
    weights = np.zeros_like(network.coef)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        # The ratio first: coef * sd may overflow where the standardised weight does not.
        weights[i, j] = network.coef[i, j] * (sd[i] / sd[j])
    return weights
