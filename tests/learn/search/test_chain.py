import itertools

import numpy as np
import pytest

from sgbn.core.graph import is_dag
from sgbn.learn.search.chain import arrow_shares, run_chain
from sgbn.learn.search.plan import ebic_prices
from sgbn.learn.search.tables import log_totals, score_tables


def _tables(m, n, seed, required=None):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, m))
    for j in range(1, m):
        X[:, j] += 0.5 * X[:, j - 1]
    R = np.corrcoef(X.T)
    candidates = np.array([[u for u in range(m) if u != v] for v in range(m)])
    required = np.zeros((m, m), bool) if required is None else required
    return score_tables(R, n, ebic_prices(n, m, 0.5), m, candidates, required)


def _graph_of(tables, parents):
    return arrow_shares(tables, parents[None]) > 0


def _exact(tables):
    """Probability of each arrow, by all DAGs; and were DAGs counted once for each order."""
    m, size = tables.score.shape
    orders = [np.argsort(order) for order in itertools.permutations(range(m))]
    total = np.zeros(2)
    arrows = np.zeros((2, m, m))
    low = tables.score.min(axis=1).sum()
    for parents in itertools.product(range(size), repeat=m):
        graph = _graph_of(tables, np.array(parents))
        if not is_dag(graph):
            continue
        score = sum(tables.score[v, parents[v]] for v in range(m))
        i, j = np.nonzero(graph)
        n_orders = sum((rank[i] < rank[j]).all() for rank in orders)
        weights = np.exp((low - score) / 2) * np.array([1, n_orders])
        total += weights
        arrows += weights[:, None, None] * graph
    return arrows / total[:, None, None]


@pytest.mark.parametrize("m", [4, pytest.param(5, marks=pytest.mark.long)])
def test_shares_are_those_of_all_dags_and_not_those_of_orders(m):
    tables = _tables(m, 25, 1)
    exact, by_orders = _exact(tables)
    visited = run_chain(tables, log_totals(tables), np.arange(m), 5_000, 30_000, 20, 0)
    shares = arrow_shares(tables, visited.parents)
    assert np.abs(shares - exact).max() < 0.015
    assert np.abs(by_orders - exact).max() > 0.03  # what a chain over orders alone would give


def test_networks_are_dags_with_the_required_parents_and_their_own_weight():
    required = np.zeros((5, 5), bool)
    required[0, 4] = True
    tables = _tables(5, 30, 2, required)
    visited = run_chain(tables, log_totals(tables), np.array([4, 0, 1, 2, 3]), 0, 200, 5, 1)
    for parents, weight in zip(visited.parents, visited.log_weight, strict=True):
        graph = _graph_of(tables, parents)
        assert is_dag(graph)
        assert graph[4, 0]
        scores = [tables.score[v, parents[v]] for v in range(5)]
        assert weight == pytest.approx(-sum(scores) / 2)


def test_a_seed_gives_the_same_networks_again_and_another_one_others():
    tables = _tables(4, 30, 3)
    total = log_totals(tables)
    first, again, other = (run_chain(tables, total, np.arange(4), 0, 50, 5, k) for k in (0, 0, 1))
    assert np.array_equal(first.parents, again.parents)
    assert not np.array_equal(first.parents, other.parents)


def test_the_start_is_not_changed():
    tables = _tables(4, 30, 3)
    order = np.arange(4)
    run_chain(tables, log_totals(tables), order, 100, 5, 5, 0)
    assert order.tolist() == [0, 1, 2, 3]
