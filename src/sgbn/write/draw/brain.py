"""The glass brain: the strongest edges of a network as arrows and lines in four views."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from runpy import run_path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Ellipse, Patch, PathPatch
from matplotlib.path import Path
from matplotlib.transforms import IdentityTransform
from numpy.typing import ArrayLike, NDArray

from sgbn.core.types import Array, Mask
from sgbn.write.draw.circle import Edge, add_arrow, arrow_entries, choose_edges, left_out
from sgbn.write.draw.style import (
    CHARACTER,
    add_legend,
    check_figure,
    check_weights,
    largest,
    literal,
    note,
    size_points,
)
from sgbn.write.tables import check_shape

BEND = 0.12  # bend of an arrow, so that i -> j and j -> i do not cover each other
MARGIN = 1.3  # size of the outline, relative to the box around the points
NODE = 9.0  # square points; area of the dot of a region with edges
FONT = 6.0  # points; font of the names of regions
MAX_NAMES = 10  # names per view, of the regions with the strongest edges


class View(NamedTuple):
    """A projection of the brain.

    Attributes
    ----------
    title : str
        Title of the view.
    across, up : int
        Indices of the coordinates that point right and up.
    direction : str
        Name of the view in nilearn.
    bounds : tuple of float
        Limits of both axes in mm (MNI): left, right, bottom, top.
    side : int
        -1 shows only edges of the left hemisphere, 1 only edges of the right, and 0 all edges.
    """

    title: str
    across: int
    up: int
    direction: str
    bounds: tuple[float, float, float, float]
    side: int = 0


VIEWS = (
    View("left: edges within", 1, 2, "l", (83, -113, -76, 87), -1),
    View("right: edges within", 1, 2, "r", (-113, 83, -76, 87), 1),
    View("top: all edges", 0, 1, "z", (-77, 77, -113, 80)),
    View("back: all edges", 0, 2, "y", (-77, 77, -77, 88)),
)
PANELS: list[Any] = [["left", "top", "back"], ["right", "top", "legend"]]


def plot_glass_brain(
    figure: Figure | SubFigure,
    weights: ArrayLike,
    coordinates: ArrayLike,
    *,
    supported: ArrayLike | None = None,
    kinds: ArrayLike | None = None,
    faint: bool = False,
    names: Sequence[str] | None = None,
    title: str = "",
    limit: float | None = None,
    strongest: int = 60,
) -> NDArray[np.object_]:
    """Draw edges in the brain, seen from the left, the right, the top and the back.

    A positive weight is red and a negative weight is blue; the width shows its size. An edge is an
    arrow if its direction is supported, and a line if not. The views from the left and the right
    show only edges between regions of that side. The outline of the brain comes from nilearn if it
    is installed. If the weights are changes, an edge has the colour, dash and symbol of its kind of
    change.

    Parameters
    ----------
    figure : Figure or SubFigure
        Figure to draw on, which should be about twice as wide as high.
    weights : array-like of shape (m, m)
        ``weights[i, j]`` is the edge i -> j; 0 means no edge.
    coordinates : array-like of shape (m, 3)
        Centre of each region in MNI space, in mm. A region without coordinates has NaN, and is left
        out with its edges.
    supported : array-like of bool, shape (m, m), optional
        True for edges whose direction is supported, such as `supported_` of an `SGBNEnsemble`.
        These edges are drawn as arrows. By default no edge is an arrow. If all directions are
        known, ``weights != 0`` draws all edges as arrows.
    kinds : array-like of str, shape (m, m), optional
        Kind of change of each edge, if `weights` are changes from one group to another; see
        `sgbn.inference.kinds_of_change`.
    faint : bool
        Whether to draw changes in grey and without their kinds, because no edge was found to
        differ.
    names : sequence of str, optional
        Names of the regions. The regions with the strongest edges are named, if there is space.
    title : str
        Title of the figure.
    limit : float, optional
        Weight of the widest arrow; by default the largest weight.
    strongest : int
        Number of edges to draw. The title says how many edges the network has.

    Returns
    -------
    ndarray of Axes of shape (4,)
        The views from the left, the right, the top and the back.
    """
    check_figure(figure, "plot_glass_brain")
    weights = check_weights(weights, names=names)
    places = np.asarray(coordinates, dtype=float)
    check_shape("coordinates", places.shape, (len(weights), 3))
    shown: Mask = np.asarray(np.isfinite(places).all(axis=1))
    edges, n_edges = choose_edges(
        weights, supported, strongest=strongest, shown=shown, kinds=kinds, faint=faint
    )
    limit = largest(weights, limit)
    panels = figure.subplot_mosaic(
        PANELS, width_ratios=(1.2, 1.6, 1), gridspec_kw={"wspace": 0.03, "hspace": 0.08}
    )
    axes = [panels[name] for name in ("left", "right", "top", "back")]
    for ax, view in zip(axes, VIEWS, strict=True):
        # The view of a side includes the midline.
        visible = shown & (np.nan_to_num(places[:, 0]) * view.side >= 0)
        _draw_view(ax, view, places[shown], places[visible])
        inside = [edge for edge in edges if visible[edge.source] and visible[edge.target]]
        _draw_edges(ax, inside, places[:, [view.across, view.up]], limit, faint)
        # The last view is too small for names, and the view from the top has the same regions.
        if names is not None and view is not VIEWS[-1]:
            _name_regions(ax, inside, places[:, [view.across, view.up]], names)
    panels["legend"].set_axis_off()
    entries = arrow_entries(supported is not None, limit, edges)
    # The legend begins at the left of its panel: if centred, it would cover the view from the top
    # in small figures. It may cross the right edge, because saved files show all that is drawn.
    add_legend(
        panels["legend"], entries, loc="center left", bbox_to_anchor=(-0.02, 0.5), fontsize=8
    )
    missing = int((~shown).sum())
    nowhere = f"{missing} region{'s' * (missing > 1)} without coordinates left out"
    below = [left_out(len(edges), n_edges), nowhere if missing else ""]
    lines = [literal(title), "; ".join(filter(None, below))]
    figure.suptitle("\n".join(filter(None, lines)), fontsize=10)
    return np.array(axes, dtype=object)


def _draw_view(ax: Axes, view: View, everywhere: Array, visible: Array) -> None:
    """Draw the outline of the brain, and one dot per region."""
    axes = [view.across, view.up]
    if not _draw_schematics(ax, view.direction) and len(everywhere):
        _draw_outline(ax, everywhere[:, axes])
    ax.scatter(visible[:, axes[0]], visible[:, axes[1]], s=NODE / 2, color="0.72", lw=0, zorder=1.5)
    left, right, bottom, top = view.bounds
    ax.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
    ax.set_axis_off()
    ax.set_title(view.title, fontsize=8, color="0.3", pad=2)


def _draw_schematics(ax: Axes, direction: str) -> bool:
    """Draw nilearn's outline of the brain; return False if this is not possible."""
    package = find_spec("nilearn")
    if package is None or package.origin is None:
        return False
    source = os.path.join(os.path.dirname(package.origin), "plotting", "glass_brain.py")
    try:
        lines = _schematics(source, direction)
    except Exception:  # another version of nilearn must not make a report fail
        return False
    ax.add_patch(PathPatch(lines, facecolor="none", edgecolor="0.75", linewidth=0.9, zorder=0.5))
    return True


