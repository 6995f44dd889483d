"""A figure of the quality of measured regions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from sgbn.core.types import Array
from sgbn.viz.style import DIVERGING, FINE, LOW, check_figure, literal

LIMIT = 6.0  # robust z score of the strongest colour; an outlier is beyond 5
FONT_SIZES = 5.0, 8.0  # points; smaller names cannot be read, and larger names are not needed
LINE_HEIGHT = 1.15  # distance of names in font sizes; closer names touch
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
    scores, by_subject, by_region = _panels(figure)
    picture = scores.imshow(z, cmap=DIVERGING, vmin=-LIMIT, vmax=LIMIT, aspect="auto")
    scores.set_facecolor("0.8")
    scores.set_title("robust z score of each value (grey: not known)", fontsize=9)
    scores.tick_params(bottom=False, labelbottom=False)
    _name(scores, "y", subjects)
    if not np.isfinite(z).any():
        scores.text(
            0.5, 0.5, "too few subjects to find outliers", transform=scores.transAxes, ha="center"
        )
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


def _panels(figure: Figure) -> tuple[Axes, Axes, Axes]:
    """Return three axes: scores, coverage of subjects at the right, coverage of regions below."""
    grid = figure.add_gridspec(2, 2, width_ratios=(6, 1), height_ratios=(4, 1))
    return tuple(figure.add_subplot(grid[place]) for place in ((0, 0), (0, 1), (1, 0)))  # type: ignore[return-value]


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
    small, large = FONT_SIZES
    # Axes have their final size only after the layout engine has run, but the figure has it now.
    inches = ax.figure.figure.get_size_inches()["xy".index(axis)]  # of the whole figure
    points = PANEL * 72 * inches / LINE_HEIGHT
    step = math.ceil(len(names) * small / points)
    places = range(0, len(names), step)
    size = float(np.clip(points / len(places), small, large))
    shown = [literal(names[k]) for k in places]
    if axis == "x":
        ax.set_xticks(places, shown, rotation=90, fontsize=size)
    else:
        ax.set_yticks(places, shown, fontsize=size)
    ax.tick_params(axis=axis, length=0, pad=2)
