import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from sgbn.write.draw.accuracy import LOW, plot_accuracy, plot_quality, plot_roc, plot_sparsity

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


CURVE = {"sensitivity": [0.0, 0.6, 1.0], "specificity": [1.0, 0.9, 0.0]}
OTHER = {"sensitivity": [0.0, 0.5, 1.0], "specificity": [1.0, 0.5, 0.0]}


def test_curves_are_drawn_over_one_less_specificity_and_a_guess_is_the_diagonal():
    ax = Figure().subplots()
    assert plot_roc(ax, {"networks": CURVE, "other $x$": OTHER}) is ax
    guess, first, second = ax.lines
    assert guess.get_xydata().tolist() == [[0, 0], [1, 1]]
    np.testing.assert_allclose(first.get_xdata(), [0.0, 0.1, 1.0])
    np.testing.assert_allclose(first.get_ydata(), CURVE["sensitivity"])
    assert first.get_linestyle() != second.get_linestyle()
    assert first.get_linewidth() > second.get_linewidth()
    assert len(ax.get_legend().get_texts()) == 2


def drawn_quality(z, coverage, full=0.95):
    n, m = np.shape(z)
    names = [f"s{k}" for k in range(n)], [f"r{k}" for k in range(m)]
    figure = Figure(layout="constrained")
    return figure, plot_quality(figure, z, coverage, *names, full=full)


def test_scores_and_coverage_are_shown_where_they_belong(tmp_path):
    z = np.random.default_rng(0).standard_normal((5, 3))
    coverage = np.ones((5, 3))
    coverage[2] = 0.5
    figure, (scores, by_subject, by_region) = drawn_quality(z, coverage)
    np.testing.assert_allclose(scores.images[0].get_array(), z)
    low, high = scores.images[0].get_clim()
    assert low == -high
    assert [bar.get_width() for bar in by_subject.patches] == [1, 1, 0.5, 1, 1]
    assert is_low(by_subject) == [False, False, True, False, False]
    np.testing.assert_allclose([bar.get_height() for bar in by_region.patches], 0.9)
    assert labels(scores.yaxis) == [f"s{k}" for k in range(5)]
    assert labels(by_region.xaxis) == ["r0", "r1", "r2"]
    assert by_subject.get_ylim() == scores.get_ylim()
    figure.savefig(tmp_path / "quality.png")
    assert (tmp_path / "quality.png").stat().st_size > 5000


def test_names_are_thinned_out_when_there_are_too_many():
    _, (scores, _, by_region) = drawn_quality(np.zeros((400, 2)), np.ones((400, 2)))
    shown = labels(scores.yaxis)
    assert 10 < len(shown) < 60
    step = int(shown[1][1:])
    assert shown == [f"s{k}" for k in range(0, 400, step)]
    assert len(by_region.get_xticklabels()) == 2


def is_low(by_subject):
    return [to_hex(bar.get_facecolor()).upper() == LOW for bar in by_subject.patches]


def test_the_caller_says_what_is_low_and_no_scores_are_needed():
    none = np.full((2, 3), np.nan)
    _, (scores, by_subject, _) = drawn_quality(none, [[0.5] * 3, [0.7] * 3], full=0.6)
    assert is_low(by_subject) == [True, False]
    assert by_subject.lines[0].get_xdata()[0] == 0.6
    assert scores.texts  # why there are none
