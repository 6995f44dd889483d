"""Edges as arrows and lines: which ones, how wide, in which colour."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch
from numpy.typing import ArrayLike

from sgbn.exceptions import InputError
from sgbn.types import Array, Mask
from sgbn.viz.style import NEGATIVE, POSITIVE

WIDTHS = 0.5, 2.4  # points: of an edge of no weight, and of the strongest one
HEADS = 4.5, 2.4  # points: size of the head of an arrow of no width, and more for each point of it
HEAD, NO_HEAD = "-|>,head_length=0.5,head_width=0.25", "-"
OPAQUE = 0.85


class Edge(NamedTuple):
    """An edge to be drawn: an arrow if its direction is supported, else a line."""

    source: int
    target: int
    weight: float
    supported: bool


def choose_edges(
    weights: Array,
    supported: ArrayLike | None = None,
    *,
    strongest: int | None = None,
    shown: Mask | None = None,
) -> tuple[list[Edge], int]:
    """Edges to be drawn, the weakest first so that it lies below, and how many there are in all.

    Parameters
    ----------
    weights : ndarray of shape (m, m)
        ``weights[i, j]`` is the edge i -> j; 0 and NaN are none.
    supported : array-like of shape (m, m), optional
        Edges whose direction is supported; none by default.
    strongest : int, optional
        Only so many; all by default.
    shown : ndarray of shape (m,), optional
        Regions that have a place in the figure; an edge needs one at both ends.
    """
    if strongest is not None and strongest < 1:
        raise InputError(f"strongest is {strongest}: give a number of edges, 1 or more.")
    heads = np.zeros(weights.shape, bool) if supported is None else np.asarray(supported, bool)
    if heads.shape != weights.shape:
        raise InputError(
            f"supported has shape {heads.shape}, but weights {weights.shape}. Give one value per "
            "pair of regions."
        )
    sizes = np.nan_to_num(np.abs(weights))
    n_edges = int(np.count_nonzero(sizes))
    if shown is not None:
        sizes = sizes * np.outer(shown, shown)
    sources, targets = np.nonzero(sizes)
    order = np.argsort(-sizes[sources, targets], kind="stable")[:strongest][::-1]
    pairs = zip(sources[order].tolist(), targets[order].tolist(), strict=True)
    return [Edge(i, j, float(weights[i, j]), bool(heads[i, j])) for i, j in pairs], n_edges


def left_out(drawn: int, total: int) -> str:
    """Say which edges are drawn, for a title; "" if all are."""
    return "" if drawn == total else f"the strongest {drawn} of {total} edges"


def arrow(edge: Edge, limit: float, **shape: Any) -> FancyArrowPatch:
    """Arrow or line of an edge: colour by sign, width by size, a head where it is supported.

    Parameters
    ----------
    edge : Edge
    limit : float
        Weight of the widest arrow.
    **shape
        Where it runs: posA, posB and connectionstyle, or path.
    """
    share = min(abs(edge.weight) / limit, 1.0)
    width = WIDTHS[0] + (WIDTHS[1] - WIDTHS[0]) * share
    return FancyArrowPatch(
        arrowstyle=HEAD if edge.supported else NO_HEAD,
        mutation_scale=HEADS[0] + HEADS[1] * width,
        linewidth=width,
        color=POSITIVE if edge.weight > 0 else NEGATIVE,
        capstyle="butt",
        joinstyle="miter",
        alpha=OPAQUE,
        **shape,
    )


def add_arrow(ax: Axes, edge: Edge, limit: float, **shape: Any) -> FancyArrowPatch:
    """Draw an edge on axes, see `arrow`."""
    patch = arrow(edge, limit, **shape)
    ax.add_patch(patch)
    return patch


def arrow_entries(directions: bool, limit: float | None = None) -> dict[str, Artist]:
    """Entries of a legend: signs, what a head means where there may be any, and the widths."""

    def line(color: str = "0.3", lw: float = 1.5, **more: Any) -> Line2D:
        return Line2D([], [], color=color, lw=lw, **more)

    entries: dict[str, Artist] = {
        "positive weight": line(color=POSITIVE),
        "negative weight": line(color=NEGATIVE),
    }
    if directions:
        entries["arrow: direction supported"] = line(marker=">", ms=5)
        entries["line: direction not supported"] = line()
    if limit is not None:
        entries[f"weight {limit:.2g}"] = line(lw=WIDTHS[1])
        entries[f"weight {limit / 4:.2g}"] = line(lw=WIDTHS[0] + (WIDTHS[1] - WIDTHS[0]) / 4)
    return entries
