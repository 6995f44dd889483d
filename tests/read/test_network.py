import gzip
import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.codes import refused

from sgbn.cohort.simulate import BenchmarkNetwork, load_network
from sgbn.core.graph import random_dag
from sgbn.core.problems import InputError
from sgbn.read import network
from sgbn.read.network import (
    GraphBuilder,
    NamedGraph,
    check_dag,
    edges_and_lines,
    number_of,
    number_text,
    read_bif,
    read_text,
    weights_of,
)
from sgbn.write.formats import named_graph


def test_a_network_is_taken_with_its_weights(small):
    found = named_graph(small)
    assert found.network is small
    assert edges_and_lines(found) == ([("a", "b"), ("b", "d e"), ("c", "b")], [])
    assert weights_of(found)["b", "d e"] == 2.0


def test_without_support_all_edges_are_lines_with_the_direction_of_their_weight(small):
    arrows, lines = edges_and_lines(named_graph(small, "supported"))
    assert arrows == []
    assert sorted(lines) == [("a", "b"), ("b", "d e"), ("c", "b")]
    arrows, lines = edges_and_lines(named_graph(small, "cpdag"))
    assert (len(arrows), lines) == (3, [])  # compelled edges are arrows of the class


def test_a_file_knows_its_supported_edges(small):
    mask = np.zeros((4, 4), bool)
    mask[1, 3] = True
    content = NamedGraph(small.coef != 0, small.names, supported=mask)
    arrows, lines = edges_and_lines(named_graph(content, "supported"))
    assert arrows == [("b", "d e")]
    assert lines == [("a", "b"), ("b", "c")]
    with refused("directions.unknown"):
        named_graph(content._replace(supported=None), "supported")


def test_a_cycle_is_named():
    graph = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]], bool)
    for named in (NamedGraph(graph, ("a", "b", "c")), BenchmarkNetwork(graph, ("a", "b", "c"))):
        with refused("graph.cycle"):
            check_dag(named_graph(named), "bnlearn")
        with refused("graph.cycle"):
            named_graph(named, "cpdag")


def test_a_network_needs_all_its_numbers():
    builder = GraphBuilder()
    builder.add_edge("a", "b", 1, 0.5, arrow=True)
    assert builder.graph().network is None
    builder.set_variance("a", 1.0, 1)
    builder.set_variance("b", 2.0, 2)
    assert builder.graph().network.coef[0, 1] == 0.5
    builder.add_edge("a", "c", 3, arrow=True)
    builder.set_variance("c", 1.0, 3)
    assert builder.graph().network is None


def test_lines_are_set_both_ways_and_keep_the_direction_of_their_weight():
    builder = GraphBuilder()
    builder.add_edge("a", "b", 1, 0.5, arrow=False)
    for name in "ab":
        builder.set_variance(name, 1.0, 1)
    found = builder.graph()
    assert found.graph.tolist() == [[False, True], [True, False]]
    assert found.network.coef.tolist() == [[0, 0.5], [0, 0]]


@pytest.mark.parametrize(
    ("edges", "code"),
    [
        ([("a", "a", True)], "edge.itself"),
        ([("a", "b", True), ("a", "b", True)], "edge.twice"),
        ([("a", "b", True), ("b", "a", False)], "edge.twice"),
        ([("a", "b", False), ("b", "a", True)], "edge.twice"),
        ([("a", "b", True), ("b", "a", True)], "graph.cycle"),
        ([("a", "b", True), ("b", "c", True), ("c", "a", True)], "graph.cycle"),
        ([("a", "b", True), ("b", "c", True), ("c", "d", True)], "graph.large"),
        ([], "graph.empty"),
    ],
)
def test_what_no_dag_has_is_refused(monkeypatch, edges, code):
    monkeypatch.setattr(network, "MAX_VARIABLES", 3)
    builder = GraphBuilder()
    with refused(code):
        for line, (source, target, arrow) in enumerate(edges, start=1):
            builder.add_edge(source, target, line, arrow=arrow)
        builder.graph()


SPRINKLER = """
network sprinkler { property author nobody; }
variable rain { type discrete [ 2 ] { yes, no }; }
variable sprinkler {
  type discrete [ 2 ] { on, off };
  property position = (10, 20);
}
variable grass { type discrete[2] { wet, dry }; }
probability ( rain ) { table 0.2, 0.8; }
probability ( sprinkler | rain ) { (yes) 0.01, 0.99; (no) 0.4, 0.6; }
probability ( grass | sprinkler, rain ) {
  default 0.5, 0.5;
  (on, yes) 0.99, 0.01;
}
"""


