from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest

from sgbn import InputError
from sgbn.graph import is_dag, random_dag
from sgbn.graph.equivalence import (
    close_orientations,
    consistent_extension,
    cpdag,
    skeleton,
    v_structures,
)


def all_dags(m):
    """Every DAG on m nodes, by brute force over the three states of each pair."""
    pairs = list(combinations(range(m), 2))
    for states in product(range(3), repeat=len(pairs)):
        A = np.zeros((m, m), bool)
        for (i, j), state in zip(pairs, states, strict=True):
            A[i, j], A[j, i] = state == 1, state == 2
        if is_dag(A):
            yield A


@pytest.fixture(scope="module")
def classes():
    """Equivalence classes of the DAGs on 4 nodes: same skeleton, same v-structures."""
    found = {}
    for A in all_dags(4):
        found.setdefault((skeleton(A).tobytes(), tuple(v_structures(A))), []).append(A)
    return list(found.values())


def test_there_are_as_many_dags_and_classes_as_the_literature_counts(classes):
    assert sum(map(len, classes)) == 543
    assert len(classes) == 185


def test_the_cpdag_is_the_union_of_its_class(classes):
    for members in classes:
        union = np.logical_or.reduce(members)
        for A in members:
            assert np.array_equal(cpdag(A), union)


def test_the_extension_of_a_cpdag_is_a_member_of_its_class(classes):
    for members in classes:
        extension = consistent_extension(cpdag(members[0]))
        assert any(np.array_equal(extension, A) for A in members)


def test_closing_prior_knowledge_keeps_just_the_members_that_agree(classes):
    """Maximal orientation, by brute force: one more arrow known, all four rules needed."""
    for members in classes:
        P = cpdag(members[0])
        for i, j in np.argwhere(P & P.T):
            known = P.copy()
            known[j, i] = False
            agree = [A for A in members if A[i, j]]
            assert np.array_equal(close_orientations(known), np.logical_or.reduce(agree))


def test_cpdags_equal_bnlearns(bnlearn, adjacency):
    for case in bnlearn["graphs"]:
        nodes = case["dag"]["nodes"]
        assert np.array_equal(cpdag(adjacency(case["dag"], nodes)), adjacency(case["cpdag"], nodes))


@pytest.mark.parametrize("seed", range(20))
def test_v_structures_equal_networkx(seed):
    A = random_dag(12, 4, seed)
    graph = nx.from_numpy_array(A.astype(int), create_using=nx.DiGraph)
    expected = {(min(i, j), k, max(i, j)) for i, k, j in nx.dag.v_structures(graph)}
    assert set(v_structures(A)) == expected


@pytest.mark.parametrize("seed", range(20))
def test_relabelling_commutes_with_the_cpdag(seed):
    rng = np.random.default_rng(seed)
    A = random_dag(15, 4, rng)
    p = rng.permutation(15)
    assert np.array_equal(cpdag(A[np.ix_(p, p)]), cpdag(A)[np.ix_(p, p)])


def test_a_cycle_has_no_cpdag_and_a_square_no_extension():
    with pytest.raises(InputError, match="directed cycle"):
        cpdag([[0, 1], [1, 0]])
    square = np.zeros((4, 4), bool)
    for i, j in ((0, 1), (1, 2), (2, 3), (3, 0)):
        square[i, j] = square[j, i] = True
    assert consistent_extension(square) is None


def test_graphs_are_not_changed():
    A = np.triu(np.ones((4, 4), bool), 1)
    A.setflags(write=False)
    for function in (skeleton, v_structures, cpdag, close_orientations, consistent_extension):
        function(A)
