"""The figure of the cortical surface: one value per region as a colour, in four views.

The cortex of fsaverage5 from nilearn, and its projection to a picture.

Nilearn's own surface plots take seconds to import. The meshes are files in nilearn's package, which
nibabel reads; nothing is downloaded. The first 10242 vertices of fsaverage are the vertices of
fsaverage5.

Parcellations of fsaverage5, which say which vertex of the cortex belongs to which region.

Some parcellations come with the package (``surfaces/README.md`` names their sources). Others are
read from the user's copy of FreeSurfer's fsaverage. The first 10242 vertices of fsaverage are the
vertices of fsaverage5.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, to_rgb
from matplotlib.figure import Figure, SubFigure
from numpy.typing import ArrayLike, NDArray

from sgbn.cohort.atlas import Atlas, AtlasLike, Region, as_atlas
from sgbn.core.problems import InputError, counted
from sgbn.core.types import Array, Indices, Mask
from sgbn.read.cells import repeated
from sgbn.write.draw.style import DIVERGING, check_figure, largest, literal
from sgbn.write.tables import check_shape

PIXELS = 640  # width of a view
SHADOW = 0.3  # share of brightness that is lost where the cortex is seen edge on
SULCUS = 0.07  # share of brightness that is lost inside sulci
LEVELS = 32  # levels of brightness; more cannot be seen, and make files larger
NO_VALUE = "0.6"  # grey of regions without a value
BORDER, OUTLINE = "0.45", "0.0"  # greys between regions, and around marked regions
OUTLINE_PIXELS = 2  # width of the outline of marked regions


def plot_surface(
    figure: Figure | SubFigure,
    values: ArrayLike,
    names: Sequence[str],
    atlas: AtlasLike,
    *,
    marked: ArrayLike | None = None,
    label: str = "",
    title: str = "",
    limit: float | None = None,
    parcellation: Parcellation | tuple[str | Path, str | Path] | None = None,
) -> NDArray[np.object_]:
    """Draw one value per region on the inflated cortex of fsaverage5, from both sides.

    Positive values are red and negative values are blue; the scale is symmetric about zero. Regions
    without a value are grey, and so is the medial wall. Regions that are not part of the cortex
    cannot be shown; the title says how many there are.

    Parameters
    ----------
    figure : Figure or SubFigure
        Figure to draw on. It must be empty, and should be a little wider than high.
    values : array-like of shape (m,)
        Value of each region; NaN if a region has none.
    names : sequence of str
        Names of the m regions, in any spelling that `Atlas.find` accepts.
    atlas : Atlas, str or path
        Atlas of the regions: an Atlas, its name, or a table.
    marked : array-like of bool, shape (m,), optional
        True for regions with a dark outline, such as significant regions.
    label : str
        Text beside the colour bar: what the colours mean, with the unit.
    title : str
        Title of the figure.
    limit : float, optional
        Value of the strongest colour; by default the largest value.
    parcellation : Parcellation or pair of paths, optional
        Region of each vertex, or the files of the left and the right side (``.annot`` of FreeSurfer
        or ``.label.gii`` of GIFTI, on fsaverage). By default the parcellation of the atlas, see
        `find_parcellation`.

    Returns
    -------
    ndarray of Axes of shape (4,)
        The views: left lateral, right lateral, left medial, right medial.

    Raises
    ------
    InputError
        If the surface of the atlas is not known, or if nilearn is not installed. Install it with
        ``pip install "sgbn[brain]"``.
    """
    check_figure(figure, "plot_surface")
    atlas = as_atlas(atlas)
    if parcellation is None:
        parcellation = find_parcellation(atlas)
    elif not isinstance(parcellation, Parcellation):
        parcellation = read_parcellation(*parcellation)
    values = np.asarray(values, dtype=float)
    chosen = np.zeros(len(names), bool) if marked is None else np.asarray(marked, dtype=bool)
    for what, array in (("values", values), ("marked", chosen)):
        check_shape(what, array.shape, (len(names),))
    numbers = parcel_numbers(names, atlas, parcellation)
    return draw_surface(
        figure, parcellation, numbers, values, chosen, label=label, title=title, limit=limit
    )


def draw_surface(
    figure: Figure | SubFigure,
    parcels: Parcellation,
    numbers: Indices,
    values: Array,
    marked: Mask,
    *,
    label: str = "",
    title: str = "",
    limit: float | None = None,
    note: str = "",
) -> NDArray[np.object_]:
    """Draw the values of regions whose indices in a parcellation are known; see `plot_surface`.

    Parameters
    ----------
    figure, marked, label, title, limit
        As in `plot_surface`.
    parcels : Parcellation
        Region of each vertex.
    numbers : ndarray of int, shape (m,)
        Index of each region in `parcels`, from `parcel_numbers`.
    values : ndarray of shape (m,)
        Value of each region.
    note : str
        Text below the title.
    """
    pictures = [look(view, PIXELS) for view in VIEWS]
    # Without hidden regions, because a large value of such a region would make all others pale.
    limit = largest(values[numbers >= 0], limit)
    scale = ScalarMappable(Normalize(-limit, limit), colormaps[DIVERGING])
    # One colour per region of the parcellation, and last the colour for no region.
    palette = np.tile(to_rgb(NO_VALUE), (len(parcels.names) + 1, 1))
    shown = (numbers >= 0) & np.isfinite(values)
    palette[numbers[shown]] = np.asarray(scale.to_rgba(values[shown]))[:, :3]
    outlined = np.zeros(len(palette), bool)
    outlined[numbers[(numbers >= 0) & marked]] = True
    axes = figure.subplots(2, 2, gridspec_kw={"wspace": 0.06, "hspace": 0.1}).ravel()
    for ax, view, picture in zip(axes, VIEWS, pictures, strict=True):
        regions = parcels.left if view.side == SIDES[0] else parcels.right
        ax.imshow(_painted(picture, regions, palette, outlined), interpolation="none")
        ax.set_axis_off()
        ax.set_title(view.title, fontsize=8, color="0.3", pad=2)
    bar = figure.colorbar(scale, ax=list(axes), location="bottom", shrink=0.5, aspect=35, pad=0.04)
    bar.set_label(literal(label), fontsize=8)
    bar.ax.tick_params(labelsize=7)
    hidden = int((numbers < 0).sum())
    not_shown = f"{counted(hidden, 'region')} not on this surface" if hidden else ""
    below = "; ".join(filter(None, [note, not_shown]))
    figure.suptitle("\n".join(filter(None, [literal(title), below])), fontsize=10)
    return np.array(axes, dtype=object)


def parcel_numbers(names: Sequence[str], atlas: Atlas, parcellation: Parcellation) -> Indices:
    """Return the index of each region in a parcellation; -1 if the region is not in it.

    Raises
    ------
    InputError
        If two names mean the same region, because a region can show only one value.
    """
    known = parcellation.numbers(atlas)
    places = [atlas.find(name) for name in names]
    numbers = np.array([-1 if r is None else known.get(r, -1) for r in places], dtype=np.intp)
    shown = np.flatnonzero(numbers >= 0)
    if same := repeated(numbers[shown].tolist()):
        first, second = (names[k] for k in shown[list(same)])
        raise InputError("surface.twice", first=first, second=second).says(
            "{first} and {second} are the same region of the atlas", "Draw one measure at a time."
        )
    return numbers


def _painted(
    picture: Picture, regions: Indices, palette: Array, outlined: Mask
) -> NDArray[np.uint8]:
    """Return red, green, blue and opacity of each pixel of a view, from 0 to 255.

    Parameters
    ----------
    picture : Picture
        What each pixel of the view shows.
    regions : ndarray of int
        Index of the region of each vertex; -1 is none.
    palette, outlined : ndarray
        Colour of each region, and whether it has an outline. The last entry is for no region.
    """
    inside = picture.vertex >= 0
    # The index -1 gives the last colour of the palette, which is for no region.
    region = np.where(inside, regions[picture.vertex], -1)
    light = 1 - SHADOW * (1 - picture.light) - SULCUS * (picture.depth > 0)
    rgb = palette[region] * (np.round(light * LEVELS) / LEVELS)[..., None]
    place = np.where(inside, region, -2)  # not -1, so that there is a border around the brain
    rgb[_near_other(place, 1) & inside] = to_rgb(BORDER)
    rgb[_near_other(place, OUTLINE_PIXELS) & outlined[region] & inside] = to_rgb(OUTLINE)
    return np.round(255 * np.dstack([rgb, inside])).astype(np.uint8)


def _near_other(region: Indices, distance: int) -> Mask:
    """Mark the pixels at a border between regions.

    With a distance of 1, these are pixels with another region below or at the right, so that a
    border is one pixel wide. With a larger distance, these are all pixels with another region
    within `distance` pixels in the same row or column.
    """
    near = np.zeros(region.shape, bool)
    shifts = range(distance if distance == 1 else -distance, distance + 1)
    for axis in (0, 1):
        for step in filter(None, shifts):
            # `roll` wraps around, which does no harm: the margins are outside the brain.
            near |= np.roll(region, -step, axis) != region
    return near


VERTICES = 10242  # vertices of a hemisphere of fsaverage5
SIDES = ("left", "right")
FACES_AT_ONCE = 512  # triangles that are drawn at a time, to limit the memory
NO_LIBRARY = "surfaces need nilearn and nibabel, which are not installed"
INSTALL_BRAIN = 'Install them: pip install --upgrade --force-reinstall "sgbn[brain]".'


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
    vertices, depth = np.asarray(vertices, np.float64), np.asarray(depth, np.float64)
    return Mesh(vertices, np.asarray(faces, np.intp), depth)


def read_gifti(name: str) -> tuple[Array, ...]:
    """Read the arrays of one of nilearn's files of fsaverage5, such as "pial_left"."""
    package = find_spec("nilearn")
    if package is None or package.origin is None or find_spec("nibabel") is None:
        raise InputError("library.absent").says(NO_LIBRARY, INSTALL_BRAIN)
    folder = os.path.join(os.path.dirname(package.origin), "datasets", "data", "fsaverage5")
    path = os.path.join(folder, f"{name}.gii.gz")
    try:
        from nibabel import GiftiImage

        arrays = GiftiImage.from_filename(path).agg_data()
    except Exception as error:  # for a damaged file, nibabel may raise any kind of error
        raise InputError("mesh.unreadable", name=name, cause=error).says(
            "the surface {name} of nilearn cannot be read ({cause})", INSTALL_BRAIN
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
    light = np.where(inside, np.clip(light, 0.0, 1.0), 0.0)
    return Picture(np.where(inside, vertex, -1), light, depth * inside)


def vertex_normals(mesh: Mesh) -> Array:
    """Return the vector of length 1 that points out of the cortex at each vertex."""
    # The length of a cross product is twice the triangle's area: large triangles count more.
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    across = np.cross(b - a, c - a)
    total = np.zeros_like(mesh.vertices)
    for k in range(3):
        for axis in range(3):
            total[:, axis] += np.bincount(mesh.faces[:, k], across[:, axis], len(total))
    return total / np.linalg.norm(total, axis=1, keepdims=True)


def _nearest(
    places: Array, nearness: Array, faces: Indices, shape: tuple[int, int]
) -> tuple[Indices, Array]:
    """Return the triangle that each pixel shows (-1 for none), and the weights of its corners.

    Triangles that face the viewer are drawn, the farthest first, so that nearer triangles cover
    them.
    """
    corners = places[faces]
    one, two = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    turn = one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0]  # the cross product of two sides
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


