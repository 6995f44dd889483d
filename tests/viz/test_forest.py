import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from scipy.special import ndtri

from sgbn.core.exceptions import InputError
from sgbn.write.draw.differences import plot_forest, surest_first
from sgbn.write.draw.style import KIND_STYLES

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


def test_pairs_that_differ_both_ways_come_first_then_the_order_of_the_table():
    ax = forest()
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["b – c", "a_L → b", "c – a_L"]
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


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


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
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["area b – c", "L area → area b"]


def test_the_axis_says_that_an_interval_is_of_one_edge():
    assert "interval of each edge alone" in forest().get_xlabel()


def test_dollars_and_minus_zero_are_harmless():
    table = TABLE.assign(source="a$b$", weight_std_CTR=-0.001)
    ax = forest(table)
    ax.figure.draw_without_rendering()
    assert ax.texts[0].get_text().startswith("0.00 →")


def test_a_table_without_rows_is_drawn():
    ax = forest(TABLE.iloc[:0])
    ax.figure.draw_without_rendering()
    assert not drawn(ax)


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(InputError, match="top is 0"):
        forest(top=0)
    with pytest.raises(InputError, match="no column 'kind_PAT'"):
        forest(TABLE.drop(columns="kind_PAT"))


def test_surest_first_keeps_the_order_of_equals():
    order, sure = surest_first(np.array([0.9, 0.05, np.nan, 0.01]), 0.05)
    assert order.tolist() == [1, 3, 0, 2]
    assert sure.tolist() == [False, True, False, True]
