import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from sgbn.core.exceptions import InputError
from sgbn.core.gaussian import GaussianNetwork
from sgbn.learn.sgbn import SGBN
from sgbn.write.network_files import export_network
from sgbn.write.tables import edge_table, node_table

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
    with pytest.warns(UserWarning, match="'=cmd\\(\\)', 'd'"):
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
    assert {(matrix.columns[i], matrix.columns[j]) for i, j in pairs} == edges
    nodes = pd.read_csv(folder / "g_nodes.csv")
    assert nodes["children"].tolist() == node_table(learner)["children"].tolist()


def test_without_coordinates_there_is_nothing_for_brainnet(tmp_path, learner, recwarn):
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
    with pytest.warns(UserWarning, match="no coordinates"):
        files = export_network(learner, tmp_path / "g", "dk", supported=supported)
    assert "g_arrows.edge" not in [path.name for path in files]  # its edges have no place
    assert pd.read_csv(tmp_path / "g_edges.csv")["supported"].all()
    graph = nx.read_graphml(tmp_path / "g.graphml")
    assert all(about["supported"] for _, _, about in graph.edges(data=True))


def test_nothing_is_written_if_a_name_is_refused(tmp_path):
    network = GaussianNetwork([[0, 1], [0, 0]], names=["a", "b\x07"])
    with pytest.raises(InputError, match="Rename it"):
        export_network(network, tmp_path / "new" / "g")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made"):
        export_network(GaussianNetwork([[0]]), tmp_path / "file" / "sub" / "g")
