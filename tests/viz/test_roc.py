import numpy as np
import pytest
from matplotlib.figure import Figure

from sgbn.write.draw.accuracy import plot_roc

CURVE = {"sensitivity": [0.0, 0.6, 1.0], "specificity": [1.0, 0.9, 0.0]}
OTHER = {"sensitivity": [0.0, 0.5, 1.0], "specificity": [1.0, 0.5, 0.0]}


@pytest.fixture
def ax():
    return Figure().add_subplot()


def test_curves_are_drawn_over_one_less_specificity(ax):
    assert plot_roc(ax, {"networks": CURVE, "other $x$": OTHER}) is ax
    _, first, second = ax.lines
    np.testing.assert_allclose(first.get_xdata(), [0.0, 0.1, 1.0])
    np.testing.assert_allclose(first.get_ydata(), CURVE["sensitivity"])
    assert first.get_linestyle() != second.get_linestyle()
    assert first.get_linewidth() > second.get_linewidth()
    assert len(ax.get_legend().get_texts()) == 2


def test_a_guess_is_the_diagonal(ax):
    plot_roc(ax, {"networks": CURVE})
    assert ax.lines[0].get_xydata().tolist() == [[0, 0], [1, 1]]
