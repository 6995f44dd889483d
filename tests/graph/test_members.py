import numpy as np
import pytest

from sgbn.core import equivalence
from sgbn.core.equivalence import (
    best_each_way,
    consistent_extension,
    cpdag,
    open_components,
    orient_known,
    skeleton,
    v_structures,
)
from sgbn.core.graph import is_dag


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
