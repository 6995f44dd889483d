import pytest

from sgbn.core.exceptions import InputError
from sgbn.read import network
from sgbn.read.network import GraphBuilder


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
