"""Networks for nilearn's `plot_connectome`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sgbn.atlases import AtlasLike, as_atlas
from sgbn.gaussian import NetworkLike
from sgbn.io.exports.brainnet import check_drawn, has_place
from sgbn.io.exports.network_tables import PLACE, network_of, node_table, standardised_weights
from sgbn.types import Array


class Connectome(NamedTuple):
    """What `nilearn.plotting.plot_connectome` takes, and the names of the regions in it.

    Attributes
    ----------
    adjacency : ndarray of shape (k, k)
        Standardised weights, set both ways: a line between two regions, without a direction.
    coordinates : ndarray of shape (k, 3)
        Centres in MNI space, in mm.
    names : tuple of str
        Names of the k regions that have coordinates.
    """

    adjacency: Array
    coordinates: Array
    names: tuple[str, ...]


def connectome(network: NetworkLike, atlas: AtlasLike) -> Connectome:
    """Make the adjacency and the coordinates that nilearn's `plot_connectome` draws.

    Regions without coordinates in the atlas cannot be drawn: they are left out, and a warning
    names them.

    Parameters
    ----------
    network : GaussianNetwork or fitted learner
        Network to draw.
    atlas : Atlas, str or path
        Where the regions lie, such as ``cohort.atlas``.

    Returns
    -------
    Connectome

    Examples
    --------
    >>> import sgbn
    >>> net = sgbn.GaussianNetwork([[0, 0.8], [0, 0]], names=["lh_insula", "rh_insula"])
    >>> found = sgbn.connectome(net, "dk")
    >>> found.adjacency.round(3).tolist()
    [[0.0, 0.625], [0.625, 0.0]]

    ``nilearn.plotting.plot_connectome(found.adjacency, found.coordinates)`` draws it.
    """
    weights_of_edges = network_of(network)
    atlas = as_atlas(atlas)
    nodes, weights = node_table(weights_of_edges, atlas), standardised_weights(weights_of_edges)
    drawn = has_place(nodes)
    check_drawn(nodes["region"], weights, drawn, "the connectome")
    kept = weights[np.ix_(drawn, drawn)]
    places = nodes.loc[drawn, PLACE].to_numpy(float)
    # A DAG has one of two weights of a pair, so that the sum sets the other and adds nothing.
    return Connectome(kept + kept.T, places, tuple(nodes.loc[drawn, "region"]))
