import numpy as np
import pytest

from sgbn import GaussianNetwork, InputError
from sgbn.graph import compare_graphs, cpdag, shd


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


def test_directed_errors_equal_bnlearns_hamming_count(bnlearn):
    """Reference: the arcs of two DAGs, whose symmetric difference counts every error."""
    for case in bnlearn["graphs"]:
        nodes = case["dag"]["nodes"]
        place = {name: k for k, name in enumerate(nodes)}
        graphs = []
        for which in ("dag", "other"):
            A = np.zeros((len(nodes), len(nodes)))
            for source, target in case[which]["arcs"]:
                A[place[source], place[target]] = 1
            graphs.append(A)
        result = compare_graphs(graphs[1], graphs[0])
        skeleton = [A + A.T for A in graphs]
        # bnlearn's hamming() counts the adjacencies that only one of the graphs has.
        assert np.triu(skeleton[0] != skeleton[1]).sum() == case["hamming"]
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
    with pytest.raises(InputError, match="in another order"):
        compare_graphs(first, other)
    for graph in (np.zeros((3, 3)), object(), np.zeros(2)):
        with pytest.raises(InputError, match="two square matrices"):
            compare_graphs(graph, np.zeros((2, 2)))


def test_the_shd_of_cpdags_equals_bnlearns(bnlearn):
    for case in bnlearn["graphs"]:
        place = {name: k for k, name in enumerate(case["dag"]["nodes"])}
        graphs = []
        for which in ("dag", "other"):
            A = np.zeros((len(place), len(place)))
            for source, target in case[which]["arcs"]:
                A[place[source], place[target]] = 1
            graphs.append(cpdag(A))
        assert shd(*graphs) == case["shd_cpdag"]
        assert shd(graphs[0], graphs[0]) == 0


def test_a_reversed_edge_counts_once_in_the_shd_and_twice_in_the_errors():
    first, second = np.array([[0, 1], [0, 0]]), np.array([[0, 0], [1, 0]])
    assert shd(first, second) == 1
    assert compare_graphs(first, second).errors == 2
    assert shd(cpdag(first), cpdag(second)) == 0
    with pytest.raises(InputError, match="different shapes"):
        shd(first, np.zeros((3, 3)))
