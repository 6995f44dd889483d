import gzip
import json
import string
import sys

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.codes import refused

from sgbn.cohort.simulate import load_network
from sgbn.core.equivalence import cpdag
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.problems import InputError
from sgbn.read.network import VARIANCE, NamedGraph, read_bif
from sgbn.write.formats import (
    FORMATS,
    MAX_PARENTS,
    from_pgmpy,
    named_graph,
    network_text,
    read_bif_text,
    read_dagitty,
    read_dot,
    read_model_string,
    read_network,
    read_node_link,
    read_script,
    read_tetrad,
    to_pgmpy,
    write_bif,
    write_dagitty,
    write_dot,
    write_lavaan,
    write_model_string,
    write_network,
    write_script,
    write_semopy,
    write_tetrad,
)
from sgbn.write.network_files import write_node_link

WEIGHTED = [
    *((name, None) for name in ("bnlearn-r", "dagitty", "dot", "json")),
    *((name, weights) for name in ("lavaan", "semopy") for weights in ("start", "fixed")),
]
WITH_LINES = ("dagitty", "tetrad", "dot")
per_format = settings(max_examples=settings().max_examples // 12)


def assert_same_network(network, wanted):
    assert network.names == wanted.names
    np.testing.assert_array_equal(network.coef != 0, wanted.coef != 0)
    for part in ("coef", "intercept", "noise_variance"):
        np.testing.assert_allclose(getattr(network, part), getattr(wanted, part), rtol=1e-12)


@pytest.mark.parametrize("name", FORMATS)
def test_the_graph_and_the_names_are_read_back(tmp_path, nasty, name):
    path = write_network(tmp_path / "net", nasty, name)
    found = read_network(path, name)
    assert found.names == nasty.names
    np.testing.assert_array_equal(found.graph, nasty.coef != 0)


@pytest.mark.parametrize(("name", "weights"), WEIGHTED)
def test_weights_are_read_back(tmp_path, nasty, name, weights):
    path = write_network(tmp_path / "net", nasty, name, weights=weights)
    assert_same_network(read_network(path, name).network, nasty)


@pytest.mark.parametrize("name", FORMATS)
@per_format
@given(
    names=st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=8), min_size=3, unique=True
    ),
    seed=st.integers(0, 2**16),
)
def test_any_names_are_read_back(name, names, seed):
    rng = np.random.default_rng(seed)
    m = len(names)
    coef = np.triu(rng.standard_normal((m, m)), 1) * (rng.random((m, m)) < 2 / m)
    network = GaussianNetwork(coef, rng.standard_normal(m), rng.random(m) + 0.1, names)
    found = FORMATS[name].read(FORMATS[name].write(named_graph(network)))
    assert found.names == network.names
    np.testing.assert_array_equal(found.graph, network.coef != 0)
    if found.network is not None:
        assert_same_network(found.network, network)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "json"])
@per_format
@given(text=st.text(string.printable + "é\u2028", max_size=60))
def test_any_text_is_read_or_refused(name, text):
    try:
        found = FORMATS[name].read(text)
    except InputError:
        return
    assert found.graph.shape == (len(found.names),) * 2


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, "file.absent"),
        (gzip.compress(b"network a { }", mtime=0)[:-4], "gzip.damaged"),
        (b"network a {", "network.file"),
    ],
)
@pytest.mark.parametrize("reader", [read_network, read_bif])
def test_a_file_that_cannot_be_read_is_refused(tmp_path, reader, content, code):
    if content is not None:
        (tmp_path / "net.bif").write_bytes(content)
    with refused(code):
        reader(tmp_path / "net.bif")


@pytest.mark.parametrize("name", WITH_LINES)
def test_only_supported_directions_are_arrows(tmp_path, nasty, name):
    supported = np.zeros(nasty.coef.shape, bool)
    first = tuple(np.argwhere(nasty.coef)[0])
    supported[first] = True
    path = write_network(tmp_path / "net", nasty, name, directions="supported", supported=supported)
    graph = read_network(path, name).graph
    assert graph[first]
    assert not graph[first[::-1]]
    np.testing.assert_array_equal(graph | graph.T, (nasty.coef != 0) | (nasty.coef.T != 0))
    assert np.count_nonzero(graph & ~graph.T) == 1


