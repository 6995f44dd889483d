import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import ArrowStyle

from sgbn.core.exceptions import InputError
from sgbn.write.draw.circle import Edge, add_arrow, arrow_entries, choose_edges, left_out
from sgbn.write.draw.style import KIND_STYLES, NEGATIVE, POSITIVE

MIDDLE = (0.5, 0.5)
WEIGHTS = np.array([[0.0, 0.5, -0.9], [0.0, 0.0, 0.1], [np.nan, 0.0, 0.0]])


def test_all_edges_the_strongest_on_top():
    edges, total = choose_edges(WEIGHTS)
    assert edges == [Edge(1, 2, 0.1, False), Edge(0, 1, 0.5, False), Edge(0, 2, -0.9, False)]
    assert total == 3
    assert left_out(len(edges), total) == ""


def test_only_the_strongest_and_how_many_there_are():
    supported = np.zeros((3, 3), bool)
    supported[0, 2] = True
    edges, total = choose_edges(WEIGHTS, supported, strongest=2)
    assert edges == [Edge(0, 1, 0.5, False), Edge(0, 2, -0.9, True)]
    assert left_out(len(edges), total) == "the strongest 2 of 3 edges"


def test_edges_of_regions_without_a_place_are_counted_but_not_chosen():
    edges, total = choose_edges(WEIGHTS, shown=np.array([True, True, False]))
    assert [edge[:2] for edge in edges] == [(0, 1)]
    assert total == 3


def test_the_weights_are_not_changed():
    before = WEIGHTS.copy()
    choose_edges(WEIGHTS, shown=np.array([True, False, True]))
    np.testing.assert_array_equal(WEIGHTS, before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strongest": 0}, "strongest is 0"),
        ({"supported": np.zeros((2, 2))}, r"supported has shape \(2, 2\)"),
        ({"kinds": np.full((2, 2), "lost")}, r"kinds has shape \(2, 2\)"),
        ({"kinds": np.full((3, 3), "los")}, "kinds has 'los'.*Did you mean 'lost'"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        choose_edges(WEIGHTS, **options)


def test_colour_is_sign_width_is_size_and_a_head_is_support():
    ax = Figure().subplots()
    ends = {"posA": (0, 0), "posB": (1, 1)}
    strong = add_arrow(ax, Edge(0, 1, -0.9, True), 0.9, MIDDLE, **ends)
    weak = add_arrow(ax, Edge(0, 1, 0.1, False), 0.9, MIDDLE, **ends)
    assert list(ax.patches) == [strong, weak]
    assert to_hex(strong.get_edgecolor()).upper() == NEGATIVE
    assert to_hex(weak.get_edgecolor()).upper() == POSITIVE
    assert strong.get_linewidth() > weak.get_linewidth()
    assert isinstance(strong.get_arrowstyle(), ArrowStyle.CurveFilledB)
    assert type(weak.get_arrowstyle()) is ArrowStyle.Curve  # no head
    assert {strong.get_linestyle(), weak.get_linestyle()} <= {"-", "solid"}
    assert not ax.lines  # a symbol is of a kind of change


def test_no_arrow_is_wider_than_the_limit():
    ends = {"posA": (0, 0), "posB": (1, 1)}
    ax = Figure().subplots()
    edges = [Edge(0, 1, weight, False) for weight in (1, 5)]
    first, second = (add_arrow(ax, edge, 1.0, MIDDLE, **ends).get_linewidth() for edge in edges)
    assert first == second


def test_the_legend_explains_heads_only_where_there_may_be_some():
    assert sum("supported" in name for name in arrow_entries(True)) == 2
    assert not any("supported" in name for name in arrow_entries(False))
    assert any("0.8" in name for name in arrow_entries(False, 0.8))


def test_kinds_of_no_change_do_not_matter():
    kinds = np.where(np.nan_to_num(WEIGHTS) != 0, "lost", "")
    edges, _ = choose_edges(WEIGHTS, kinds=kinds)
    assert [edge.kind for edge in edges] == ["lost"] * 3


@pytest.mark.parametrize("kind", KIND_STYLES)
def test_a_change_has_the_colour_dash_and_symbol_of_its_kind_whatever_its_sign(kind):
    style, ends = KIND_STYLES[kind], {"posA": (0, 0), "posB": (1, 1)}
    for change in (-0.5, 0.5):
        ax = Figure().subplots()
        drawn = add_arrow(ax, Edge(0, 1, change, False, kind), 0.5, MIDDLE, **ends)
        assert to_hex(drawn.get_edgecolor()).upper() == style.colour
        dashes = drawn.get_linestyle()
        assert dashes == ((0, style.dash) if style.dash else "-")
        (symbol,) = ax.lines
        assert symbol.get_marker() == style.marker
        assert to_hex(symbol.get_color()).upper() == style.colour
        np.testing.assert_array_equal(symbol.get_xydata(), [MIDDLE])


def test_a_faint_change_is_less_opaque():
    ends, ax = {"posA": (0, 0), "posB": (1, 1)}, Figure().subplots()
    edge = Edge(0, 1, 0.5, False, "lost")
    full, faint = (add_arrow(ax, edge, 0.5, MIDDLE, faint=one, **ends) for one in (False, True))
    assert faint.get_alpha() < full.get_alpha()
    assert [line.get_alpha() for line in ax.lines] == [full.get_alpha(), faint.get_alpha()]


def test_the_legend_of_changes_names_the_kinds_that_are_drawn_and_no_sign():
    edges = [Edge(0, 1, 0.5, False, "lost"), Edge(1, 2, -0.5, False, "gained")]
    entries = arrow_entries(False, 0.5, edges)
    assert list(entries) == ["gained", "lost", "change 0.5", "change 0.12"]
    assert entries["lost"].get_marker() == KIND_STYLES["lost"].marker
