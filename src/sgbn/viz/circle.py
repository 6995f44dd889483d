"""The circular figure of a network: regions on a circle, by lobe, and edges as curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Wedge
from matplotlib.path import Path
from numpy.typing import ArrayLike

from sgbn.core.exceptions import InputError
from sgbn.core.types import Array
from sgbn.viz.arrows import Edge, add_arrow, arrow_entries, choose_edges, left_out
from sgbn.viz.style import (
    CHARACTER,
    add_legend_below,
    check_axes,
    check_weights,
    largest,
    lay_out,
    literal,
    size_points,
)

GAP = 1.5  # space between two lobes, in widths of a region
FONT_SIZES = 3.5, 6.0  # points; smaller names cannot be read, and larger names are not needed
LOBE_FONTS = 5.5, 8.0  # points; smallest and largest font of the names of lobes
# In a smaller circle, the name of a lobe may have to point outwards, and the circle shrinks again.
MAX_PASSES = 3
LINE_HEIGHT = 1.1  # distance of names in font sizes; closer names touch
RING = 0.035  # width of the lobes' arcs, in radii
OUTSIDE = 1 + 2 * RING  # distance from the centre where names begin, in radii
PULL = 0.45  # bend of an edge towards the centre; 0 is a straight line
SHADES = "0.35", "0.6"  # greys of neighbouring lobes
MAX_LETTERS_PER_LINE = 16  # a longer name of a lobe has two lines if it points outwards


class Arc(NamedTuple):
    """The part of the circle that belongs to one lobe.

    `start` and `stop` are angles in degrees, clockwise from the top.
    """

    lobe: str
    regions: list[int]
    start: float
    stop: float


class Size(NamedTuple):
    """The radius of the circle and the sizes of fonts, in points.

    If `font` is 0, the names of regions are not shown.
    """

    radius: float
    font: float
    lobe_font: float


def plot_circle(
    ax: Axes,
    weights: ArrayLike,
    names: Sequence[str],
    lobes: Sequence[str],
    *,
    supported: ArrayLike | None = None,
    kinds: ArrayLike | None = None,
    faint: bool = False,
    hemispheres: Sequence[str] | None = None,
    limit: float | None = None,
    title: str = "",
    labels: Literal["auto", "all", "none"] = "auto",
    strongest: int | None = None,
) -> Axes:
    """Draw a network on a circle: regions grouped by lobe, edges as arrows and lines.

    A positive weight is red and a negative weight is blue; the width shows its size. An edge is an
    arrow if its direction is supported, and a line if not. If the weights are changes, an edge has
    the colour, dash and symbol of its kind of change.

    Parameters
    ----------
    ax : Axes
        Axes to draw on, which should be about square.
    weights : array-like of shape (m, m)
        ``weights[i, j]`` is the edge i -> j; 0 means no edge.
    names, lobes : sequence of str
        Region and lobe of each variable; "" means that it has none.
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
    hemispheres : sequence of str, optional
        Hemisphere of each region. "L" is in the left half of the circle, "R" is in the right half,
        and all other regions are at the bottom.
    limit : float, optional
        Weight of the widest arrow; by default the largest weight.
    title : str
        Title of the figure.
    labels : {"auto", "all", "none"}
        Whether names of regions are shown; "auto" shows them if they are large enough to read.
    strongest : int, optional
        Number of edges to draw; all by default. The title says how many edges the network has.

    Returns
    -------
    Axes
        The axes `ax`.
    """
    check_axes(ax, "plot_circle")
    if labels not in ("auto", "all", "none"):
        raise InputError(f'labels is {labels!r}. Give "auto", "all" or "none".')
    weights = check_weights(weights, names=names, lobes=lobes, hemispheres=hemispheres)
    edges, n_edges = choose_edges(weights, supported, strongest=strongest, kinds=kinds, faint=faint)
    limit = largest(weights, limit)
    arcs = _arcs(lobes, hemispheres)
    angles = _angles(arcs, len(weights))
    ax.set_axis_off()
    text = "\n".join(filter(None, [literal(title), left_out(len(edges), n_edges)]))
    ax.set_title(text, fontsize=10)
    widest = None if kinds is None else limit
    entries = arrow_entries(supported is not None, widest, edges)
    add_legend_below(ax, entries, ncols=2 if kinds is None else 3, fontsize=7)
    lay_out(ax)  # sizes of names depend on the space that title and legend leave
    size = _fit(ax, names, arcs, labels)
    for edge in edges:
        _draw_edge(ax, edge, angles, limit, faint)
    lengths = np.array([CHARACTER * size.font * len(name) / size.radius for name in names])
    if size.font:
        for name, angle in zip(names, angles, strict=True):
            _write(ax, [name], angle, OUTSIDE, fontsize=size.font)
    _draw_arcs(ax, arcs)
    _name_lobes(ax, arcs, OUTSIDE + lengths, size)
    half = np.array(size_points(ax)) / (2 * size.radius)
    ax.set(xlim=(-half[0], half[0]), ylim=(-half[1], half[1]), aspect="equal")
    return ax


def _arcs(lobes: Sequence[str], hemispheres: Sequence[str] | None) -> list[Arc]:
    """Return the arcs of the lobes, clockwise from the top: right side, midline, left side."""
    if hemispheres is None:
        return _fill(_by_lobe(lobes, range(len(lobes))), 0.0, 360.0)
    sides = {side: [k for k, h in enumerate(hemispheres) if h == side] for side in "RL"}
    middle = [k for k, h in enumerate(hemispheres) if h not in ("L", "R")]
    right, below, left = (_by_lobe(lobes, part) for part in (sides["R"], middle, sides["L"]))
    # Clockwise, the left half runs upwards. It is mirrored, so that a region of the left side is
    # at the same height as the same region of the right side.
    mirrored = [(lobe, regions[::-1]) for lobe, regions in reversed(left)]
    width = 360.0 * _slots(below) / (_slots(right) + _slots(below) + _slots(left))
    first, last = 180 - width / 2, 180 + width / 2
    return [*_fill(right, 0, first), *_fill(below, first, last), *_fill(mirrored, last, 360)]


Groups = list[tuple[str, list[int]]]


def _by_lobe(lobes: Sequence[str], part: Sequence[int]) -> Groups:
    """Return the regions of each lobe; lobes have the order of first appearance in `lobes`."""
    regions = {lobe: [k for k in part if lobes[k] == lobe] for lobe in dict.fromkeys(lobes)}
    return [(lobe, places) for lobe, places in regions.items() if places]


def _slots(groups: Groups) -> float:
    """Return the length along the circle that groups of regions need, in widths of a region."""
    return sum(len(regions) + GAP for _, regions in groups)


def _fill(groups: Groups, start: float, stop: float) -> list[Arc]:
    """Return the arcs of groups that lie side by side between two angles."""
    step = (stop - start) / max(_slots(groups), 1.0)
    arcs, place = [], start + GAP * step / 2
    for lobe, regions in groups:
        arcs.append(Arc(lobe, regions, place, place + step * len(regions)))
        place += step * (len(regions) + GAP)
    return arcs


def _angles(arcs: Sequence[Arc], m: int) -> Array:
    """Return the angle of each region, in degrees clockwise from the top."""
    angles = np.zeros(m)
    for arc in arcs:
        step = (arc.stop - arc.start) / len(arc.regions)
        angles[arc.regions] = arc.start + step * (np.arange(len(arc.regions)) + 0.5)
    return angles


def _point(angle: float, radius: float = 1.0) -> tuple[float, float]:
    return radius * math.sin(math.radians(angle)), radius * math.cos(math.radians(angle))


def _fit(ax: Axes, names: Sequence[str], arcs: Sequence[Arc], labels: str) -> Size:
    """Return the sizes at which the names fill the space between the circle and the axes."""
    side = min(size_points(ax))
    lobe_font = float(np.clip(side / 50, *LOBE_FONTS))
    outer = side / 2 - 1.6 * lobe_font  # radius of the circle around all names of regions
    long = CHARACTER * max(map(len, names), default=0)
    # Largest font at which names do not touch, in radii
    share = 2 * np.pi / (LINE_HEIGHT * (len(names) + GAP * len(arcs)))
    radius = max(outer / (OUTSIDE + share * long), (outer - FONT_SIZES[1] * long) / OUTSIDE)
    font = min(share * radius, FONT_SIZES[1])
    if labels == "none" or (labels == "auto" and font < FONT_SIZES[0]):
        radius, font = outer / OUTSIDE, 0.0
    # A smaller circle has smaller fonts and shorter arcs, which changes the space for the names.
    for _ in range(MAX_PASSES):
        size = Size(radius, min(font, share * radius), lobe_font)
        needed = max((_beyond(arc, names, size) for arc in arcs), default=0.0)
        radius = max(min((side / 2 - needed) / OUTSIDE, radius), side / 6)
    font = min(font, share * radius)
    if labels == "auto" and 0 < font < FONT_SIZES[0]:  # the names of lobes left too little space
        return _fit(ax, names, arcs, "none")
    return Size(radius, font, lobe_font)


def _beyond(arc: Arc, names: Sequence[str], size: Size) -> float:
    """Return the space outside the circle, in points, for the names of a lobe and its regions."""
    regions = CHARACTER * size.font * max(len(names[k]) for k in arc.regions)
    if _fits_along(arc, size, OUTSIDE + regions / size.radius):
        return regions + 1.6 * size.lobe_font
    return regions + (1 + CHARACTER * max(map(len, _in_lines(arc.lobe)))) * size.lobe_font


def _in_lines(lobe: str) -> list[str]:
    """Return the lines of a lobe's name; a long name is cut at the space nearest its middle."""
    spaces = [place for place, letter in enumerate(lobe) if letter == " "]
    if len(lobe) <= MAX_LETTERS_PER_LINE or not spaces:
        return [lobe]
    cut = min(spaces, key=lambda place: abs(2 * place - len(lobe)))
    return [lobe[:cut], lobe[cut + 1 :]]