@pytest.mark.parametrize("name", WITH_LINES)
def test_the_equivalence_class_is_read_back(tmp_path, nasty, name):
    path = write_network(tmp_path / "net", nasty, name, directions="cpdag")
    np.testing.assert_array_equal(read_network(path, name).graph, cpdag(nasty.coef))


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in WITH_LINES])
def test_lines_are_refused_by_formats_without_them(tmp_path, small, name):
    with refused("graph.lines"):
        write_network(tmp_path / "net", small, name, directions="supported")
    assert not list(tmp_path.iterdir())


def test_a_graph_goes_from_tool_to_tool(tmp_path):
    asia = load_network("alarm")
    path = write_network(tmp_path / "alarm.bif", asia)
    for ending in (".dagitty", ".tetrad", ".dot", ".lavaan", ".semopy", ".bnlearn"):
        path = write_network(tmp_path / f"alarm{ending}", read_network(path))
    found = read_network(path)
    assert found.names == asia.names
    np.testing.assert_array_equal(found.graph, asia.graph)


def test_weights_go_from_tool_to_tool(tmp_path, nasty):
    path = write_node_link(tmp_path / "net.json", nasty)
    for ending in (".dagitty", ".dot", ".R"):
        path = write_network(tmp_path / f"net{ending}", read_network(path))
    assert_same_network(read_network(path).network, nasty)


def test_a_gzipped_file_and_a_text_file_are_known_by_their_content(tmp_path, small):
    (tmp_path / "t.txt").write_text("Graph Nodes:\na;b\n\nGraph Edges:\n1. a --> b\n")
    (tmp_path / "b.txt").write_text("[a][b|a]")
    for name in ("t.txt", "b.txt"):
        assert read_network(tmp_path / name).graph.tolist() == [[False, True], [False, False]]
    path = write_network(tmp_path / "n.dot", small)
    (tmp_path / "z").write_bytes(gzip.compress(path.read_bytes()))
    assert read_network(tmp_path / "z", "dot").network.n_edges == 3


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"format": "dagity"}, "format.unknown"),
        ({}, "format.ending"),
        ({"format": "json", "weights": "fixed"}, "format.weights"),
        ({"format": "dot", "weights": "fixed"}, "format.weights"),
        ({"format": "lavaan", "weights": "fix"}, "argument"),
        ({"format": "dot", "directions": "some"}, "argument"),
        ({"format": "json", "supported": np.ones((2, 2))}, "argument.shape"),
        ({"format": "bnlearn-r"}, "graph.no-weights"),
        ({"format": "lavaan", "weights": "start"}, "graph.no-weights"),
    ],
)
def test_wrong_options_are_named(tmp_path, small, options, code):
    with refused(code):
        write_network(tmp_path / "net", NamedGraph(small.coef != 0, small.names), **options)
    assert not list(tmp_path.iterdir())


def test_the_first_line_is_the_model_string(small, nasty):
    assert write_model_string(named_graph(small)) == "[a][b|a:c][c][d e|b]\n"
    first, *comments = write_model_string(named_graph(nasty)).splitlines()
    assert first.count("[") == first.count("]") == nasty.m
    assert all(line.startswith("# sgbn name: ") for line in comments)


def test_a_model_string_of_bnlearn_is_read():
    # modelstring(model2network(...)): nodes stand in topological order
    found = read_model_string("[asia][smoke][tub|asia][lung|smoke]\n[either|lung:tub]\n")
    assert found.names == ("asia", "smoke", "tub", "lung", "either")
    assert [found.names[i] for i in found.graph[:, 4].nonzero()[0]] == ["tub", "lung"]


