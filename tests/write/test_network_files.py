import json
import re

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.codes import refused, warned

from sgbn.cohort.atlas import Atlas, Region, load_atlas
from sgbn.core.gaussian import GaussianNetwork
from sgbn.learn.sgbn import SGBN
from sgbn.write.network_files import (
    connectome,
    export_network,
    write_brainnet,
    write_graphml,
    write_node_link,
    write_relation_matrix,
)
from sgbn.write.tables import edge_table, node_table, standardised_weights


def export(path, network, atlas=None):
    return export_network(network, path, atlas)


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
    assert sorted(tmp_path.iterdir()) == sorted(files)  # no arrows, since none is supported
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


def test_a_lobe_has_its_colour_whatever_the_regions(tmp_path):
    one = GaussianNetwork([[0]], names=["lh_lingual"])
    two = GaussianNetwork(np.zeros((2, 2)), names=["rh_insula", "lh_lingual"])
    first, _, _ = read(write_brainnet(tmp_path / "one", one, "dk"))
    second, _, _ = read(write_brainnet(tmp_path / "two", two, load_atlas("dk")))
    assert first[0, 3] == second[1, 3] != second[0, 3]


def test_regions_without_a_place_are_left_out_and_named(tmp_path):
    names = ["lh_insula", "my region", "rh_insula"]
    network = GaussianNetwork([[0, 1, 1], [0, 0, 1], [0, 0, 0]], names=names)
    with warned("regions.no-place"):
        files = write_brainnet(tmp_path / "a", network, "dk")
    _, labels, matrix = read(files)
    assert labels == ["lh_insula", "rh_insula"]
    assert np.argwhere(matrix).tolist() == [[0, 1], [1, 0]]


def test_a_place_that_is_no_number_is_none(tmp_path):
    nowhere = Atlas(
        "a", "a", (Region("x0", "", "l", 0, 0, 0, 1), Region("x1", "", "l", *[np.nan] * 4))
    )
    with warned("regions.no-place"):
        _, labels, _ = read(
            write_brainnet(tmp_path / "a", GaussianNetwork(np.zeros((2, 2))), nowhere)
        )
    assert labels == ["x0"]


NAMES = ["lh_insula", "somewhere", "rh_insula", "lh_cuneus"]


@pytest.fixture
def connectome_network():
    coef = np.zeros((4, 4))
    coef[0, 2], coef[3, 2], coef[1, 0] = 0.5, -2.0, 1.0
    return GaussianNetwork(coef, names=NAMES)


def test_regions_without_coordinates_are_left_out_by_name(connectome_network):
    with warned("regions.no-place"):
        drawn = connectome(connectome_network, "dk")
    assert drawn.names == ("lh_insula", "rh_insula", "lh_cuneus")
    weights = standardised_weights(connectome_network)
    assert drawn.adjacency[0, 1] == drawn.adjacency[1, 0] == weights[0, 2]
    assert drawn.adjacency[2, 1] == drawn.adjacency[1, 2] == weights[3, 2]
    assert drawn.coordinates.shape == (3, 3)
    assert drawn.coordinates[0, 0] < 0 < drawn.coordinates[1, 0]


@pytest.mark.long  # nilearn.plotting imports for seconds
def test_nilearn_draws_it(connectome_network):
    plotting = pytest.importorskip("nilearn.plotting", reason="nilearn comes with the brain extra")
    with warned("regions.no-place"):
        drawn = connectome(connectome_network, "dk")
    display = plotting.plot_connectome(drawn.adjacency, drawn.coordinates)
    lines = [line for axis in display.axes.values() for line in axis.ax.get_lines()]
    assert len(lines) >= 2 * len(display.axes)  # two edges in each view
    plt.close("all")


GRAPHS_NASTY = ["<script>alert(1)</script>", "=cmd()", "a, \"b\" & 'c'", "脑 ü 🧠", "lh_insula"]
GRAPHS_NAMES = st.text(st.characters(exclude_categories=["Cc", "Cs", "Cn"]), max_size=8)


def read_node_link(path):
    def refuse(constant):
        raise AssertionError(constant)

    data = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    return nx.node_link_graph(data, edges="edges")


FORMATS = pytest.mark.parametrize(
    ("write", "read"), [(write_graphml, nx.read_graphml), (write_node_link, read_node_link)]
)


