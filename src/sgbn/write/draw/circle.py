"""The circular figure of a network: regions on a circle, by lobe, and edges as curves.

Edges as arrows and lines: which edges are drawn, and their width, colour and dash.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, Wedge
from matplotlib.path import Path
from numpy.typing import ArrayLike, NDArray

from sgbn.core.problems import InputError, did_you_mean
from sgbn.core.types import Array, Mask
from sgbn.core.validation import NONE, OneOf, Whole
from sgbn.write.draw.style import (
    CHARACTER,
    KIND_STYLES,
    NEGATIVE,
    POSITIVE,
    add_legend_below,
    check_axes,
    check_weights,
    largest,
    lay_out,
    literal,
    size_points,
)
from sgbn.write.tables import check_shape

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
    OneOf("auto", "all", "none").check("labels", labels)
    weights = check_weights(weights, names=names, lobes=lobes, hemispheres=hemispheres)
    edges, n_edges = choose_edges(weights, supported, strongest=strongest, kinds=kinds, faint=faint)
    limit = largest(weights, limit)
    arcs = _arcs(lobes, hemispheres)
    angles = _angles(arcs, len(weights))
    ax.set_axis_off()
    text = "\n".join(filter(None, [literal(title), left_out(len(edges), n_edges)]))
    ax.set_title(text, fontsize=10)
    entries = arrow_entries(supported is not None, None if kinds is None else limit, edges)
    add_legend_below(ax, entries, ncols=2 if kinds is None else 3, fontsize=7)
    lay_out(ax)  # sizes of names depend on the space that title and legend leave
    size = _fit(ax, names, arcs, labels)
    for edge in edges:
        _draw_edge(ax, edge, angles, limit, faint)
    lengths = np.array([CHARACTER * size.font * len(name) / size.radius for name in names])
    if size.font:
        for name, angle in zip(names, angles, strict=True):
            _write(ax, [name], angle, OUTSIDE, fontsize=size.font)
    for number, arc in enumerate(arcs):
        ends, shade = (90 - arc.stop, 90 - arc.start), SHADES[number % 2]
        ax.add_patch(Wedge((0, 0), 1 + 1.5 * RING, *ends, width=RING, color=shade, lw=0))
    _name_lobes(ax, arcs, OUTSIDE + lengths, size)
    half = np.array(size_points(ax)) / (2 * size.radius)
    ax.set(xlim=(-half[0], half[0]), ylim=(-half[1], half[1]), aspect="equal")
    return ax


def _arcs(lobes: Sequence[str], hemispheres: Sequence[str] | None) -> list[Arc]:
    """Return the arcs of the lobes, clockwise from the top: right side, midline, left side."""
    if hemispheres is None:
        return _fill(by_lobe(lobes, range(len(lobes))), 0.0, 360.0)
    sides = {side: [k for k, h in enumerate(hemispheres) if h == side] for side in "RL"}
    middle = [k for k, h in enumerate(hemispheres) if h not in ("L", "R")]
    right, below, left = (by_lobe(lobes, part) for part in (sides["R"], middle, sides["L"]))
    # Clockwise, the left half runs upwards. It is mirrored, so that a region of the left side is
    # at the same height as the same region of the right side.
    mirrored = [(lobe, regions[::-1]) for lobe, regions in reversed(left)]
    width = 360.0 * _slots(below) / (_slots(right) + _slots(below) + _slots(left))
    first, last = 180 - width / 2, 180 + width / 2
    return [*_fill(right, 0, first), *_fill(below, first, last), *_fill(mirrored, last, 360)]


Groups = list[tuple[str, list[int]]]


def by_lobe(lobes: Sequence[str], part: Sequence[int]) -> Groups:
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
    turn = (270 - angle if left else 90 - angle) % 360
    style |= {"rotation_mode": "anchor", "ha": side, "multialignment": side, "va": "center"}
    ax.text(*_point(angle, radius), "\n".join(map(literal, lines)), rotation=turn, **style)


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
        turn = (180 - angle if below else -angle) % 360
        along = style | {"rotation_mode": "anchor", "ha": "center", "va": "center"}
        ax.text(*_point(angle, radius), literal(arc.lobe), rotation=turn, **along)


WIDTHS = 0.5, 2.4  # points; width of an edge without weight, and of the strongest edge
HEADS = 4.5, 2.4  # points; size of the head of an arrow of width 0, and increase per point of width
HEAD, NO_HEAD = "-|>,head_length=0.5,head_width=0.25", "-"
OPAQUE, FAINT = 0.85, 0.35  # opacity of usual edges, and of edges that are not significant
SYMBOL = 6.0  # points; size of the symbol of a kind of change
NOT_FOUND, GREY = "not found to differ", "0.5"


class Edge(NamedTuple):
    """An edge to draw: an arrow if its direction is supported, else a line.

    If the edge has a kind of change, `weight` is the change of its weight.
    """

    source: int
    target: int
    weight: float
    supported: bool
    kind: str = ""


def choose_edges(
    weights: Array,
    supported: ArrayLike | None = None,
    *,
    strongest: int | None = None,
    shown: Mask | None = None,
    kinds: ArrayLike | None = None,
    faint: bool = False,
) -> tuple[list[Edge], int]:
    """Return the edges to draw, and the number of all edges.

    The weakest edge comes first, so that stronger edges are drawn over it.

    Parameters
    ----------
    weights : ndarray of shape (m, m)
        ``weights[i, j]`` is the edge i -> j; 0 and NaN mean no edge.
    supported : array-like of shape (m, m), optional
        True for edges whose direction is supported. By default no direction is.
    strongest : int, optional
        Number of edges to draw, the strongest first; by default all edges.
    shown : ndarray of shape (m,), optional
        True for regions that have a place in the figure. An edge is drawn only if both its
        regions have a place.
    kinds : array-like of str, shape (m, m), optional
        Kind of change of each edge, if `weights` are changes.
    faint : bool
        True if no edge was found to differ. Then all edges get the kind `NOT_FOUND`.
    """
    (NONE | Whole(1)).check("strongest", strongest)
    heads = np.zeros(weights.shape, bool) if supported is None else np.asarray(supported, bool)
    check_shape("supported", heads.shape, weights.shape)
    sizes = np.nan_to_num(np.abs(weights))
    n_edges = int(np.count_nonzero(sizes))
    if shown is not None:
        sizes = sizes * np.outer(shown, shown)
    sources, targets = np.nonzero(sizes)
    # Keep the strongest edges and reverse them, because the last edge is drawn on top.
    order = np.argsort(-sizes[sources, targets], kind="stable")[:strongest][::-1]
    pairs = zip(sources[order].tolist(), targets[order].tolist(), strict=True)
    named = np.full(weights.shape, "") if kinds is None else check_kinds(kinds, weights)
    edges = [
        Edge(i, j, float(weights[i, j]), bool(heads[i, j]), NOT_FOUND if faint else named[i, j])
        for i, j in pairs
    ]
    return edges, n_edges


def check_kinds(kinds: ArrayLike, changes: Array) -> NDArray[np.str_]:
    """Return the kinds as an array; raise InputError unless each change has a known kind."""
    named: NDArray[np.str_] = np.asarray(kinds, dtype=str)
    check_shape("kinds", named.shape, changes.shape)
    for kind in np.unique(named[np.nan_to_num(changes) != 0]).tolist():
        if kind not in KIND_STYLES:
            near = did_you_mean(kind, list(KIND_STYLES))
            raise InputError("kinds.unknown", kind=kind, near=near).says(
                "kinds has {kind}", "{near}"
            )
    return named


def left_out(drawn: int, total: int) -> str:
    """Return the part of a title that says how many edges are drawn; "" if all are."""
    return "" if drawn == total else f"the strongest {drawn} of {total} edges"


def add_arrow(
    ax: Axes,
    edge: Edge,
    limit: float,
    middle: tuple[float, float],
    *,
    faint: bool = False,
    **shape: Any,
) -> FancyArrowPatch:
    """Draw an edge as an arrow or a line, and return its patch.

    The colour shows the sign of the weight, and the width shows its size. The edge has a head if
    its direction is supported. If the edge is a change, its kind gives colour, dash and symbol.

    Parameters
    ----------
    ax : Axes
        Axes to draw on.
    edge : Edge
        Edge to draw.
    limit : float
        Weight of the widest arrow.
    middle : tuple of float
        Place of the symbol of the kind of change.
    faint : bool
        True if the edge is not significant. Then it is drawn with less opacity.
    **shape
        Arguments of FancyArrowPatch that give its course: posA, posB and connectionstyle, or path.
    """
    share = min(abs(edge.weight) / limit, 1.0)
    width = WIDTHS[0] + (WIDTHS[1] - WIDTHS[0]) * share
    line = _look(edge.kind) if edge.kind else {"color": POSITIVE if edge.weight > 0 else NEGATIVE}
    patch = FancyArrowPatch(
        arrowstyle=HEAD if edge.supported else NO_HEAD,
        mutation_scale=HEADS[0] + HEADS[1] * width,
        linewidth=width,
        capstyle="butt",  # round ends would cover part of the dots, and fill the gaps of dashes
        joinstyle="miter",
        alpha=FAINT if faint else OPAQUE,
        **line,
        **shape,
    )
    ax.add_patch(patch)
    if edge.kind in KIND_STYLES:
        style = KIND_STYLES[edge.kind]
        look: dict[str, Any] = {"color": style.colour, "marker": style.marker, "ms": SYMBOL}
        ax.plot(*middle, mec="white", mew=0.4, zorder=2.4, alpha=patch.get_alpha(), **look)
    return patch


def arrow_entries(
    directions: bool, limit: float | None = None, edges: Sequence[Edge] = ()
) -> dict[str, Artist]:
    """Return the entries of a legend: signs or kinds of change, heads of arrows, and widths.

    Parameters
    ----------
    directions : bool
        Whether the figure shows which directions are supported.
    limit : float, optional
        Weight of the widest arrow. By default the legend has no widths.
    edges : sequence of Edge
        The edges that are drawn. If they are changes, the legend has their kinds.
    """

    def line(color: str = "0.3", lw: float = 1.5, **more: Any) -> Line2D:
        return Line2D([], [], color=color, lw=lw, **more)

    kinds = [kind for kind in (*KIND_STYLES, NOT_FOUND) if any(e.kind == kind for e in edges)]
    entries: dict[str, Artist] = {kind: kind_entry(kind) for kind in kinds}
    if not kinds:
        entries = {"positive weight": line(color=POSITIVE), "negative weight": line(color=NEGATIVE)}
    if directions:
        entries["arrow: direction supported"] = line(marker=">", ms=5)
        entries["line: direction not supported"] = line()
    if limit is not None:
        what = "change" if kinds else "weight"
        entries[f"{what} {limit:.2g}"] = line(lw=WIDTHS[1])
        entries[f"{what} {limit / 4:.2g}"] = line(lw=WIDTHS[0] + (WIDTHS[1] - WIDTHS[0]) / 4)
    return entries


def kind_entry(kind: str, *, line: bool = True) -> Line2D:
    """Return the entry of a legend for a kind of change: its symbol and, if `line`, its line."""
    look = _look(kind) | ({} if line else {"linestyle": "none"})
    marker = KIND_STYLES[kind].marker if kind in KIND_STYLES else "none"
    return Line2D([], [], lw=1.5, marker=marker, ms=SYMBOL, mew=0.4, **look)


def _look(kind: str) -> dict[str, Any]:
    """Return the colour and dash of a kind of change, as arguments of matplotlib."""
    if kind == NOT_FOUND:
        return {"color": GREY, "linestyle": "-"}
    style = KIND_STYLES[kind]
    return {"color": style.colour, "linestyle": (0, style.dash) if style.dash else "-"}
