from itertools import islice, product

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from tests.codes import refused

from sgbn.cohort.simulate import load_network
from sgbn.core import equivalence
from sgbn.core.equivalence import (
    best_each_way,
    close_orientations,
    compare_graphs,
    consistent_extension,
    cpdag,
    edge_kinds,
    open_components,
    orient_known,
    pdag_errors,
    shd,
    skeleton,
    v_structures,
)
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.graph import is_dag, random_dag
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
                with refused("known.contradiction"):
                    orient_known(P, known)


@pytest.mark.parametrize(
    ("function", "graph", "known", "code"),
    [
        (orient_known, cpdag([[0, 0, 1], [0, 0, 1], [0, 0, 0]]), np.eye(3, k=-2), "other-way"),
        (orient_known, cpdag(np.eye(3, k=1)), skeleton(np.eye(3, k=1)), "both-ways"),
        (edge_kinds, np.eye(3, k=1), np.eye(3, k=-1), "other-way"),
        (edge_kinds, np.eye(3, k=1), np.zeros((2, 2)), "shape"),
    ],
)
def test_knowledge_that_contradicts_the_graph_or_itself_is_refused(function, graph, known, code):
    with refused(f"known.{code}"):
        function(graph, known)


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
    with refused("graph.no-dag"):
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


def scores(rng):
    """Random score of each node with each set of parents."""
    drawn = {}

    def score(j, parents):
        assert list(parents) == sorted(parents)
        if (j, parents) not in drawn:
            drawn[j, parents] = rng.standard_normal()
        return drawn[j, parents]

    return score


def parents_of(A, nodes):
    return {j: tuple(np.flatnonzero(A[:, j]).tolist()) for j in nodes}


def check_against(dags, P, rng):
    """Compare the best members, for each way of each open edge, with those of a list of all."""
    score = scores(rng)
    for nodes in open_components(P):
        totals = [sum(score(j, pa) for j, pa in parents_of(A, nodes).items()) for A in dags]
        members = best_each_way(P, nodes, score)
        assert members[0].score == pytest.approx(max(totals))
        known = [parents_of(A, nodes) for A in dags]
        assert all(member.parents in known for member in members)
        for i, j in np.argwhere(P & P.T):
            if i in nodes:
                best = max(total for A, total in zip(dags, totals, strict=True) if A[i, j])
                mine = next(member.score for member in members if member.has(i, j))
                assert mine == pytest.approx(best)


def test_the_best_of_all_members_are_found_on_four_nodes(classes):
    rng = np.random.default_rng(0)
    for dags in classes:
        check_against(dags, cpdag(dags[0]), rng)


def test_the_best_members_agree_with_prior_knowledge(classes):
    rng = np.random.default_rng(1)
    for dags in classes:
        P = cpdag(dags[0])
        ends = np.argwhere(np.triu(P & P.T))
        if len(ends) < 3:
            continue
        truth = dags[rng.integers(len(dags))]
        known = np.zeros_like(P)
        i, j = ends[rng.integers(len(ends))]
        known[i, j], known[j, i] = truth[i, j], truth[j, i]
        allowed = [A for A in dags if not (A & known.T).any()]
        check_against(allowed, orient_known(P, known), rng)


def test_members_of_larger_components_are_dags_of_the_class():
    rng = np.random.default_rng(2)
    for _ in range(6):
        m = 9
        tree = np.zeros((m, m), bool)  # of triangles: each node has two joined parents
        tree[0, 1] = True
        for j in range(2, m):
            a = rng.integers(1, j)
            tree[[a, np.flatnonzero(tree[:, a])[0]], j] = True
        P = cpdag(tree)
        (nodes,) = open_components(P)
        for member in best_each_way(P, nodes, scores(rng)):
            A = np.zeros_like(P)
            for j, parents in member.parents.items():
                A[list(parents), j] = True
            assert is_dag(A)
            assert np.array_equal(skeleton(A), skeleton(tree))
            assert v_structures(A) == []


def test_components_are_those_of_undirected_edges():
    A = np.zeros((6, 6), bool)
    A[0, 2] = A[1, 2] = A[3, 5] = True  # a collider, an open edge, and a node alone
    assert open_components(cpdag(A)) == [[3, 5]]
    assert open_components(np.zeros((3, 3), bool)) == []


def test_a_component_that_takes_too_long_is_left(monkeypatch):
    clique = np.triu(np.ones((5, 5), bool), 1)
    P = cpdag(clique)
    assert best_each_way(P, list(range(5)), scores(np.random.default_rng(3)))
    monkeypatch.setattr(equivalence, "MAX_TRIED_SOURCES", 10)
    assert best_each_way(P, list(range(5)), scores(np.random.default_rng(3))) is None
    assert consistent_extension(P) is not None


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
    with refused("graphs.variables"):
        compare_graphs(first, GaussianNetwork([[0, 1], [0, 0]], names=["c", "a"]))
    table = pd.DataFrame(np.eye(2, k=1), index=["a", "b"], columns=["a", "b"])
    assert compare_graphs(table, second).errors == 0
    assert compare_graphs(table, table.loc[["b", "a"], ["b", "a"]]).errors == 0
    for graph in (np.zeros((3, 3)), object(), np.zeros(2)):
        with refused("graphs.shape"):
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
        with refused("graphs.shape"):
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
    with refused("graph.no-dag"):
        _ = result.shd_cpdag


def test_networks_and_tables_have_a_distance():
    first, second = (GaussianNetwork([[0, w], [0, 0]], names=["a", "b"]) for w in (0.0, 1.0))
    table = pd.DataFrame(np.eye(2, k=1), index=["a", "b"], columns=["a", "b"])
    assert shd(first, second) == pdag_errors(first, table) == 1
