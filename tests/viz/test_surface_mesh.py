import numpy as np
import pytest

from sgbn.core.exceptions import InputError
from sgbn.write.draw import surface
from sgbn.write.draw.surface import (
    SIDES,
    VERTICES,
    VIEWS,
    Mesh,
    _nearest,
    load_mesh,
    look,
    read_gifti,
    vertex_normals,
)

needs_mesh = pytest.mark.skipif(
    surface.find_spec("nilearn") is None, reason="the extra brain has the mesh"
)


def ball(n, rng):
    """A ball of triangles whose corners turn counter-clockwise, seen from outside."""
    from scipy.spatial import ConvexHull

    points = rng.normal(size=(n, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    faces = ConvexHull(points).simplices
    a, b, c = (points[faces[:, k]] for k in range(3))
    inwards = np.einsum("ij,ij->i", np.cross(b - a, c - a), a + b + c) < 0
    faces[inwards] = faces[inwards][:, [0, 2, 1]]
    return points, faces.astype(np.intp)


def two_balls():
    """Triangles of two balls, one of which covers a part of the other, in a picture of 40 x 60."""
    rng = np.random.default_rng(0)
    points, faces = ball(40, rng)
    far = points * 14 + [24, 20, 0]
    near = points * 9 + [40, 18, 50]
    both = np.vstack([far, near])
    places = both[:, :2].copy()
    places[:, 1] = 40 - places[:, 1]
    return places, both[:, 2], np.vstack([faces, faces + len(points)])


def brute_force(places, nearness, faces, row, column):
    """Nearest triangle around the middle of a pixel, by looking at each of them."""
    point, best = np.array([column + 0.5, row + 0.5]), (-np.inf, -1)
    for k, corners in enumerate(faces):
        shares = np.linalg.solve(np.vstack([places[corners].T, np.ones(3)]), np.append(point, 1.0))
        if (shares > 0).all():
            best = max(best, (shares @ nearness[corners], k))
    return best[1]


def test_each_pixel_shows_the_triangle_nearest_to_the_viewer():
    places, nearness, faces = two_balls()
    face, _ = _nearest(places, nearness, faces, (40, 60))
    wanted = [
        [brute_force(places, nearness, faces, row, column) for column in range(0, 60, 4)]
        for row in range(0, 40, 4)
    ]
    np.testing.assert_array_equal(face[::4, ::4], wanted)
    assert len(np.unique(wanted)) > 20


def test_shares_of_the_corners_give_the_place_of_the_pixel():
    places, nearness, faces = two_balls()
    face, shares = _nearest(places, nearness, faces, (40, 60))
    rows, columns = np.nonzero(face >= 0)
    shown, weights = face[rows, columns], shares[rows, columns]
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    point = (places[faces[shown]] * weights[..., None]).sum(axis=1)
    np.testing.assert_allclose(point, np.column_stack([columns, rows]) + 0.5)


def test_memory_of_a_picture_does_not_change_it(monkeypatch):
    whole = _nearest(*two_balls(), (40, 60))
    monkeypatch.setattr(surface, "FACES_AT_ONCE", 7)
    for expected, in_parts in zip(whole, _nearest(*two_balls(), (40, 60)), strict=True):
        np.testing.assert_array_equal(expected, in_parts)


def test_normals_of_a_ball_point_outwards():
    points, faces = ball(300, np.random.default_rng(1))
    normals = vertex_normals(Mesh(points, faces, np.zeros(300)))
    assert np.einsum("ij,ij->i", normals, points).min() > 0.95


@needs_mesh
@pytest.mark.parametrize("side", SIDES)
def test_the_mesh_is_fsaverage5(side):
    mesh = load_mesh(side)
    assert mesh.vertices.shape == (VERTICES, 3)
    assert mesh.faces.shape == (2 * VERTICES - 4, 3)  # of a closed surface
    assert mesh.depth.shape == (VERTICES,)
    outwards = vertex_normals(mesh)[:, 0] @ (mesh.vertices[:, 0] - mesh.vertices[:, 0].mean())
    assert outwards > 0


@needs_mesh
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_shows_its_side_with_the_front_where_it_belongs(view):
    picture = look(view, 120)
    pial = read_gifti(f"pial_{view.side}")[0]
    inside = picture.vertex >= 0
    y = np.where(inside, pial[picture.vertex, 1], np.nan)
    x = pial[picture.vertex[inside], 0]
    outer = {"left": -1, "right": 1}[view.side]
    front_left = {"left, lateral", "right, medial"}
    left, right = np.nanmean(y[:, :20]), np.nanmean(y[:, -20:])
    assert (left > right) == (view.title in front_left)
    assert (outer * np.median(x) > 30) == view.title.endswith("lateral")
    top = np.nanmean(np.where(inside, pial[picture.vertex, 2], np.nan)[:20])
    assert top > 40
    assert picture.light.min() >= 0
    assert picture.light.max() <= 1
    assert not picture.light[~inside].any()


def test_without_nilearn_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setattr(surface, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=r'pip install "sgbn\[brain\]"'):
        read_gifti("infl_left")


@needs_mesh
def test_a_file_that_is_absent_or_damaged_is_named(monkeypatch, tmp_path):
    with pytest.raises(InputError, match="no file fsaverage5/other_left"):
        read_gifti("other_left")
    folder = tmp_path / "nilearn" / "datasets" / "data" / "fsaverage5"
    folder.mkdir(parents=True)
    (folder / "infl_left.gii.gz").write_bytes(b"damaged")
    spec = type("Spec", (), {"origin": str(tmp_path / "nilearn" / "__init__.py")})
    monkeypatch.setattr(surface, "find_spec", lambda _: spec)
    with pytest.raises(InputError, match=r"infl_left\.gii\.gz cannot be read"):
        read_gifti("infl_left")