def test_a_script_says_what_custom_fit_needs(small):
    script = write_script(named_graph(small))
    assert (
        '"b" = list(coef = c("(Intercept)" = 2.0, "a" = 0.5, "c" = -0.3333333333333333)' in script
    )
    assert 'model <- "[a][b|a:c][c][d e|b]"' in script


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("model <-", "other <-", "script.model"),
        ('"a" = 0.5', '"c" = 0.5', "script.parents"),
        ('"a" = 0.5, ', "", "script.parents"),
        ('"a" = 0.5', '"a" = exp(1)', "text.unreadable"),
        ('"a" = 0.5', '"a" = 1e999', "number.text"),
        ('"a" = 0.5', r'"\a" = 0.5', "text.unreadable"),
        ("sd = 1.0", "sd = -1.0", "variance.negative"),
        ("sd = 1.0", "sd = 1e200", "values.finite"),
    ],
)
def test_a_script_that_contradicts_itself_is_refused(small, old, new, code):
    script = write_script(named_graph(small))
    assert old in script
    with refused(code):
        read_script(script.replace(old, new))


# As the web page writes a graph: a bounding box, positions, roles.
FROM_THE_PAGE = """dag {
bb="0,0,1,1"
"Warm Up" [exposure,pos="0.1,0.2"]
Injury [outcome,pos="0.5,0.6"]
U [latent]
"Warm Up" -> Injury [pos="0.3,0.4"]
Injury <- U
}
"""


def test_beta_is_the_standardised_weight_and_coef_the_weight(small):
    text = write_dagitty(named_graph(small))
    beta = float(2.0 * (np.sqrt(small.covariance[1, 1]) / np.sqrt(small.covariance[3, 3])))
    assert f'"b" -> "d e" [beta="{beta!r}",coef="2.0"]' in text
    assert text.startswith("dag {\n")


def test_a_constant_node_has_no_beta():
    network = GaussianNetwork([[0, 1.0], [0, 0]], noise_variance=[0, 0])
    assert "beta" not in write_dagitty(named_graph(network))
    assert read_dagitty(write_dagitty(named_graph(network))).network.coef[0, 1] == 1


def test_lines_make_a_pdag_and_have_no_weight(small):
    text = write_dagitty(named_graph(small, "supported"))
    assert text.startswith("pdag {\n")
    assert '"a" -- "b"\n' in text


def test_a_graph_of_the_web_page_is_read():
    found = read_dagitty(FROM_THE_PAGE)
    assert found.names == ("Warm Up", "Injury", "U")
    assert found.graph.tolist() == [[False, True, False], [False] * 3, [False, True, False]]
    assert found.network is None


@pytest.mark.parametrize("name", ["graph", "node"])
def test_names_that_dagitty_refuses_are_replaced(name):
    network = GaussianNetwork([[0.0]], names=[name])
    text = write_dagitty(named_graph(network))
    assert f'"{name}_1" [sgbn_name="{name}"' in text
    assert read_dagitty(text).names == (name,)


def test_weights_are_not_the_weights_of_graphviz(small):
    text = write_dot(named_graph(small))
    assert '"a" -> "b" [coef="0.5"];' in text
    assert "weight=" not in text


def test_a_line_keeps_its_weight(small):
    text = write_dot(named_graph(small, "supported"))
    assert '"a" -> "b" [dir=none, coef="0.5"];' in text
    found = read_dot(text)
    assert found.graph[1, 0]
    assert found.network.coef.tolist() == small.coef.tolist()


def test_directions_of_graphviz_are_read():
    found = read_dot("digraph { a -> b [dir=back]; edge [dir=none]; a -> c; a -> d [dir=forward] }")
    names = found.names
    edges = {names[i] + names[j] for i, j in zip(*found.graph.nonzero(), strict=True)}
    assert edges == {"ba", "ac", "ca", "ad"}
    assert read_dot("graph { a -- b }").graph.tolist() == [[False, True], [True, False]]


def formulas(text):
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_the_model_of_a_graph_has_all_its_parameters_free(small):
    wanted = ["b ~ a + c", "d.e ~ b"]
    wanted += [f"{name} ~~ {name}" for name in ("a", "b", "c", "d.e")]
    wanted += [f"{name} ~ 1" for name in ("a", "b", "c", "d.e")]
    assert formulas(write_lavaan(named_graph(small))) == wanted
    semopy = write_semopy(named_graph(small))
    assert formulas(semopy) == [line.replace(".", "_") for line in wanted]


