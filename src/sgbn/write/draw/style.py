"""Functions and constants that figures share: colours, markers, legends, and checks.

The style of the five kinds of change, in figures and on the page, in light and dark.

The kinds differ by dash and symbol as well as by colour. The contrast of each colour to its
background is at least 4.5 : 1, and none is the red or blue that shows the sign of a weight.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from matplotlib.legend import Legend
from matplotlib.text import Annotation
from matplotlib.transforms import ScaledTranslation
from numpy.typing import ArrayLike, NDArray
from sklearn.isotonic import isotonic_regression

from sgbn.core.graph import KINDS_OF_CHANGE
from sgbn.core.problems import InputError, did_you_mean
from sgbn.core.types import Array
from sgbn.write.tables import check_shape

DIVERGING = "RdBu_r"  # colour-blind readers can tell its colours apart; white is zero
POSITIVE, NEGATIVE = "#D6604D", "#2166AC"  # of the same map; one is also lighter in a grey print
FINE, LOW = "#0072B2", "#D55E00"  # colours of good and of low values
ACCENTS = ("#009E73", "#E69F00", "#CC79A7", "#56B4E9")  # not red or blue, which show signs
CHARACTER = 0.6  # width of a character, in font sizes; a little above the mean of letters

# The colours of the paper, in shades that colour-blind readers can tell apart
METHODS: dict[str, dict[str, Any]] = {
    "H-SGBN": {"color": "#000000", "marker": "s", "ls": ":"},
    "OR-SGBN": {"color": "#0072B2", "marker": "o", "ls": "--"},
    "KL-SGBN": {"color": "#009E73", "marker": "^", "ls": "-"},
    "MM-SGBN": {"color": "#D55E00", "marker": "v", "ls": "-"},
    "CL-SGBN": {"color": "#CC79A7", "marker": "D", "ls": "-."},
}
OTHERS = (
    {"color": "#E69F00", "marker": "P", "ls": "--"},
    {"color": "#56B4E9", "marker": "X", "ls": ":"},
    {"color": "#666666", "marker": "o", "ls": "-"},
)


def check_axes(ax: object, function: str) -> None:
    """Raise InputError, which says what to pass, unless `ax` is matplotlib axes."""
    if not isinstance(ax, Axes):
        raise InputError("plot.axes", function=function, kind=type(ax).__name__).says(
            "{function:s} draws on matplotlib axes, not on a {kind:s}",
            "Pass figure.subplots(), or axes.flat[0] of several.",
        )


def check_figure(figure: object, function: str) -> None:
    """Raise InputError, which says what to pass, unless `figure` is a matplotlib figure."""
    if not isinstance(figure, FigureBase):
        raise InputError("plot.figure", function=function, kind=type(figure).__name__).says(
            "{function:s} draws on a matplotlib figure, not on a {kind:s}",
            "Pass an empty figure, such as matplotlib.pyplot.figure().",
        )


def literal(text: object) -> str:
    """Return text that matplotlib shows as it is; a dollar sign would begin a formula."""
    return str(text).replace("$", r"\$")


def method_styles(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return colour, marker and line of each method; a known method always has the same style."""
    further_styles = cycle(OTHERS)
    return {name: METHODS[name] if name in METHODS else next(further_styles) for name in names}


def note(
    ax: Axes,
    text: object,
    place: tuple[float, float],
    offset: tuple[float, float],
    coordinates: str | tuple[str, str] = "data",
    **style: Any,
) -> Annotation:
    """Write a text beside a place of the axes; `offset` is the distance in points."""
    look: dict[str, Any] = {"xycoords": coordinates, "textcoords": "offset points", **style}
    return ax.annotate(literal(text), place, offset, **look)


def add_legend(
    owner: Axes | FigureBase, entries: Mapping[str, Artist], **options: Any
) -> Legend | None:
    """Add a legend that shows every name, even if it begins with "_"; return None if empty."""
    if not entries:
        return None
    # matplotlib leaves out labels that begin with "_". So labels are numbers until names are set.
    places = [str(k) for k in range(len(entries))]
    legend = owner.legend(list(entries.values()), places, frameon=False, **options)
    for text, name in zip(legend.get_texts(), entries, strict=True):
        text.set_text(literal(name))
    return legend


