import numpy as np
import pytest
from matplotlib.figure import Figure

from sgbn import simulate_cohort
from sgbn.experiments import exp4, exp4_figure


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A finished run on a small table."""
    folder = tmp_path_factory.mktemp("exp4")
    settings = exp4.Settings(permutations=19, orders=2, seed=1)
    cohort = simulate_cohort(30, 0, regions=14)
    exp4.run(folder, settings, {"table": exp4.make_sample(cohort, settings)}, progress=False)
    return folder


def test_the_figures_are_drawn_from_the_files(folder):
    paths = exp4_figure.draw(folder)
    assert [path.name for path in paths] == ["exp4_networks.png", "exp4_moves.png"]
    assert all(path.stat().st_size > 20_000 for path in paths)


def test_a_matrix_has_a_dot_an_edge_and_the_bias_last(folder):
    parts = exp4.read(folder)["table"]
    weights = parts["networks"][exp4.BIASED][0]
    ax = Figure().subplots()
    exp4_figure._matrix(ax, weights, parts, "title")
    drawn = np.asarray(ax.images[0].get_array())
    assert drawn.shape == (15, 15)
    assert np.count_nonzero(drawn) == (np.abs(weights) >= 0.01).sum()
    assert np.array_equal(np.sort(drawn[-1, :-1]), np.sort(np.sign(weights[-1])))
    assert not drawn[:, -1].any()
