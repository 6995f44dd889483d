import numpy as np
import pytest

from sgbn.graph import is_dag
from sgbn.search.exact_order import best_network


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_best_of_all_networks(oracle, seed):
    problem = oracle.problem_of(6, seed)
    found = best_network(problem)
    assert is_dag(found.parents)
    assert found.score == pytest.approx(oracle.network_score(problem, found.parents))
    assert found.score == pytest.approx(oracle.least_score(problem))


def test_it_keeps_required_and_forbidden_edges(oracle):
    free = best_network(oracle.problem_of(6, 0))
    v, u = np.argwhere(free.parents)[0]
    problem = oracle.problem_of(6, 0, forbidden=[(u, v)], required=[(v, u), (3, 5)])
    found = best_network(problem)
    assert found.parents[u, v]
    assert found.parents[5, 3]
    assert not found.parents[v, u]
    assert found.score == pytest.approx(oracle.least_score(problem))
    rank = np.argsort(found.order)
    assert all(rank[p] < rank[c] for c, p in np.argwhere(found.parents))


def test_one_variable_is_a_network(oracle):
    found = best_network(oracle.problem_of(1, 0))
    assert found.order.tolist() == [0]
    assert not found.parents.any()
