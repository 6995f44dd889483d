import re
from html import unescape

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import ArrowStyle, FancyArrowPatch, Wedge
from tests.codes import refused

from sgbn.write.draw.circle import (
    FAINT,
    GREY,
    Edge,
    add_arrow,
    arrow_entries,
    choose_edges,
    left_out,
    plot_circle,
)
from sgbn.write.draw.style import KIND_STYLES, NEGATIVE, POSITIVE

NAMES = ["a_L", "a_R", "b_L", "b_R", "c_L", "c_R", "stem"]
LOBES = ["frontal", "frontal", "temporal", "temporal", "frontal", "frontal", "brainstem"]
SIDES = ["L", "R", "L", "R", "L", "R", ""]


def network(m=7):
    weights = np.zeros((m, m))
    weights[0, 1], weights[1, 2], weights[5, 6] = 0.5, -0.3, 0.2
    return weights


def axes(inches=6.0):
    return Figure(figsize=(inches, inches)).subplots()


def arrows(ax):
    return [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]


def places(ax, names):
    return {t.get_text(): t.get_position() for t in ax.texts if t.get_text() in names}


def heads(ax):
    return [isinstance(patch.get_arrowstyle(), ArrowStyle.CurveFilledB) for patch in arrows(ax)]


def test_an_edge_is_an_arrow_only_where_it_is_supported():
    supported = network() < 0
    ax = plot_circle(axes(), network(), NAMES, LOBES, supported=supported, title="control")
    assert len(arrows(ax)) == 3
    assert sum(heads(ax)) == 1
    assert not any(heads(plot_circle(axes(), network(), NAMES, LOBES)))
    assert ax.get_title() == "control"


def test_arrows_end_at_their_regions():
    ax = plot_circle(axes(), network() * (network() == 0.5), NAMES, LOBES)
    (drawn,) = arrows(ax)
    start, stop = drawn._path_original.vertices[[0, -1]]
    at = places(ax, NAMES)
    for point, name in ((start, "a_L"), (stop, "a_R")):
        np.testing.assert_allclose(
            point / np.linalg.norm(point), np.array(at[name]) / np.linalg.norm(at[name])
        )


def test_hemispheres_lie_on_their_sides_and_mirror_each_other():
    ax = plot_circle(axes(), network(), NAMES, LOBES, hemispheres=SIDES)
    at = places(ax, NAMES)
    for pair in "abc":
        left, right = at[f"{pair}_L"], at[f"{pair}_R"]
        assert left[0] < 0 < right[0]
        np.testing.assert_allclose((-left[0], left[1]), right, atol=1e-9)
    assert at["stem"][1] < min(y for name, (_, y) in at.items() if name != "stem")


def test_regions_of_a_lobe_lie_together_under_one_arc():
    ax = plot_circle(axes(), network(), NAMES, LOBES)
    assert sum(isinstance(patch, Wedge) for patch in ax.patches) == 3
    at = places(ax, NAMES)
    angle = {name: np.arctan2(x, y) % (2 * np.pi) for name, (x, y) in at.items()}
    order = sorted(NAMES, key=angle.__getitem__)
    assert [LOBES[NAMES.index(name)] for name in order] == sorted(LOBES, key=LOBES.index)


def test_names_are_all_shown_none_or_where_they_can_be_read():
    many = [f"a long name of region {k}" for k in range(150)]
    lobes = ["one"] * 75 + ["two"] * 75
    weights = network(150)

    def shown(inches, labels):
        ax = plot_circle(axes(inches), weights, many, lobes, labels=labels)
        return len(places(ax, many))

    assert shown(3, "auto") == 0
    assert shown(12, "auto") == shown(3, "all") == 150
    assert shown(12, "none") == 0


@pytest.mark.parametrize("inches", [3.5, 5, 7])
@pytest.mark.parametrize("layout", [None, "constrained"])
def test_names_lie_inside_the_axes(inches, layout):
    figure = Figure(figsize=(inches, inches), layout=layout)
    ax = plot_circle(figure.subplots(), network(), NAMES, LOBES, hemispheres=SIDES)
    figure.draw_without_rendering()
    inside = ax.get_window_extent().padded(2)
    for text in ax.texts:
        box = text.get_window_extent()
        assert (inside.min <= box.min).all()
        assert (box.max <= inside.max).all()


def test_long_names_of_many_lobes_take_two_lines_and_leave_the_circle_its_room():
    lobes = [f"salience / ventral attention {k // 3}" for k in range(51)]
    names = [f"region {k}" for k in range(51)]
    sides = ["L", "R", "R"] * 17
    figure = Figure(figsize=(6, 6))
    ax = plot_circle(figure.subplots(), network(51), names, lobes, hemispheres=sides)
    written = {text.get_text() for text in ax.texts}
    assert written >= {lobe.replace("ventral ", "ventral\n") for lobe in lobes}
    assert ax.get_xlim()[1] < 2.2  # radii: the circle has nearly half of the axes


