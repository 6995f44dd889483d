from itertools import product

import numpy as np
import pytest

from sgbn.core.equivalence import cpdag, orient_known, skeleton
from sgbn.core.exceptions import InputError
from sgbn.core.graph import is_dag, random_dag
from sgbn.inference.effects import possible_graphs


def members(P):
    """All DAGs of the class of a CPDAG, by trying every direction of its undirected edges."""
    undirected = np.argwhere(np.triu(P & P.T))
    target = cpdag_of_class(P)
    for ways in product([False, True], repeat=len(undirected)):
        graph = P.copy()
        for (i, j), forward in zip(undirected, ways, strict=True):
            graph[(j, i) if forward else (i, j)] = False
        if is_dag(graph) and np.array_equal(cpdag(graph), target):
            yield graph


def cpdag_of_class(P):
    from sgbn.core.equivalence import consistent_extension

    return cpdag(consistent_extension(P))


@pytest.mark.parametrize("seed", range(12))
def test_parent_sets_are_those_of_all_dags_of_the_class(seed):
    graph = random_dag(6, 2.5 + seed % 2, seed)
    P = cpdag(graph)
    if seed % 3 == 0:  # known directions, as prior knowledge gives
        known = np.zeros_like(graph)
        i, j = np.argwhere(graph)[seed % graph.sum()]
        known[i, j] = True
        P = orient_known(P, known)
    everything = list(members(P))
    assert any(np.array_equal(graph, member) for member in everything)
    for node in range(6):
        found = possible_graphs(P, node)
        assert {tuple(g[:, node]) for g in everything} == {tuple(g[:, node]) for g in found}
        assert len({tuple(g[:, node]) for g in found}) == len(found)
        for g in found:
            assert any(np.array_equal(g, member) for member in everything)


def test_a_directed_graph_has_one_member():
    collider = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], bool)
    (only,) = possible_graphs(cpdag(collider), 0)
    np.testing.assert_array_equal(only, collider)


def test_too_many_sets_are_refused_with_a_remedy():
    complete = skeleton(np.triu(np.ones((16, 16)), 1))
    with pytest.raises(InputError, match=r"more than 4096 sets .* prior knowledge"):
        possible_graphs(complete, 0)
