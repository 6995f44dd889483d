import gzip
import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgbn.cohort.simulate import BenchmarkNetwork, load_network
from sgbn.core.graph import random_dag
from sgbn.core.problems import InputError
from sgbn.read import network
from sgbn.read import network as bif
from sgbn.read import network as texts
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


def test_compelled_edges_are_arrows_of_the_class(small):
    arrows, lines = edges_and_lines(named_graph(small, "cpdag"))
    assert (len(arrows), lines) == (3, [])


def test_a_file_knows_its_supported_edges(small):
    mask = np.zeros((4, 4), bool)
    mask[1, 3] = True
    content = NamedGraph(small.coef != 0, small.names, supported=mask)
    arrows, lines = edges_and_lines(named_graph(content, "supported"))
    assert arrows == [("b", "d e")]
    assert lines == [("a", "b"), ("b", "c")]
    with pytest.raises(InputError, match="not known which directions of this network"):
        named_graph(content._replace(supported=None), "supported")


def test_a_cycle_is_named():
    graph = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]], bool)
    for named in (NamedGraph(graph, ("a", "b", "c")), BenchmarkNetwork(graph, ("a", "b", "c"))):
        with pytest.raises(InputError, match=r"directed cycle: (a|b|c) -> "):
            check_dag(named_graph(named), "bnlearn")
        with pytest.raises(InputError, match="directed cycle"):
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
    ("edges", "match"),
    [
        ([("a", "a")], "line 1: 'a' has an edge to itself"),
        ([("a", "b"), ("a", "b")], "line 2: this is a second edge between 'a' and 'b'"),
        ([("a", "b"), ("b", "c"), ("c", "a")], "directed cycle"),
    ],
)
def test_what_no_dag_has_is_refused(edges, match):
    builder = GraphBuilder()
    with pytest.raises(InputError, match=match):  # noqa: PT012
        for line, (source, target) in enumerate(edges, start=1):
            builder.add_edge(source, target, line, arrow=True)
        builder.graph()


def test_two_arrows_against_each_other_are_a_cycle():
    builder = GraphBuilder()
    builder.add_edge("a", "b", 1, arrow=True)
    builder.add_edge("b", "a", 2, arrow=True)
    with pytest.raises(InputError, match=r"directed cycle: (a|b) -> (a|b)"):
        builder.graph()


@pytest.mark.parametrize("arrow", [True, False])
def test_a_line_beside_another_edge_is_refused(arrow):
    builder = GraphBuilder()
    builder.add_edge("a", "b", 1, arrow=not arrow)
    with pytest.raises(InputError, match="line 2: this is a second edge"):
        builder.add_edge("b", "a", 2, arrow=arrow)


