"""How a change of a weight is called."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sgbn.core.graph import (
    KINDS_OF_CHANGE,
    certifies_dag,
    find_cycle,
    is_dag,
    joined_parts,
    kinds_of_change,
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


def test_random_graphs_are_dags_of_the_wanted_degree():
    rng = np.random.default_rng(0)
    graphs = [random_dag(50, 4.0, rng) for _ in range(100)]
    assert all(is_dag(A) for A in graphs)
    degree = np.mean([2 * A.sum() / 50 for A in graphs])
    assert abs(degree - 4.0) < 0.15


def test_every_direction_is_equally_likely():
    rng = np.random.default_rng(1)
    forward = np.mean([np.triu(random_dag(6, 3.0, rng)).sum() for _ in range(2000)])
    backward = np.mean([np.tril(random_dag(6, 3.0, rng)).sum() for _ in range(2000)])
    assert abs(forward - backward) < 0.25


def test_the_same_generator_gives_the_same_graph():
    first, second = (random_dag(10, 3, np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(first, second)


def test_one_node_and_more_edges_than_fit():
    rng = np.random.default_rng(0)
    assert random_dag(1, 4, rng).sum() == 0
    assert random_dag(4, 100, rng).sum() == 6


WEIGHTS = st.floats(-2, 2)
SWAPPED = {
    "gained": "lost",
    "lost": "gained",
    "stronger": "weaker",
    "weaker": "stronger",
    "sign changed": "sign changed",
}


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (-0.61, -0.05, "lost"),  # rises, and is gone
        (0.66, 0.32, "weaker"),
        (-0.66, -0.32, "weaker"),
        (0.0, -0.4, "gained"),
        (-0.2, -0.4, "stronger"),
        (0.3, -0.3, "sign changed"),
        (0.3, -0.05, "lost"),
        (0.02, 0.05, "stronger"),
        (0.0999, 0.1001, "stronger"),  # no step at the threshold
        (-0.03, 0.02, "weaker"),  # neither is there
    ],
)
def test_a_change_is_named_by_what_becomes_of_the_relation(before, after, kind):
    assert kinds_of_change([before], [after]) == [kind]


@given(WEIGHTS, WEIGHTS)
def test_the_other_sign_changes_nothing_and_the_other_order_turns_it_round(before, after):
    kind = kinds_of_change(before, after).item()
    assert kind in KINDS_OF_CHANGE
    assert kinds_of_change(-before, -after).item() == kind
    if abs(before) != abs(after):
        assert kinds_of_change(after, before).item() == SWAPPED[kind]


def test_arrays_keep_their_shape():
    assert kinds_of_change(np.zeros((2, 3)), np.ones((2, 3))).tolist() == [["gained"] * 3] * 2