@pytest.fixture
def graphs_network():
    coef = np.zeros((5, 5))
    coef[0, 1], coef[1, 2], coef[0, 4], coef[4, 3] = 0.5, -1 / 3, 2.0, 1e-7
    return GaussianNetwork(coef, np.arange(5.0), np.arange(1.0, 6.0), GRAPHS_NASTY)


@FORMATS
def test_nothing_is_lost_on_the_way(tmp_path, graphs_network, write, read):
    path = write(tmp_path / "a", graphs_network, "dk")
    graph = read(path)
    assert graph.is_directed()
    back = GaussianNetwork.from_networkx(graph)
    assert back.names == graphs_network.names
    for part in ("coef", "intercept", "noise_variance"):
        np.testing.assert_array_equal(getattr(back, part), getattr(graphs_network, part))
    for _, row in edge_table(graphs_network).iterrows():
        about = graph.edges[row["source"], row["target"]]
        assert about == row.drop(["source", "target"]).to_dict()
    nodes = node_table(graphs_network, "dk").set_index("region")
    for axis in ("x", "y", "z", "lobe", "hemisphere", "label", "out_strength"):
        assert graph.nodes["lh_insula"][axis] == nodes.loc["lh_insula", axis]


@FORMATS
def test_what_is_unknown_is_left_out(tmp_path, graphs_network, write, read):
    graph = read(write(tmp_path / "a", graphs_network))
    assert not {"x", "label", "hemisphere"} & set(graph.nodes["=cmd()"])
    assert graph.nodes["=cmd()"]["parents"] == 1


@FORMATS
def test_an_edge_says_what_else_is_known_of_it(tmp_path, graphs_network, write, read):
    more = edge_table(graphs_network)[["source", "target"]].assign(
        confidence=[0.5, np.nan, np.inf, 1.0], sure=[True, False, True, False], note="<b>&"
    )
    graph = read(write(tmp_path / "a", graphs_network, more_edge_columns=more))
    for _, row in more.iterrows():
        about = graph.edges[row["source"], row["target"]]
        assert about.get("confidence") == (row["confidence"] if row["confidence"] < 2 else None)
        assert (about["sure"], about["note"]) == (row["sure"], "<b>&")


@FORMATS
@given(names=st.lists(GRAPHS_NAMES, min_size=3, max_size=3, unique=True))
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_name_comes_back(tmp_path, write, read, names):
    network = GaussianNetwork([[0, 1, 0], [0, 0, 2], [0, 0, 0]], names=names)
    graph = read(write(tmp_path / "a", network))
    assert list(graph) == names
    assert set(graph.edges) == {(names[0], names[1]), (names[1], names[2])}


@FORMATS
def test_a_learner_says_what_its_directions_rest_on(tmp_path, simulate, write, read):
    X, _ = simulate(5, 200, 0)
    learner = SGBN(tiers=[["x4"], ["x0"]]).fit(pd.DataFrame(X, columns=[f"x{k}" for k in range(5)]))
    graph = read(write(tmp_path / "a", learner))
    wanted = edge_table(learner).set_index(["source", "target"])["graph_direction"].to_dict()
    assert {edge: graph.edges[edge]["graph_direction"] for edge in graph.edges} == wanted


@FORMATS
def test_each_edge_says_whether_it_is_an_arrow(tmp_path, graphs_network, write, read):
    graph = read(write(tmp_path / "a", graphs_network, supported=graphs_network.coef < 0))
    arrows = [edge for edge in graph.edges if graph.edges[edge]["supported"] is True]
    assert arrows == [(GRAPHS_NASTY[1], GRAPHS_NASTY[2])]
    assert all(graph.edges[edge]["supported"] in (True, False) for edge in graph.edges)


@FORMATS
def test_the_same_network_gives_the_same_file(tmp_path, graphs_network, write, read):
    first, second = (write(tmp_path / name, graphs_network, "dk").read_bytes() for name in "ab")
    assert first == second


ALWAYS = [
    "g_edges.csv",
    "g_nodes.csv",
    "g.graphml",
    "g.json",
    "group-g{}_meas-StandardisedWeight_relmat.tsv",
    "group-g{}_meas-StandardisedWeight_relmat.json",
    "group-g{}_nodeindices.tsv",
    "group-g{}_nodeindices.json",
]


