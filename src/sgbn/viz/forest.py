"""The forest plot: the most certain differences of edges between two groups, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from scipy.special import ndtri

from sgbn.core.exceptions import InputError
from sgbn.core.types import Mask
from sgbn.viz.arrows import kind_entry
from sgbn.viz.kind_styles import KIND_STYLES
from sgbn.viz.style import add_legend_below, check_axes, columns, literal, note

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
    if top < 1:
        raise InputError(f"top is {top}. Give a number of edges, at least 1.")
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
        rows.append(
            Row(
                (" → " if supported else " – ").join(ends),
                str(kind),
                float(change),
                float(error),
                f"{_rounded(before[k])} → {_rounded(after[k])}",
                bool(sure[k]),
            )
        )
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
