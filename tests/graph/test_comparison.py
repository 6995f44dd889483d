import networkx as nx
import numpy as np
import pandas as pd
import pytest

from sgbn.core.equivalence import compare_graphs, cpdag, pdag_errors, shd
from sgbn.core.exceptions import InputError
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.graph import is_dag, random_dag


def test_counts_by_hand():
    true = np.zeros((4, 4))
    true[0, 1] = true[1, 2] = true[2, 3] = 1
    learned = np.zeros((4, 4))
    learned[0, 1] = learned[2, 1] = learned[0, 3] = 0.3
    result = compare_graphs(learned, true)
    assert (result.false, result.missing, result.reversed, result.errors) == (2, 2, 1, 4)
    assert result.precision == pytest.approx(1 / 3)
    assert result.recall == pytest.approx(1 / 3)
    assert result.skeleton_precision == pytest.approx(2 / 3)
    assert result.skeleton_recall == pytest.approx(2 / 3)
    assert (result.shd, result.shd_cpdag, result.pdag_errors) == (3, 4, 6)
    assert repr(result).startswith("GraphComparison(n_true=3, n_learned=3, false=2, missing=2, ")


@pytest.mark.parametrize("seed", range(10))
def test_counts_equal_networkx(seed):
    matrices = [random_dag(12, 4, (seed, k)) for k in range(2)]
    learned, true = (nx.from_numpy_array(A, create_using=nx.DiGraph) for A in matrices)
    false, missing = nx.difference(learned, true), nx.difference(true, learned)
    result = compare_graphs(*matrices)
    assert (result.n_learned, result.n_true) == (learned.size(), true.size())
    assert (result.false, result.missing) == (false.size(), missing.size())
    assert result.errors == nx.symmetric_difference(learned, true).size()
    assert result.reversed == nx.intersection(false, true.reverse()).size()
    both = nx.compose(false, missing).to_undirected()
    assert result.shd == both.size()
    assert result.adjacencies_found == nx.intersection(*map(nx.Graph, (learned, true))).size()


def test_directed_errors_equal_bnlearns_hamming_count(bnlearn, adjacency):
    """Reference: bnlearn's hamming() counts the adjacencies that only one of the graphs has."""
    for case in bnlearn["graphs"]:
        nodes = case["dag"]["nodes"]
        true, other = (adjacency(case[which], nodes) for which in ("dag", "other"))
        result = compare_graphs(other, true)
        assert result.errors - 2 * result.reversed == case["hamming"]


def test_nothing_learned_is_no_false_edge():
    result = compare_graphs(np.zeros((3, 3)), np.triu(np.ones((3, 3)), 1))
    assert (result.precision, result.recall) == (1.0, 0.0)
    empty = compare_graphs(np.zeros((3, 3)), np.zeros((3, 3)))
    assert (empty.recall, empty.skeleton_precision, empty.skeleton_recall) == (1.0, 1.0, 1.0)


def test_networks_can_be_compared_and_other_things_cannot():
    first, second = (GaussianNetwork([[0, w], [0, 0]], names=["a", "b"]) for w in (0.0, 1.0))
    assert compare_graphs(first, second).missing == 1
    other = GaussianNetwork([[0, 1], [0, 0]], names=["b", "a"])
    assert compare_graphs(other, second).reversed == 1  # b -> a against a -> b
    with pytest.raises(InputError, match="'b' is in only one of them"):
        compare_graphs(first, GaussianNetwork([[0, 1], [0, 0]], names=["c", "a"]))
    table = pd.DataFrame(np.eye(2, k=1), index=["a", "b"], columns=["a", "b"])
    assert compare_graphs(table, second).errors == 0
    assert compare_graphs(table, table.loc[["b", "a"], ["b", "a"]]).errors == 0
    for graph in (np.zeros((3, 3)), object(), np.zeros(2)):
        with pytest.raises(InputError, match="two square matrices"):
            compare_graphs(graph, np.zeros((2, 2)))


def test_the_shd_of_cpdags_equals_bnlearns(bnlearn, adjacency):
    for case in bnlearn["graphs"]:
        nodes = case["dag"]["nodes"]
        first, second = (cpdag(adjacency(case[which], nodes)) for which in ("dag", "other"))
        assert shd(first, second) == case["shd_cpdag"]
        assert shd(first, first) == 0


def test_a_reversed_edge_counts_once_in_the_shd_and_twice_in_the_errors():
    first, second = np.array([[0, 1], [0, 0]]), np.array([[0, 0], [1, 0]])
    assert shd(first, second) == 1
    assert compare_graphs(first, second).errors == 2
    assert shd(cpdag(first), cpdag(second)) == 0
    for function in (shd, pdag_errors):
        with pytest.raises(InputError, match="two square matrices"):
            function(first, np.zeros((3, 3)))


def edges_of_a_class(members):
    """Arrows (i, j) that all DAGs of a class share, and the other edges as sets {i, j}."""
    pairs = [tuple(pair) for pair in np.argwhere(members[0])]
    shared = [all(A[pair] for A in members) for pair in pairs]
    return {p if fixed else frozenset(p) for p, fixed in zip(pairs, shared, strict=True)}


def test_pdag_errors_are_the_edges_that_two_classes_do_not_share(classes):
    rng = np.random.default_rng(0)
    edges = [edges_of_a_class(members) for members in classes]
    for first, second in rng.integers(len(classes), size=(150, 2)):
        A, B = (classes[k][rng.integers(len(classes[k]))] for k in (first, second))
        result = compare_graphs(A, B)
        assert result.pdag_errors == pdag_errors(B, A) == len(edges[first] ^ edges[second])
        assert result.shd_cpdag <= result.pdag_errors <= 2 * result.shd_cpdag
        assert (result.pdag_errors == 0) == (first == second)


def test_equivalent_dags_have_no_pdag_errors(classes):
    for members in classes:
        assert {pdag_errors(A, members[0]) for A in members} == {0}


def test_cyclic_graphs_have_edges_to_compare_but_no_cpdag():
    cyclic = np.roll(np.eye(3), 1, axis=1)
    assert not is_dag(cyclic)
    result = compare_graphs(cyclic, np.eye(3, k=1))
    assert (result.false, result.shd) == (1, 1)
    with pytest.raises(InputError, match="only a DAG has a CPDAG"):
        _ = result.shd_cpdag


def test_networks_and_tables_have_a_distance():
    first, second = (GaussianNetwork([[0, w], [0, 0]], names=["a", "b"]) for w in (0.0, 1.0))
    table = pd.DataFrame(np.eye(2, k=1), index=["a", "b"], columns=["a", "b"])
    assert shd(first, second) == pdag_errors(first, table) == 1
