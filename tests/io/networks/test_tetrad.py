import pytest

from sgbn.core.exceptions import InputError
from sgbn.write.formats import named_graph, read_tetrad, write_tetrad

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


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("a --> b", "line 1: expected 'Graph Nodes:'"),
        (HEAD + "1. a --> d", "line 5: 'd' is not among the nodes"),
        (HEAD + "1. a o-> b", "line 5: a o-> b is neither"),
        (HEAD + "1. a <-> b", "hidden cause"),
        (HEAD + "a --> b", "line 5: write an edge"),
        (HEAD + "1. a --> b\n2. b --> a", "directed cycle"),
        ("Graph Nodes:\na;;b", "line 2: the node '' is empty"),
    ],
)
def test_what_is_no_network_is_refused_by_line(text, match):
    with pytest.raises(InputError, match=match):
        read_tetrad(text)
