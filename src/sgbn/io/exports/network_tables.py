"""Make tables of networks: one row per edge, or one row per region."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sgbn.cohort.atlas import UNKNOWN_LOBE, AtlasLike, as_atlas
from sgbn.core.equivalence import edge_kinds
from sgbn.core.exceptions import InputError, listed
from sgbn.core.gaussian import GaussianNetwork, NetworkLike
from sgbn.core.types import Array, Mask
from sgbn.io.frames import to_frame
from sgbn.learn.confidence import EdgeConfidence, supported_of

ENDS = ["source", "target"]
PLACE = ["x", "y", "z"]


def edge_table(
    network: NetworkLike,
    *,
    confidence: EdgeConfidence | None = None,
    supported: ArrayLike | None = None,
) -> pd.DataFrame:
    """Return the edges of a network or of a fitted learner, with the strongest edge first.

    Parameters
    ----------
    network : GaussianNetwork or fitted learner
        Network to list.
    confidence : EdgeConfidence, optional
        How often half samples contain the edges. By default it is taken from the learner, if the
        learner has it, such as `SGBNEnsemble`.
    supported : array-like of bool, shape (m, m), optional
        Edges whose direction is supported, for m regions. By default they are taken from
        `supported_` of the learner, or from the confidence. Without half samples no direction is
        supported.

    Returns
    -------
    DataFrame
        One row per edge, with these columns:

        - source, target: names of the two regions.
        - weight: weight of the edge in the units of the data.
        - low, high: ends of the interval of the weight, if the learner has intervals.
        - weight_std: standardised weight, which is the weight times the standard deviation of the
          source, divided by the standard deviation of the target. The network implies both standard
          deviations. The rows are sorted by the absolute value of this weight.
        - supported: whether the direction is supported, so that the edge is drawn as an arrow.
        - adjacent: share of the networks of half samples that join the two regions. Only with half
          samples.
        - this_way: among the networks of half samples that join the two regions, the share in
          which the edge has this direction. Only with half samples.
        - graph_direction: what gives the edge its direction in this graph, see
          `sgbn.edge_kinds`. Prior knowledge, equal variances and non-Gaussian residuals are
          only found if `network` is a learner.
    """
    learner, network = network, network_of(network)
    confidence = getattr(learner, "confidence_", None) if confidence is None else confidence
    arrows, weights = support_mask(learner, confidence, supported), standardised_or_nan(network)
    # A mask selects entries row by row, which is the order of `network.edges()`.
    edges = network.coef != 0
    table = to_frame(network.edges())
    for name in ("low", "high"):
        if (limits := getattr(learner, f"coef_{name}_", None)) is not None:
            table[name] = limits[edges]
    table["weight_std"], table["supported"] = weights[edges], arrows[edges]
    if confidence is not None:
        table["adjacent"] = adjacent = confidence.adjacency_[edges]
        # If no half sample joins the pair, there is no share of a direction.
        table["this_way"] = np.where(adjacent > 0, confidence.direction_[edges], np.nan)
    kinds = getattr(learner, "edge_kinds_", None)
    table["graph_direction"] = edge_kinds(network.coef) if kinds is None else kinds
    # A stable sort keeps the order of the network among edges of equal weight.
    strongest_first = table["weight_std"].abs().sort_values(ascending=False, kind="stable").index
    return table.loc[strongest_first].reset_index(drop=True)


def support_mask(
    network: NetworkLike, confidence: EdgeConfidence | None, supported: ArrayLike | None
) -> Mask:
    """Return the mask `supported`; if it is None, the mask of the learner or the confidence."""
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
    """Return the regions of a network or of a fitted learner, in the order of the network.

    Parameters
    ----------
    network : GaussianNetwork or fitted learner
        Network to list.
    atlas : Atlas, str or path, optional
        Atlas with the places of the regions, such as ``cohort.atlas``. Regions are found by name,
        and the spelling may differ.

    Returns
    -------
    DataFrame
        One row per region, with these columns:

        - region: name of the region in the network.
        - label: name of the region in the atlas.
        - lobe: name of the lobe.
        - hemisphere: "L", "R", or "" on the midline.
        - x, y, z: centre in MNI space, in mm.
        - parents, children: number of edges that end and begin at the region.
        - in_strength, out_strength: sums of the absolute standardised weights of these edges.

        If the atlas does not have the region, label and hemisphere are "", the lobe is "unknown"
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
    # reshape is needed for an empty list, which has no second axis.
    table[PLACE] = np.array(centres, dtype=float).reshape(-1, 3)
    # Columns of coef are children, so a sum over the rows counts the parents.
    table["parents"], table["children"] = joined.sum(axis=0), joined.sum(axis=1)
    table["in_strength"], table["out_strength"] = strength.sum(axis=0), strength.sum(axis=1)
    return table


