"""Which nodes a list of links joins."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sgbn.types import Indices


def joined_parts(starts: Indices, ends: Indices, n: int) -> Indices:
    """Return the number of the part that each of n nodes is in.

    Link k joins the nodes ``starts[k]`` and ``ends[k]``. Nodes are in one part where links join
    them, directly or by way of others.
    """
    # scipy 1.11 loses links whose places are 64-bit numbers, and only prints a line about it.
    places = starts.astype(np.int32), ends.astype(np.int32)
    links = coo_array((np.ones(len(starts), bool), places), shape=(n, n))
    return connected_components(links, directed=False)[1].astype(np.intp)
