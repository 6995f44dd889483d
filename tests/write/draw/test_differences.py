import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from scipy.special import ndtri
from tests.codes import refused

from sgbn.write.draw.differences import (
    plot_changes,
    plot_forest,
    plot_permutations,
    surest_first,
    threshold,
)
from sgbn.write.draw.style import KIND_STYLES, LOW, METHODS

TABLE = pd.DataFrame(
    {
        "source": ["a_L", "b", "c"],
        "target": ["b", "c", "a_L"],
        "weight_std_CTR": [-0.61, 0.66, 0.001],
        "weight_std_PAT": [-0.05, 0.32, 0.4],
        "kind_PAT": ["lost", "weaker", "gained"],
        "difference_std": [0.56, -0.34, 0.4],
        "standard_error": [0.1, 0.05, 0.2],
        "q_both": [0.4, 0.01, 0.9],
        "supported": [True, False, False],
    }
)


def forest(table=TABLE, **options):
    figure = Figure(figsize=(8, 4), layout="constrained")
    return plot_forest(figure.subplots(), table, "CTR", "PAT", **options)


def drawn(ax):
    """Interval and marker of each row."""
    lines = ax.lines[1:]  # after that of zero
    return list(zip(lines[::2], lines[1::2], strict=True))


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def names(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_pairs_that_differ_both_ways_come_first_then_the_order_of_the_table():
    ax = forest()
    assert names(ax) == ["b – c", "a_L → b", "c – a_L"]
    assert ax.yaxis_inverted()


def test_each_row_has_its_change_with_a_95_percent_interval_in_the_look_of_its_kind():
    for (interval, marker), k in zip(drawn(forest()), (1, 0, 2), strict=True):
        row = TABLE.iloc[k]
        half = ndtri(0.975) * row["standard_error"]
        ends = row["difference_std"] - half, row["difference_std"] + half
        np.testing.assert_allclose(interval.get_xdata(), ends)
        assert marker.get_xdata() == [row["difference_std"]]
        sure = row["q_both"] <= 0.05
        look = KIND_STYLES[row["kind_PAT"]]
        assert marker.get_marker() == (look.marker if sure else "o")
        assert (to_hex(interval.get_color()).upper() == look.colour) == sure


def test_intervals_follow_the_level():
    wide = drawn(forest(level=0.01))[0][0].get_xdata()
    narrow = drawn(forest())[0][0].get_xdata()
    ratio = (wide[1] - wide[0]) / (narrow[1] - narrow[0])
    np.testing.assert_allclose(ratio, ndtri(0.995) / ndtri(0.975))
    assert "99 % interval" in forest(level=0.01).get_xlabel()


def test_only_pairs_that_differ_both_ways_have_a_filled_marker():
    filled = [marker.get_markerfacecolor() != "white" for _, marker in drawn(forest())]
    assert filled == [True, False, False]
    assert "empty: not found to differ both ways" in legend(forest())
    assert legend(forest(TABLE.assign(q_both=0.01))) == ["gained", "lost", "weaker"]


def test_the_weights_of_both_groups_stand_at_the_right_and_outside():
    ax = forest()
    ax.figure.draw_without_rendering()
    texts = [text.get_text() for text in ax.texts]
    assert texts[:3] == ["0.66 → 0.32", "−0.61 → −0.05", "0.00 → 0.40"]
    assert texts[3] == "weight: CTR → PAT"
    right, width = ax.get_window_extent().x1, ax.figure.bbox.width
    for text in ax.texts:
        assert right < text.get_window_extent().x0
        assert text.get_window_extent().x1 <= width


def test_at_most_so_many_rows_with_readable_names():
    ax = forest(top=2, labels={"a_L": "L area", "b": "area b"})
    assert names(ax) == ["area b – c", "L area → area b"]


def test_dollars_minus_zero_and_no_rows_are_harmless():
    harmless = TABLE.assign(source="a$b$", weight_std_CTR=-0.001)
    for table, first in ((harmless, "0.00 →"), (TABLE.iloc[:0], "weight:")):
        ax = forest(table)
        ax.figure.draw_without_rendering()
        assert len(drawn(ax)) == len(table)
        assert ax.texts[0].get_text().startswith(first)


def test_surest_first_keeps_the_order_of_equals():
    order, sure = surest_first(np.array([0.9, 0.05, np.nan, 0.01]), 0.05)
    assert order.tolist() == [1, 3, 0, 2]
    assert sure.tolist() == [False, True, False, True]


NULL = np.arange(19) / 19.0


def test_all_permutations_are_in_the_histogram():
    ax = plot_permutations(Figure().subplots(), NULL, 1.5, label="balanced $accuracy$")
    assert sum(bar.get_height() for bar in ax.patches) == 19
    assert ax.get_xlabel() == r"balanced \$accuracy\$"


def test_the_observed_value_its_p_and_the_threshold():
    ax = plot_permutations(Figure().subplots(), NULL, 1.5)
    limit, observed = (line.get_xdata()[0] for line in ax.lines)
    assert observed == 1.5
    assert limit == NULL.max()
    assert "observed: 1.5, p = 0.05" in legend(ax)


def test_several_observed_values_keep_their_names():
    ax = plot_permutations(Figure().subplots(), NULL, {"_KL": 1.5, "a$b$": 0.0})
    assert len(ax.lines) == 3
    assert "_KL: 1.5, p = 0.05" in legend(ax)
    assert r"a\$b\$: 0, p = 1" in legend(ax)
    assert len({line.get_color() for line in ax.lines}) == 3


def test_too_few_permutations_for_the_level_are_said():
    ax = plot_permutations(Figure().subplots(), NULL[:18], 1.5)
    assert len(ax.lines) == 1
    assert "p ≤ 0.05 needs 19 permutations" in legend(ax)


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=120), st.sampled_from([0.01, 0.05, 0.1, 0.3])
)
def test_beyond_the_threshold_p_is_at_most_the_level_and_at_it_more(values, level):
    null = np.array(values, dtype=float)

    def p(value):
        return (1 + (null >= value).sum()) / (1 + len(null))

    limit = threshold(null, level)
    if limit is None:
        assert 1 / (1 + len(null)) > level
    else:
        assert p(limit + 1e-6) <= level + 1e-12
        assert p(limit) > level