@cache  # nilearn reads a file each time
def _schematics(source: str, direction: str) -> Path:
    """Return the lines of nilearn's brain in mm, as one path.

    Nilearn draws hundreds of patches, one for each piece of a line. They look the same as one path,
    but each patch takes as long to draw as an arrow.
    """
    # The file needs only matplotlib. An import would also load its package, which takes seconds.
    pieces = _Pieces()
    run_path(source)["plot_brain_schematics"](pieces, direction)
    return Path.make_compound_path(*pieces.paths)


class _Pieces:
    """A stand-in for axes that keeps the paths of patches, in the units of the data."""

    transData = IdentityTransform()  # noqa: N815 - the name that axes have

    def __init__(self) -> None:
        self.paths: list[Path] = []

    def get_facecolor(self) -> str:
        return "white"

    def add_patch(self, patch: Patch) -> None:
        self.paths.append(patch.get_transform().transform_path(patch.get_path()))


def _draw_outline(ax: Axes, points: Array) -> None:
    """Draw an ellipse around the points."""
    low, high = points.min(axis=0), points.max(axis=0)
    middle, (width, height) = tuple((low + high) / 2), MARGIN * (high - low)
    ax.add_patch(Ellipse(middle, width, height, fill=False, ec="0.75", lw=1, zorder=0.5))


def _draw_edges(ax: Axes, edges: Sequence[Edge], points: Array, limit: float, faint: bool) -> None:
    bend = -BEND if ax.xaxis_inverted() else BEND  # arrows bend in the units of the page
    style = {"connectionstyle": f"arc3,rad={BEND}", "shrinkA": 1.5, "shrinkB": 1.5, "zorder": 2}
    for edge in edges:
        start, stop = points[edge.source], points[edge.target]
        across, up = stop - start
        # rad of arc3 places the control point, which is twice as far away as the curve's middle.
        middle = (start + stop) / 2 + bend / 2 * np.array([up, -across])
        course = {"posA": tuple(start), "posB": tuple(stop)}
        add_arrow(ax, edge, limit, tuple(middle), faint=faint, **course, **style)
    ends = sorted({end for edge in edges for end in edge[:2]})
    ax.scatter(points[ends, 0], points[ends, 1], s=NODE, color="0.2", lw=0, zorder=2.5)


def _name_regions(ax: Axes, edges: Sequence[Edge], points: Array, names: Sequence[str]) -> None:
    """Write names beside dots if there is space, first for the regions with the strongest edges."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    width, height = size_points(ax)
    mm = max(abs(right - left) / width, (top - bottom) / height)  # mm per point
    outwards = 1.0 if right > left else -1.0
    # Centre, height and half width of each name that was written. Further names must not touch it.
    taken: list[tuple[float, float, float]] = []
    # Reversed, because the strongest edges come last in `edges`.
    for k in dict.fromkeys(end for edge in reversed(edges) for end in edge[:2]):
        x, y = points[k, 0] * outwards, points[k, 1]
        half = CHARACTER * FONT * mm * len(names[k]) / 2
        if len(taken) < MAX_NAMES and all(
            abs(x - other) > half + wide or abs(y - high) > 1.3 * FONT * mm
            for other, high, wide in taken
        ):
            taken.append((x, y, half))
            look: dict[str, Any] = {"fontsize": FONT, "ha": "center", "va": "bottom", "zorder": 3}
            text = note(ax, names[k], tuple(points[k]), (0, 2.5), **look)
            text.set_bbox({"facecolor": "white", "alpha": 0.6, "lw": 0, "pad": 0.2})
