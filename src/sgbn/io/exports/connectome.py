"""Prepare networks for nilearn's `plot_connectome`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sgbn.cohort.atlas import AtlasLike, as_atlas
from sgbn.core.gaussian import NetworkLike
from sgbn.core.types import Array
from sgbn.io.exports.brainnet import check_drawn, has_place
from sgbn.io.exports.network_tables import PLACE, network_of, node_table, standardised_weights


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
    check_drawn(nodes["region"], weights, drawn, "the connectome")
    kept = weights[np.ix_(drawn, drawn)]
    places = nodes.loc[drawn, PLACE].to_numpy(float)
    # In a DAG, at least one of the two weights of a pair is 0. The sum is the other weight.
    return Connectome(kept + kept.T, places, tuple(nodes.loc[drawn, "region"]))