PACKAGED = ("desikan_killiany", *(f"schaefer_{k}" for k in (100, 200, 300, 400)))
HEMISPHERES = ("lh", "rh")
# Atlas -> names of FreeSurfer's files, such as lh.aparc.a2009s.annot
ANNOTATIONS = {
    "destrieux": ("aparc.a2009s",),
    "dkt": ("aparc.DKTatlas", "aparc.DKTatlas40"),
    "glasser": ("HCP-MMP1", "HCPMMP1"),
}
SUBJECTS = ("fsaverage5", "fsaverage")
DENSITIES = (VERTICES, 40962, 163842)  # vertices of fsaverage5, fsaverage6 and fsaverage
NO_REGION = ("unknown", "medial_wall", "corpuscallosum", "???", "medialwall")


@dataclass(frozen=True)
class Parcellation:
    """The region of each vertex of fsaverage5.

    Attributes
    ----------
    left, right : ndarray of int, shape (10242,)
        Index in `names` of the region of each vertex; -1 if the vertex has no region.
    names : tuple of str
        Names of the regions, with their side, such as ``lh_insula``.
    """

    left: Indices
    right: Indices
    names: tuple[str, ...]

    def numbers(self, atlas: Atlas) -> dict[Region, int]:
        """Return the index in `names` of each region of the atlas that has at least one vertex."""
        used = np.union1d(self.left, self.right)
        places = {k: atlas.find(self.names[k]) for k in used.tolist() if k >= 0}
        return {place: k for k, place in places.items() if place is not None}


