import numpy as np
from matplotlib.figure import Figure

from sgbn.experiments import exp4, exp4_figure


def test_the_figures_are_drawn_from_the_files(exp4_folder):
    paths = exp4_figure.draw(exp4_folder)
    assert [path.name for path in paths] == ["exp4_networks.png", "exp4_moves.png"]
    assert all(path.stat().st_size > 20_000 for path in paths)


def test_a_matrix_has_a_dot_an_edge_and_the_bias_last(exp4_folder):
    parts = exp4.read(exp4_folder)["table"]
    weights = parts["networks"][exp4.BIASED][0]
    ax = Figure().subplots()
    exp4_figure._matrix(ax, weights, parts, "title")
    drawn = np.asarray(ax.images[0].get_array())
    assert drawn.shape == (15, 15)
    assert np.count_nonzero(drawn) == (np.abs(weights) >= 0.01).sum()
    assert np.array_equal(np.sort(drawn[-1, :-1]), np.sort(np.sign(weights[-1])))
    assert not drawn[:, -1].any()