def always(seg=""):
    """Names of the files that every network has."""
    return [name.format(seg) for name in ALWAYS]


@pytest.fixture(scope="module")
def learner():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        rng.standard_normal((300, 4)), columns=["lh_insula", "rh_insula", "=cmd()", "d"]
    )
    X["=cmd()"] += X["lh_insula"] + X["rh_insula"]
    return SGBN().fit(X)


def test_all_formats_hold_the_same_edges(tmp_path, learner):
    with warned("regions.no-place"):
        files = export_network(learner, tmp_path / "new" / "g", "dk")
    assert sorted(path.name for path in files) == sorted(
        [*always("_seg-desikankilliany"), "g.node", "g.edge"]
    )
    assert sorted(files) == sorted((tmp_path / "new").iterdir())
    wanted = edge_table(learner)
    edges = set(zip(wanted["source"], wanted["target"], strict=True))
    assert {("lh_insula", "=cmd()"), ("rh_insula", "=cmd()")} <= edges
    folder = tmp_path / "new"
    table = pd.read_csv(folder / "g_edges.csv")
    assert table["target"].str.replace("'=", "=").tolist() == wanted["target"].tolist()
    np.testing.assert_array_equal(table["weight_std"], wanted["weight_std"])
    assert set(nx.read_graphml(folder / "g.graphml").edges) == edges
    graph = nx.node_link_graph(json.loads((folder / "g.json").read_text()), edges="edges")
    assert set(graph.edges) == edges
    (matrix_file,) = folder.glob("*_relmat.tsv")
    matrix = pd.read_csv(matrix_file, sep="\t")
    pairs = np.argwhere(matrix.to_numpy())
    names = matrix.columns.str.replace("'=", "=")
    assert {(names[i], names[j]) for i, j in pairs} == edges
    nodes = pd.read_csv(folder / "g_nodes.csv")
    assert nodes["children"].tolist() == node_table(learner)["children"].tolist()


def test_without_coordinates_there_is_nothing_for_brainnet(tmp_path, recwarn):
    for atlas, seg in ((None, ""), ("aal3", "_seg-aal3")):
        files = export_network(GaussianNetwork([[0, 1], [0, 0]]), tmp_path / "g", atlas)
        assert [path.name for path in files] == always(seg)
    assert not recwarn


def test_further_columns_go_with_the_edges(tmp_path, learner):
    more = edge_table(learner)[["source", "target"]].assign(confidence=0.75)
    export_network(learner, tmp_path / "g", more_edge_columns=more)
    assert (pd.read_csv(tmp_path / "g_edges.csv")["confidence"] == 0.75).all()
    graph = nx.read_graphml(tmp_path / "g.graphml")
    assert graph.edges["lh_insula", "=cmd()"]["confidence"] == 0.75


def test_supported_edges_are_arrows_in_all_formats(tmp_path, learner):
    supported = learner.coef_ != 0
    with warned("regions.no-place"):
        files = export_network(learner, tmp_path / "g", "dk", supported=supported)
    assert "g_arrows.edge" not in [path.name for path in files]  # its edges have no place
    assert pd.read_csv(tmp_path / "g_edges.csv")["supported"].all()
    graph = nx.read_graphml(tmp_path / "g.graphml")
    assert all(about["supported"] for _, _, about in graph.edges(data=True))


@pytest.mark.parametrize("write", [write_graphml, write_node_link, write_relation_matrix, export])
@pytest.mark.parametrize("name", ["bell\x07", "two\nlines", "a\x00", "a\tb"])
def test_nothing_is_written_if_a_name_is_refused(tmp_path, write, name):
    with refused("name.characters"):
        write(tmp_path / "a", GaussianNetwork([[0, 1], [0, 0]], names=["b", name]))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("write", "folder", "code"),
    [(write_brainnet, "", "regions.no-places"), (export, "file/sub", "folder.unwritable")],
)
def test_what_cannot_be_written_is_refused(tmp_path, write, folder, code):
    (tmp_path / "file").write_text("")
    with refused(code):
        write(tmp_path / folder / "a", GaussianNetwork([[0, 1], [0, 0]]), "aal")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


