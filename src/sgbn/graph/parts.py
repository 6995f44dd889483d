"""The connected parts of a list of links between nodes."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sgbn.types import Indices


def joined_parts(starts: Indices, ends: Indices, n: int) -> Indices:
    """Return, for each of n nodes, the number of the connected part that it is in.

    Link k joins the nodes ``starts[k]`` and ``ends[k]``. Nodes are in the same part if links join
    them, directly or through other nodes.
    """
    # scipy 1.11 loses links with 64-bit indices, and only prints a line about it.
    places = starts.astype(np.int32), ends.astype(np.int32)
    links = coo_array((np.ones(len(starts), bool), places), shape=(n, n))
    return connected_components(links, directed=False)[1].astype(np.intp)