FIELDS = [("class", "O"), ("source", "O"), ("target", "O"), ("difference", float)]


def table(*rows):
    return np.array(list(rows), dtype=FIELDS)


CHANGES = {
    "KL-SGBN": table(("patient", "a", "b", 0.4), ("control", "a$x$", "b", -0.1)),
    "MM-SGBN": table(("patient", "a", "b", -0.2), ("control", "b", "c", 0.6)),
}


def markers(ax):
    return [line for line in ax.lines if line.get_marker() not in ("None", None, "")]


def test_one_row_an_edge_groups_apart_and_by_size(tmp_path):
    figure = Figure(layout="constrained")
    ax = plot_changes(figure.subplots(), CHANGES)
    assert names(ax) == ["b – c", r"a\$x\$ – b", "a – b"]
    assert ax.yaxis_inverted()
    assert [text.get_text() for text in ax.texts] == ["control", "patient"]
    assert len(ax.patches) == 1  # every second group is shaded
    figure.savefig(tmp_path / "changes.pdf")


def test_only_a_supported_edge_is_named_by_an_arrow():
    ax = plot_changes(Figure().subplots(), CHANGES, supported={("control", "b", "c")})
    assert names(ax) == ["b → c", r"a\$x\$ – b", "a – b"]


def test_a_marker_a_method_at_its_change():
    ax = plot_changes(Figure().subplots(), CHANGES)
    drawn = {(line.get_marker(), line.get_xdata()[0], line.get_ydata()[0]) for line in markers(ax)}
    kl, mm = (METHODS[name]["marker"] for name in CHANGES)
    assert drawn == {(mm, 0.6, 0), (kl, -0.1, 1), (kl, 0.4, 2), (mm, -0.2, 2)}
    assert legend(ax) == ["KL-SGBN", "MM-SGBN", "in opposite directions"]


def test_edges_moved_in_opposite_directions_are_told():
    ax = plot_changes(Figure().subplots(), CHANGES)
    dotted = [
        line.get_ydata()[0]
        for line in ax.lines
        if line.get_color() == LOW and line.get_linestyle() == ":"
    ]
    assert dotted == [2]


def test_the_most_changed_edges_by_the_mean_over_methods():
    ax = plot_changes(Figure().subplots(), CHANGES, top=2)
    assert names(ax) == ["b – c", "a – b"]  # both 0.3 on average, the other 0.05
    assert ax.get_title() == "the 2 most changed of 3 edges"


@pytest.mark.filterwarnings("error")
def test_no_change_at_all_is_an_empty_figure():
    assert names(plot_changes(Figure().subplots(), {"KL-SGBN": table()})) == []


@pytest.mark.parametrize(
    ("draw", "code"),
    [
        (lambda ax: forest(top=0), "argument"),
        (lambda ax: forest(TABLE.drop(columns="kind_PAT")), "table.column"),
        (lambda ax: plot_permutations(ax, [], 1.0), "null.values"),
        (lambda ax: plot_permutations(ax, [0.1, np.nan], 1.0), "null.values"),
        (lambda ax: plot_permutations(ax, [0.1], 1.0, level=1), "argument"),
        (lambda ax: plot_changes(ax, CHANGES, top=0), "argument"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw, code):
    with refused(code):
        draw(Figure().subplots())
