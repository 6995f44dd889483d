"""The surface of the brain for the interactive view, coarse enough to keep the page small.

Nilearn contains the pial surfaces of fsaverage5, a subdivision of the coarser mesh fsaverage4. The
first vertices of fsaverage5 are the vertices of fsaverage4. Each other vertex of fsaverage5 is the
middle of an edge of fsaverage4.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from sgbn.core.exceptions import InputError
from sgbn.core.types import Array, Indices
from sgbn.viz.surface_mesh import SIDES, read_gifti

N_COARSE = 2562  # vertices of a hemisphere of fsaverage4
DECIMALS = 1  # of millimetres


class Surface(NamedTuple):
    """Vertices in mm and triangles; fsaverage lies within about 2 mm of MNI152."""

    vertices: Array
    faces: Indices


@cache  # a comparison makes two reports: the first report and the complete report
def brain_mesh() -> dict[str, Surface] | None:
    """Return the pial surfaces of fsaverage4, "left" and "right"; None without nilearn."""
    try:
        pial = {side: read_gifti(f"pial_{side}") for side in SIDES}
    except InputError:  # the page then shows pictures of the brain in place of the view
        return None
    return {
        side: coarsened(vertices, np.asarray(faces, dtype=np.intp), N_COARSE)
        for side, (vertices, faces) in pial.items()
    }


def coarsened(vertices: Array, faces: Indices, n_old: int) -> Surface:
    """Undo one subdivision of a mesh; its first `n_old` vertices are the vertices of the old mesh.

    The subdivision cut each old triangle into four. The inner one of the four joins the middles of
    the three old edges. Two old edges share one end, which is a corner of the old triangle.
    """
    ends = _ends(faces, n_old)
    inner = faces[(faces >= n_old).all(axis=1)]
    corners = [_common(ends[inner[:, a]], ends[inner[:, b]]) for a, b in ((0, 1), (1, 2), (2, 0))]
    places: Array = np.asarray(vertices[:n_old], dtype=np.float64).round(DECIMALS)
    return Surface(places, np.column_stack(corners).astype(np.intp))


def _ends(faces: Indices, n_old: int) -> Indices:
    """Return both ends of the old edge that each new vertex halves; -1 for old vertices."""
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    sides = np.unique(np.sort(sides, axis=1), axis=0)
    # Every new vertex halves one old edge, so it has exactly two old neighbours.
    old, new = sides[(sides[:, 0] < n_old) & (sides[:, 1] >= n_old)].T
    by_new = np.argsort(new, kind="stable")
    ends = np.full((int(faces.max()) + 1, 2), -1)
    # Sorted by the new vertex, the two ends of an old edge are next to each other.
    ends[n_old:] = old[by_new].reshape(-1, 2)
    return ends


def _common(first: Indices, second: Indices) -> Indices:
    """Return the end that the edges of each row share."""
    in_second = (first[:, :1] == second).any(axis=1)
    return np.where(in_second, first[:, 0], first[:, 1])
