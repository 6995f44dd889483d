import numpy as np
import pytest

from sgbn.write.draw import surface as surface_mesh
from sgbn.write.page import brain_mesh, coarsened

TETRAHEDRON = np.array([[0, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]])
CORNERS = np.array([[0.0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]])


def sides(faces):
    return np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])


def halved(vertices, faces):
    """Mesh with a new vertex in the middle of each side, and four triangles for each."""
    pairs = np.unique(np.sort(sides(faces), axis=1), axis=0)
    new = {tuple(pair): len(vertices) + k for k, pair in enumerate(pairs.tolist())}
    found = []
    for a, b, c in faces.tolist():
        ab, bc, ca = (new[tuple(sorted(pair))] for pair in ((a, b), (b, c), (c, a)))
        found += [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
    return np.concatenate([vertices, vertices[pairs].mean(axis=1)]), np.array(found)


def turned(faces):
    """Triangles, each from its smallest vertex on: what is left is their orientation."""
    return sorted(tuple(np.roll(face, -int(np.argmin(face))).tolist()) for face in faces)


def test_coarsening_undoes_a_subdivision_with_orientation():
    vertices, faces = halved(CORNERS, TETRAHEDRON)
    surface = coarsened(vertices, faces, len(CORNERS))
    np.testing.assert_array_equal(surface.vertices, CORNERS)
    assert turned(surface.faces) == turned(TETRAHEDRON)


def test_coarsening_twice_undoes_two_subdivisions():
    once = halved(CORNERS, TETRAHEDRON)
    middle = coarsened(*halved(*once), len(once[0]))
    assert turned(coarsened(*middle, len(CORNERS)).faces) == turned(TETRAHEDRON)


@pytest.fixture(scope="module")
def mesh():
    pytest.importorskip("nilearn", reason="the surface comes with nilearn")
    return brain_mesh()


@pytest.mark.parametrize("side", surface_mesh.SIDES)
def test_a_hemisphere_is_closed(mesh, side):
    vertices, faces = mesh[side]
    assert vertices.shape == (2562, 3)
    assert faces.min() == 0
    assert faces.max() == 2561
    assert all(len(set(face)) == 3 for face in faces.tolist())
    directed = sides(faces)
    assert len(np.unique(directed, axis=0)) == len(directed)  # neighbours turn the same way
    edges = np.unique(np.sort(directed, axis=1), axis=0)
    assert 2 * len(edges) == len(directed)
    assert len(vertices) - len(edges) + len(faces) == 2  # Euler: a sphere


def test_hemispheres_lie_on_their_sides_in_mm(mesh):
    assert mesh["left"].vertices[:, 0].mean() < -20
    assert mesh["right"].vertices[:, 0].mean() > 20
    for surface in mesh.values():
        np.testing.assert_array_equal(surface.vertices, np.round(surface.vertices, 1))
        assert 100 < np.ptp(surface.vertices[:, 1]) < 200


def test_sides_of_the_surface_are_short(mesh):
    for vertices, faces in mesh.values():
        ends = vertices[sides(faces)]
        assert np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1).max() < 20


def test_none_without_nilearn(monkeypatch):
    monkeypatch.setattr(surface_mesh, "find_spec", lambda _: None)
    brain_mesh.cache_clear()
    assert brain_mesh() is None
    brain_mesh.cache_clear()