def test_a_negative_variance_an_empty_graph_and_a_huge_one_are_refused(monkeypatch):
    builder = GraphBuilder()
    with pytest.raises(InputError, match="no variable"):
        builder.graph()
    with pytest.raises(InputError, match="line 7: the variance of 'a' is negative"):
        builder.set_variance("a", -1.0, 7)
    monkeypatch.setattr(network, "MAX_VARIABLES", 1)
    with pytest.raises(InputError, match="more than 1 variables"):
        builder.add_edge("a", "b", 1, arrow=True)


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
def test_any_text_is_read_or_refused_with_a_place(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("bif") / "net.bif"
    path.write_bytes((variable("x") + text).encode())
    message = refusal(path)
    assert message is None or message.startswith(f"{path}: line ")


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
    ("text", "message"),
    [
        (AB + "probability ( a | c ) { }", "line 3: there is no variable 'c'. Declare it"),
        (AB + "probability ( c | a ) { }", "line 3: there is no variable 'c'. Declare it"),
        (
            AB + variable("a"),
            "line 3: this is a second variable block of 'a'. The first is in line 1",
        ),
        (
            AB + "probability ( a ) { }\nprobability ( a | b ) { }",
            "line 4: this is a second probability block of 'a'. The first is in line 3. Remove one",
        ),
        (AB + "probability ( a | b, b ) { }", "line 3: 'a' has the parent 'b' 2 times"),
        (AB + "\nvariable c {\n{ }\n" + variable("d"), "line 4: the { of this block is never"),
        (AB + "}", "line 3: this } does not close any block"),
        (AB + "probability ( a | b )", "line 3: this probability has no { block }"),
        (AB + "{ }", "line 3: not a BIF file, or damaged"),
        (AB + "variable c d { }", "line 3: expected 'variable NAME {'. Quote a name"),
        (AB + "variable { }", "line 3: expected 'variable NAME {'"),
        (AB + "probability a | b { }", "line 3: expected 'probability ( CHILD | PARENT"),
        (AB + "probability ( a, b | b ) { }", "line 3: expected 'probability ( CHILD | PARENT"),
        (AB + "probability ( ) { }", "line 3: expected 'probability ( CHILD | PARENT"),
        (AB + '\n"quote', "line 4: a quote is opened but not closed"),
        (AB + "\n/* comment", "line 4: a comment is opened but not closed"),
        ("network empty { }", "not a BIF file: it declares no variable"),
        ("", "not a BIF file: it declares no variable"),
        ("source,target\na,b\n", "line 1: not a BIF file, or damaged. A block should begin here"),
        ('<?xml version="1.0"?>', "not with '<?xml'"),
        (bytes(range(256)), "line 1: not a BIF file, or damaged"),
        ("network".encode("utf-16"), "line 1: not a BIF file, or damaged"),
        (gzip.compress(AB.encode(), mtime=0)[:-20], "is a damaged gzip file"),
        (b"\x1f\x8bnothing", "is a damaged gzip file"),
        (AB + "probability ( b | b ) { }", "line 3: the graph has a directed cycle: b -> b."),
        (
            AB + "probability ( b | a ) { }\nprobability ( a | b ) { }",
            "line 4: the graph has a directed cycle: a -> b -> a. Remove one of these parents.",
        ),
    ],
)
def test_errors_say_where_and_what_to_do(read, tmp_path, text, message):
    with pytest.raises(InputError) as caught:
        read(text)
    assert str(tmp_path / "net.bif") in str(caught.value)
    assert message in str(caught.value)


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


def test_a_graph_too_large_for_a_matrix_is_refused(read, monkeypatch):
    monkeypatch.setattr(bif, "MAX_VARIABLES", 20)
    with pytest.raises(InputError, match="more than 20 variables"):
        read("".join(f"variable {k} {{ }}" for k in range(21)))


def test_a_gzip_bomb_is_refused(read, monkeypatch):
    monkeypatch.setattr(texts, "MAX_BYTES", 2**20)
    with pytest.raises(InputError, match="more than 1 MB of text"):
        read(gzip.compress(bytes(2**20 + 1), compresslevel=1))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"no file '.*none\.bif'. Check the path"):
        read_bif(tmp_path / "none.bif")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_read_back_to_the_last_bit(value):
    text = number_text(value)
    assert "+" not in text
    assert number_of(text, 1) == value


@pytest.mark.parametrize("text", ["", "nan", "1e999", "0x1", "1_0", "a", "1 2", "--1", "१"])
def test_what_is_no_number_is_refused_by_line(text):
    with pytest.raises(InputError, match=r"line 3: .* finite number"):
        number_of(text, 3)


def test_line_ends_marks_and_encodings_are_one(tmp_path):
    path = tmp_path / "t"
    for content in (b"\xef\xbb\xbfa\r\n\xc3\xbc", "a\rü".encode("latin-1")):
        path.write_bytes(content)
        assert read_text(path) == "a\nü"
    path.write_bytes(gzip.compress(b"a")[:-4])
    with pytest.raises(InputError, match="damaged"):
        read_text(path)