@pytest.mark.parametrize(
    ("weights", "wanted"),
    [
        ("fixed", ["b ~ 0.5*a + -0.3333333333333333*c", "a ~~ 1.0*a", "b ~ 2.0*1"]),
        ("start", ["b ~ start(0.5)*a + start(-0.3333333333333333)*c", "a ~ start(1.0)*1"]),
    ],
)
def test_lavaan_takes_the_weights(small, weights, wanted):
    assert set(wanted) <= set(formulas(write_lavaan(named_graph(small), weights)))


def test_start_values_of_semopy_belong_to_named_parameters(small):
    lines = formulas(write_semopy(named_graph(small), "start"))
    assert lines[0] == "b ~ p3*a + p4*c"
    assert {"START(0.5) p3", "START(-0.3333333333333333) p4"} <= set(lines)


HEAD = "Graph Nodes:\na;b;c\n\nGraph Edges:\n"


def test_the_text_is_that_of_tetrad(small):
    assert write_tetrad(named_graph(small)) == (
        "Graph Nodes:\na;b;c;d_e\n\nGraph Edges:\n1. a --> b\n2. b --> d_e\n3. c --> b\n\n"
        '# sgbn name: d_e = "d e"\n'
    )


def test_lists_with_commas_and_further_sections_are_read():
    text = HEAD.replace(";", ",") + "1. a <-- b\n2. b --- c nl dd\n\nGraph Attributes:\nBIC: 1.5\n"
    found = read_tetrad(text)
    assert found.graph.astype(int).tolist() == [[0, 0, 0], [1, 0, 1], [0, 1, 0]]


def test_the_file_says_that_its_probabilities_mean_nothing(small):
    text = write_bif(named_graph(small))
    assert text.startswith("// Structure only: the probabilities are placeholders")
    assert "probability ( b | a, c ) {\n  (low, low) 0.5, 0.5;\n" in text
    assert '// sgbn name: d_e = "d e"' in text


def test_names_that_differ_in_case_only_are_told_apart():
    text = write_bif(NamedGraph(np.zeros((2, 2), bool), ("x", "X")))
    assert "variable x {" in text
    assert "variable X_1 {" in text
    assert read_bif_text(text).names == ("x", "X")


def test_without_pgmpy_the_message_says_what_to_install(small, monkeypatch):
    monkeypatch.setitem(sys.modules, "pgmpy.models", None)
    with refused("library.absent"):
        to_pgmpy(small)


def all_into_the_last(m):
    graph = np.zeros((m, m), bool)
    graph[:-1, -1] = True
    return NamedGraph(graph, tuple(f"x{k}" for k in range(m)))


def test_the_weights_are_read_back(nasty):
    pytest.importorskip("pgmpy", reason="pgmpy comes with the extra of this name")
    model = to_pgmpy(nasty)
    assert model.check_model()
    found = from_pgmpy(model)
    assert found.names == nasty.names
    np.testing.assert_array_equal(found.network.coef, nasty.coef)
    np.testing.assert_array_equal(found.network.intercept, nasty.intercept)
    np.testing.assert_allclose(found.network.noise_variance, nasty.noise_variance, rtol=1e-12)


def test_pgmpy_implies_the_same_distribution(small):
    pytest.importorskip("pgmpy", reason="pgmpy comes with the extra of this name")
    model = to_pgmpy(small)
    mean, covariance = model.to_joint_gaussian()
    order = [small.names.index(name) for name in nx.topological_sort(model)]
    np.testing.assert_allclose(mean, small.mean[order], atol=1e-8)  # pgmpy rounds to 8 digits
    np.testing.assert_allclose(covariance, small.covariance[np.ix_(order, order)], atol=1e-8)


def test_a_graph_without_weights_is_a_graph(small):
    graph = small.to_networkx()
    found = from_pgmpy(graph)
    np.testing.assert_array_equal(found.graph, small.coef != 0)
    assert found.network is None


def test_all_is_read_back_to_the_last_bit_also_if_it_is_converted_to_the_same_format(
    tmp_path, nasty
):
    supported = np.zeros(nasty.coef.shape, bool)
    supported[tuple(np.argwhere(nasty.coef)[1])] = True
    first = read_network(write_node_link(tmp_path / "n.json", nasty, supported=supported))
    for found in (first, read_network(write_network(tmp_path / "again.json", first))):
        assert found.names == nasty.names
        for part in ("coef", "intercept", "noise_variance"):
            np.testing.assert_array_equal(getattr(found.network, part), getattr(nasty, part))
        np.testing.assert_array_equal(found.supported, supported)


