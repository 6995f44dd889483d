import re

import pytest
from tests.codes import refused

from sgbn.read.program_texts import (
    RESERVED,
    name_comments,
    parse_graph_text,
    quoted,
    read_sem,
    safe_names,
    true_names,
)

TEXT = r"""// a comment
strict DiGraph "my graph" {
  rankdir = LR; node [shape=box, "color"=red]
# a line of the preprocessor
  a -> "b \"c\"" -> {d e.1} [w=-1.5; style="a" + "b"] /* two
  lines */
  -2 [exposure, pos="1,2"]
}
"""


def test_statements_are_read_with_their_lines():
    kind, statements = parse_graph_text(TEXT, ("digraph",))
    assert kind == "digraph"
    default, first, second, third, node = statements
    assert default.is_default
    assert default.attributes == {"shape": "box", "color": "red"}
    assert first.names == ("a", 'b "c"')
    assert (second.names, third.names) == (('b "c"', "d"), ('b "c"', "e.1"))
    assert third.attributes == {"w": "-1.5", "style": "ab"}
    assert first.line == 5
    assert (node.names, node.attributes) == (("-2",), {"exposure": "", "pos": "1,2"})
    assert node.line == 7


def test_quotes_are_read_back():
    name = 'a "b" -> {c}; // d'
    _, (node,) = parse_graph_text(f"graph {{ {quoted(name)} }}", ("graph",))
    assert node.names == (name,)


def read_dag(text):
    return parse_graph_text(text, ("dag",))


@pytest.mark.parametrize(
    ("read", "text", "code"),
    [
        (read_dag, "", "text.token"),
        (read_dag, "dag { a", "text.token"),
        (read_dag, "dag { a } b", "text.after"),
        (read_dag, "pag { a }", "text.kind"),
        (read_dag, "dag {\n a ->\n}", "text.token"),
        (read_dag, 'dag {\n "a }', "text.unreadable"),
        (read_dag, "dag { /* }", "text.unreadable"),
        (read_dag, "dag { a:b -> c }", "text.port"),
        (read_dag, "dag { a [w=] }", "text.token"),
        (read_dag, "dag { a <b> }", "text.unreadable"),
        (read_dag, "dag { " + '"\\' * 100_000, "text.unreadable"),  # quickly
        (read_sem, "f =~ a + b", "sem.latent"),
        (read_sem, "a ~ b\na ~~ b", "sem.covariance"),
        (read_sem, "a ~ b\n\na ~ c(1, 2)*d", "sem.term"),
        (read_sem, "a ~ b + b", "edge.twice"),
        (read_sem, "a := b*c", "sem.formula"),
        (read_sem, "a ~~ -1*a", "variance.negative"),
        (read_sem, "a ~ b +", "sem.term"),
        (true_names, 'x\n# sgbn name: a = "\\x"', "text.name"),
    ],
)
def test_what_cannot_be_read_is_refused(read, text, code):
    with refused(code):
        read(text)


def test_a_name_of_many_strings_is_read():
    text = "graph { " + " + ".join(['"ab"'] * 5000) + " }"
    _, (node,) = parse_graph_text(text, ("graph",))
    assert node.names == ("ab" * 5000,)


BY_HAND = """
# a model as one writes it by hand
y ~ b1*x +
    z   # goes on
z ~ 2*x; z ~~ 0.5*z
x ~~ 0*w
w ~ 0*1 ! an intercept
"""


def test_a_model_written_by_hand_is_read():
    found = read_sem(BY_HAND)
    edges = {found.names[i] + found.names[j] for i, j in zip(*found.graph.nonzero(), strict=True)}
    assert edges == {"xy", "zy", "xz"}
    assert set(found.names) == set("wxyz")
    assert found.network is None


def test_values_make_a_network():
    text = "y ~ start(-1.5e-3)*x\nx ~~ 2*x\ny ~~ p*y\nSTART(3) p\ny ~ 7*1"
    network = read_sem(text).network
    assert network.edges().tolist() == [("x", "y", -0.0015)]
    assert dict(zip(network.names, network.noise_variance, strict=True)) == {"x": 2, "y": 3}
    assert dict(zip(network.names, network.intercept, strict=True)) == {"x": 0, "y": 7}


PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.]*")

# cat(make.names(c(...), unique = TRUE)) of R 4.2.2
IN_R = {
    "7Networks_LH_Vis_1": "X7Networks_LH_Vis_1",
    "Left-Hippocampus": "Left.Hippocampus",
    'a "b"': "a..b.",
    "a|b:c[d]": "a.b.c.d.",
    "NA": "NA.",
    "graph": "graph",
    "x": "x",
    "end\\": "end.",
    "#c": "X.c",
    "=cmd()": "X.cmd..",
    "1": "X1",
    "a;b,c": "a.b.c",
    "a.b": "a.b",
    "a b": "a.b.1",
    ".2x": "X.2x",
    "_y": "X_y",
    "TRUE": "TRUE.",
    "": "X",
}


def test_names_are_those_of_r():
    assert safe_names(list(IN_R), PLAIN, ".", RESERVED) == IN_R


def test_no_two_names_are_the_same():
    names = ["a b", "a_b", "a-b", "a_b_1", "日", "本", "A_B"]
    found = safe_names(names, PLAIN)
    assert len(set(found.values())) == len(names)
    assert found["a_b"] == "a_b"
    assert found["A_B"] == "A_B"
    other = safe_names(names, PLAIN, ignore_case=True)
    assert len({name.lower() for name in other.values()}) == len(names)


def test_a_reserved_name_is_replaced():
    assert safe_names(["graph"], PLAIN, reserved=["graph"]) == {"graph": "graph_1"}


@pytest.mark.parametrize("mark", ["#", "//"])
def test_comments_hold_any_name(mark):
    names = {"a\nb\u2028": "a_b", 'q"\\': "q_", "same": "same"}
    lines = name_comments(names, mark)
    assert len(lines) == 2
    assert true_names("\n".join(["x ~ y", *lines])) == {"a_b": "a\nb\u2028", "q_": 'q"\\'}
