"""The cortex of fsaverage5 from nilearn, and its view from one side.

Nilearn's own surface plots import for seconds. The meshes are files of its wheel, which nibabel
reads; nothing is downloaded. The first 10242 vertices of fsaverage are those of fsaverage5.
"""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from sgbn.exceptions import InputError
from sgbn.types import Array, Indices

VERTICES = 10242  # of a hemisphere of fsaverage5
SIDES = ("left", "right")
FACES_AT_ONCE = 512  # bounds the memory of a picture
NO_MESH = (
    "the surface of the cortex comes with nilearn, which is not installed. Install it with "
    'pip install "sgbn[brain]".'
)


class Mesh(NamedTuple):
    """A hemisphere: inflated vertices in mm, triangles, and the depth of sulci at each vertex."""

    vertices: Array
    faces: Indices
    depth: Array


class View(NamedTuple):
    """A side from which a hemisphere is seen: `right` is the direction of y that points right."""

    side: str
    title: str
    right: int


VIEWS = (
    View("left", "left, lateral", -1),
    View("right", "right, lateral", 1),
    View("left", "left, medial", 1),
    View("right", "right, medial", -1),
)


class Picture(NamedTuple):
    """What each pixel shows, row by row from the top.

    Attributes
    ----------
    vertex : ndarray of int, shape (rows, columns)
        The nearest vertex; -1 beside the brain.
    light : ndarray of float
        How much the cortex faces the viewer, from 0 (edge on) to 1.
    depth : ndarray of float
        Depth of sulci: positive inside them.
    """

    vertex: Indices
    light: Array
    depth: Array


@cache
def load_mesh(side: str) -> Mesh:
    """Read the inflated cortex of one side, "left" or "right".

    Raises
    ------
    InputError
        Without nilearn or nibabel, or if nilearn does not bring the mesh.
    """
    vertices, faces = read_gifti(f"infl_{side}")
    (depth,) = read_gifti(f"sulc_{side}")
    return Mesh(
        np.asarray(vertices, dtype=np.float64),
        np.asarray(faces, dtype=np.intp),
        np.asarray(depth, dtype=np.float64),
    )


def read_gifti(name: str) -> tuple[Array, ...]:
    """Read the arrays of one of nilearn's files of fsaverage5, such as "pial_left"."""
    package = find_spec("nilearn")
    if package is None or package.origin is None or find_spec("nibabel") is None:
        raise InputError(NO_MESH)
    folder = os.path.join(os.path.dirname(package.origin), "datasets", "data", "fsaverage5")
    path = os.path.join(folder, f"{name}.gii.gz")
    if not os.path.exists(path):
        raise InputError(
            f"this version of nilearn has no file fsaverage5/{name}.gii.gz. Install another with "
            'pip install "sgbn[brain]" --upgrade.'
        )
    try:
        from nibabel import GiftiImage

        arrays = GiftiImage.from_filename(path).agg_data()
    except Exception as error:  # nibabel raises whatever a damaged file makes it stumble on
        raise InputError(
            f"nilearn's file fsaverage5/{name}.gii.gz cannot be read ({error}). Install nilearn "
            'and nibabel anew with pip install "sgbn[brain]" --force-reinstall.'
        ) from error
    return arrays if isinstance(arrays, tuple) else (arrays,)


