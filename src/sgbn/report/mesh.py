"""The brain's surface for the interactive view, coarse enough to travel in a page.

Nilearn brings the pial surfaces of fsaverage5. That mesh halves the edges of fsaverage4: its first
vertices are those of fsaverage4, and each of the others is the middle of one of its edges.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from sgbn.types import Array, Indices

Vertices = Array
Faces = Indices

HEMISPHERES = ("left", "right")
N_COARSE = 2562  # vertices of a hemisphere of fsaverage4
DECIMALS = 1  # of millimetres


class Surface(NamedTuple):
    """Vertices in mm (those of fsaverage are within some 2 mm of MNI152), and triangles."""

    vertices: Vertices
    faces: Faces


@cache  # a comparison makes two reports, the first and the complete one
def brain_mesh() -> dict[str, Surface] | None:
    """Pial surfaces of fsaverage4, "left" and "right"; None without nilearn (extra "brain")."""
    try:
        import nibabel
        from nilearn.datasets import fetch_surf_fsaverage
    except ImportError:
        return None
    paths = fetch_surf_fsaverage("fsaverage5")  # of the wheel itself: nothing is downloaded
    surfaces = {}
    for side in HEMISPHERES:
        vertices, faces = nibabel.GiftiImage.from_filename(paths[f"pial_{side}"]).agg_data()
        surfaces[side] = coarsened(vertices, faces, N_COARSE)
    return surfaces


def coarsened(vertices: Vertices, faces: Faces, n_old: int) -> Surface:
    """Undo one subdivision of a mesh, whose first `n_old` vertices were there before it.

    A triangle of the old mesh became four. The inner one joins the middles of its edges, and two
    of these have one end in common: a corner of the old triangle.
    """
    ends = _ends(np.asarray(faces), n_old)
    inner = np.asarray(faces)[(np.asarray(faces) >= n_old).all(axis=1)]
    corners = [_common(ends[inner[:, a]], ends[inner[:, b]]) for a, b in ((0, 1), (1, 2), (2, 0))]
    places: Vertices = np.asarray(vertices[:n_old], dtype=np.float64).round(DECIMALS)
    return Surface(places, np.column_stack(corners).astype(np.intp))


def _ends(faces: Faces, n_old: int) -> Faces:
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


def _common(first: Faces, second: Faces) -> Faces:
    """Find the end that two edges share, row by row."""
    in_second = (first[:, :1] == second).any(axis=1)
    return np.where(in_second, first[:, 0], first[:, 1])