@pytest.fixture
def read(tmp_path):
    """Function text or bytes -> network, through a file."""

    def make(content, name="net.bif"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_bif(path)

    return make


def variable(name):
    return f"variable {name} {{ type discrete [ 2 ] {{ a, b }}; }}\n"


def arcs(network):
    return {(network.names[i], network.names[j]) for i, j in np.argwhere(network.graph)}


def as_bif(network, gap=" "):
    """The network's text, all names quoted, all tokens separated by `gap`."""
    lines = ["network { }"]
    lines += [f'variable "{name}" {{ type discrete [ 2 ] {{ a, b }} ; }}' for name in network.names]
    for j, name in enumerate(network.names):
        parents = [f'"{network.names[i]}"' for i in np.flatnonzero(network.graph[:, j])]
        lines.append(f'probability ( "{name}" | {" , ".join(parents)} ) {{ table 0.5 , 0.5 ; }}')
    return "\n".join(line.replace(" ", gap) for line in lines)


def test_a_small_network(read):
    network = read(SPRINKLER)
    assert network.names == ("rain", "sprinkler", "grass")
    assert arcs(network) == {("rain", "sprinkler"), ("sprinkler", "grass"), ("rain", "grass")}
    assert type(network) is type(load_network("chain"))


def test_published_networks_come_back(read):
    for name in ("alarm", "hailfinder", "water"):
        network = load_network(name)
        again = read(as_bif(network))
        assert again.names == network.names
        assert np.array_equal(again.graph, network.graph)


on_disk = settings(max_examples=settings().max_examples // 10)  # each writes a file
names = st.text(
    st.characters(codec="utf-8", exclude_characters='" ', exclude_categories=["Cc", "Zs"]),
    min_size=1,
    max_size=8,
)
gaps = st.lists(
    st.sampled_from([" ", "\n", "\t", "\r\n", " // } { note\n", ' /* \n } // { " */ ']),
    min_size=1,
    max_size=4,
)


@on_disk
@given(st.lists(names, min_size=1, max_size=8, unique=True), gaps, st.integers(0, 2**32 - 1))
def test_any_dag_with_any_names_comes_back(tmp_path_factory, names, gap, seed):
    graph = random_dag(len(names), 3, seed)
    network = type(load_network("chain"))(graph, tuple(names))
    path = tmp_path_factory.mktemp("bif") / "net.bif"
    path.write_bytes(as_bif(network, gap="".join(gap)).encode())
    again = read_bif(path)
    assert again.names == network.names
    assert np.array_equal(again.graph, graph)


def refusal(path):
    try:
        read_bif(path)
    except InputError as error:
        return str(error)
    return None


@on_disk
@given(st.text(st.sampled_from('{}()[]|,;"/* \nax') | st.characters(codec="utf-8"), max_size=60))
def test_any_text_is_read_or_refused_with_the_file(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("bif") / "net.bif"
    path.write_bytes((variable("x") + text).encode())
    message = refusal(path)
    assert message is None or message.startswith(repr(str(path)))


def test_zipped_files_and_other_encodings(read):
    expected = read(SPRINKLER)
    for content in (gzip.compress(SPRINKLER.encode()), SPRINKLER.encode("utf-8-sig")):
        again = read(content, "net.bif.gz")
        assert again.names == expected.names
        assert np.array_equal(again.graph, expected.graph)
    for encoding in ("latin-1", "utf-8"):
        assert read(variable("Höhe").encode(encoding)).names == ("Höhe",)


def test_names_may_be_odd(read):
    odd = ("N0_7muVerMo", "p.1-b", "<5%", "a:b", "1/2", "x'", "'q'", "Größe", "variable")
    text = "".join(map(variable, odd))
    text += "".join(f"probability({b}|{a}){{}}" for a, b in pairwise(odd))
    network = read(text)
    assert network.names == odd
    assert arcs(network) == set(pairwise(odd))


def test_quoted_names_may_hold_anything_but_quotes(read):
    text = variable('"a { b | c"') + variable('"// d"') + 'probability ("a { b | c" | "// d") {}'
    assert arcs(read(text)) == {("// d", "a { b | c")}


def test_old_files_have_no_bar_and_addresses_are_no_comments(read):
    text = 'network "old" { property see http://example.org/a; }\n'
    text += variable('"x"') + variable("y") + variable("z")
    assert arcs(read(text + 'probability ( "x" y "z" ) { }')) == {("y", "x"), ("z", "x")}


def test_the_order_of_blocks_and_parents_is_free_and_families_may_lack(read):
    text = "probability ( c | b, a, ) { };" + variable("b") + variable("c") + variable("a")
    network = read(text)
    assert network.names == ("b", "c", "a")
    assert arcs(network) == {("b", "c"), ("a", "c")}


AB = variable("a") + variable("b")


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (AB + "probability ( a | c ) { }", "bif.variable", 3),
        (AB + "probability ( c | a ) { }", "bif.variable", 3),
        (AB + variable("a"), "bif.twice", 3),
        (AB + "probability ( a ) { }\nprobability ( a | b ) { }", "bif.twice", 4),
        (AB + "probability ( a | b, b ) { }", "bif.parent", 3),
        (AB + "\nvariable c {\n{ }\n" + variable("d"), "bif.brace", 4),
        (AB + "}", "bif.brace", 3),
        (AB + "probability ( a | b )", "bif.brace", 3),
        (AB + "{ }", "bif.keyword", 3),
        (AB + "variable c d { }", "bif.head", 3),
        (AB + "probability a | b { }", "bif.head", 3),
        (AB + "probability ( a, b | b ) { }", "bif.head", 3),
        (AB + "probability ( ) { }", "bif.head", 3),
        (AB + '\n"quote', "text.unreadable", 4),
        (AB + "\n/* comment", "text.unreadable", 4),
        ("network empty { }", "bif.empty", None),
        ("source,target\na,b\n", "bif.keyword", 1),
        ('<?xml version="1.0"?>', "bif.keyword", 1),
        (bytes(range(256)), "bif.keyword", 1),
        ("network".encode("utf-16"), "bif.keyword", 1),
        (AB + "probability ( b | b ) { }", "graph.cycle", None),
        (AB + "probability ( b | a ) { }\nprobability ( a | b ) { }", "graph.cycle", None),
    ],
)
def test_errors_say_where(read, tmp_path, text, code, line):
    with refused("network.file") as caught:
        read(text)
    assert caught.value.problem.values["file"] == tmp_path / "net.bif"
    cause = caught.value.problem.values["cause"].problem
    assert (cause.code, cause.values.get("line")) == (code, line)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (gzip.compress(b"a", mtime=0)[:-4], "gzip.damaged"),
        (b"\x1f\x8bnothing", "gzip.damaged"),
        (gzip.compress(bytes(2**20 + 1), compresslevel=1), "network.large"),
        ("".join(map(variable, "abcdefghijk")), "network.file"),
    ],
)
def test_damaged_and_huge_files_are_refused(read, monkeypatch, content, code):
    monkeypatch.setattr(network, "MAX_BYTES", 2**20)
    monkeypatch.setattr(network, "MAX_VARIABLES", 10)
    with refused(code):
        read(content)