def test_a_network_without_half_samples_does_not_say_which_directions_are_supported(nasty):
    assert read_node_link(network_text(nasty, "json")).supported is None


@pytest.mark.parametrize("said", [True, False])
def test_one_edge_that_does_not_say_leaves_unknown_which_are_supported(said):
    edges = [{"source": "a", "target": end, "supported": True} for end in "bc"]
    if not said:
        del edges[1]["supported"]
    nodes = [{"id": name} for name in "abc"]
    found = read_node_link(json.dumps({"directed": True, "nodes": nodes, "edges": edges}))
    assert np.argwhere(found.graph).tolist() == [[0, 1], [0, 2]]
    assert (found.supported is not None) == said


def node_link(**change):
    content = {"directed": True, "nodes": [{"id": "a"}, {"id": "b"}], "edges": []}
    return json.dumps(content | change)


def node_link_edge(target, **about):
    return node_link(edges=[{"source": "a", "target": target, **about}])


@pytest.mark.parametrize(
    ("call", "given", "code"),
    [
        (read_model_string, "[a][b|c]", "node.unknown"),
        (read_model_string, "[a]\n[a]", "node.twice"),
        (read_model_string, "[a][b|a:a]", "edge.twice"),
        (read_model_string, "[a]b", "text.unreadable"),
        (read_model_string, "[a|b][b|a]", "graph.cycle"),
        (read_model_string, "", "graph.empty"),
        (read_dagitty, "dag { a <-> b }", "edge.mark"),
        (read_dagitty, "pdag {\n a @-> b }", "edge.mark"),
        (read_dagitty, "mag { a -> b }", "text.kind"),
        (read_dagitty, 'dag { a [sgbn_name="c"] b [sgbn_name="c"] }', "graph.names"),
        (read_dot, "digraph { a -- b }", "text.unreadable"),
        (read_dot, "graph { a -> b }", "text.unreadable"),
        (read_dot, "digraph {\n a -> b [dir=both] }", "edge.mark"),
        (read_dot, "digraph { a -> b [coef=x] }", "number.text"),
        (read_dot, "digraph { a [noise_variance=-1] }", "variance.negative"),
        (read_dot, "digraph { a -> b -> a }", "graph.cycle"),
        (read_tetrad, "a --> b", "text.unreadable"),
        (read_tetrad, HEAD + "1. a --> d", "node.unknown"),
        (read_tetrad, HEAD + "1. a o-> b", "edge.mark"),
        (read_tetrad, HEAD + "1. a <-> b", "edge.mark"),
        (read_tetrad, HEAD + "a --> b", "text.unreadable"),
        (read_tetrad, HEAD + "1. a --> b\n2. b --> a", "graph.cycle"),
        (read_tetrad, "Graph Nodes:\na;;b", "node.twice"),
        (read_node_link, node_link(nodes=None), "json.graph"),
        (read_node_link, node_link(directed=False), "json.graph"),
        (read_node_link, node_link(nodes=[{"id": 1}]), "entry.text"),
        (read_node_link, node_link(nodes=[{"id": "a"}, {"id": "a"}]), "names.twice"),
        (read_node_link, node_link(nodes=[{"id": "a", VARIANCE: -1}]), "variance.negative"),
        (read_node_link, node_link_edge("z"), "node.unknown"),
        (read_node_link, node_link_edge("b", weight="1"), "entry.number"),
        *((read_node_link, text, "text.json") for text in ("", "{", "[" * 10_000)),
        (read_node_link, "[]", "json.graph"),
        (read_node_link, '{"nodes": [], "edges": []}', "json.graph"),
        (from_pgmpy, "model", "pgmpy.type"),
        (write_bif, all_into_the_last(MAX_PARENTS + 2), "bif.parents"),
    ],
)
def test_what_is_no_network_is_refused(call, given, code):
    with refused(code):
        call(given)
