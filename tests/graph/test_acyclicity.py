import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sgbn.core.graph import (
    certifies_dag,
    find_cycle,
    is_dag,
    known_order,
    levels,
    random_dag,
    reachable,
    topological_order,
    upsilon,
)

few = settings(max_examples=settings.default.max_examples * 2 // 5)
graphs = st.integers(1, 8).flatmap(lambda m: arrays(np.bool_, (m, m)))


def as_networkx(A):
    return nx.from_numpy_array(A.astype(int), create_using=nx.DiGraph)


@few
@given(graphs)
def test_acyclicity_agrees_with_networkx(A):
    assert is_dag(A) == nx.is_directed_acyclic_graph(as_networkx(A))


@few
@given(graphs)
def test_a_cycle_that_is_found_exists_and_is_found_where_there_is_one(A):
    cycle = find_cycle(A)
    assert (cycle is None) == is_dag(A)
    if cycle is not None:
        assert all(A[i, j] for i, j in zip(cycle, cycle[1:] + cycle[:1], strict=True))
        assert len(set(cycle)) == len(cycle)


@few
@given(graphs)
def test_reachability_is_the_transitive_closure(A):
    G = as_networkx(A)
    expected = np.array([[j in nx.descendants(G, i) for j in G] for i in G])
    P = reachable(A)
    off_diagonal = ~np.eye(len(A), dtype=bool)
    assert np.array_equal(P[off_diagonal], expected[off_diagonal])
    assert np.array_equal(np.diag(P), [any(i in c for c in nx.simple_cycles(G)) for i in G])


def test_reachability_does_not_cancel_where_expm_does():
    Theta = np.zeros((4, 4))
    Theta[0, 1] = Theta[1, 3] = Theta[0, 2] = 1.0
    Theta[2, 3] = -1.0
    assert reachable(Theta)[0, 3]
    assert (Theta @ Theta)[0, 3] == 0


@few
@given(m=st.integers(1, 30), degree=st.floats(0, 6), seed=st.integers(0, 1000))
def test_levels_are_longest_paths_and_certify_the_dag(m, degree, seed):
    A = random_dag(m, degree, np.random.default_rng(seed))
    level = levels(A)
    expected = np.zeros(m, int)
    for j in nx.topological_sort(as_networkx(A)):
        parents = np.flatnonzero(A[:, j])
        expected[j] = expected[parents].max(initial=-1) + 1
    assert np.array_equal(level, expected)
    assert certifies_dag(A, level)
    assert certifies_dag(A, level * 0.5, Delta=0.5 * m)
    order = topological_order(A).tolist()
    assert all(order.index(i) < order.index(j) for i, j in np.argwhere(A))


@few
@given(graphs, st.data())
def test_no_order_certifies_a_cyclic_graph(A, data):
    m = len(A)
    o = np.array(data.draw(st.lists(st.integers(0, m), min_size=m, max_size=m)))
    if certifies_dag(A, o):
        assert is_dag(A)


def test_a_certificate_needs_orders_in_range_and_no_loop():
    A = np.array([[0, 1], [0, 0]])
    assert certifies_dag(A, [0, 1])
    assert not certifies_dag(A, [1, 0])
    assert not certifies_dag(A, [0, 0])
    assert not certifies_dag(A, [-1, 0])
    assert not certifies_dag(A, [0, 5])
    assert not certifies_dag(np.eye(2), [0, 1])


def test_upsilon_is_what_the_order_is_short_of():
    np.testing.assert_array_equal(upsilon([0, 1, 3]), [[0, 0, 0], [2, 0, 0], [4, 3, 0]])
    np.testing.assert_allclose(upsilon([0, 0.5], Delta=1.0), [[0, 0], [1.0, 0]])


def test_a_cyclic_graph_has_no_topological_order():
    with pytest.raises(ValueError, match="directed cycle"):
        topological_order([[0, 1], [1, 0]])


def test_nodes_on_or_behind_a_cycle_have_level_minus_one():
    A = np.zeros((4, 4))
    A[0, 1] = A[1, 2] = A[2, 1] = A[2, 3] = 1
    assert levels(A).tolist() == [0, -1, -1, -1]


def test_graphs_are_not_changed():
    A = np.triu(np.ones((4, 4)), 1)
    A.setflags(write=False)
    for function in (levels, is_dag, find_cycle, reachable, topological_order):
        function(A)


def test_an_order_follows_the_graph_and_then_what_is_known():
    graph = np.zeros((4, 4), bool)
    graph[3, 0] = True
    known = np.zeros((4, 4), bool)
    known[2, 1] = known[1, 3] = known[2, 3] = True
    assert known_order(graph, known).tolist() == [2, 1, 3, 0]
    nothing = np.zeros((4, 4), bool)
    assert known_order(graph, nothing).tolist() == [1, 2, 3, 0]
    assert known_order(graph, nothing, np.array([3, 2, 1, 0])).tolist() == [3, 2, 1, 0]
