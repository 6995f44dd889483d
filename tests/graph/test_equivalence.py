from itertools import islice, product

import networkx as nx
import numpy as np
import pytest

from sgbn.cohort.simulate import load_network
from sgbn.core.equivalence import (
    close_orientations,
    consistent_extension,
    cpdag,
    edge_kinds,
    orient_known,
    skeleton,
    v_structures,
)
from sgbn.core.exceptions import InputError
from sgbn.core.graph import random_dag
from sgbn.learn.sgbn import SGBN


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


def directions(P):
    """Sets of directions for undirected edges of P, contradictory ones included.

    All of them, or every fifth where there are hundreds.
    """
    edges = np.argwhere(np.triu(P & P.T))
    step = 5 if len(edges) > 4 else 1
    for states in islice(product(range(3), repeat=len(edges)), 0, None, step):
        known = np.zeros_like(P)
        for (i, j), state in zip(edges, states, strict=True):
            known[i, j], known[j, i] = state == 1, state == 2
        yield known


def test_known_directions_leave_undirected_what_the_members_that_agree_differ_in(classes):
    for members in classes:
        P = cpdag(members[0])
        for known in directions(P):
            agree = [A for A in members if not np.any(A & known.T)]
            if agree:
                assert np.array_equal(orient_known(P, known), np.logical_or.reduce(agree))
            else:
                with pytest.raises(InputError, match="contradict each other"):
                    orient_known(P, known)


@pytest.mark.parametrize("density", [0.0, 0.3])
def test_edge_kinds_are_what_equivalent_dags_share(classes, density):
    rng = np.random.default_rng(0)
    for members in classes:
        for A in members:
            known = (rng.random(A.shape) < density) & ~A.T
            agree = [B for B in members if not np.any(B & known.T)]
            expected = [
                "compelled"
                if all(B[i, j] for B in members)
                else "prior knowledge"
                if all(B[i, j] for B in agree)
                else "reversible"
                for i, j in np.argwhere(A)
            ]
            assert edge_kinds(A, known).tolist() == expected


def test_without_knowledge_no_edge_is_known():
    chain = np.eye(3, k=1)
    assert edge_kinds(chain).tolist() == ["reversible", "reversible"]
    assert edge_kinds(chain, np.zeros((3, 3))).tolist() == ["reversible", "reversible"]
    assert edge_kinds(np.zeros((2, 2))).tolist() == []


def test_knowledge_that_contradicts_the_graph_or_itself_is_refused():
    collider = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]])
    with pytest.raises(InputError, match="has 0 -> 2, but known has 2 -> 0"):
        orient_known(cpdag(collider), collider.T)
    chain = np.eye(3, k=1)
    with pytest.raises(InputError, match="has 0 -> 1, but known has 1 -> 0"):
        edge_kinds(chain, chain.T)
    with pytest.raises(InputError, match="both 0 -> 1 and 1 -> 0"):
        orient_known(cpdag(chain), skeleton(chain))
    with pytest.raises(
        InputError, match=r"known has shape \(2, 2\), but the graph has shape \(3, 3\)"
    ):
        edge_kinds(chain, np.zeros((2, 2)))


def decided_by_definition(P):
    """Meek's rules as they are written, over all quadruples of nodes."""
    m = len(P)
    arrow, line, apart = P & ~P.T, P & P.T, ~(P | P.T)
    decided = np.zeros_like(P)
    for i, j, k, other in product(range(m), repeat=4):
        if line[i, j] and len({i, j, k}) == 3:
            decided[i, j] |= arrow[k, i] & apart[k, j]
            decided[i, j] |= arrow[i, k] & arrow[k, j]
            if line[i, k] and other not in (i, j, k) and arrow[other, j]:
                decided[i, j] |= line[i, other] & arrow[k, j] & apart[k, other]
                decided[i, j] |= arrow[k, other] & apart[k, j] & ~apart[i, other]
    return decided


@pytest.mark.parametrize("seed", range(24))
def test_closing_any_pdag_applies_the_rules_in_rounds(seed):
    """Contradictory arrows as well: what comes out does not depend on the order of work."""
    rng = np.random.default_rng(seed)
    P = (rng.random((6, 6)) < rng.uniform(0.3, 0.9)) & ~np.eye(6, dtype=bool)
    expected = P.copy()
    while (decided := decided_by_definition(expected)).any():
        decided &= ~np.tril(decided & decided.T)
        expected &= ~decided.T
    assert np.array_equal(close_orientations(P), expected)


def extend_by_definition(P):
    """Of all free sinks the largest, until none is left."""
    result, left = P.copy(), set(range(len(P)))
    while left:
        inside = np.isin(np.arange(len(P)), list(left))
        free = [x for x in left if is_free_sink(P & np.outer(inside, inside), x)]
        if not free:
            return None
        result[max(free)] &= ~(P[:, max(free)] & inside)
        left.remove(max(free))
    return result


def is_free_sink(P, x):
    near = np.flatnonzero(P[x] | P[:, x])
    joined = (P | P.T | np.eye(len(P), dtype=bool))[:, near]
    return not np.any(P[x] & ~P[:, x]) and joined[P[x]].all()


@pytest.mark.parametrize("seed", range(24))
def test_the_extension_takes_the_largest_free_sink(seed):
    rng = np.random.default_rng(seed)
    P = cpdag(random_dag(8, rng.uniform(1, 6), rng))
    P &= ~(P & P.T & np.triu(rng.random((8, 8)) < 0.1 * (seed % 3)))
    expected, extension = extend_by_definition(P), consistent_extension(P)
    assert (extension is None) == (expected is None)
    assert extension is None or np.array_equal(extension, expected)


def test_where_nothing_decides_edges_run_from_small_to_large_indices():
    whole = ~np.eye(5, dtype=bool)
    assert np.array_equal(consistent_extension(whole), np.triu(whole))


def test_cpdags_equal_bnlearns(bnlearn, adjacency):
    for case in bnlearn["graphs"]:
        nodes = case["dag"]["nodes"]
        assert np.array_equal(cpdag(adjacency(case["dag"], nodes)), adjacency(case["cpdag"], nodes))


@pytest.mark.parametrize("seed", range(8))
def test_v_structures_equal_networkx(seed):
    A = random_dag(12, 4, seed)
    graph = nx.from_numpy_array(A.astype(int), create_using=nx.DiGraph)
    expected = {(min(i, j), k, max(i, j)) for i, k, j in nx.dag.v_structures(graph)}
    assert set(v_structures(A)) == expected


@pytest.mark.parametrize("seed", range(8))
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
    for function in (edge_kinds, orient_known):
        function(A, A)


def test_what_rests_on_required_edges_is_not_compelled():
    collider = np.array([[0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    assert edge_kinds(collider).tolist() == ["compelled"] * 3
    required = np.zeros((4, 4))
    required[0, 2] = 1
    assert edge_kinds(collider, required, required).tolist() == ["prior knowledge"] * 3


def test_networks_and_learners_are_graphs_too(simulate):
    X, network = simulate(6, 200, 0)
    learner = SGBN().fit(X)
    assert np.array_equal(cpdag(learner), cpdag(learner.coef_))
    assert np.array_equal(cpdag(network), cpdag(network.coef))
    assert np.array_equal(skeleton(load_network("chain")), skeleton(load_network("chain").graph))
