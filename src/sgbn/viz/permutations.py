"""A figure of a permutation test: the values by chance, and the observed values."""

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

from sgbn.core.exceptions import InputError
from sgbn.core.types import Array
from sgbn.viz.style import ACCENTS, LOW, add_legend_below, check_axes, literal

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
    values = _finite(null)
    if not 0 < level < 1:
        raise InputError(f"level is {level}. Give a number between 0 and 1.")
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


def _finite(null: ArrayLike) -> Array:
    values = np.asarray(null, dtype=float).ravel()
    if not len(values) or not np.isfinite(values).all():
        bad = int((~np.isfinite(values)).sum())
        raise InputError(
            f"null holds {len(values)} values, and {bad} of them are not finite. Give one finite "
            "number per permutation."
        )
    return values