def with_columns(edges: pd.DataFrame, more: pd.DataFrame | None) -> pd.DataFrame:
    """Return a table of edges with further columns, which are joined by source and target.

    Parameters
    ----------
    edges : DataFrame
        Table that `edge_table` returned.
    more : DataFrame, optional
        Table with the columns source and target, and with further columns. Rows that are not edges
        of the first table are left out. An edge without a row gets missing cells.
    """
    if more is None:
        return edges
    _check_columns(more, edges.columns)
    # A left join keeps every edge. Two rows for one edge would double it, but are refused above.
    return edges.merge(more, on=ENDS, how="left", sort=False)


def _check_columns(more: pd.DataFrame, taken: Collection[str]) -> None:
    """Raise InputError unless each row of further columns belongs to one edge."""
    if not isinstance(more, pd.DataFrame) or not set(ENDS) <= set(more.columns):
        raise InputError(
            "more_edge_columns must be a DataFrame with the columns 'source' and 'target'. Add "
            "these two columns."
        )
    names = list(more.columns)
    further = [name for name in names if name not in ENDS]
    twice = [name for name in further if name in taken or names.count(name) > 1]
    if twice:
        raise InputError(
            "more_edge_columns would give the table of edges two columns of the same name: "
            f"{listed(twice)}. Rename the new column."
        )
    rows = more.duplicated(ENDS)
    if rows.any():
        first = more.loc[rows, ENDS].iloc[0]
        raise InputError(
            f"more_edge_columns has two rows for {first['source']!r} -> {first['target']!r}. Keep "
            "one."
        )


def network_of(network: NetworkLike) -> GaussianNetwork:
    """Return the network itself, or the network of a fitted learner."""
    gaussian = getattr(network, "network_", network)
    if not isinstance(gaussian, GaussianNetwork):
        raise InputError(
            f"{type(gaussian).__name__} is neither a network nor a fitted learner. Fit it first; "
            "if it is a Pipeline, give its last step."
        )
    return gaussian


def standardised_weights(network: GaussianNetwork) -> Array:
    """Return the standardised weights of a network; entry [i, j] is for the edge i -> j.

    Raises
    ------
    InputError
        If an edge has no standardised weight, because one of its ends has no variance.
    """
    weights = standardised_or_nan(network)
    # An edge with a standardised weight of 0 would be missing from every file without a message.
    lost = np.argwhere((network.coef != 0) & (~np.isfinite(weights) | (weights == 0)))
    if lost.size:
        source, target = (network.names[k] for k in lost[0])
        raise InputError(
            f"the edge {source!r} -> {target!r} has no standardised weight, because one of its "
            "ends does not vary: it was set by do(), or its scale is out of range. Export the "
            "network before the intervention, or rescale the data."
        )
    return weights


def standardised_or_nan(network: GaussianNetwork) -> Array:
    """Return standardised weights. They are NaN or infinite if an end of an edge does not vary."""
    sd = np.sqrt(np.diag(network.covariance))
    i, j = np.nonzero(network.coef)
    weights = np.zeros_like(network.coef)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        # The ratio is computed first, because coef * sd may overflow.
        weights[i, j] = network.coef[i, j] * (sd[i] / sd[j])
    return weights