def test_names_that_lobes_leave_too_little_room_are_not_shown():
    lobes = [f"a lobe of a very long name {k // 2}" for k in range(100)]
    many = [f"region {k}" for k in range(100)]
    ax = plot_circle(axes(6), network(100), many, lobes)
    assert not places(ax, many)
    shown = plot_circle(axes(6), network(100), many, ["x"] * 100)
    assert len(places(shown, many)) == 100


def test_the_title_says_what_is_left_out():
    ax = plot_circle(axes(), network(), NAMES, LOBES, strongest=2)
    assert len(arrows(ax)) == 2
    assert "strongest 2 of 3 edges" in ax.get_title()


def test_names_are_shown_as_they_are(tmp_path):
    names = ["a$b$c", "_x^2", "<script>", *NAMES[3:]]
    figure = Figure(layout="constrained")
    plot_circle(figure.subplots(), network(), names, ["$x$ lobe"] * 7, title="$t$")
    with mpl.rc_context({"svg.fonttype": "none"}):
        figure.savefig(tmp_path / "circle.svg")
    written = unescape(re.sub(r"<[^>]*>", "|", (tmp_path / "circle.svg").read_text()))
    for name in ("a$b$c", "_x^2", "<script>", "$x$ lobe", "$t$"):
        assert f"|{name}|" in written


def test_an_empty_network_is_drawn():
    assert not arrows(plot_circle(axes(), np.zeros((7, 7)), NAMES, LOBES, hemispheres=SIDES))


def test_changes_are_drawn_by_their_kind_with_a_symbol_on_the_curve():
    kinds = np.full((7, 7), "lost")
    ax = plot_circle(axes(), network(), NAMES, LOBES, kinds=kinds)
    drawn = arrows(ax)
    assert {to_hex(one.get_edgecolor()).upper() for one in drawn} == {KIND_STYLES["lost"].colour}
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert shown == ["lost", "change 0.5", "change 0.12"]
    for one, symbol in zip(drawn, ax.lines, strict=True):
        first, through, last = one._path_original.vertices
        np.testing.assert_allclose(symbol.get_xydata()[0], (first + 2 * through + last) / 4)


def test_what_was_not_found_to_differ_is_grey_and_has_no_kind():
    kinds = np.full((7, 7), "lost")
    ax = plot_circle(axes(), network(), NAMES, LOBES, kinds=kinds, faint=True)
    drawn = arrows(ax)
    assert {to_hex(one.get_edgecolor()) for one in drawn} == {to_hex(GREY)}
    assert {one.get_alpha() for one in drawn} == {FAINT}
    assert not ax.lines
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert shown == ["not found to differ", "change 0.5", "change 0.12"]


MIDDLE = (0.5, 0.5)
WEIGHTS = np.array([[0.0, 0.5, -0.9], [0.0, 0.0, 0.1], [np.nan, 0.0, 0.0]])


def test_all_edges_the_strongest_on_top_with_their_kinds():
    edges, total = choose_edges(WEIGHTS)
    assert edges == [Edge(1, 2, 0.1, False), Edge(0, 1, 0.5, False), Edge(0, 2, -0.9, False)]
    assert total == 3
    assert left_out(len(edges), total) == ""
    kinds = np.where(np.nan_to_num(WEIGHTS) != 0, "lost", "")
    assert choose_edges(WEIGHTS, kinds=kinds)[0] == [edge._replace(kind="lost") for edge in edges]


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
    ("options", "code"),
    [
        ({"strongest": 0}, "argument"),
        ({"labels": "some"}, "argument"),
        ({"hemispheres": ["L", "R"]}, "argument.shape"),
        ({"supported": np.zeros((2, 2))}, "argument.shape"),
        ({"kinds": np.full((2, 2), "lost")}, "argument.shape"),
        ({"kinds": np.full((7, 7), "los")}, "kinds.unknown"),
    ],
)
def test_what_cannot_be_is_refused(options, code):
    with refused(code):
        plot_circle(axes(), network(), NAMES, LOBES, **options)


def test_colour_is_sign_width_is_size_and_a_head_is_support():
    ax = Figure().subplots()
    ends = {"posA": (0, 0), "posB": (1, 1)}
    strong = add_arrow(ax, Edge(0, 1, -0.9, True), 0.9, MIDDLE, **ends)
    weak = add_arrow(ax, Edge(0, 1, 0.1, False), 0.9, MIDDLE, **ends)
    assert list(ax.patches) == [strong, weak]
    assert to_hex(strong.get_edgecolor()).upper() == NEGATIVE
    assert to_hex(weak.get_edgecolor()).upper() == POSITIVE
    assert strong.get_linewidth() > weak.get_linewidth()
    beyond = add_arrow(ax, Edge(0, 1, 4.5, False), 0.9, MIDDLE, **ends)
    assert beyond.get_linewidth() == strong.get_linewidth()  # the width has a limit
    assert isinstance(strong.get_arrowstyle(), ArrowStyle.CurveFilledB)
    assert type(weak.get_arrowstyle()) is ArrowStyle.Curve  # no head
    assert {strong.get_linestyle(), weak.get_linestyle()} <= {"-", "solid"}
    assert not ax.lines  # a symbol is of a kind of change


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
