import matplotlib.pyplot as plt
import numpy as np
import pytest

from sgbn.core.exceptions import InputError
from sgbn.core.gaussian import GaussianNetwork
from sgbn.write.network_files import connectome
from sgbn.write.tables import standardised_weights

NAMES = ["lh_insula", "somewhere", "rh_insula", "lh_cuneus"]


@pytest.fixture
def network():
    coef = np.zeros((4, 4))
    coef[0, 2], coef[3, 2], coef[1, 0] = 0.5, -2.0, 1.0
    return GaussianNetwork(coef, names=NAMES)


def test_regions_without_coordinates_are_left_out_by_name(network):
    with pytest.warns(UserWarning, match="'somewhere'.*Left out of the connectome: .* and 1 edges"):
        drawn = connectome(network, "dk")
    assert drawn.names == ("lh_insula", "rh_insula", "lh_cuneus")
    weights = standardised_weights(network)
    assert drawn.adjacency[0, 1] == drawn.adjacency[1, 0] == weights[0, 2]
    assert drawn.adjacency[2, 1] == drawn.adjacency[1, 2] == weights[3, 2]
    assert drawn.coordinates.shape == (3, 3)
    assert drawn.coordinates[0, 0] < 0 < drawn.coordinates[1, 0]


def test_an_atlas_that_knows_no_region_is_refused():
    with pytest.raises(InputError, match="coordinates for none of the regions"):
        connectome(GaussianNetwork([[0.0]], names=["somewhere"]), "dk")


@pytest.mark.long  # nilearn.plotting imports for seconds
def test_nilearn_draws_it(network):
    plotting = pytest.importorskip("nilearn.plotting", reason="nilearn comes with the brain extra")
    with pytest.warns(UserWarning, match="Left out of the connectome"):
        drawn = connectome(network, "dk")
    display = plotting.plot_connectome(drawn.adjacency, drawn.coordinates)
    lines = [line for axis in display.axes.values() for line in axis.ax.get_lines()]
    assert len(lines) >= 2 * len(display.axes)  # two edges in each view
    plt.close("all")
