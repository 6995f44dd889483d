import pytest

from sgbn.core.exceptions import InputError
from sgbn.read.program_texts import parse_graph_text, quoted

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
    parsed = parse_graph_text(TEXT, ("digraph",))
    assert parsed.kind == "digraph"
    default, first, second, third, node = parsed.statements
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
    (node,) = parse_graph_text(f"graph {{ {quoted(name)} }}", ("graph",)).statements
    assert node.names == (name,)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "the file ends, but a name is expected"),
        ("dag { a", "ends, but '}'"),
        ("dag { a } b", "line 1: text follows"),
        ("pag { a }", "line 1: expected dag, not 'pag'"),
        ("dag {\n a ->\n}", "line 3: expected a name, not '}'"),
        ('dag {\n "a }', "line 2: .* not closed"),
        ("dag { /* }", "not closed"),
        ("dag { a:b -> c }", "line 1: a port after 'a'"),
        ("dag { a [w=] }", "expected a name, not ']'"),
        ("dag { a <b> }", "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_refused_by_line(text, match):
    with pytest.raises(InputError, match=match):
        parse_graph_text(text, ("dag",))


def test_a_name_of_many_strings_is_read():
    text = "graph { " + " + ".join(['"ab"'] * 5000) + " }"
    (node,) = parse_graph_text(text, ("graph",)).statements
    assert node.names == ("ab" * 5000,)


def test_a_long_text_of_quotes_is_refused_quickly():
    with pytest.raises(InputError, match="not closed"):
        parse_graph_text("dag { " + '"\\' * 100_000, ("dag",))
