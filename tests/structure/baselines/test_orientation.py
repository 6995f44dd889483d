from itertools import islice, product

import numpy as np
import pytest

from sgbn.core.equivalence import consistent_extension, cpdag, skeleton, v_structures
from sgbn.core.graph import is_dag, random_dag
from sgbn.paper.markov import (
    Collider,
    IndependenceTest,
    closest_dag,
    colliders,
    direct,
    extends,
    fisher_z_borders,
    neighbours,
    smaller_sides,
)


def graph(m, arrows, edges=()):
    P = np.zeros((m, m), bool)
    for i, j in arrows:
        P[i, j] = True
    for i, j in edges:
        P[i, j] = P[j, i] = True
    return P


@pytest.fixture
def collider_test():
    """Tests in a large sample of 0 -> 2 <- 1."""
    X = np.random.default_rng(0).standard_normal((2000, 3))
    X[:, 2] += X[:, 0] + X[:, 1]
    return IndependenceTest(np.corrcoef(X.T), fisher_z_borders(2000, 3, 0.05))


def test_smaller_sides():
    one, other = np.array([True, False, True]), np.array([False, True, False])
    assert [side.tolist() for side in smaller_sides(one, other)] == [[1]]
    assert [side.tolist() for side in smaller_sides(other, one)] == [[1]]
    assert [side.tolist() for side in smaller_sides(one, one)] == [[0, 2], [0, 2]]


def test_spouses_are_no_neighbours_and_their_child_collides(collider_test):
    blankets = ~np.eye(3, dtype=bool)
    joined = neighbours(collider_test, blankets)
    assert np.array_equal(joined, graph(3, [], [(0, 2), (1, 2)]))
    (found,) = colliders(collider_test, blankets, joined)
    assert found[1:] == (0, 2, 1)
    assert found.strength == pytest.approx(collider_test.strengths(0, [2])[1])
    assert np.array_equal(direct(joined, [found]), graph(3, [(0, 2), (1, 2)]))


def test_all_colliders_give_the_class_of_the_dag():
    for seed in range(20):
        A = random_dag(10, 3, seed)
        found = [Collider(1.0 + k, *v) for k, v in enumerate(v_structures(A))]
        assert np.array_equal(direct(skeleton(A), found), cpdag(A))


def test_of_contradicting_colliders_the_strongest_is_believed():
    path = graph(4, [], [(0, 1), (1, 2), (2, 3)])
    weak, strong = Collider(2.0, 0, 1, 2), Collider(3.0, 1, 2, 3)
    for found in ([weak, strong], [strong, weak]):
        assert np.array_equal(direct(path, found), graph(4, [(1, 2), (3, 2)], [(0, 1)]))


def test_a_collider_that_closes_a_cycle_is_left_out():
    """Three colliders around the triangle 0, 1, 2, each with an own parent outside of it."""
    edges = [(0, 1), (1, 2), (2, 0), (3, 1), (4, 2), (5, 0)]
    found = [Collider(4.0, 0, 1, 3), Collider(3.0, 1, 2, 4), Collider(2.0, 2, 0, 5)]
    P = direct(graph(6, [], edges), found)
    assert is_dag(P & ~P.T)
    assert v_structures(P) == [(0, 1, 3), (0, 2, 4), (1, 2, 4)]  # 0 -> 2 by Meek's second rule
    assert P[0, 5]
    assert P[5, 0]


def test_the_closest_dag_is_an_extension_where_there_is_one():
    for seed in range(20):
        P = cpdag(random_dag(10, 3, seed))
        A = closest_dag(P)
        assert np.array_equal(A, consistent_extension(P))
        assert extends(A, P)


def test_of_a_cycle_one_arrow_is_turned():
    cycle = graph(5, [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4)])
    A = closest_dag(cycle)
    assert is_dag(A)
    assert np.array_equal(skeleton(A), skeleton(cycle))
    assert np.count_nonzero(cycle & ~A) == 1
    assert not extends(A, cycle)


def test_a_square_gets_one_new_collider():
    square = graph(4, [], [(0, 1), (1, 2), (2, 3), (3, 0)])
    A = closest_dag(square)
    assert is_dag(A)
    assert len(v_structures(A)) == 1
    assert not extends(A, square)


def test_colliders_that_are_there_already_count_for_nothing():
    P = graph(5, [(1, 0), (2, 4), (3, 0)], [(0, 4), (1, 4)])
    A = closest_dag(P)
    assert consistent_extension(P) is None
    assert not np.any(P & ~P.T & ~A)
    assert len(set(v_structures(A)) - set(v_structures(P))) == 1


@pytest.mark.parametrize("step", [17, pytest.param(1, marks=pytest.mark.long)])
def test_every_pdag_on_four_variables_gets_a_dag_with_its_skeleton(step):
    """All 4^6 of them, or every 17th; arrows stay wherever they form no cycle."""
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    for states in islice(product(range(4), repeat=6), 0, None, step):
        P = np.zeros((4, 4), bool)
        for (i, j), state in zip(pairs, states, strict=True):
            P[i, j], P[j, i] = state & 1, state & 2
        A = closest_dag(P)
        assert is_dag(A)
        assert np.array_equal(skeleton(A), skeleton(P))
        assert extends(A, P) == (consistent_extension(P) is not None)
        directed = P & ~P.T
        assert not np.any(directed & ~A) or not is_dag(directed)


def test_graphs_are_not_changed(collider_test):
    P = graph(3, [(0, 1)], [(1, 2)])
    P.setflags(write=False)
    closest_dag(P)
    direct(P, [])
    blankets = skeleton(P)
    blankets.setflags(write=False)
    neighbours(collider_test, blankets)
    colliders(collider_test, blankets, blankets)
