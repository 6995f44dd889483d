import numpy as np
import pytest
from matplotlib.figure import Figure

from sgbn.core.exceptions import InputError
from sgbn.write.draw.accuracy import plot_accuracy, plot_sparsity

TABLE = {
    "method": ["forest", "SGBN", "a$b$", "_failed"],
    "mean": [0.7, 0.8, 0.75, np.nan],
    "low": [0.6, 0.7, np.nan, np.nan],
    "high": [0.8, 0.9, np.nan, np.nan],
}


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def sparsity(edges):
    edges = np.asarray(edges)
    mean = np.linspace(0.6, 0.7, len(edges))
    columns = [np.linspace(1, 5, len(edges)), edges, mean, mean - 0.1, mean + 0.1]
    return np.rec.fromarrays(columns, names="gamma,edges,mean,low,high")


def test_the_best_method_is_on_top_with_its_interval():
    ax = plot_accuracy(Figure().subplots(), TABLE)
    assert labels(ax.yaxis) == ["SGBN", r"a\$b\$", "forest"]
    assert ax.yaxis_inverted()
    intervals = [line.get_xdata() for line in ax.lines if len(line.get_xdata()) == 2]
    assert (0.7, 0.9) in [tuple(ends) for ends in intervals]
    dots = [line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 1]
    assert dots == [0.8, 0.75, 0.7]


@pytest.mark.parametrize(("ours", "bold"), [(None, ["SGBN"]), (["forest"], ["forest"]), ([], [])])
def test_our_methods_are_emphasised(ours, bold):
    ax = plot_accuracy(Figure().subplots(), TABLE, ours=ours)
    drawn = [label.get_text() for label in ax.get_yticklabels() if label.get_weight() == "bold"]
    assert drawn == bold


def test_the_line_of_chance_is_where_the_caller_says():
    for chance in (0.5, 1 / 3):
        ax = plot_accuracy(Figure().subplots(), TABLE, chance=chance)
        assert ax.lines[0].get_xdata()[0] == chance
        ax = plot_sparsity(Figure().subplots(), sparsity([10, 20]), chance=chance)
        assert chance in [line.get_ydata()[0] for line in ax.lines]


def test_accuracy_over_edges_with_gamma_above():
    ax = plot_sparsity(Figure().subplots(), sparsity([30, 10, 20])[[2, 0, 1]])
    assert ax.lines[0].get_xdata().tolist() == [10, 20, 30]
    assert labels(ax.xaxis) == ["10", "20", "30"]
    (above,) = ax.child_axes
    assert labels(above.xaxis) == ["3", "5", "1"]
    assert ax.get_xscale() == "linear"


def test_many_edges_are_shown_on_a_logarithmic_axis():
    assert plot_sparsity(Figure().subplots(), sparsity([10, 100])).get_xscale() == "log"
    assert plot_sparsity(Figure().subplots(), sparsity([0, 100])).get_xscale() == "linear"


def test_values_of_gamma_do_not_lie_on_each_other(tmp_path):
    figure = Figure(figsize=(3, 2), layout="constrained")
    ax = plot_sparsity(figure.subplots(), sparsity(range(100, 160)))
    assert 2 <= len(labels(ax.xaxis)) <= 9
    figure.savefig(tmp_path / "sparsity.svg")


def test_a_missing_column_is_named():
    for draw in (plot_accuracy, plot_sparsity):
        with pytest.raises(InputError, match="no column"):
            draw(Figure().subplots(), {"mean": [0.5]})