def _fits_along(arc: Arc, size: Size, radius: float) -> bool:
    """Return whether a lobe's name fits along the circle, between the neighbouring lobes."""
    length = np.radians(arc.stop - arc.start) * (1 + GAP / len(arc.regions)) * radius
    return bool(CHARACTER * size.lobe_font * (len(arc.lobe) + 1) / size.radius <= length)


def _draw_edge(ax: Axes, edge: Edge, angles: Array, limit: float, faint: bool) -> None:
    # Just inside the circle, so that heads do not cover the arcs of the lobes.
    ends = [_point(angles[k], 0.99) for k in (edge.source, edge.target)]
    mean = np.mean(ends, axis=0)
    through = (1 - PULL) * mean
    path = Path([ends[0], tuple(through), ends[1]], [Path.MOVETO, Path.CURVE3, Path.CURVE3])
    middle = tuple((mean + through) / 2)  # the middle of a quadratic curve
    add_arrow(ax, edge, limit, middle, faint=faint, path=path, zorder=2)


def _write(ax: Axes, lines: Sequence[str], angle: float, radius: float, **style: Any) -> None:
    """Write a name that points outwards and is not upside down."""
    left = 180 < angle % 360 < 360
    side = "right" if left else "left"
    ax.text(
        *_point(angle, radius),
        "\n".join(map(literal, lines)),
        rotation=(270 - angle if left else 90 - angle) % 360,
        rotation_mode="anchor",
        ha=side,
        multialignment=side,
        va="center",
        **style,
    )


