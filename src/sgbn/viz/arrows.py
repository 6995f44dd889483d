"""Edges as arrows and lines: which edges are drawn, and their width, colour and dash."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch
from numpy.typing import ArrayLike, NDArray

from sgbn.core.exceptions import InputError, did_you_mean
from sgbn.core.types import Array, Mask
from sgbn.viz.kind_styles import KIND_STYLES
from sgbn.viz.style import NEGATIVE, POSITIVE

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
    if strongest is not None and strongest < 1:
        raise InputError(f"strongest is {strongest}. Give a number of edges, at least 1.")
    heads = np.zeros(weights.shape, bool) if supported is None else np.asarray(supported, bool)
    if heads.shape != weights.shape:
        raise InputError(
            f"supported has shape {heads.shape}, but weights has shape {weights.shape}. Give one "
            "value per pair of regions."
        )
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
    if named.shape != changes.shape:
        raise InputError(
            f"kinds has shape {named.shape}, but weights has shape {changes.shape}. Give one value "
            "per pair of regions."
        )
    for kind in np.unique(named[np.nan_to_num(changes) != 0]).tolist():
        if kind not in KIND_STYLES:
            raise InputError(f"kinds has {kind!r}. {did_you_mean(kind, list(KIND_STYLES))}")
    return named


def left_out(drawn: int, total: int) -> str:
    """Return the part of a title that says how many edges are drawn; "" if all are."""
    return "" if drawn == total else f"the strongest {drawn} of {total} edges"


def arrow(edge: Edge, limit: float, *, faint: bool = False, **shape: Any) -> FancyArrowPatch:
    """Return the arrow or line of an edge.

    The colour shows the sign of the weight, and the width shows its size. The edge has a head if
    its direction is supported. If the edge is a change, its kind gives colour and dash.

    Parameters
    ----------
    edge : Edge
        Edge to draw.
    limit : float
        Weight of the widest arrow.
    faint : bool
        True if the edge is not significant. Then it is drawn with less opacity.
    **shape
        Arguments of FancyArrowPatch that give its course: posA, posB and connectionstyle, or path.
    """
    share = min(abs(edge.weight) / limit, 1.0)
    width = WIDTHS[0] + (WIDTHS[1] - WIDTHS[0]) * share
    look = _look(edge.kind) if edge.kind else {"color": POSITIVE if edge.weight > 0 else NEGATIVE}
    return FancyArrowPatch(
        arrowstyle=HEAD if edge.supported else NO_HEAD,
        mutation_scale=HEADS[0] + HEADS[1] * width,
        linewidth=width,
        capstyle="butt",  # round ends would cover part of the dots, and fill the gaps of dashes
        joinstyle="miter",
        alpha=FAINT if faint else OPAQUE,
        **look,
        **shape,
    )


def add_arrow(
    ax: Axes, edge: Edge, limit: float, middle: tuple[float, float], **more: Any
) -> FancyArrowPatch:
    """Draw an edge on axes with the symbol of its kind of change at `middle`; see `arrow`."""
    patch = arrow(edge, limit, **more)
    ax.add_patch(patch)
    if edge.kind in KIND_STYLES:
        style = KIND_STYLES[edge.kind]
        look: dict[str, Any] = {"color": style.colour, "marker": style.marker, "ms": SYMBOL}
        ax.plot(*middle, mec="white", mew=0.4, zorder=2.4, alpha=patch.get_alpha(), **look)
    return patch


def arrow_entries(
    directions: bool,
    limit: float | None = None,
    edges: Sequence[Edge] = (),
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
        entries = {
            "positive weight": line(color=POSITIVE),
            "negative weight": line(color=NEGATIVE),
        }
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
