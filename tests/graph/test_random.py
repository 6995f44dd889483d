import numpy as np

from sgbn.core.graph import is_dag, random_dag


def test_random_graphs_are_dags_of_the_wanted_degree():
    rng = np.random.default_rng(0)
    graphs = [random_dag(50, 4.0, rng) for _ in range(100)]
    assert all(is_dag(A) for A in graphs)
    degree = np.mean([2 * A.sum() / 50 for A in graphs])
    assert abs(degree - 4.0) < 0.15


def test_every_direction_is_equally_likely():
    rng = np.random.default_rng(1)
    forward = np.mean([np.triu(random_dag(6, 3.0, rng)).sum() for _ in range(2000)])
    backward = np.mean([np.tril(random_dag(6, 3.0, rng)).sum() for _ in range(2000)])
    assert abs(forward - backward) < 0.25


def test_the_same_generator_gives_the_same_graph():
    first, second = (random_dag(10, 3, np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(first, second)


def test_one_node_and_more_edges_than_fit():
    rng = np.random.default_rng(0)
    assert random_dag(1, 4, rng).sum() == 0
    assert random_dag(4, 100, rng).sum() == 6
