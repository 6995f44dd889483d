import networkx as nx
import numpy as np
import pytest

from sgbn.core.graph import joined_parts


@pytest.mark.parametrize("seed", range(5))
def test_parts_are_those_of_networkx_for_places_of_any_width(seed):
    links = np.random.default_rng(seed).integers(0, 30, size=(18, 2))
    graph = nx.Graph(links.tolist())
    graph.add_nodes_from(range(30))
    wanted = {frozenset(nodes) for nodes in nx.connected_components(graph)}
    for kind in (np.int32, np.int64):
        part = joined_parts(*links.astype(kind).T, 30)
        assert {frozenset(np.flatnonzero(part == k).tolist()) for k in set(part)} == wanted


def test_without_links_each_node_is_a_part():
    nothing = np.empty(0, np.intp)
    assert joined_parts(nothing, nothing, 3).tolist() == [0, 1, 2]
