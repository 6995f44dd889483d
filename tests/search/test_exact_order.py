import numpy as np
import pytest

from sgbn.core.graph import is_dag
from sgbn.learn.search.search import best_network


@pytest.mark.parametrize("seed", range(2))
def test_it_is_the_best_of_all_networks(oracle, seed):
    problem = oracle.problem_of(6, seed)
    network = best_network(problem)
    assert is_dag(network.parents)
    assert network.score == pytest.approx(oracle.network_score(problem, network.parents))
    assert network.score == pytest.approx(oracle.least_score(problem))


def test_it_keeps_required_and_forbidden_edges(oracle):
    free = best_network(oracle.problem_of(6, 0))
    v, u = np.argwhere(free.parents)[0]
    problem = oracle.problem_of(6, 0, forbidden=[(u, v)], required=[(v, u), (3, 5)])
    network = best_network(problem)
    assert network.parents[u, v]
    assert network.parents[5, 3]
    assert not network.parents[v, u]
    assert network.score == pytest.approx(oracle.least_score(problem))
    rank = np.argsort(network.order)
    assert all(rank[p] < rank[c] for c, p in np.argwhere(network.parents))


def test_one_variable_is_a_network(oracle):
    network = best_network(oracle.problem_of(1, 0))
    assert network.order.tolist() == [0]
    assert not network.parents.any()
