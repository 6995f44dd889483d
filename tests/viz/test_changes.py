import numpy as np
import pytest
from matplotlib.figure import Figure

from sgbn.core.exceptions import InputError
from sgbn.write.draw.differences import plot_changes
from sgbn.write.draw.style import LOW, METHODS

FIELDS = [("class", "O"), ("source", "O"), ("target", "O"), ("difference", float)]


def table(*rows):
    return np.array(list(rows), dtype=FIELDS)


CHANGES = {
    "KL-SGBN": table(("patient", "a", "b", 0.4), ("control", "a$x$", "b", -0.1)),
    "MM-SGBN": table(("patient", "a", "b", -0.2), ("control", "b", "c", 0.6)),
}


def markers(ax):
    return [line for line in ax.lines if line.get_marker() not in ("None", None, "")]


def names(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_one_row_an_edge_groups_apart_and_by_size():
    ax = plot_changes(Figure().subplots(), CHANGES)
    assert names(ax) == ["b – c", r"a\$x\$ – b", "a – b"]
    assert [text.get_text() for text in ax.texts] == ["control", "patient"]
    assert len(ax.patches) == 1  # every second group is shaded


def test_only_a_supported_edge_is_named_by_an_arrow():
    ax = plot_changes(Figure().subplots(), CHANGES, supported={("control", "b", "c")})
    assert names(ax) == ["b → c", r"a\$x\$ – b", "a – b"]


def test_a_marker_a_method_at_its_change():
    ax = plot_changes(Figure().subplots(), CHANGES)
    drawn = {(line.get_marker(), line.get_xdata()[0], line.get_ydata()[0]) for line in markers(ax)}
    kl, mm = (METHODS[name]["marker"] for name in CHANGES)
    assert drawn == {(mm, 0.6, 0), (kl, -0.1, 1), (kl, 0.4, 2), (mm, -0.2, 2)}
    labels = [text.get_text() for text in ax.get_legend().texts]
    assert labels == ["KL-SGBN", "MM-SGBN", "in opposite directions"]


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


def test_rows_go_down_and_the_figure_can_be_saved(tmp_path):
    figure = Figure(layout="constrained")
    ax = plot_changes(figure.subplots(), CHANGES)
    assert ax.yaxis_inverted()
    figure.savefig(tmp_path / "changes.pdf")


@pytest.mark.filterwarnings("error")
def test_no_change_at_all_is_an_empty_figure():
    assert names(plot_changes(Figure().subplots(), {"KL-SGBN": table()})) == []


def test_wrong_input_is_refused():
    with pytest.raises(InputError, match="top is 0"):
        plot_changes(Figure().subplots(), CHANGES, top=0)
    with pytest.raises(InputError, match="no column 'difference'"):
        plot_changes(Figure().subplots(), {"KL": CHANGES["KL-SGBN"][["class", "source", "target"]]})
