"""Figures of how well groups are told apart: by method, and by number of edges.

The ROC curves of classifiers.

A figure of the quality of measured regions.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from numpy.typing import ArrayLike, NDArray

from sgbn.core.types import Array
from sgbn.write.draw.style import (
    DIVERGING,
    FINE,
    LOW,
    check_axes,
    check_figure,
    columns,
    literal,
    note,
    size_points,
)

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
    cells = np.array(columns(table, "gamma", "edges", "mean", "low", "high"), dtype=float)
    gamma, edges, mean, low, high = cells[:, np.argsort(cells[1], kind="stable")]
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


OTHERS = ("0.35", "0.55", "0.7")
DASHES = ("--", ":", "-.")


def plot_roc(ax: Axes, curves: Mapping[str, Any]) -> Axes:
    """Draw the ROC curves of classifiers of two groups; the first curve is emphasised.

    Parameters
    ----------
    ax : Axes
        Axes to draw on.
    curves : mapping of name to mapping, structured array or DataFrame
        Columns sensitivity and specificity of each curve, as `Accuracy.roc` returns them. The name
        is shown in the legend. Curves differ by dashes as well as by colour.

    Returns
    -------
    Axes
        The axes `ax`.
    """
    check_axes(ax, "plot_roc")
    # The diagonal is the curve of a guess.
    ax.plot((0, 1), (0, 1), color="0.6", lw=0.9, zorder=1)
    for k, (name, table) in enumerate(curves.items()):
        right, specific = np.array(columns(table, "sensitivity", "specificity"), dtype=float)
        style = {"color": FINE, "lw": 2.0} if not k else {"color": OTHERS[(k - 1) % 3], "lw": 1.4}
        dashes = "-" if not k else DASHES[(k - 1) % len(DASHES)]
        ax.plot(1 - specific, right, ls=dashes, label=literal(name), **style)  # type: ignore[arg-type]
    # With equal scales, the curve of a guess is the diagonal of a square.
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    ax.set_xlabel("1 − specificity", fontsize=9)
    ax.set_ylabel("sensitivity", fontsize=9)
    ax.tick_params(labelsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="lower right", fontsize=8, frameon=False)
    return ax


LIMIT = 6.0  # robust z score of the strongest colour; an outlier is beyond 5
BAR_FONT_SIZES = 5.0, 8.0  # points; smaller names cannot be read, and larger names are not needed
BAR_LINE_HEIGHT = 1.15  # distance of names in font sizes; closer names touch
PANEL = 0.72  # approximate share of the figure's width and height for the scores
MAX_BARS_WITH_GAPS = 60  # gaps between more bars would disturb the eye


def plot_quality(
    figure: Figure,
    z: ArrayLike,
    coverage: ArrayLike,
    subjects: Sequence[str],
    regions: Sequence[str],
    *,
    full: float,
) -> NDArray[np.object_]:
    """Draw the z score of each value, and the coverage of each subject and region.

    Parameters
    ----------
    figure : Figure
        Figure to draw on, which must be empty.
    z, coverage : array-like of shape (n, m)
        Robust z score of each value (NaN if it is not known), and the share of the region's voxels
        that have a value, for n subjects and m regions.
    subjects, regions : sequence of str
        Names of the rows and of the columns of `z`.
    full : float
        Smallest share of coverage that is good.

    Returns
    -------
    ndarray of Axes
        The scores, the coverage of subjects, and the coverage of regions.
    """
    check_figure(figure, "plot_quality")
    z, coverage = np.asarray(z, dtype=float), np.asarray(coverage, dtype=float)
    grid = figure.add_gridspec(2, 2, width_ratios=(6, 1), height_ratios=(4, 1))
    places = (0, 0), (0, 1), (1, 0)  # the coverage of subjects at the right, of regions below
    scores, by_subject, by_region = (figure.add_subplot(grid[place]) for place in places)
    picture = scores.imshow(z, cmap=DIVERGING, vmin=-LIMIT, vmax=LIMIT, aspect="auto")
    scores.set_facecolor("0.8")
    scores.set_title("robust z score of each value (grey: not known)", fontsize=9)
    scores.tick_params(bottom=False, labelbottom=False)
    _name(scores, "y", subjects)
    if not np.isfinite(z).any():
        few = "too few subjects to find outliers"
        scores.text(0.5, 0.5, few, transform=scores.transAxes, ha="center")
    _bars(by_subject, coverage.mean(axis=1), full, horizontal=True)
    # The rows of an image begin at the top. The bars beside it must begin there too.
    by_subject.set_ylim(scores.get_ylim())
    _bars(by_region, coverage.mean(axis=0), full, horizontal=False)
    by_region.set_xlim(scores.get_xlim())
    _name(by_region, "x", regions)
    bar = figure.colorbar(picture, ax=by_subject, location="right", shrink=0.9, pad=0.08)
    bar.ax.tick_params(labelsize=7)
    bar.set_label("robust z", fontsize=8)
    return np.array([scores, by_subject, by_region], dtype=object)


def _bars(ax: Axes, shares: Array, full: float, *, horizontal: bool) -> None:
    """Draw bars of coverage with a line at `full`; lower bars have another colour."""
    places = np.arange(len(shares))
    colours = np.where(shares < full, LOW, FINE)
    thickness = 0.8 if len(shares) <= MAX_BARS_WITH_GAPS else 1.0
    if horizontal:
        ax.barh(places, shares, height=thickness, color=colours)
        ax.axvline(full, color="0.3", lw=0.6, ls="--")
        ax.set_xlim(0, 1)
        ax.tick_params(left=False, labelleft=False)
        ax.set_title("mean coverage", fontsize=9)
    else:
        ax.bar(places, shares, width=thickness, color=colours)
        ax.axhline(full, color="0.3", lw=0.6, ls="--")
        ax.set_ylim(0, 1)
        ax.set_ylabel("mean coverage", fontsize=8)
    ax.tick_params(labelsize=7)


def _name(ax: Axes, axis: Literal["x", "y"], names: Sequence[str]) -> None:
    """Write names along an axis; if not all fit, write every second, third, ... name."""
    small, large = BAR_FONT_SIZES
    # Axes have their final size only after the layout engine has run, but the figure has it now.
    inches = ax.figure.figure.get_size_inches()["xy".index(axis)]  # of the whole figure
    points = PANEL * 72 * inches / BAR_LINE_HEIGHT
    step = math.ceil(len(names) * small / points)
    places = range(0, len(names), step)
    size = float(np.clip(points / len(places), small, large))
    shown = [literal(names[k]) for k in places]
    if axis == "x":
        ax.set_xticks(places, shown, rotation=90, fontsize=size)
    else:
        ax.set_yticks(places, shown, fontsize=size)
    ax.tick_params(axis=axis, length=0, pad=2)
