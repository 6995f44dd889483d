"""Figures of networks as matrices, with regions ordered by lobe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike, NDArray

from sgbn.cohort.cohort import check_region
from sgbn.core.types import Array, Mask
from sgbn.write.draw.circle import by_lobe, check_kinds, kind_entry
from sgbn.write.draw.style import (
    ACCENTS,
    CHARACTER,
    DIVERGING,
    KIND_STYLES,
    add_legend_below,
    check_axes,
    check_figure,
    check_weights,
    largest,
    literal,
    size_points,
    spread,
)
from sgbn.write.tables import check_shape

FONT_SIZES = 3.0, 8.0  # points; smaller names cannot be read, and larger names are not needed
LINE_HEIGHT = 1.05  # distance of names in font sizes; closer names touch
BANDS = ACCENTS[:2]  # the other accents are pale, and would look like weak weights
BELOW_CELLS = -1.0  # zorder; a band over a cell would change the colour that shows its weight
FAINT = 0.55  # opacity of symbols of cells that are not marked
FILLS = 0.15, 0.5  # opacity of cells without a change, and with the largest change
SYMBOL = 0.62  # size of the symbol of a kind of change, as a share of the cell
SYMBOLS = 3.0, 9.0  # points; smallest and largest size of these symbols
USUAL_SIDE = 300.0  # points; a larger matrix has a title in a larger font


def plot_matrix(
    ax: Axes,
    weights: ArrayLike,
    names: Sequence[str],
    lobes: Sequence[str],
    *,
    limit: float | None = None,
    title: str = "",
    highlight: Sequence[str] = (),
    marked: ArrayLike | None = None,
    kinds: ArrayLike | None = None,
) -> Axes:
    """Draw a network as a matrix: row i and column j show the weight i -> j.

    Regions are grouped by lobe, with a box around each lobe.

    Parameters
    ----------
    ax : Axes
        Axes to draw on. If there is no room for all names in a font of at least 3 points, only the
        names in `highlight` are shown.
    weights : array-like of shape (m, m)
        ``weights[i, j]`` is the edge i -> j; 0 means no edge.
    names, lobes : sequence of str
        Region and lobe of each variable; "" means that it has none.
    limit : float, optional
        Weight of the strongest colour; by default the largest weight.
    title : str
        Title of the figure.
    highlight : sequence of str
        Names of the regions whose rows, columns and names are emphasised.
    marked : array-like of bool, shape (m, m), optional
        True for cells with an outline, such as significant differences.
    kinds : array-like of str, shape (m, m), optional
        Kind of change of each edge, if `weights` are changes from one group to another; see
        `sgbn.inference.kinds_of_change`. A cell has the colour and symbol of its kind, and a larger
        change has a stronger colour. Symbols of cells that are not in `marked` are paler.

    Returns
    -------
    Axes
        The axes `ax`.
    """
    check_axes(ax, "plot_matrix")
    weights = check_weights(weights, names=names, lobes=lobes)
    order = [k for _, regions in by_lobe(lobes, range(len(lobes))) for k in regions]
    limit = largest(weights, limit)
    ordered = weights[np.ix_(order, order)]
    if kinds is None:
        # Masked cells are transparent and show the bands.
        ax.imshow(np.ma.masked_equal(ordered, 0.0), cmap=DIVERGING, vmin=-limit, vmax=limit)
    side = min(size_points(ax))
    cell_size = side / max(len(order), 1)  # points
    large = float(np.clip(side / USUAL_SIDE, 0.8, 1.8))
    ax.set_title(literal(title), fontsize=10 * large)
    ax.set_xlabel("to", fontsize=8 * large, labelpad=1)
    ax.set_ylabel("from", fontsize=8 * large, labelpad=1)
    for region in highlight:
        check_region(region, names)
    emphasised = dict(zip(highlight, cycle(BANDS), strict=False))
    _name_regions(ax, [names[k] for k in order], emphasised, cell_size)
    _box_lobes(ax, [lobes[k] for k in order], 6.0 * large, cell_size)
    cells = np.zeros(weights.shape, bool) if marked is None else np.asarray(marked, dtype=bool)
    check_shape("marked", cells.shape, weights.shape)
    outlined = cells[np.ix_(order, order)]
    if kinds is not None:
        named = check_kinds(kinds, weights)[np.ix_(order, order)]
        _draw_kinds(ax, ordered, named, outlined, limit, cell_size)
        below = CHARACTER * _font(cell_size) * max(map(len, names), default=0) + 16 * large
        drawn = set(named[np.nan_to_num(ordered) != 0].tolist())
        entries = {kind: kind_entry(kind, line=False) for kind in KIND_STYLES if kind in drawn}
        add_legend_below(ax, entries, below, ncols=5, fontsize=7 * large)
    boxes = [Rectangle((column - 0.5, row - 0.5), 1, 1) for row, column in np.argwhere(outlined)]
    width = float(np.clip(cell_size / 8, 0.5, 1.2))
    ax.add_collection(PatchCollection(boxes, facecolor="none", edgecolor="black", lw=width))
    return ax


def _draw_kinds(
    ax: Axes, changes: Array, kinds: NDArray[np.str_], marked: Mask, limit: float, cell_size: float
) -> None:
    """Fill the cells of changes with the colours of their kinds, and draw their symbols."""
    picture = np.zeros((*changes.shape, 4))
    sizes = np.clip(np.abs(np.nan_to_num(changes)) / limit, 0.0, 1.0)
    area = float(np.clip(SYMBOL * cell_size, *SYMBOLS)) ** 2
    for kind, style in KIND_STYLES.items():
        of_kind = (kinds == kind) & (sizes > 0)
        if not of_kind.any():
            continue
        picture[of_kind, :3] = to_rgb(style.colour)
        picture[of_kind, 3] = FILLS[0] + (FILLS[1] - FILLS[0]) * sizes[of_kind]
        rows, across = np.nonzero(of_kind)
        alpha = np.where(marked[of_kind], 1.0, FAINT)
        look = {"marker": style.marker, "color": style.colour, "linewidths": 0, "zorder": 3}
        ax.scatter(across, rows, s=area, alpha=alpha, **look)  # type: ignore[arg-type]
    ax.imshow(picture)


def _font(cell_size: float) -> float:
    """Return the font size of names beside cells of `cell_size` points."""
    return float(np.clip(cell_size / LINE_HEIGHT, *FONT_SIZES))


def _name_regions(
    ax: Axes, names: Sequence[str], accents: Mapping[str, str], cell_size: float
) -> None:
    """Write names beside rows and columns; if not all fit, write only the emphasised names."""
    fits, size = cell_size / LINE_HEIGHT >= FONT_SIZES[0], _font(cell_size)
    places = [k for k, name in enumerate(names) if fits or name in accents]
    shown = [literal(names[k]) for k in places]
    ax.set_yticks(places, shown, fontsize=size)
    ax.set_xticks(places, shown, fontsize=size, rotation=90)
    ax.tick_params(length=0, pad=1)
    for ticks in (ax.get_yticklabels(), ax.get_xticklabels()):
        for place, label in zip(places, ticks, strict=True):
            if names[place] in accents:
                label.set(weight="bold", fontsize=max(size, FONT_SIZES[0] + 1))
    for place, name in enumerate(names):
        if name in accents:
            for span in (ax.axhspan, ax.axvspan):
                edges = place - 0.5, place + 0.5
                span(*edges, facecolor=accents[name], alpha=0.25, lw=0, zorder=BELOW_CELLS)


def _box_lobes(ax: Axes, lobes: Sequence[str], fontsize: float, cell_size: float) -> None:
    """Draw a box around each lobe, and write its name beside the matrix."""
    middles = []
    shown = list(dict.fromkeys(filter(None, lobes)))
    for lobe in shown:
        first, size = lobes.index(lobe), lobes.count(lobe)
        corner = first - 0.5, first - 0.5
        ax.add_patch(Rectangle(corner, size, size, fill=False, ec="0.25", lw=0.8))
        middles.append(first + size / 2 - 0.5)
    # Names are moved apart, because names of small lobes would overlap.
    apart = spread(middles, [LINE_HEIGHT * fontsize / max(cell_size, 0.1)] * (len(shown) - 1))
    for lobe, place in zip(shown, apart, strict=True):
        style = {"fontsize": fontsize, "va": "center", "color": "0.25"}
        ax.text(len(lobes) - 0.2, float(place), literal(lobe), **style)  # type: ignore[arg-type]


def plot_recovery(
    figure: Figure,
    true: Mapping[str, ArrayLike],
    learned: Mapping[str, ArrayLike],
    names: Sequence[str],
    lobes: Sequence[str],
) -> NDArray[np.object_]:
    """Draw the true and the learned networks of two groups, with their differences below.

    Parameters
    ----------
    figure : Figure
        Figure to draw on, which must be empty.
    true, learned : mapping of group to weights
        Standardised weights of the same two groups.
    names, lobes : sequence of str
        Region and lobe of each variable.

    Returns
    -------
    ndarray of Axes of shape (3, 2)
        One row per group, and one row for their difference. True networks are at the left.
    """
    check_figure(figure, "plot_recovery")
    first, second = true
    axes: NDArray[np.object_] = figure.subplots(3, 2)
    # One scale for all panels, so that their colours can be compared.
    limit = max(np.abs(np.asarray(w)).max() for w in (*true.values(), *learned.values()))
    for column, (label, weights) in enumerate((("true", true), ("learned", learned))):
        panels = {first: weights[first], second: weights[second]}
        panels[f"{second} minus {first}"] = np.asarray(weights[second]) - np.asarray(weights[first])
        for row, (panel, values) in enumerate(panels.items()):
            plot_matrix(
                axes[row, column], values, names, lobes, limit=limit, title=f"{panel}, {label}"
            )
    picture = axes[0, 0].images[0]
    bar = figure.colorbar(picture, ax=axes, orientation="horizontal", shrink=0.5, aspect=40)
    bar.set_label("weight per standard deviation")
    bar.ax.tick_params(labelsize=7)
    return axes
