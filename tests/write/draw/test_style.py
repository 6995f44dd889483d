"""The looks of the five kinds of change."""

import warnings
from inspect import Parameter, signature

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.cbook import is_math_text
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.testing import assert_allclose
from tests.codes import refused

from sgbn.core.graph import KINDS_OF_CHANGE
from sgbn.write import draw
from sgbn.write.draw.style import (
    KIND_STYLES,
    METHODS,
    add_legend,
    add_legend_below,
    check_weights,
    columns,
    largest,
    lay_out,
    literal,
    method_styles,
    missing_glyphs_allowed,
    size_points,
    spread,
)


@given(st.text(alphabet="a$\\_^{}"))
def test_text_is_shown_as_it_is(name):
    text = Figure().text(0, 0, literal(name))
    shown, math = text._preprocess_math(text.get_text())
    assert shown == name
    assert not math
    assert not is_math_text(literal(name))


def test_methods_keep_their_style_and_others_get_one_each():
    styles = method_styles(["forest", "KL-SGBN", "boosting"])
    assert styles["KL-SGBN"] == METHODS["KL-SGBN"]
    assert len({style["color"] for style in styles.values()}) == 3
    assert len({style["marker"] for style in styles.values()}) == 3


def test_a_legend_shows_every_name():
    ax = Figure().subplots()
    names = ["_hidden", "a$b$c", "plain"]
    legend = add_legend(ax, {name: Line2D([], []) for name in names})
    assert [text.get_text() for text in legend.get_texts()] == [literal(name) for name in names]
    assert add_legend(ax, {}) is None


def test_a_legend_below_does_not_cover_the_axes():
    figure = Figure()
    ax = figure.subplots()
    legend = add_legend_below(ax, {"a": Line2D([], [])}, 20)
    figure.draw_without_rendering()
    assert legend.get_window_extent().y1 <= ax.get_window_extent().y0 - 20 / 72 * figure.dpi + 1


def test_sizes_are_in_points_whatever_the_dots():
    sizes = [
        size_points(Figure(figsize=(4, 2), dpi=dpi).add_axes((0, 0, 1, 1))) for dpi in (50, 200)
    ]
    assert_allclose(sizes, [(288, 144)] * 2)


def test_the_layout_is_known_before_the_figure_is_drawn():
    figure = Figure(layout="constrained")
    ax = figure.subplots()
    before = size_points(ax)
    lay_out(ax)
    after = size_points(ax)
    assert after != before
    figure.draw_without_rendering()
    assert_allclose(size_points(ax), after)


@given(
    st.lists(st.integers(-50, 50), min_size=1, max_size=8),
    st.lists(st.integers(0, 20), min_size=7, max_size=7),
)
def test_places_keep_their_distance_and_move_only_if_needed(places, gaps):
    assert len(spread([], [])) == 0
    places, gaps = np.sort(places), np.array(gaps[: len(places) - 1], dtype=float)
    moved = spread(places, gaps)
    assert (np.diff(moved) >= gaps - 1e-9).all()
    assert moved.mean() == pytest.approx(places.mean())
    if (np.diff(places) >= gaps).all():
        assert_allclose(moved, places)


def test_weights_must_be_square_and_fit_the_names():
    with refused("argument.shape"):
        check_weights(np.zeros((2, 3)))
    with refused("argument.shape"):
        check_weights(np.zeros((2, 2)), names=["a"], lobes=None)


def test_the_largest_weight_is_never_nothing():
    assert largest(np.zeros((2, 2))) == 1.0
    assert largest(np.array([[np.nan, -3.0], [2.0, 0.0]])) == 3.0
    assert largest(np.ones((2, 2)), 5.0) == 5.0


def test_columns_of_any_table_and_the_name_of_a_missing_one():
    record = np.rec.fromarrays([[1, 2], [3.0, 4.0]], names="edges,mean")
    for table in (record, {"edges": [1, 2], "mean": [3.0, 4.0]}):
        edges, mean = columns(table, "edges", "mean")
        assert edges.tolist() == [1, 2]
        assert mean.tolist() == [3.0, 4.0]
        with refused("table.column"):
            columns(table, "means")


def test_only_warnings_of_missing_glyphs_are_silent():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with missing_glyphs_allowed():
            figure = Figure()
            figure.text(0, 0, "海马")
            figure.draw_without_rendering()
            warnings.warn("another", UserWarning, stacklevel=1)
    assert [str(one.message) for one in caught] == ["another"]


AXES, FIGURE = Figure().subplots(), Figure()


@pytest.mark.parametrize("name", draw.__all__)
def test_every_function_checks_what_it_draws_on(name):
    on_figure = name in ("plot_glass_brain", "plot_recovery", "plot_surface")
    parameters = signature(getattr(draw, name)).parameters.values()
    needed = [None for one in parameters if one.default is Parameter.empty]
    with refused("plot.figure" if on_figure else "plot.axes"):
        getattr(draw, name)(AXES if on_figure else FIGURE, *needed[1:])


DARK_GROUND = "#16181d"


def contrast(colour, ground):
    """Contrast of two colours, as the Web Content Accessibility Guidelines define it."""

    def luminance(name):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(name)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted([luminance(colour), luminance(ground)])
    return (high + 0.05) / (low + 0.05)


def test_every_kind_has_a_look():
    assert list(KIND_STYLES) == list(KINDS_OF_CHANGE)


@pytest.mark.parametrize("kind", KINDS_OF_CHANGE)
def test_colours_can_be_read(kind):
    assert contrast(KIND_STYLES[kind].colour, "white") >= 4.5
    assert contrast(KIND_STYLES[kind].dark, DARK_GROUND) >= 4.5


def test_they_differ_without_colour():
    for part in ("symbol", "marker", "dash"):
        assert len({getattr(look, part) for look in KIND_STYLES.values()}) == 5
