import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import ArrowStyle

from sgbn.exceptions import InputError
from sgbn.viz.arrows import Edge, add_arrow, arrow_entries, choose_edges, left_out
from sgbn.viz.style import NEGATIVE, POSITIVE

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
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        choose_edges(WEIGHTS, **options)


def test_colour_is_sign_width_is_size_and_a_head_is_support():
    ax = Figure().subplots()
    ends = {"posA": (0, 0), "posB": (1, 1)}
    strong = add_arrow(ax, Edge(0, 1, -0.9, True), 0.9, **ends)
    weak = add_arrow(ax, Edge(0, 1, 0.1, False), 0.9, **ends)
    assert list(ax.patches) == [strong, weak]
    assert to_hex(strong.get_edgecolor()).upper() == NEGATIVE
    assert to_hex(weak.get_edgecolor()).upper() == POSITIVE
    assert strong.get_linewidth() > weak.get_linewidth()
    assert isinstance(strong.get_arrowstyle(), ArrowStyle.CurveFilledB)
    assert type(weak.get_arrowstyle()) is ArrowStyle.Curve  # no head
    assert {strong.get_linestyle(), weak.get_linestyle()} <= {"-", "solid"}


def test_no_arrow_is_wider_than_the_limit():
    ends = {"posA": (0, 0), "posB": (1, 1)}
    ax = Figure().subplots()
    widths = [add_arrow(ax, Edge(0, 1, w, False), 1.0, **ends).get_linewidth() for w in (1, 5)]
    assert widths[0] == widths[1]


def test_the_legend_explains_heads_only_where_there_may_be_some():
    assert sum("supported" in name for name in arrow_entries(True)) == 2
    assert not any("supported" in name for name in arrow_entries(False))
    assert any("0.8" in name for name in arrow_entries(False, 0.8))