RELATION_MATRIX_NASTY = [*GRAPHS_NASTY, "Brain-Stem"]
# What a spreadsheet program would run gets an apostrophe.
INERT = ["'=cmd()" if name == "=cmd()" else name for name in RELATION_MATRIX_NASTY]

# Of the sidecar of a matrix, by BEP017
REQUIRED = [
    "NodeFiles",
    "RelationshipMeasure",
    "Weighted",
    "Directed",
    "ValidDiagonal",
    "StorageFormat",
    "Software",
]


@pytest.fixture
def relation_matrix_network():
    coef = np.zeros((6, 6))
    coef[3, 0], coef[0, 1], coef[3, 4] = 0.5, -1 / 3, 2.0
    return GaussianNetwork(coef, names=RELATION_MATRIX_NASTY)


def relation_matrix_read(path):
    return pd.read_csv(
        path, sep="\t", na_values="n/a", keep_default_na=False, float_precision="round_trip"
    )


def test_the_matrix_is_read_back_directed(tmp_path, relation_matrix_network):
    files = write_relation_matrix(tmp_path / "group-a", relation_matrix_network)
    matrix = relation_matrix_read(files[0])
    assert matrix.columns.tolist() == INERT
    np.testing.assert_array_equal(matrix.to_numpy(), standardised_weights(relation_matrix_network))
    assert matrix["'=cmd()"][0] < 0 == matrix[RELATION_MATRIX_NASTY[0]][1]


def test_the_sidecar_says_what_the_proposal_requires(tmp_path, relation_matrix_network):
    files = write_relation_matrix(tmp_path / "a", relation_matrix_network, "dk", group="AD + MCI")
    about = json.loads(files[1].read_text())
    assert set(REQUIRED) <= set(about)
    assert about["Weighted"] is about["Directed"] is True
    assert about["ValidDiagonal"] is about["NonNegative"] is False
    assert [tmp_path / name for name in about["NodeFiles"]] == [files[2]]
    assert (about["Group"], about["Atlas"]) == ("AD + MCI", "desikan_killiany")


def test_the_node_file_names_rows_and_columns(tmp_path, relation_matrix_network):
    files = write_relation_matrix(tmp_path / "group-a", relation_matrix_network, "dk")
    assert [path.name for path in files] == [
        "group-a_seg-desikankilliany_meas-StandardisedWeight_relmat.tsv",
        "group-a_seg-desikankilliany_meas-StandardisedWeight_relmat.json",
        "group-a_seg-desikankilliany_nodeindices.tsv",
        "group-a_seg-desikankilliany_nodeindices.json",
    ]
    nodes, wanted = relation_matrix_read(files[2]), node_table(relation_matrix_network, "dk")
    assert nodes["index"].tolist() == list(range(6))
    assert nodes["name"].tolist() == INERT
    np.testing.assert_array_equal(nodes[["x", "y", "z"]], wanted[["x", "y", "z"]])
    assert nodes["hemisphere"].fillna("").tolist() == ["", "", "", "", "L", ""]
    assert nodes["lobe"].isna().tolist() == [True] * 4 + [False] * 2
    assert nodes.columns.tolist() == list(json.loads(files[3].read_text()))


@pytest.mark.parametrize(
    ("stem", "start"),
    [
        ("sub-01_task-rest", "sub-01_task-rest"),
        ("non-responders", "group-nonresponders"),
        ("AD_MCI", "group-ADMCI"),
        ("Köln 2", "group-Koln2"),
        ("患者", "group-[0-9a-f]{8}"),
    ],
)
def test_names_of_files_are_made_of_entities(tmp_path, relation_matrix_network, stem, start):
    files = write_relation_matrix(tmp_path / stem, relation_matrix_network)
    assert re.fullmatch(f"{start}_meas-StandardisedWeight_relmat.tsv", files[0].name)
    assert json.loads(files[1].read_text())["Group"] == stem


def test_the_matrix_of_another_group_is_not_replaced(tmp_path, relation_matrix_network):
    write_relation_matrix(tmp_path / "a b", relation_matrix_network)
    write_relation_matrix(tmp_path / "a b", relation_matrix_network)
    with refused("file.taken"):
        write_relation_matrix(tmp_path / "ab", relation_matrix_network)
