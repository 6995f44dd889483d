"""Figures of how well groups are told apart: by method, and by number of edges."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from sgbn.core.types import Array
from sgbn.viz.style import FINE, check_axes, columns, literal, note, size_points

OTHER = "0.35"  # grey of the methods that are not emphasised
OURS = "SGBN"  # part of the names of this package's methods
FONT_SIZES = 4.0, 9.0  # points; smallest and largest font of the names
LINE_HEIGHT = 1.3  # distance of names in font sizes; closer names touch
GAMMA_WIDTH = 26.0  # points that a value of gamma needs along the axis
LOG_AXIS_RATIO = 10.0  # from this ratio of the largest to the smallest number upwards: a log axis
CHANCE: dict[str, Any] = {"fontsize": 8, "color": "0.4"}


def plot_accuracy(
    ax: Axes, table: Any, *, ours: Collection[str] | None = None, chance: float = 0.5
) -> Axes:
    """Draw the balanced accuracy of each method with its interval, the best method on top.

    Parameters
    ----------
    ax : Axes
        Axes to draw on.
    table : mapping, structured array or DataFrame
        Columns method, mean, low and high. If the interval is NaN, only the mean is drawn. If the
        mean is NaN, the method is left out.
    ours : collection of str, optional
        Names of the methods to emphasise; by default the methods with SGBN in their name.
    chance : float
        Accuracy of a guess, which is one over the number of groups.

    Returns
    -------
    Axes
        The axes `ax`.
    """
    check_axes(ax, "plot_accuracy")
    methods, mean, low, high = columns(table, "method", "mean", "low", "high")
    mean, low, high = (np.asarray(column, dtype=float) for column in (mean, low, high))
    # A stable sort keeps equally good methods in the order of the table. NaN comes last.
    order = np.argsort(-mean, kind="stable")
    order = order[np.isfinite(mean[order])]
    names = [str(methods[k]) for k in order]
    is_ours = [OURS in name if ours is None else name in ours for name in names]
    ax.axvline(chance, color="0.5", lw=0.9, ls="--", zorder=1)
    for place, k in enumerate(order):
        colour = FINE if is_ours[place] else OTHER
        ax.plot((low[k], high[k]), (place, place), color=colour, lw=2 if is_ours[place] else 1.2)
        marker, filled = ("D", colour) if is_ours[place] else ("o", "white")
        ax.plot(mean[k], place, marker, color=colour, mfc=filled, ms=6, mew=1.2)
    font_size = size_points(ax)[1] / max(len(order), 1) / LINE_HEIGHT
    ax.set_yticks(range(len(order)), list(map(literal, names)))
    for label, emphasised in zip(ax.get_yticklabels(), is_ours, strict=True):
        label.set(fontsize=float(np.clip(font_size, *FONT_SIZES)))
        label.set(weight="bold" if emphasised else "normal", color=FINE if emphasised else "0.1")
    # The limits are reversed, so that the first method, which is the best, is on top.
    ax.set_ylim(len(order) - 0.4, -0.6)
    note(ax, "chance", (chance, 1.0), (0, 2), ("data", "axes fraction"), ha="center", **CHANCE)
    ax.set_xlabel("balanced accuracy", fontsize=9)
    ax.tick_params(axis="x", labelsize=8)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax


def plot_sparsity(ax: Axes, table: Any, *, chance: float = 0.5) -> Axes:
    """Draw the balanced accuracy with its interval over the number of edges.

    Parameters
    ----------
    ax : Axes
        Axes to draw on.
    table : mapping, structured array or DataFrame
        Columns gamma (the sparsity parameter, shown along the upper edge), edges, mean, low and
        high.
    chance : float
        Accuracy of a guess, which is one over the number of groups.

    Returns
    -------
    Axes
        The axes `ax`.
    """
    check_axes(ax, "plot_sparsity")
    gamma, edges, mean, low, high = (
        np.asarray(column, dtype=float)
        for column in columns(table, "gamma", "edges", "mean", "low", "high")
    )
    order = np.argsort(edges, kind="stable")
    gamma, edges, mean, low, high = (each[order] for each in (gamma, edges, mean, low, high))
    ax.fill_between(edges, low, high, color=FINE, alpha=0.18, lw=0)
    ax.plot(edges, mean, color=FINE, marker="o", ms=4.5, lw=1.5)
    ax.axhline(chance, color="0.5", lw=0.9, ls="--", zorder=1)
    note(ax, "chance", (1.0, chance), (-3, 2), ("axes fraction", "data"), ha="right", **CHANCE)
    ax.set_xlabel("edges", fontsize=9)
    ax.set_ylabel("balanced accuracy", fontsize=9)
    ax.tick_params(labelsize=8)
    ax.spines["right"].set_visible(False)
    _mark_points(ax, edges, gamma)
    return ax


def _mark_points(ax: Axes, edges: Array, gamma: Array) -> None:
    """Write the numbers of edges below the axes and gamma above, as many as fit."""
    # A log axis cannot show a network without edges.
    if edges.min(initial=np.inf) > 0 and edges.max() >= LOG_AXIS_RATIO * edges.min():
        ax.set_xscale("log")
        ax.xaxis.set_minor_locator(NullLocator())
    pixels = ax.transData.transform([(n_edges, 0.5) for n_edges in edges])[:, 0]
    least = GAMMA_WIDTH * ax.figure.dpi / 72
    # From left to right, show each value that does not touch the last value shown.
    shown: list[int] = []
    for k in range(len(edges)):
        if not shown or pixels[k] - pixels[shown[-1]] >= least:
            shown.append(k)
    ax.set_xticks(edges[shown], [f"{edges[k]:g}" for k in shown], fontsize=8)
    above = ax.secondary_xaxis("top")
    above.xaxis.set_minor_locator(NullLocator())
    above.set_xticks(edges[shown], [f"{gamma[k]:.3g}" for k in shown], fontsize=7)
    above.set_xlabel("sparsity parameter gamma", fontsize=8)
