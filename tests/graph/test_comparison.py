import numpy as np
import pandas as pd
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
    with pytest.raises(InputError, match="in another order"):
        compare_graphs(first, other)
    table = pd.DataFrame(np.eye(2, k=1), index=["a", "b"], columns=["a", "b"])
    assert compare_graphs(table, second).errors == 0
    with pytest.raises(InputError, match="in another order"):
        compare_graphs(table, table.loc[["b", "a"], ["b", "a"]])
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
    with pytest.raises(InputError, match="different shapes"):
        shd(first, np.zeros((3, 3)))
