import gzip
import string

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgbn.cohort.simulate import load_network
from sgbn.core.equivalence import cpdag
from sgbn.core.exceptions import InputError
from sgbn.core.gaussian import GaussianNetwork
from sgbn.read.network import NamedGraph, read_bif
from sgbn.write.formats import FORMATS, named_graph, read_network, write_network
from sgbn.write.network_files import write_node_link

WEIGHTED = [
    ("bnlearn-r", None),
    ("dagitty", None),
    ("dot", None),
    ("json", None),
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


def test_a_file_that_cannot_be_read_is_named_with_what_to_do(tmp_path):
    (tmp_path / "present.dot").touch()
    with pytest.raises(InputError, match=r"no file '.*absent\.bif'\. Check the path"):
        read_network(tmp_path / "absent.bif")
    with pytest.raises(InputError, match=r"no file '.*presnt\.dot'\. Did you mean 'present.dot'"):
        read_network(tmp_path / "presnt.dot")
    with pytest.raises(InputError, match="is a folder"):
        read_network(tmp_path)


@pytest.mark.parametrize("reader", [read_network, read_bif])
def test_a_damaged_gzip_file_is_named_once(tmp_path, reader):
    path = tmp_path / "net.bif.gz"
    path.write_bytes(gzip.compress(b"network a { }")[:-4])
    with pytest.raises(InputError, match=r"^'[^']*net\.bif\.gz' is a damaged gzip file"):
        reader(path)


def test_a_refused_file_is_named(tmp_path):
    (tmp_path / "x.dot").write_text("digraph {\n a -> \n}")
    with pytest.raises(InputError, match=r"x\.dot: line 3: expected a name"):
        read_network(tmp_path / "x.dot")


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
    with pytest.raises(InputError, match=r"without a direction.*'a' - 'b'"):
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
    ("options", "match"),
    [
        ({"format": "dagity"}, "Did you mean 'dagitty'"),
        ({}, "the ending does not tell the format"),
        ({"format": "json", "weights": "fixed"}, "lavaan and semopy"),
        ({"format": "dot", "weights": "fixed"}, "lavaan and semopy"),
        ({"format": "lavaan", "weights": "fix"}, "free, start, fixed"),
        ({"format": "dot", "directions": "some"}, "graph, supported, cpdag"),
    ],
)
def test_wrong_options_are_named(tmp_path, small, options, match):
    with pytest.raises(InputError, match=match):
        write_network(tmp_path / "net", small, **options)
    assert not list(tmp_path.iterdir())


def test_a_graph_without_weights_cannot_be_written_with_them(tmp_path, small):
    graph = NamedGraph(small.coef != 0, small.names)
    with pytest.raises(InputError, match="needs weights"):
        write_network(tmp_path / "net.R", graph)
    with pytest.raises(InputError, match="needs weights"):
        write_network(tmp_path / "net.lavaan", graph, weights="start")