def find_parcellation(atlas: Atlas) -> Parcellation:
    """Return the parcellation of an atlas, from the package or from the user's files.

    Files of the user are searched in the folder ``label`` of fsaverage5 and fsaverage, below the
    folders that the environment variables SUBJECTS_DIR and FREESURFER_HOME name. The folder of
    nilearn's downloads is searched as well.

    Raises
    ------
    InputError
        If no parcellation is found. The message says why, and what to do.
    """
    # A user's table may have the same name as a known atlas.
    name = atlas.name if atlas.file is None else ""
    stem, _, networks = name.rpartition("_")  # such as schaefer_100_7
    if name in PACKAGED:
        return _packaged(name, "names")
    if stem in PACKAGED and networks in ("7", "17"):
        return _packaged(stem, f"names_{networks}")
    wanted = ANNOTATIONS.get(name)
    if wanted is None:
        raise InputError("surface.unknown", atlas=atlas.name).says(
            "no surface of the atlas {atlas} is known",
            "Give one file per side to sgbn.write.draw.plot_surface.",
        )
    for pair in _places_of(name, wanted):
        if all(path.is_file() for path in pair):
            return read_parcellation(*pair)
    raise InputError("surface.absent", atlas=name, label=wanted[0]).says(
        "the surface of the atlas {atlas} does not come with sgbn",
        "Set SUBJECTS_DIR to a folder that has fsaverage/label/lh.{label:s}.annot.",
    )


