import pytest

from sgbn.core.exceptions import InputError
from sgbn.write.formats import named_graph, read_dot, write_dot


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


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("digraph { a -- b }", "edges of a digraph are written ->"),
        ("graph { a -> b }", "edges of a graph are written --"),
        ("digraph {\n a -> b [dir=both] }", "line 2: an edge with dir=both"),
        ("digraph { a -> b [coef=x] }", "line 1: .*finite number"),
        ("digraph { a [noise_variance=-1] }", "negative"),
        ("digraph { a -> b -> a }", "directed cycle"),
    ],
)
def test_what_is_no_network_is_refused(text, match):
    with pytest.raises(InputError, match=match):
        read_dot(text)
