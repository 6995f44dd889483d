"""The figure of the cortical surface: one value per region as a colour, in four views."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, to_rgb
from matplotlib.figure import Figure, SubFigure
from numpy.typing import ArrayLike, NDArray

from sgbn.cohort.atlas import Atlas, AtlasLike, as_atlas
from sgbn.core.exceptions import InputError, counted
from sgbn.core.types import Array, Indices, Mask
from sgbn.viz.parcellations import Parcellation, find_parcellation, read_parcellation
from sgbn.viz.style import DIVERGING, check_figure, largest, literal
from sgbn.viz.surface_mesh import SIDES, VIEWS, Picture, look

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
    parcels = _parcels(parcellation, atlas)
    values = np.asarray(values, dtype=float)
    chosen = np.zeros(len(names), bool) if marked is None else np.asarray(marked, dtype=bool)
    _check_lengths(names, values=values, marked=chosen)
    numbers = parcel_numbers(names, atlas, parcels)
    return draw_surface(
        figure, parcels, numbers, values, chosen, label=label, title=title, limit=limit
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
    palette = _palette(parcels, numbers, values, scale)
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
    first: dict[int, str] = {}
    for name, number in zip(names, numbers.tolist(), strict=True):
        if number in first:
            raise InputError(
                f"{first[number]!r} and {name!r} are the same region of {atlas.name}. Draw one "
                "measure at a time."
            )
        if number >= 0:
            first[number] = name
    return numbers


def _parcels(
    given: Parcellation | tuple[str | Path, str | Path] | None, atlas: Atlas
) -> Parcellation:
    if isinstance(given, Parcellation):
        return given
    return find_parcellation(atlas) if given is None else read_parcellation(*given)


def _check_lengths(names: Sequence[str], **per_region: NDArray[Any]) -> None:
    for what, array in per_region.items():
        if array.shape != (len(names),):
            raise InputError(
                f"{what} has shape {array.shape}, but there are {counted(len(names), 'name')}. "
                "Give one name and one value per region."
            )


def _palette(
    parcels: Parcellation, numbers: Indices, values: Array, scale: ScalarMappable
) -> Array:
    """Return one colour per region of a parcellation, and last the colour for no region."""
    palette = np.tile(to_rgb(NO_VALUE), (len(parcels.names) + 1, 1))
    shown = (numbers >= 0) & np.isfinite(values)
    palette[numbers[shown]] = np.asarray(scale.to_rgba(values[shown]))[:, :3]
    return palette


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
