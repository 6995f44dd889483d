"""The looks of the five kinds of change."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.cbook import is_math_text
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.testing import assert_allclose

from sgbn.core.graph import KINDS_OF_CHANGE
from sgbn.core.problems import InputError
from sgbn.write import draw
from sgbn.write.draw.accuracy import plot_quality
from sgbn.write.draw.style import (
    KIND_STYLES,
    METHODS,
    add_legend,
    add_legend_below,
    check_axes,
    check_figure,
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
    places, gaps = np.sort(places), np.array(gaps[: len(places) - 1], dtype=float)
    moved = spread(places, gaps)
    assert (np.diff(moved) >= gaps - 1e-9).all()
    assert moved.mean() == pytest.approx(places.mean())
    if (np.diff(places) >= gaps).all():
        assert_allclose(moved, places)


def test_spreading_nothing_gives_nothing():
    assert len(spread([], [])) == 0


def test_weights_must_be_square_and_fit_the_names():
    with pytest.raises(InputError, match=r"shape \(2, 3\)"):
        check_weights(np.zeros((2, 3)))
    with pytest.raises(InputError, match="names has length 1, but weights has 2"):
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
        with pytest.raises(InputError, match=r"no column 'means'. Did you mean 'mean'"):
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


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (FIGURE, r"plot_x draws on matplotlib axes.*of type Figure. Pass plot_x\(figure.subplots"),
        (
            np.array([AXES, AXES]),
            r"element of the array, such as plot_x\(axes.flat\[0\], ...\)",
        ),
        (np.zeros((2, 2)), r"of type ndarray. Pass plot_x\(matplotlib.pyplot.gca\(\), ...\)"),
    ],
)
def test_what_is_no_axes_is_told_what_to_pass(given, message):
    check_axes(AXES, "plot_x")
    with pytest.raises(InputError, match=message):
        check_axes(given, "plot_x")


@pytest.mark.parametrize(
    ("given", "message"),
    [(AXES, r"of type Axes. Pass plot_x\(ax.figure, ...\)"), (None, r"pyplot.figure\(\), ...")],
)
def test_what_is_no_figure_is_told_what_to_pass(given, message):
    check_figure(FIGURE, "plot_x")
    check_figure(FIGURE.subfigures(), "plot_x")
    with pytest.raises(InputError, match=message):
        check_figure(given, "plot_x")


ON_A_FIGURE = ("plot_glass_brain", "plot_recovery", "plot_surface")
ARGUMENTS = {
    **dict.fromkeys(("plot_accuracy", "plot_changes", "plot_roc", "plot_sparsity"), 1),
    **{"plot_permutations": 2, "plot_circle": 3, "plot_forest": 3, "plot_matrix": 3},
    **{"plot_glass_brain": 2, "plot_recovery": 4, "plot_surface": 3},
}


@pytest.mark.parametrize("name", draw.__all__)
def test_every_function_says_what_to_draw_on(name):
    wrong = AXES if name in ON_A_FIGURE else FIGURE
    with pytest.raises(InputError, match=f"{name} draws"):
        getattr(draw, name)(wrong, *[None] * ARGUMENTS[name])


def test_the_overview_of_quality_needs_a_figure():
    with pytest.raises(InputError, match="plot_quality draws"):
        plot_quality(AXES, None, None, [], [], full=1.0)


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