def _draw_arcs(ax: Axes, arcs: Sequence[Arc]) -> None:
    for number, arc in enumerate(arcs):
        angles = 90 - arc.stop, 90 - arc.start
        shade = SHADES[number % 2]
        ax.add_patch(Wedge((0, 0), 1 + 1.5 * RING, *angles, width=RING, color=shade, lw=0))


def _name_lobes(ax: Axes, arcs: Sequence[Arc], ends: Array, size: Size) -> None:
    """Write the name of each lobe outside the names of its regions, which end at `ends`.

    The name is written along the circle if it fits, else it points outwards.
    """
    style: dict[str, Any] = {"fontsize": size.lobe_font, "weight": "bold", "color": "0.3"}
    for arc in arcs:
        angle = (arc.start + arc.stop) / 2
        end = ends[arc.regions].max()
        radius = end + size.lobe_font / size.radius
        if not _fits_along(arc, size, end):
            _write(ax, _in_lines(arc.lobe), angle, radius, **style)
            continue
        # Names in the lower part are turned, so that they are not upside down.
        below = 100 < angle % 360 < 260
        ax.text(
            *_point(angle, radius),
            literal(arc.lobe),
            rotation=(180 - angle if below else -angle) % 360,
            rotation_mode="anchor",
            ha="center",
            va="center",
            **style,
        )
