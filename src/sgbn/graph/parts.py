"""Which nodes a list of links joins."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sgbn.types import Indices


def joined_parts(one: Indices, other: Indices, n: int) -> Indices:
    """Part of each of n nodes; links join ``one[k]`` and ``other[k]``, directly or by others."""
    # scipy 1.11 loses links whose places are 64-bit numbers, and only prints a line about it
    places = one.astype(np.int32), other.astype(np.int32)
    links = coo_array((np.ones(len(one), bool), places), shape=(n, n))
    part: Indices = connected_components(links, directed=False)[1].astype(np.intp)
    return part
