import numpy as np
import pytest

from sgbn.cohort.simulate import BenchmarkNetwork
from sgbn.core.exceptions import InputError
from sgbn.read.network import NamedGraph, check_dag, edges_and_lines, weights_of
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
    for network in (NamedGraph(graph, ("a", "b", "c")), BenchmarkNetwork(graph, ("a", "b", "c"))):
        with pytest.raises(InputError, match=r"directed cycle: (a|b|c) -> "):
            check_dag(named_graph(network), "bnlearn")
        with pytest.raises(InputError, match="directed cycle"):
            named_graph(network, "cpdag")