def add_legend_below(
    ax: Axes, entries: Mapping[str, Artist], points: float = 0.0, **options: Any
) -> Legend | None:
    """Add a legend `points` points below the axes; see `add_legend`."""
    down = ScaledTranslation(0.0, -points / 72, ax.figure.dpi_scale_trans)
    place = {"bbox_to_anchor": (0.5, 0.0), "bbox_transform": ax.transAxes + down}
    return add_legend(ax, entries, loc="upper center", **place, **options)


def lay_out(ax: Axes) -> None:
    """Run the layout engine of the figure now, if it has one."""
    # A layout engine runs only when a figure is drawn, and then changes the sizes of axes.
    figure = ax.figure.figure  # the whole figure, also for axes of a SubFigure
    if figure.get_layout_engine() is not None:
        with missing_glyphs_allowed():
            figure.draw_without_rendering()


@contextmanager
def missing_glyphs_allowed() -> Iterator[None]:
    """Draw letters that the font lacks as boxes, without one warning per letter."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"(?s)Glyph .* missing from", UserWarning)
        yield


def size_points(ax: Axes) -> tuple[float, float]:
    """Return width and height of the axes in points; a layout engine may still change them."""
    box = ax.get_window_extent()
    points = 72.0 / ax.figure.dpi
    return box.width * points, box.height * points


def spread(places: ArrayLike, gaps: ArrayLike) -> Array:
    """Return places that are moved apart, but only as far as their smallest distances require.

    Parameters
    ----------
    places : array-like of shape (n,)
        Sorted positions.
    gaps : array-like of shape (n - 1,)
        Smallest distance from each place to the next.
    """
    wanted = np.asarray(places, dtype=float)
    if len(wanted) < 2:
        return wanted
    # After the gaps are subtracted, the task is to find the nearest places that do not decrease.
    offsets = np.concatenate([[0.0], np.cumsum(np.asarray(gaps, dtype=float))])
    return np.asarray(isotonic_regression(wanted - offsets)) + offsets


def check_weights(weights: ArrayLike, **per_region: Sequence[Any] | None) -> Array:
    """Return the weights as a square array; check that other arguments have as many regions."""
    array = np.asarray(weights, dtype=float)
    check_shape("weights", array.shape, 2 * (*array.shape, 0)[:1])
    for name, given in per_region.items():
        if given is not None:
            check_shape(name, (len(given),), array.shape[:1])
    return array


def largest(weights: Array, limit: float | None = None) -> float:
    """Return the weight of the strongest colour or widest arrow: `limit`, or the largest weight."""
    # Without any weight the scale does not matter, but it must not be 0.
    return limit or float(np.nanmax(np.abs(weights), initial=0.0)) or 1.0


def columns(table: Any, *names: str) -> list[NDArray[Any]]:
    """Return columns of a table: a mapping of name to values, structured array or DataFrame."""
    # For a structured array, `list` would give the rows and not the names.
    known = getattr(getattr(table, "dtype", None), "names", None) or list(table)
    for name in names:
        if name not in known:
            raise InputError("table.column", name=name, near=did_you_mean(name, known)).says(
                "the table has no column {name}", "{near}"
            )
    return [np.asarray(table[name]) for name in names]


class KindStyle(NamedTuple):
    """The style of a kind of change.

    Attributes
    ----------
    colour, dark : str
        Colours on a white and on a dark background.
    dash : tuple of float
        Lengths of dashes and gaps, in widths of the line; empty for a line without gaps.
    symbol : str
        One character that is written before the name of the kind.
    marker : str
        Marker of the kind in Matplotlib.
    """

    colour: str
    dark: str
    dash: tuple[float, ...]
    symbol: str
    marker: str


KIND_STYLES = dict(
    zip(
        KINDS_OF_CHANGE,
        # In the order of KINDS_OF_CHANGE: gained, lost, stronger, weaker, sign changed
        (
            KindStyle("#1B7837", "#7FCC8F", (10.0, 2.0), "+", "P"),
            KindStyle("#762A83", "#D0A8E0", (1.0, 1.6), "×", "X"),
            KindStyle("#A34E00", "#F5A65B", (), "▲", "^"),
            KindStyle("#00707A", "#6CC7D0", (3.0, 1.6), "▼", "v"),
            KindStyle("#B0126B", "#F58BC0", (5.0, 1.4, 1.0, 1.4), "⇄", "D"),
        ),
        strict=True,
    )
)
