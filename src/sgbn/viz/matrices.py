"""Connectivity matrices ordered by lobe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike, NDArray

COLOURS = "RdBu_r"  # can be told apart by colour-blind readers; white is zero
MANY_REGIONS = 60  # more need a larger figure to be read


def plot_matrix(
    ax: Axes,
    weights: ArrayLike,
    names: Sequence[str],
    lobes: Sequence[str],
    *,
    limit: float | None = None,
    title: str = "",
) -> Axes:
    """Draw weights i -> j (row -> column), regions grouped by lobe, each lobe boxed.

    Parameters
    ----------
    ax : Axes
    weights : array-like of shape (m, m)
    names, lobes : sequence of str
        Region and lobe of each variable.
    limit : float, optional
        Weight of the strongest colour; by default the largest one.
    title : str
    """
    weights = np.asarray(weights, dtype=float)
    order = _by_lobe(lobes)
    limit = limit or np.abs(weights).max() or 1.0
    ax.imshow(weights[np.ix_(order, order)], cmap=COLOURS, vmin=-limit, vmax=limit)
    large = max(1.0, len(order) / MANY_REGIONS)  # such a matrix is drawn larger
    ax.set_title(title, fontsize=10 * large)
    ax.set_xlabel("to", fontsize=8 * large, labelpad=1)
    ax.set_ylabel("from", fontsize=8 * large, labelpad=1)
    ax.set_yticks(range(len(order)), [names[k] for k in order], fontsize=4)
    ax.set_xticks(range(len(order)), [names[k] for k in order], fontsize=4, rotation=90)
    ax.tick_params(length=0, pad=1)
    _box_lobes(ax, [lobes[k] for k in order], 5.5 * large)
    return ax


def _by_lobe(lobes: Sequence[str]) -> NDArray[np.intp]:
    """Columns grouped by lobe, lobes in order of first appearance."""
    rank = {lobe: k for k, lobe in enumerate(dict.fromkeys(lobes))}
    return np.argsort([rank[lobe] for lobe in lobes], kind="stable")


def _box_lobes(ax: Axes, lobes: Sequence[str], fontsize: float) -> None:
    for lobe in dict.fromkeys(lobes):
        first, size = lobes.index(lobe), lobes.count(lobe)
        ax.add_patch(
            Rectangle((first - 0.5, first - 0.5), size, size, fill=False, edgecolor="0.35", lw=0.7)
        )
        middle = first + size / 2 - 0.5
        ax.text(len(lobes) - 0.2, middle, lobe, fontsize=fontsize, va="center", color="0.25")


def plot_recovery(
    figure: Figure,
    true: Mapping[str, ArrayLike],
    learned: Mapping[str, ArrayLike],
    names: Sequence[str],
    lobes: Sequence[str],
) -> NDArray[np.object_]:
    """Draw true beside learned networks of two groups, and below them their difference.

    Parameters
    ----------
    figure : Figure
    true, learned : mapping of group to weights
        Standardised weights of the same two groups.
    names, lobes : sequence of str

    Returns
    -------
    ndarray of Axes of shape (3, 2)
    """
    first, second = true
    axes: NDArray[np.object_] = figure.subplots(3, 2)
    limit = max(np.abs(np.asarray(w)).max() for w in (*true.values(), *learned.values()))
    for column, (label, weights) in enumerate((("true", true), ("learned", learned))):
        difference = np.asarray(weights[second]) - np.asarray(weights[first])
        panels = {first: weights[first], second: weights[second]}
        panels[f"{second} minus {first}"] = difference
        for row, (panel, values) in enumerate(panels.items()):
            plot_matrix(
                axes[row, column], values, names, lobes, limit=limit, title=f"{panel}, {label}"
            )
    bar = figure.colorbar(
        axes[0, 0].images[0],
        ax=axes,
        orientation="horizontal",
        shrink=0.5,
        aspect=40,
        label="weight per standard deviation",
    )
    bar.ax.tick_params(labelsize=7)
    return axes
