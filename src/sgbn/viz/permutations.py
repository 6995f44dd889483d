"""Permutation tests: what chance gives, and what was observed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from sgbn.exceptions import InputError
from sgbn.types import Array
from sgbn.viz.style import ACCENTS, LOW, add_legend_below, check_axes, literal

BINS = 12, 40
COLOURS = (LOW, *ACCENTS)
LINES = "-", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (6, 2))
ROUND_OFF = 1e-9  # as a float, 0.07 * 100 is a little more than 7


def plot_permutations(
    ax: Axes,
    null: ArrayLike,
    observed: float | Mapping[str, float],
    *,
    level: float = 0.05,
    label: str = "statistic",
) -> Axes:
    """Draw the histogram of a permutation null, the observed values and the threshold.

    A large value speaks against the null. The p value of an observed one is the share of all
    permutations, it among them, that reach it; beyond the threshold p is at most `level`.

    Parameters
    ----------
    ax : Axes
        Axes to draw on.
    null : array-like of shape (n_permutations,)
        Statistic of each permutation.
    observed : float, or mapping of name to float
        Statistic of the data, or several by name.
    level : float
        Largest p that counts as significant.
    label : str
        Name of the statistic.

    Returns
    -------
    Axes
    """
    check_axes(ax, "plot_permutations")
    values = _finite(null)
    if not 0 < level < 1:
        raise InputError(f"level is {level}: give a number between 0 and 1.")
    given = dict(observed) if isinstance(observed, Mapping) else {"observed": float(observed)}
    # The usual rule of the square root; too many bins would show the noise of the draw.
    bins = int(np.clip(math.sqrt(len(values)), *BINS))
    ax.hist(values, bins=bins, color="0.78", edgecolor="white", lw=0.4)
    entries: dict[str, Artist] = {f"{len(values)} permutations": Patch(color="0.78")}
    limit = threshold(values, level)
    if limit is None:
        needed = math.ceil(1 / level - ROUND_OFF) - 1
        entries[f"p ≤ {level:g} needs {needed} permutations"] = Line2D([], [], ls="none")
    else:
        entries[f"p ≤ {level:g} beyond"] = ax.axvline(limit, color="0.2", lw=1.2, ls="--")
    for k, (name, value) in enumerate(given.items()):
        # The data are one of the permutations: p is never 0 (Phipson and Smyth 2010).
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
    """Value beyond which p is at most `level`; None if there are too few permutations for it."""
    allowed = math.floor(level * (len(null) + 1) + ROUND_OFF) - 1  # permutations that reach it
    return float(np.sort(null)[::-1][allowed]) if allowed >= 0 else None


def _finite(null: ArrayLike) -> Array:
    values = np.asarray(null, dtype=float).ravel()
    if not len(values) or not np.isfinite(values).all():
        bad = int((~np.isfinite(values)).sum())
        raise InputError(
            f"null holds {len(values)} values, {bad} of them not finite: give one number per "
            "permutation."
        )
    return values
