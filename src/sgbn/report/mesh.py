"""The brain's surface for the interactive view, coarse enough to travel in a page.

Nilearn brings the pial surfaces of fsaverage5. That mesh halves the edges of fsaverage4: its first
vertices are those of fsaverage4, and each of the others is the middle of one of its edges.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from sgbn.exceptions import InputError
from sgbn.types import Array, Indices
from sgbn.viz.surface_mesh import SIDES, read_gifti

N_COARSE = 2562  # vertices of a hemisphere of fsaverage4
DECIMALS = 1  # of millimetres


class Surface(NamedTuple):
    """Vertices in mm (those of fsaverage are within some 2 mm of MNI152), and triangles."""

    vertices: Array
    faces: Indices


@cache  # a comparison makes two reports, the first and the complete one
def brain_mesh() -> dict[str, Surface] | None:
    """Pial surfaces of fsaverage4, "left" and "right"; None without nilearn (extra "brain")."""
    try:
        pial = {side: read_gifti(f"pial_{side}") for side in SIDES}
    except InputError:  # pictures of the brain stand in for the view
        return None
    return {
        side: coarsened(vertices, np.asarray(faces, dtype=np.intp), N_COARSE)
        for side, (vertices, faces) in pial.items()
    }


def coarsened(vertices: Array, faces: Indices, n_old: int) -> Surface:
    """Undo one subdivision of a mesh, whose first `n_old` vertices were there before it.

    A triangle of the old mesh became four. The inner one joins the middles of its edges, and two
    of these have one end in common: a corner of the old triangle.
    """
    ends = _ends(faces, n_old)
    inner = faces[(faces >= n_old).all(axis=1)]
    corners = [_common(ends[inner[:, a]], ends[inner[:, b]]) for a, b in ((0, 1), (1, 2), (2, 0))]
    places: Array = np.asarray(vertices[:n_old], dtype=np.float64).round(DECIMALS)
    return Surface(places, np.column_stack(corners).astype(np.intp))


def _ends(faces: Indices, n_old: int) -> Indices:
    """Find the old edge that each new vertex halves; -1 in the rows of old vertices."""
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    sides = np.unique(np.sort(sides, axis=1), axis=0)
    # Every new vertex halves one old edge, so that it has exactly two old neighbours.
    old, new = sides[(sides[:, 0] < n_old) & (sides[:, 1] >= n_old)].T
    by_new = np.argsort(new, kind="stable")
    ends = np.full((int(faces.max()) + 1, 2), -1)
    # Sorted by the new vertex, the two ends of an old edge stand beside each other.
    ends[n_old:] = old[by_new].reshape(-1, 2)
    return ends


def _common(first: Indices, second: Indices) -> Indices:
    """Find the end that two edges share, row by row."""
    in_second = (first[:, :1] == second).any(axis=1)
    return np.where(in_second, first[:, 0], first[:, 1])
