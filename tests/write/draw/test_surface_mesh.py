import csv
import os
from pathlib import Path

import numpy as np
import pytest
from tests.codes import refused

from sgbn.cohort.atlas import ATLASES, Atlas, Region, is_aseg, load_atlas, read_atlas
from sgbn.write.draw import surface
from sgbn.write.draw.surface import (
    PACKAGED,
    SIDES,
    VERTICES,
    VIEWS,
    Mesh,
    Parcellation,
    _nearest,
    _with_side,
    find_parcellation,
    load_mesh,
    look,
    read_gifti,
    read_parcellation,
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
    with refused("library.absent"):
        read_gifti("infl_left")


@needs_mesh
def test_a_file_that_is_absent_or_damaged_is_named(monkeypatch, tmp_path):
    with refused("mesh.unreadable"):
        read_gifti("other_left")
    folder = tmp_path / "nilearn" / "datasets" / "data" / "fsaverage5"
    folder.mkdir(parents=True)
    (folder / "infl_left.gii.gz").write_bytes(b"damaged")
    spec = type("Spec", (), {"origin": str(tmp_path / "nilearn" / "__init__.py")})
    monkeypatch.setattr(surface, "find_spec", lambda _: spec)
    with refused("mesh.unreadable"):
        read_gifti("infl_left")


nibabel = pytest.importorskip("nibabel", reason="the extra brain reads parcellations")
pytest.importorskip("nilearn", reason="the extra brain has the mesh")
DATA = Path(os.environ.get("SGBN_DATA", Path(__file__).parents[4] / "shared" / "data"))
SCHAEFER = [(k, networks) for k in (100, 200, 300, 400) for networks in (7, 17)]


def distances(parcels, atlas):
    """How far (mm) the middle of the vertices of each region is from its place in the atlas.

    In the middle of the cortex; the coordinates of fsaverage are those of MNI305.
    """
    numbers = parcels.numbers(atlas)
    found = {}
    for side, regions in zip(SIDES, (parcels.left, parcels.right), strict=True):
        middle = (read_gifti(f"pial_{side}")[0] + read_gifti(f"white_{side}")[0]) / 2
        for region, number in numbers.items():
            if region.hemisphere == side[0].upper():
                centre = middle[regions == number].mean(axis=0)
                found[region.name] = float(np.linalg.norm(centre - region[3:6]))
    return found


def test_every_cortical_region_of_desikan_killiany_lies_where_its_table_says():
    atlas = load_atlas("desikan_killiany")
    found = distances(find_parcellation(atlas), atlas)
    assert set(found) == {one.name for one in atlas.regions if not is_aseg(one)}
    assert len(found) == 68
    assert max(found.values()) < 8.0
    assert np.median([*found.values()]) < 4.0


def published_schaefer(n_regions, networks):
    """Table of the authors: names of the parcels and their centres in MNI space."""
    path = DATA / "atlases" / f"schaefer_{n_regions}_{networks}networks.csv"
    if not path.exists():
        pytest.skip(f"{path} is absent")
    with path.open(newline="") as stream:
        rows = list(csv.reader(stream))[1:]
    regions = tuple(
        Region(name, name.split("_")[1][0], "", *map(float, place), 0.0) for _, name, *place in rows
    )
    return Atlas(f"schaefer_{n_regions}_{networks}", "", regions)


@pytest.mark.parametrize(("n_regions", "networks"), SCHAEFER)
def test_every_parcel_of_schaefer_lies_where_the_authors_say(n_regions, networks):
    atlas = published_schaefer(n_regions, networks)
    found = distances(find_parcellation(atlas), atlas)
    assert len(found) == n_regions
    assert max(found.values()) < 15.0
    assert np.median([*found.values()]) < 4.2


@pytest.mark.parametrize(("n_regions", "networks"), SCHAEFER)
def test_the_tables_of_schaefer_have_the_same_parcels(n_regions, networks):
    name = f"schaefer_{n_regions}_{networks}"
    if name not in ATLASES:
        pytest.skip(f"there is no table of {name}")
    atlas = load_atlas(name)
    assert len(find_parcellation(atlas).numbers(atlas)) == len(atlas.regions)


def test_names_in_another_order_would_be_seen():
    atlas = load_atlas("desikan_killiany")
    parcels = find_parcellation(atlas)
    left, right = parcels.names[:34], parcels.names[34:]
    moved = Parcellation(parcels.left, parcels.right, left[1:] + left[:1] + right[1:] + right[:1])
    assert np.median([*distances(moved, atlas).values()]) > 20


@pytest.mark.parametrize("name", PACKAGED)
def test_packaged_parcellations_cover_the_cortex_without_the_medial_wall(name):
    names = "names" if name == "desikan_killiany" else "names_17"
    parcels = surface._packaged(name, names)
    for regions in (parcels.left, parcels.right):
        assert regions.shape == (VERTICES,)
        assert 0.08 < (regions < 0).mean() < 0.11
        assert regions.max() < len(parcels.names)
    assert not set(parcels.left[parcels.left >= 0]) & set(parcels.right[parcels.right >= 0])
    assert len(set(parcels.names)) == len(parcels.names)


def test_a_table_of_ones_own_does_not_get_the_surface_of_its_namesake(tmp_path):
    path = tmp_path / "desikan_killiany.csv"
    path.write_text("region,lobe\nlh_insula,insula\n")
    with refused("surface.unknown"):
        find_parcellation(read_atlas(path))


ANNOT = "aparc.a2009s"
NAMES = ["Unknown", "Medial_wall", "G_and_S_frontomargin", "S_central"]


def codes_of(n):
    return np.arange(n) % len(NAMES)


def write_annot(folder, n=VERTICES, form="{hemisphere}.{stem}.annot"):
    folder.mkdir(parents=True, exist_ok=True)
    colours = np.column_stack([np.arange(4) * 20 + k for k in range(3)] + [np.zeros(4)] * 2)
    paths = []
    for hemisphere in ("lh", "rh"):
        side = {"lh": "left", "rh": "right"}[hemisphere]
        paths.append(folder / form.format(hemisphere=hemisphere, stem=ANNOT, side=side))
        nibabel.freesurfer.write_annot(
            str(paths[-1]), codes_of(n), colours.astype(int), NAMES, fill_ctab=True
        )
    return paths


@pytest.fixture
def no_copies(monkeypatch, tmp_path):
    """As without FreeSurfer and without downloads of nilearn."""
    for name in ("SUBJECTS_DIR", "FREESURFER_HOME", "NILEARN_SHARED_DATA", "NILEARN_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.mark.parametrize("n", [VERTICES, 163842])
def test_an_annotation_of_fsaverage_is_read(tmp_path, n):
    parcels = read_parcellation(*write_annot(tmp_path, n))
    assert parcels.names == (
        *("lh_G_and_S_frontomargin", "lh_S_central"),
        *("rh_G_and_S_frontomargin", "rh_S_central"),
    )
    wanted = np.array([-1, -1, 0, 1])[codes_of(VERTICES)]
    np.testing.assert_array_equal(parcels.left, wanted)
    np.testing.assert_array_equal(parcels.right, np.where(wanted < 0, -1, wanted + 2))
    atlas = load_atlas("destrieux")
    assert {one.name for one in parcels.numbers(atlas)} == {
        region.name
        for region in atlas.regions
        if region in {atlas.find(name) for name in parcels.names}
    }
    assert len(parcels.numbers(atlas)) == 4


def test_a_label_file_of_gifti_is_read(tmp_path):
    paths = []
    for side in SIDES:
        codes = codes_of(VERTICES).astype(np.int32)
        array = nibabel.gifti.GiftiDataArray(codes, intent="NIFTI_INTENT_LABEL")
        image = nibabel.GiftiImage(darrays=[array])
        for key, name in enumerate(NAMES):
            label = nibabel.gifti.GiftiLabel(key)
            label.label = name
            image.labeltable.labels.append(label)
        paths.append(tmp_path / f"{side}.label.gii")
        nibabel.save(image, paths[-1])
    as_annot = read_parcellation(*write_annot(tmp_path))
    parcels = read_parcellation(*paths)
    assert parcels.names == as_annot.names
    np.testing.assert_array_equal(parcels.right, as_annot.right)


@pytest.mark.parametrize(
    ("variable", "inside"),
    [("SUBJECTS_DIR", "fsaverage"), ("FREESURFER_HOME", "subjects/fsaverage5")],
)
def test_copies_of_freesurfer_are_found(monkeypatch, tmp_path, no_copies, variable, inside):
    write_annot(tmp_path / inside / "label")
    monkeypatch.setenv(variable, str(tmp_path))
    assert len(find_parcellation(load_atlas("destrieux")).names) == 4


def test_a_download_of_nilearn_is_found(monkeypatch, tmp_path, no_copies):
    write_annot(tmp_path / "destrieux_surface", form="{side}.{stem}.annot")
    monkeypatch.setenv("NILEARN_DATA", str(tmp_path))
    assert len(find_parcellation(load_atlas("destrieux")).names) == 4


def test_without_a_copy_the_message_says_where_one_is_looked_for(no_copies):
    with refused("surface.absent"):
        find_parcellation(load_atlas("destrieux"))


def test_other_meshes_and_damaged_files_are_refused(tmp_path):
    with refused("surface.vertices"):
        read_parcellation(*write_annot(tmp_path, 500))
    for name in ("damaged.annot", "damaged.label.gii"):
        (tmp_path / name).write_bytes(b"\x00\x01nothing")
        with refused("surface.unreadable"):
            read_parcellation(tmp_path / name, tmp_path / name)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("insula", "lh_insula"),
        ("G_and_S_frontomargin", "lh_G_and_S_frontomargin"),
        ("7Networks_LH_Vis_1", "7Networks_LH_Vis_1"),
        ("L_V1_ROI", "L_V1"),
        ("A8m_L", "A8m_L"),
    ],
)
def test_the_side_is_added_where_a_name_does_not_tell_it(name, known):
    assert _with_side(name, "lh") == known