def read_parcellation(left: str | Path, right: str | Path) -> Parcellation:
    """Read a parcellation of fsaverage5, fsaverage6 or fsaverage, one file per side.

    Parameters
    ----------
    left, right : path
        Files of the left and right side: ``.annot`` of FreeSurfer, or GIFTI ``.label.gii``.
    """
    names: list[str] = []
    sides = []
    for path, hemisphere in zip((left, right), HEMISPHERES, strict=True):
        codes, known = _read(Path(path))
        if len(codes) not in DENSITIES:
            raise InputError("surface.vertices", file=path, n=len(codes), known=DENSITIES).says(
                "{file} has {n:vertex/vertices}, not one of {known}",
                "Give a parcellation of fsaverage5, fsaverage6 or fsaverage.",
            )
        # The first vertices of the denser meshes are the vertices of fsaverage5.
        numbers = np.full(VERTICES, -1, dtype=np.intp)
        for code, name in known.items():
            if name.lower() not in NO_REGION:
                numbers[codes[:VERTICES] == code] = len(names)
                names.append(_with_side(name, hemisphere))
        sides.append(numbers)
    return Parcellation(sides[0], sides[1], tuple(names))


def _packaged(table: str, names: str) -> Parcellation:
    file = files("sgbn.write") / "surfaces" / f"{table}.npz"
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as kept:
        # In the files, regions are numbered from 1 and 0 is none, so that they fit unsigned bytes.
        left, right = (kept[side].astype(np.intp) - 1 for side in SIDES)
        # Names are stored as bytes, which need a quarter of the space of numpy's text.
        known = tuple(name.decode("ascii") for name in kept[names].tolist())
    return Parcellation(left, right, known)


def _places_of(atlas: str, stems: Sequence[str]) -> Iterator[tuple[Path, Path]]:
    """Yield the pairs of files that a user may have, the most likely first."""
    variables = os.environ.get
    folders = [variables("SUBJECTS_DIR"), variables("FREESURFER_HOME")]
    subjects = [Path(folders[0] or ""), Path(folders[1] or "") / "subjects"]
    for folder, given in zip(subjects, folders, strict=True):
        for stem in stems if given else ():
            for subject in SUBJECTS:
                label = folder / subject / "label"
                yield label / f"lh.{stem}.annot", label / f"rh.{stem}.annot"
    if atlas == "destrieux":
        downloads = variables("NILEARN_SHARED_DATA"), variables("NILEARN_DATA"), "~/nilearn_data"
        for kept in filter(None, downloads):
            folder = Path(kept).expanduser() / "destrieux_surface"
            yield folder / "left.aparc.a2009s.annot", folder / "right.aparc.a2009s.annot"


def _read(path: Path) -> tuple[Indices, dict[int, str]]:
    """Read the code of each vertex, and the name of each code."""
    try:
        import nibabel
        from nibabel.freesurfer.io import read_annot
    except ImportError:
        raise InputError("library.absent").says(NO_LIBRARY, INSTALL_BRAIN) from None
    try:
        if path.name.endswith(".annot"):
            codes, _, names = read_annot(path)
            return np.asarray(codes, np.intp), dict(enumerate(name.decode() for name in names))
        image = nibabel.GiftiImage.from_filename(path)
        codes, table = image.agg_data(), image.labeltable.get_labels_as_dict()
        return np.asarray(codes, np.intp), {int(k): str(name) for k, name in table.items()}
    except Exception as error:  # for a damaged file, nibabel may raise any kind of error
        raise InputError("surface.unreadable", file=path, cause=error).says(
            "{file} cannot be read ({cause})", "Give an .annot of FreeSurfer, or a .label.gii."
        ) from error


def _with_side(name: str, hemisphere: str) -> str:
    """Return a name with its side, such as ``lh_insula``; a name that has a side is kept."""
    plain = name.removesuffix("_ROI")  # a suffix in the atlas of Glasser
    parts = plain.replace("-", "_").split("_")
    if {"lh", "rh", "LH", "RH", "L", "R"} & {*parts[:2], parts[-1]}:
        return plain
    return f"{hemisphere}_{plain}"
