"""The ROC curves of classifiers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from sgbn.viz.style import FINE, check_axes, columns, literal

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
        right, specific = (
            np.asarray(column, dtype=float)
            for column in columns(table, "sensitivity", "specificity")
        )
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
