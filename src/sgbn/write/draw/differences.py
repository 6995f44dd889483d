"""The forest plot: the most certain differences of edges between two groups, with intervals.

A figure of a permutation test: the values by chance, and the observed values.

A figure of the edge weights that discriminative learning changed, like the paper's Fig. 5.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from sgbn.core.problems import InputError
from sgbn.core.types import Array, Mask
from sgbn.core.validation import SHARE, Whole
from sgbn.write.draw.circle import kind_entry
from sgbn.write.draw.style import (
    ACCENTS,
    KIND_STYLES,
    LOW,
    add_legend_below,
    check_axes,
    columns,
    literal,
    method_styles,
    note,
    size_points,
)

FONT = 8.0  # points
MARKER = 7.5  # points
X_LABEL = "change of the weight per standard deviation; {share} interval of each edge alone"
NOT_SURE = "0.45"  # grey of the edges that were not found to differ, and so have no kind
LEGEND_BELOW = 34.0  # points; leaves space for the numbers and the name of the axis


class Row(NamedTuple):
    """One row of the plot, which is a tested edge.

    Attributes
    ----------
    name : str
        Source and target of the edge.
    kind : str
        Kind of change.
    change, error : float
        Change of the weight, and its standard error.
    weights : str
        Weights of both groups, as text.
    sure : bool
        Whether the pair was found to differ both ways.
    """

    name: str
    kind: str
    change: float
    error: float
    weights: str
    sure: bool


def plot_forest(
    ax: Axes,
    table: Any,
    reference: str,
    group: str,
    *,
    labels: Mapping[str, str] | None = None,
    top: int = 12,
    level: float = 0.05,
    title: str = "",
) -> Axes:
    """Draw the most certain differences: one row per edge, with the change and its interval.

    A pair differs "both ways" if its weight differs in whichever direction the edge is read
    (`q_both`). Colour and marker then show the kind of change. Other pairs are grey, with an empty
    marker. The weights of both groups are written at the right. Each
    interval is for one edge by itself: it is not corrected for the choice of the edges.

    Parameters
    ----------
    ax : Axes
        Axes to draw on.
    table : mapping, structured array or DataFrame
        A table such as `Comparison.differences`, the most certain difference first. It has the
        columns source, target, difference_std, standard_error, q_both, supported, ``kind_GROUP``,
        and ``weight_std_GROUP`` of both groups. With more than two groups, `difference_std` and
        `standard_error` must be for this pair of groups, as in `Comparison.tables.pairwise`.
    reference, group : str
        Names of the two groups. The change is from `reference` to `group`.
    labels : mapping of region to str, optional
        Names of regions in the figure; by default the names in the table.
    top : int
        Largest number of rows. Pairs that differ both ways come first, and then the others, each in
        the order of the table.
    level : float
        Largest `q_both` of a pair that counts as different. The confidence of the intervals is
        ``1 - level``.
    title : str
        Title of the figure.

    Returns
    -------
    Axes
        The axes `ax`.
    """
    check_axes(ax, "plot_forest")
    Whole(1).check("top", top)
    rows = _rows(table, reference, group, labels or {}, level)[:top]
    ax.axvline(0.0, color="0.3", lw=0.8, zorder=1)
    for place, row in enumerate(rows):
        _draw_row(ax, place, row, float(ndtri(1 - level / 2)))
    ax.set_yticks(range(len(rows)), [literal(row.name) for row in rows], fontsize=FONT)
    ax.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", labelsize=FONT - 1)
    ax.grid(axis="y", color="0.9", lw=0.5)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_xlabel(X_LABEL.format(share=f"{100 * (1 - level):.3g} %"), fontsize=FONT)
    ax.set_title(literal(title), fontsize=FONT + 1.5, pad=18)
    _write(ax, (1.0, 1.0), (8, 4), f"weight: {reference} → {group}", va="bottom", color="0.3")
    add_legend_below(ax, _entries(rows), LEGEND_BELOW, ncols=3, fontsize=FONT)
    return ax


def surest_first(q_both: NDArray[Any], level: float) -> tuple[NDArray[np.intp], Mask]:
    """Return the order of the edges, and marks of the edges that differ both ways.

    Edges that differ both ways come first.
    """
    # A pair that was not tested has NaN, and no comparison with NaN is true.
    sure: Mask = np.asarray(q_both, dtype=float) <= level
    return np.argsort(~sure, kind="stable"), sure


def _rows(
    table: Any, reference: str, group: str, labels: Mapping[str, str], level: float
) -> list[Row]:
    names = ("source", "target", "supported", f"kind_{group}", "difference_std", "standard_error")
    weights = f"weight_std_{reference}", f"weight_std_{group}"
    *per_edge, before, after, q_both = columns(table, *names, *weights, "q_both")
    order, sure = surest_first(q_both, level)
    rows = []
    for k in order.tolist():
        source, target, supported, kind, change, error = (column[k] for column in per_edge)
        ends = (labels.get(str(end), str(end)) for end in (source, target))
        name = (" → " if supported else " – ").join(ends)
        pair = f"{_rounded(before[k])} → {_rounded(after[k])}"
        rows.append(Row(name, str(kind), float(change), float(error), pair, bool(sure[k])))
    return rows


def _rounded(weight: Any) -> str:
    # Adding 0.0 turns minus zero into zero.
    return f"{round(float(weight), 2) + 0.0:.2f}".replace("-", "−")


def _draw_row(ax: Axes, place: int, row: Row, errors: float) -> None:
    """Draw one row; its interval extends `errors` standard errors to each side."""
    colour, marker = NOT_SURE, "o"
    if row.sure:
        colour, marker = KIND_STYLES[row.kind].colour, KIND_STYLES[row.kind].marker
    ends = row.change - errors * row.error, row.change + errors * row.error
    ax.plot(ends, (place, place), color=colour, lw=2.0 if row.sure else 1.2, zorder=2)
    look = {"mfc": colour if row.sure else "white", "mec": colour, "mew": 1.2}
    ax.plot(row.change, place, marker, ms=MARKER, zorder=3, **look)  # type: ignore[arg-type]
    _write(ax, (1.0, place), (8, 0), row.weights, va="center")


def _write(
    ax: Axes, place: tuple[float, float], offset: tuple[float, float], text: str, **more: Any
) -> None:
    """Write text at the right of the axes: a heading at their top, or text beside a row."""
    up = "axes fraction" if more["va"] == "bottom" else "data"
    note(ax, text, place, offset, ("axes fraction", up), ha="left", fontsize=FONT, **more)


def _entries(rows: list[Row]) -> dict[str, Artist]:
    """Return the entries of the legend: the kinds that are drawn, and the empty marker."""
    kinds = [kind for kind in KIND_STYLES if any(row.sure and row.kind == kind for row in rows)]
    entries: dict[str, Artist] = {kind: kind_entry(kind, line=False) for kind in kinds}
    if not all(row.sure for row in rows):
        empty = Line2D([], [], ls="none", marker="o", mfc="white", mec=NOT_SURE, mew=1.2)
        entries["empty: not found to differ both ways"] = empty
    return entries


BINS = 12, 40  # smallest and largest number of bins
COLOURS = (LOW, *ACCENTS)  # colours and dashes of the observed values, in turn
LINES = "-", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (6, 2))
ROUND_OFF = 1e-9  # tolerance before rounding: as a float, 0.07 * 100 is a little more than 7


def plot_permutations(
    ax: Axes,
    null: ArrayLike,
    observed: float | Mapping[str, float],
    *,
    level: float = 0.05,
    label: str = "statistic",
) -> Axes:
    """Draw the histogram of a permutation null, the observed values and the threshold.

    A large value is evidence against the null. The p-value of an observed value is the share of
    permutations that reach it; the observed value counts as one of them. Beyond the threshold, p is
    at most `level`.

    Parameters
    ----------
    ax : Axes
        Axes to draw on.
    null : array-like of shape (n_permutations,)
        Statistic of each permutation.
    observed : float, or mapping of name to float
        Statistic of the data, or several statistics by name.
    level : float
        Largest p-value that counts as significant.
    label : str
        Name of the statistic.

    Returns
    -------
    Axes
        The axes `ax`.
    """
    check_axes(ax, "plot_permutations")
    values = np.asarray(null, dtype=float).ravel()
    if not len(values) or not np.isfinite(values).all():
        raise InputError("null.values", n=len(values)).says(
            "null holds {n:value} that are not all finite", "Give one number per permutation."
        )
    SHARE.check("level", level)
    given = dict(observed) if isinstance(observed, Mapping) else {"observed": float(observed)}
    # By the usual square-root rule, within limits: too many bins would mostly show noise.
    bins = int(np.clip(math.sqrt(len(values)), *BINS))
    ax.hist(values, bins=bins, color="0.78", edgecolor="white", lw=0.4)
    entries: dict[str, Artist] = {f"{len(values)} permutations": Patch(color="0.78")}
    limit = threshold(values, level)
    if limit is None:
        needed = math.ceil(1 / level - ROUND_OFF) - 1
        entries[f"p ≤ {level:g} needs {needed} permutations"] = Line2D([], [], ls="none")
    else:
        entries[f"p ≤ {level:g} beyond this line"] = ax.axvline(limit, color="0.2", lw=1.2, ls="--")
    for k, (name, value) in enumerate(given.items()):
        # The data count as one of the permutations, so that p is never 0 (Phipson and Smyth 2010).
        p = (1 + np.count_nonzero(values >= value)) / (1 + len(values))
        look: dict[str, Any] = {"color": COLOURS[k % len(COLOURS)], "ls": LINES[k % len(LINES)]}
        entries[f"{name}: {value:.3g}, p = {p:.2g}"] = ax.axvline(value, lw=2, **look)
    ax.set_xlabel(literal(label), fontsize=9)
    ax.set_ylabel("permutations", fontsize=9)
    ax.tick_params(labelsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    ax.margins(x=0.08)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    add_legend_below(ax, entries, 32, fontsize=8, ncols=2)
    return ax


def threshold(null: Array, level: float) -> float | None:
    """Return the value beyond which p is at most `level`; None if permutations are too few."""
    # The number of permutations that may reach a significant value.
    allowed = math.floor(level * (len(null) + 1) + ROUND_OFF) - 1
    return float(np.sort(null)[::-1][allowed]) if allowed >= 0 else None


FONT_SIZES = 3.5, 8.0  # points; smaller names cannot be read, and larger names are not needed
LINE_HEIGHT = 1.25  # distance of names in font sizes; closer names touch
SHADE = "0.94"  # grey behind every second group


class ChangeRow(NamedTuple):
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
    Whole(1).check("top", top)
    rows = _change_rows(changes)
    # Sorted by name, because the order of first appearance depends on the order of the methods.
    groups = sorted({row.group for row in rows})
    # By the mean over all methods: a method that did not change the edge counts as 0.
    chosen = sorted(rows, key=lambda row: -sum(map(abs, row.changes.values())) / len(changes))[:top]
    chosen.sort(key=lambda row: groups.index(row.group))  # a stable sort, by size within a group
    styles = method_styles(changes)
    _separate_groups(ax, [row.group for row in chosen])
    for place, row in enumerate(chosen):
        _draw_change(ax, place, row, styles)
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


def _change_rows(changes: Mapping[str, Any]) -> list[ChangeRow]:
    """Return one row for every edge that at least one method changed."""
    rows: dict[tuple[str, str, str], ChangeRow] = {}
    for method, table in changes.items():
        fields = columns(table, "class", "source", "target", "difference")
        for group, source, target, difference in zip(*fields, strict=True):
            key = str(group), str(source), str(target)
            rows.setdefault(key, ChangeRow(*key, {})).changes[method] = float(difference)
    return list(rows.values())


def _opposite(row: ChangeRow) -> bool:
    return min(row.changes.values()) < 0 < max(row.changes.values())


def _draw_change(
    ax: Axes, place: int, row: ChangeRow, styles: Mapping[str, dict[str, Any]]
) -> None:
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


def _name_edges(
    ax: Axes, rows: list[ChangeRow], supported: Collection[tuple[str, str, str]]
) -> None:
    font_size = size_points(ax)[1] / max(len(rows), 1) / LINE_HEIGHT
    texts = (f"{row.source} {'→' if row[:3] in supported else '–'} {row.target}" for row in rows)
    names = list(map(literal, texts))
    ax.set_yticks(range(len(rows)), names, fontsize=float(np.clip(font_size, *FONT_SIZES)))
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    ax.grid(axis="y", color="0.88", lw=0.4)
    ax.set_axisbelow(True)


def draw_forests(
    figure: Figure,
    tables: Mapping[str, Any],
    titles: Mapping[str, str],
    reference: str,
    **more: Any,
) -> None:
    """Draw a forest plot per group, one above the other; `more` is for `plot_forest`."""
    # Rows have the same height in all groups. The title and the axis need the height of 3 rows.
    heights = [max(len(table), 1) + 3 for table in tables.values()]
    axes = figure.subplots(len(tables), squeeze=False, height_ratios=heights, sharex=True)
    for ax, (group, table) in zip(axes.flat, tables.items(), strict=True):
        plot_forest(ax, table, reference, group, title=titles[group], top=len(table), **more)
        # By default, plots that share the x axis show its numbers only below the last plot.
        ax.tick_params(labelbottom=True)
