"""The cortex of fsaverage5 from nilearn, and its projection to a picture.

Nilearn's own surface plots take seconds to import. The meshes are files in nilearn's package, which
nibabel reads; nothing is downloaded. The first 10242 vertices of fsaverage are the vertices of
fsaverage5.
"""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from sgbn.core.exceptions import InputError
from sgbn.core.types import Array, Indices

VERTICES = 10242  # vertices of a hemisphere of fsaverage5
SIDES = ("left", "right")
FACES_AT_ONCE = 512  # triangles that are drawn at a time, to limit the memory
NO_MESH = (
    "the surface of the cortex comes with nilearn, which is not installed. Install it with "
    'pip install "sgbn[brain]".'
)


class Mesh(NamedTuple):
    """The mesh of a hemisphere.

    Attributes
    ----------
    vertices : ndarray of shape (10242, 3)
        Coordinates of the inflated cortex, in mm.
    faces : ndarray of int, shape (n_triangles, 3)
        Indices of the vertices of each triangle.
    depth : ndarray of shape (10242,)
        Depth of the sulcus at each vertex.
    """

    vertices: Array
    faces: Indices
    depth: Array


class View(NamedTuple):
    """A view of a hemisphere.

    Attributes
    ----------
    side : str
        The hemisphere, "left" or "right".
    title : str
        Title of the view.
    right : int
        1 if the front of the brain is at the right of the picture, -1 if it is at the left.
    """

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
        Index of the nearest vertex; -1 outside the brain.
    light : ndarray of float
        How much the cortex faces the viewer, from 0 (edge on) to 1.
    depth : ndarray of float
        Depth of sulci, which is positive inside them.
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
        If nilearn or nibabel is not installed, or if nilearn does not contain the mesh.
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
            f"this version of nilearn has no file fsaverage5/{name}.gii.gz. Install another "
            'version with pip install "sgbn[brain]" --upgrade.'
        )
    try:
        from nibabel import GiftiImage

        arrays = GiftiImage.from_filename(path).agg_data()
    except Exception as error:  # for a damaged file, nibabel may raise any kind of error
        raise InputError(
            f"nilearn's file fsaverage5/{name}.gii.gz cannot be read ({error}). Install nilearn "
            'and nibabel again with pip install "sgbn[brain]" --force-reinstall.'
        ) from error
    return arrays if isinstance(arrays, tuple) else (arrays,)


@cache  # the picture is the same for all values
def look(view: View, width: int) -> Picture:
    """Return the projection of a hemisphere to a picture of `width` pixels.

    Raises
    ------
    InputError
        As in `load_mesh`.
    """
    mesh = load_mesh(view.side)
    points = np.column_stack([view.right * mesh.vertices[:, 1], mesh.vertices[:, 2]])
    low, high = points.min(axis=0), points.max(axis=0)
    # One free pixel on each side, because `_near_other` in `surface` wraps around the edges.
    scale = (width - 2) / (high - low)[0]
    height = int(np.ceil((high - low)[1] * scale)) + 2
    places = (points - low) * scale + 1
    places[:, 1] = height - places[:, 1]  # rows are numbered downwards
    # If the front is at the right, the viewer is at the right of the brain, where x is large.
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
    """Return the vector of length 1 that points out of the cortex at each vertex."""
    # The length of a cross product is twice the triangle's area: large triangles count more.
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
    """Return the triangle that each pixel shows (-1 for none), and the weights of its corners.

    Triangles that face the viewer are drawn, the farthest first, so that nearer triangles cover
    them.
    """
    corners = places[faces]
    turn = _cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    # This painter's algorithm is exact only because triangles of a cortex do not cross each other.
    # Rows are numbered downwards, so that triangles that face the viewer have a negative turn.
    front = np.flatnonzero(turn < 0)
    front = front[np.argsort(nearness[faces[front]].mean(axis=1), kind="stable")]
    face = np.full(shape, -1, dtype=np.intp)
    shares = np.zeros((*shape, 3))
    for start in range(0, len(front), FACES_AT_ONCE):
        which = front[start : start + FACES_AT_ONCE]
        k, rows, columns, weights = _pixels_of(corners[which], turn[which])
        face[rows, columns] = which[k]  # the last triangle of a pixel stays
        shares[rows, columns] = weights
    return face, shares


def _pixels_of(corners: Array, turn: Array) -> tuple[Indices, Indices, Indices, Array]:
    """Return the pixels inside each triangle, and the weights of its corners at each pixel."""
    low = np.floor(corners.min(axis=1)).astype(np.intp)
    across, down = (np.ceil(corners.max(axis=1)).astype(np.intp) - low).max(axis=0) + 1
    columns = low[:, 0, None] + np.arange(across)
    rows = low[:, 1, None] + np.arange(down)
    # All triangles get a box of the size of the largest, so that one array holds all pixels.
    weights = []
    for k in range(3):  # the share of a corner is 1 at the corner and 0 along the opposite side
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