@pytest.mark.parametrize(
    "text",
    [
        "network n " + "{" * 30_000,
        AB + "probability ( a | " + "b " * 30_000,
        AB + "probability ( a | " + "b, " * 30_000 + ") { }",
        "/*" * 30_000,
        "/" * 30_000,
        '"' * 30_001,
        "variable " + "a:/" * 30_000 + '"',
        AB + "variable " + "a" * 300_000,
    ],
)
def test_hostile_files_are_refused_soon(read, text):
    begin = time.process_time()  # whatever else the machine does
    with pytest.raises(InputError):
        read(text)
    assert time.process_time() - begin < 3


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_read_back_to_the_last_bit(value):
    text = number_text(value)
    assert "+" not in text
    assert number_of(text, 1) == value


@pytest.mark.parametrize("text", ["", "nan", "1e999", "0x1", "1_0", "a", "1 2", "--1", "१"])
def test_what_is_no_number_is_refused_by_line(text):
    with refused("number.text"):
        number_of(text, 3)


def test_line_ends_marks_and_encodings_are_one(tmp_path):
    path = tmp_path / "t"
    for content in (b"\xef\xbb\xbfa\r\n\xc3\xbc", "a\rü".encode("latin-1")):
        path.write_bytes(content)
        assert read_text(path) == "a\nü"
