import numpy as np
import pytest

from sgbn.cohort.atlas import Atlas, Region, load_atlas
from sgbn.core.exceptions import DataWarning, InputError
from sgbn.core.gaussian import GaussianNetwork
from sgbn.write.network_files import write_brainnet
from sgbn.write.tables import node_table, standardised_weights

NASTY = ["<script>alert(1)</script>", "=cmd()", "a b\u00a0#1", 'q"uo,te', "脑"]


def places(names):
    """Atlas that knows names no key could be made of."""

    class Everything(Atlas):
        def find(self, column):
            return next((r for r in self.regions if r.name == column), None)

    lobes = ["frontal", "occipital", "frontal", "limbic", "occipital"]
    regions = [
        Region(name, "L", lobe, -1.5 * k, 2.25, k / 3, 1.0)
        for k, (name, lobe) in enumerate(zip(names, lobes, strict=True))
    ]
    return Everything("mine", "mine", tuple(regions))


def read(files):
    """As BrainNet Viewer reads them: words between blanks, comments after #, a plain matrix."""
    node, edge = files
    rows = np.loadtxt(node, dtype=str, comments="#", encoding="utf-8", ndmin=2)
    return rows[:, :5].astype(float), rows[:, 5].tolist(), np.loadtxt(edge, ndmin=2)


@pytest.fixture
def network():
    coef = np.zeros((5, 5))
    coef[3, 0], coef[0, 1], coef[3, 4] = 0.5, -1 / 3, 2.0
    return GaussianNetwork(coef, names=NASTY)


def test_rows_and_matrix_are_read_back(tmp_path, network):
    atlas = places(NASTY)
    files = write_brainnet(tmp_path / "sub.01", network, atlas)
    assert [path.name for path in files] == ["sub.01.node", "sub.01.edge"]
    numbers, labels, matrix = read(files)
    np.testing.assert_array_equal(numbers[:, :3], [[r.x, r.y, r.z] for r in atlas.regions])
    assert numbers[:, 3].tolist() == [1, 2, 1, 3, 2]
    nodes = node_table(network, atlas)
    np.testing.assert_array_equal(numbers[:, 4], 1 + nodes["in_strength"] + nodes["out_strength"])
    assert labels == ["<script>alert(1)</script>", "=cmd()", "a_b_1", 'q"uo,te', "脑"]
    weights = standardised_weights(network)
    np.testing.assert_array_equal(matrix, weights + weights.T)


def test_a_supported_edge_goes_from_its_row_to_its_column(tmp_path, network):
    supported = network.coef < 0
    *lines, arrows = write_brainnet(tmp_path / "a", network, places(NASTY), supported=supported)
    assert arrows.name == "a_arrows.edge"
    matrix = np.loadtxt(arrows)
    assert matrix[0, 1] < 0
    assert np.count_nonzero(matrix) == 1
    assert np.count_nonzero(read(lines)[2]) == 6  # all edges, both ways


def test_no_file_of_arrows_if_none_is_supported(tmp_path, network):
    files = write_brainnet(tmp_path / "a", network, places(NASTY))
    assert [path.suffix for path in files] == [".node", ".edge"]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_lobe_has_its_colour_whatever_the_regions(tmp_path):
    one = GaussianNetwork([[0]], names=["lh_lingual"])
    two = GaussianNetwork(np.zeros((2, 2)), names=["rh_insula", "lh_lingual"])
    first, _, _ = read(write_brainnet(tmp_path / "one", one, "dk"))
    second, _, _ = read(write_brainnet(tmp_path / "two", two, load_atlas("dk")))
    assert first[0, 3] == second[1, 3] != second[0, 3]


def test_regions_without_a_place_are_left_out_and_named(tmp_path):
    names = ["lh_insula", "my region", "rh_insula"]
    network = GaussianNetwork([[0, 1, 1], [0, 0, 1], [0, 0, 0]], names=names)
    with pytest.warns(DataWarning, match=r"'my region'.* and 2 edges .* Give an atlas"):
        files = write_brainnet(tmp_path / "a", network, "dk")
    _, labels, matrix = read(files)
    assert labels == ["lh_insula", "rh_insula"]
    assert np.argwhere(matrix).tolist() == [[0, 1], [1, 0]]


def test_a_network_without_any_place_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"coordinates for none of the regions \('x0', 'x1'\)"):
        write_brainnet(tmp_path / "a", GaussianNetwork([[0, 1], [0, 0]]), "aal")
    assert not list(tmp_path.iterdir())


def test_a_place_that_is_no_number_is_none(tmp_path):
    nowhere = Atlas(
        "a", "a", (Region("x0", "", "l", 0, 0, 0, 1), Region("x1", "", "l", *[np.nan] * 4))
    )
    with pytest.warns(DataWarning, match="'x1'"):
        _, labels, _ = read(
            write_brainnet(tmp_path / "a", GaussianNetwork(np.zeros((2, 2))), nowhere)
        )
    assert labels == ["x0"]