@cache  # the same for all maps
def look(view: View, width: int) -> Picture:
    """Project a hemisphere to a picture of so many pixels across.

    Raises
    ------
    InputError
        As `load_mesh`.
    """
    mesh = load_mesh(view.side)
    points = np.column_stack([view.right * mesh.vertices[:, 1], mesh.vertices[:, 2]])
    low, high = points.min(axis=0), points.max(axis=0)
    # A free pixel on each side: `_near_other` of `surface` takes what is beyond from the other.
    scale = (width - 2) / (high - low)[0]
    height = int(np.ceil((high - low)[1] * scale)) + 2
    places = (points - low) * scale + 1
    places[:, 1] = height - places[:, 1]  # rows count downwards
    # who sees y grow to the right looks from the right, where x is large
    nearness, facing = view.right * mesh.vertices[:, 0], view.right * vertex_normals(mesh)[:, 0]
    face, shares = _nearest(places, nearness, mesh.faces, (height, width))
    inside = face >= 0
    corners = mesh.faces[face]
    light, depth = ((shares * cells[corners]).sum(axis=-1) for cells in (facing, mesh.depth))
    vertex = np.take_along_axis(corners, shares.argmax(axis=-1)[..., None], axis=-1)[..., 0]
    return Picture(
        np.where(inside, vertex, -1),
        np.where(inside, np.clip(light, 0.0, 1.0), 0.0),
        depth * inside,
    )


def vertex_normals(mesh: Mesh) -> Array:
    """Directions that point out of the cortex at each vertex, of length 1."""
    # A cross product is as long as twice the triangle's area, so that large triangles count more.
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    across = np.cross(b - a, c - a)
    total = np.zeros_like(mesh.vertices)
    for k in range(3):
        for axis in range(3):
            total[:, axis] += np.bincount(
                mesh.faces[:, k], weights=across[:, axis], minlength=len(total)
            )
    return total / np.linalg.norm(total, axis=1, keepdims=True)


def _nearest(
    places: Array, nearness: Array, faces: Indices, shape: tuple[int, int]
) -> tuple[Indices, Array]:
    """Find the triangle that each pixel shows (-1 is none), and the shares of its corners.

    Triangles that face the viewer are filled, the farthest first, so that nearer ones cover them.
    """
    corners = places[faces]
    turn = _cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    # Painter's algorithm: triangles of a cortex do not cut each other.
    front = np.flatnonzero(turn < 0)  # rows count downwards: those that face us turn clockwise
    front = front[np.argsort(nearness[faces[front]].mean(axis=1), kind="stable")]
    face = np.full(shape, -1, dtype=np.intp)
    shares = np.zeros((*shape, 3))
    for start in range(0, len(front), FACES_AT_ONCE):
        which = front[start : start + FACES_AT_ONCE]
        k, rows, columns, weights = _pixels_of(corners[which], turn[which])
        face[rows, columns] = which[k]  # the last of several stays
        shares[rows, columns] = weights
    return face, shares


def _pixels_of(corners: Array, turn: Array) -> tuple[Indices, Indices, Indices, Array]:
    """Find the pixels inside each triangle, in the order of triangles, with shares of corners."""
    low = np.floor(corners.min(axis=1)).astype(np.intp)
    across, down = (np.ceil(corners.max(axis=1)).astype(np.intp) - low).max(axis=0) + 1
    columns = low[:, 0, None] + np.arange(across)
    rows = low[:, 1, None] + np.arange(down)
    # The box of the largest triangle is laid on each: one array operation in place of a loop.
    weights = []
    for k in range(3):  # share of a corner: 0 along the opposite side, 1 at the corner
        start, stop = corners[:, (k + 1) % 3], corners[:, (k + 2) % 3]
        step = (stop - start) / turn[:, None]
        of_row = step[:, :1] * (rows + 0.5 - start[:, 1:])
        of_column = step[:, 1:] * (columns + 0.5 - start[:, :1])
        weights.append(of_row[:, :, None] - of_column[:, None, :])
    inside = (weights[0] >= 0) & (weights[1] >= 0) & (weights[2] >= 0)
    triangle, row, column = np.nonzero(inside)
    shares = np.stack([weight[inside] for weight in weights], axis=-1)
    return triangle, rows[triangle, row], columns[triangle, column], shares


def _cross(first: Array, second: Array) -> Array:
    return np.asarray(first[..., 0] * second[..., 1] - first[..., 1] * second[..., 0])
