import numpy as np
import pytest
from matplotlib.figure import Figure

from sgbn.viz import plot_matrix, plot_recovery

NAMES = ["a", "b", "c", "d"]
LOBES = ["frontal", "temporal", "frontal", "temporal"]


def test_regions_are_grouped_by_lobe_and_boxed():
    W = np.zeros((4, 4))
    W[0, 2] = 0.5
    ax = plot_matrix(Figure().subplots(), W, NAMES, LOBES, title="control")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "c", "b", "d"]
    assert ax.images[0].get_array()[0, 1] == 0.5
    assert len(ax.patches) == 2
    assert {text.get_text() for text in ax.texts} == {"frontal", "temporal"}
    assert ax.get_title() == "control"


def test_colours_are_symmetric_about_zero_even_for_an_empty_network():
    for W, limit in ((np.zeros((4, 4)), 1.0), (np.eye(4)[::-1] * -2, 2.0)):
        assert plot_matrix(Figure().subplots(), W, NAMES, LOBES).images[0].get_clim() == (
            -limit,
            limit,
        )


def test_recovery_shows_two_groups_and_their_difference(tmp_path):
    rng = np.random.default_rng(0)
    true = {"control": rng.standard_normal((4, 4)), "patient": rng.standard_normal((4, 4))}
    learned = {group: 0.5 * weights for group, weights in true.items()}
    figure = Figure()
    axes = plot_recovery(figure, true, learned, NAMES, LOBES)
    assert axes.shape == (3, 2)
    order = [0, 2, 1, 3]
    difference = (true["patient"] - true["control"])[np.ix_(order, order)]
    np.testing.assert_allclose(axes[2, 0].images[0].get_array(), difference)
    figure.savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 5000


@pytest.mark.parametrize("limit", [None, 3.0])
def test_the_limit_can_be_given(limit):
    ax = plot_matrix(Figure().subplots(), np.eye(4), NAMES, LOBES, limit=limit)
    assert ax.images[0].get_clim()[1] == (limit or 1.0)
