"""A figure of the edge weights that discriminative learning changed, like the paper's Fig. 5."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from sgbn.core.exceptions import InputError
from sgbn.viz.style import (
    LOW,
    add_legend_below,
    check_axes,
    columns,
    literal,
    method_styles,
    note,
    size_points,
)

FONT_SIZES = 3.5, 8.0  # points; smaller names cannot be read, and larger names are not needed
LINE_HEIGHT = 1.25  # distance of names in font sizes; closer names touch
SHADE = "0.94"  # grey behind every second group


class Row(NamedTuple):
    """An edge of one group, and its change by each method that changed it."""

    group: str
    source: str
    target: str
    changes: dict[str, float]


def plot_changes(
    ax: Axes,
    changes: Mapping[str, Any],
    *,
    top: int = 30,
    supported: Collection[tuple[str, str, str]] = (),
) -> Axes:
    """Draw how much each method changed the weights: one row per edge, one marker per method.

    The edges with the largest mean change over the methods are shown, sorted by group and then by
    size. A line joins the markers of an edge. It is dotted if methods changed the weight in
    opposite directions.

    Parameters
    ----------
    ax : Axes
        Axes to draw on.
    changes : mapping of method to structured array, mapping or DataFrame
        Result of `edge_changes` for each method: columns class, source, target and difference. If a
        method does not list an edge, it did not change the edge.
    top : int
        Number of edges to show.
    supported : collection of (class, source, target)
        Edges whose direction is supported. They are named "a → b", and other edges "a – b".

    Returns
    -------
    Axes
        The axes `ax`.
    """
    check_axes(ax, "plot_changes")
    if top < 1:
        raise InputError(f"top is {top}. Give a number of edges, at least 1.")
    rows = _rows(changes)
    # Sorted by name, because the order of first appearance depends on the order of the methods.
    groups = sorted({row.group for row in rows})
    chosen = sorted(rows, key=lambda row: -_size(row, len(changes)))[:top]
    chosen.sort(key=lambda row: groups.index(row.group))  # a stable sort, by size within a group
    styles = method_styles(changes)
    _separate_groups(ax, [row.group for row in chosen])
    for place, row in enumerate(chosen):
        _draw_row(ax, place, row, styles)
    ax.axvline(0.0, color="0.3", lw=0.7, zorder=1)
    _name_edges(ax, chosen, supported)
    ax.set_xlabel("change of the weight, in standard deviations", fontsize=8)
    ax.tick_params(axis="x", labelsize=7)
    if len(rows) > len(chosen):
        ax.set_title(f"the {len(chosen)} most changed of {len(rows)} edges", fontsize=9)
    entries: dict[str, Artist] = {
        name: Line2D([], [], ls="none", marker=style["marker"], color=style["color"], ms=5)
        for name, style in styles.items()
    }
    if any(_opposite(row) for row in chosen):
        entries["in opposite directions"] = Line2D([], [], color=LOW, ls=":", lw=1.2)
    add_legend_below(ax, entries, 30, ncols=len(entries), fontsize=8)
    return ax


def _rows(changes: Mapping[str, Any]) -> list[Row]:
    """Return one row for every edge that at least one method changed."""
    rows: dict[tuple[str, str, str], Row] = {}
    for method, table in changes.items():
        fields = columns(table, "class", "source", "target", "difference")
        for group, source, target, difference in zip(*fields, strict=True):
            key = str(group), str(source), str(target)
            rows.setdefault(key, Row(*key, {})).changes[method] = float(difference)
    return list(rows.values())


def _size(row: Row, n_methods: int) -> float:
    # The mean over all methods: a method that did not change the edge counts as 0.
    return sum(map(abs, row.changes.values())) / n_methods


def _opposite(row: Row) -> bool:
    return min(row.changes.values()) < 0 < max(row.changes.values())


def _draw_row(ax: Axes, place: int, row: Row, styles: Mapping[str, dict[str, Any]]) -> None:
    ends = min(0.0, *row.changes.values()), max(0.0, *row.changes.values())
    look = {"color": LOW, "ls": ":"} if _opposite(row) else {"color": "0.7", "ls": "-"}
    ax.plot(ends, (place, place), lw=1.2, zorder=1.5, **look)  # type: ignore[arg-type]
    for method, change in row.changes.items():
        style = {name: styles[method][name] for name in ("color", "marker")}
        ax.plot(change, place, ls="none", ms=5, mec="white", mew=0.4, zorder=2, **style)


def _separate_groups(ax: Axes, groups: list[str]) -> None:
    """Shade every second group, and write the name of each group at the right."""
    for number, group in enumerate(dict.fromkeys(groups)):
        first, size = groups.index(group), groups.count(group)
        if number % 2:
            ax.axhspan(first - 0.5, first + size - 0.5, facecolor=SHADE, lw=0, zorder=0)
        look = {"rotation": 270, "ha": "left", "va": "center", "fontsize": 9, "weight": "bold"}
        note(ax, group, (1.0, first + (size - 1) / 2), (4, 0), ("axes fraction", "data"), **look)


def _name_edges(ax: Axes, rows: list[Row], supported: Collection[tuple[str, str, str]]) -> None:
    font_size = size_points(ax)[1] / max(len(rows), 1) / LINE_HEIGHT
    signs = ["→" if row[:3] in supported else "–" for row in rows]
    names = [
        literal(f"{row.source} {sign} {row.target}") for row, sign in zip(rows, signs, strict=True)
    ]
    ax.set_yticks(range(len(rows)), names, fontsize=float(np.clip(font_size, *FONT_SIZES)))
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    ax.grid(axis="y", color="0.88", lw=0.4)
    ax.set_axisbelow(True)
