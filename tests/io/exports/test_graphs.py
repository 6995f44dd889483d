import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sgbn.core.exceptions import InputError
from sgbn.core.gaussian import GaussianNetwork
from sgbn.learn.sgbn import SGBN
from sgbn.write.network_files import write_graphml, write_node_link
from sgbn.write.tables import edge_table, node_table

NASTY = ["<script>alert(1)</script>", "=cmd()", "a, \"b\" & 'c'", "脑 ü 🧠", "lh_insula"]
NAMES = st.text(st.characters(exclude_categories=["Cc", "Cs", "Cn"]), max_size=8)


def read_graphml(path):
    return nx.read_graphml(path)


def read_node_link(path):
    def refuse(constant):
        raise AssertionError(constant)

    data = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    return nx.node_link_graph(data, edges="edges")


FORMATS = pytest.mark.parametrize(
    ("write", "read"), [(write_graphml, read_graphml), (write_node_link, read_node_link)]
)


@pytest.fixture
def network():
    coef = np.zeros((5, 5))
    coef[0, 1], coef[1, 2], coef[0, 4], coef[4, 3] = 0.5, -1 / 3, 2.0, 1e-7
    return GaussianNetwork(coef, np.arange(5.0), np.arange(1.0, 6.0), NASTY)


@FORMATS
def test_nothing_is_lost_on_the_way(tmp_path, network, write, read):
    path = write(tmp_path / "a", network, "dk")
    graph = read(path)
    assert graph.is_directed()
    back = GaussianNetwork.from_networkx(graph)
    assert back.names == network.names
    for part in ("coef", "intercept", "noise_variance"):
        np.testing.assert_array_equal(getattr(back, part), getattr(network, part))
    for _, row in edge_table(network).iterrows():
        about = graph.edges[row["source"], row["target"]]
        assert about == row.drop(["source", "target"]).to_dict()
    nodes = node_table(network, "dk").set_index("region")
    for axis in ("x", "y", "z", "lobe", "hemisphere", "label", "out_strength"):
        assert graph.nodes["lh_insula"][axis] == nodes.loc["lh_insula", axis]


@FORMATS
def test_what_is_unknown_is_left_out(tmp_path, network, write, read):
    graph = read(write(tmp_path / "a", network))
    assert not {"x", "label", "hemisphere"} & set(graph.nodes["=cmd()"])
    assert graph.nodes["=cmd()"]["parents"] == 1


@FORMATS
def test_an_edge_says_what_else_is_known_of_it(tmp_path, network, write, read):
    more = edge_table(network)[["source", "target"]].assign(
        confidence=[0.5, np.nan, np.inf, 1.0], sure=[True, False, True, False], note="<b>&"
    )
    graph = read(write(tmp_path / "a", network, more_edge_columns=more))
    for _, row in more.iterrows():
        about = graph.edges[row["source"], row["target"]]
        assert about.get("confidence") == (row["confidence"] if row["confidence"] < 2 else None)
        assert (about["sure"], about["note"]) == (row["sure"], "<b>&")


@FORMATS
@given(names=st.lists(NAMES, min_size=3, max_size=3, unique=True))
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_name_comes_back(tmp_path, write, read, names):
    network = GaussianNetwork([[0, 1, 0], [0, 0, 2], [0, 0, 0]], names=names)
    graph = read(write(tmp_path / "a", network))
    assert list(graph) == names
    assert set(graph.edges) == {(names[0], names[1]), (names[1], names[2])}


@FORMATS
@pytest.mark.parametrize("name", ["bell\x07", "two\nlines", "a\x00"])
def test_control_characters_are_refused(tmp_path, write, read, name):
    with pytest.raises(InputError, match="Rename it"):
        write(tmp_path / "a", GaussianNetwork([[0, 1], [0, 0]], names=["b", name]))
    assert not list(tmp_path.iterdir())


@FORMATS
def test_a_learner_says_what_its_directions_rest_on(tmp_path, simulate, write, read):
    X, _ = simulate(5, 200, 0)
    learner = SGBN(tiers=[["x4"], ["x0"]]).fit(pd.DataFrame(X, columns=[f"x{k}" for k in range(5)]))
    graph = read(write(tmp_path / "a", learner))
    wanted = edge_table(learner).set_index(["source", "target"])["graph_direction"].to_dict()
    assert {edge: graph.edges[edge]["graph_direction"] for edge in graph.edges} == wanted


@FORMATS
def test_each_edge_says_whether_it_is_an_arrow(tmp_path, network, write, read):
    graph = read(write(tmp_path / "a", network, supported=network.coef < 0))
    arrows = [edge for edge in graph.edges if graph.edges[edge]["supported"] is True]
    assert arrows == [(NASTY[1], NASTY[2])]
    assert all(graph.edges[edge]["supported"] in (True, False) for edge in graph.edges)


@FORMATS
def test_the_same_network_gives_the_same_file(tmp_path, network, write, read):
    first, second = (write(tmp_path / name, network, "dk").read_bytes() for name in "ab")
    assert first == second
