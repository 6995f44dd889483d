import numpy as np
import pytest

from sgbn.core.graph import is_dag
from sgbn.learn.search import annealing
from sgbn.learn.search import tables as score_tables
from sgbn.learn.search.annealing import (
    anneal,
    crossed,
    order_tables,
    parents_along,
    respecting,
    score_along,
    search_tables,
)
from sgbn.learn.search.plan import ScoredNetwork, TablePlan
from sgbn.learn.search.search import best_network
from sgbn.learn.search.tables import best_candidates

TEMPERATURES = (10.0, 0.3)


def tables_of(problem, n_candidates):
    m = len(problem.R)
    counts = np.full(m, n_candidates)
    return order_tables(
        problem, best_candidates(np.abs(problem.R), problem.allowed, problem.required, counts)
    )


@pytest.mark.parametrize("seed", range(2))
def test_with_all_candidates_it_finds_the_best_of_all_networks(oracle, seed):
    problem = oracle.problem_of(6, seed)
    tables = tables_of(problem, 5)
    order, score = anneal(tables, np.arange(6), 5000, TEMPERATURES, np.random.RandomState(seed))
    assert score == pytest.approx(oracle.least_score(problem))
    parents = parents_along(tables, order)
    assert is_dag(parents)
    assert score == pytest.approx(oracle.network_score(problem, parents))


def test_tables_hold_the_least_score_among_subsets(oracle):
    problem = oracle.problem_of(7, 1)
    counts = np.array([0, 1, 2, 3, 4, 5, 6])
    tables = order_tables(
        problem, best_candidates(np.abs(problem.R), problem.allowed, problem.required, counts)
    )
    assert tables.best.size == np.left_shift(1, counts).sum()
    for v in range(7):
        members = {int(tables.bit[v, u]): u for u in range(7) if tables.bit[v, u] >= 0}
        assert len(members) == counts[v]
        for mask in range(1 << counts[v]):
            least = min(
                oracle.set_score(problem, v, [members[k] for k in members if subset >> k & 1])
                for subset in range(1 << counts[v])
                if subset & mask == subset
            )
            assert tables.best[tables.first[v] + mask] == pytest.approx(least)


def test_the_state_of_the_kernel_agrees_with_the_order_after_many_steps(oracle):
    """What it takes for the gain of its steps is the gain: the best order is as good as it says."""
    problem = oracle.problem_of(15, 2)
    tables = tables_of(problem, 4)
    rng = np.random.RandomState(0)
    start = rng.permutation(15)
    order, score = anneal(tables, start, 3000, TEMPERATURES, rng)
    assert sorted(order) == list(range(15))
    assert score < score_along(tables, start)
    _, better = anneal(tables, order, 3000, (2.0, 0.3), rng)
    assert better <= score + 1e-9


def test_it_never_leaves_orders_that_required_edges_allow(oracle):
    problem = oracle.problem_of(10, 3, required=[(9, 0), (0, 1), (8, 2)])
    tables = tables_of(problem, 5)
    start = np.array([9, 0, 1, 8, 2, 3, 4, 5, 6, 7])
    for seed in range(2):
        rng = np.random.RandomState(seed)
        order, _ = anneal(tables, start, 2000, (1000.0, 1000.0), rng)
        parents = parents_along(tables, order)
        assert parents[0, 9]
        assert parents[1, 0]
        assert parents[2, 8]


def test_gaps_are_drawn_by_their_places_and_scores(kernels):
    """Seven variables; x = 3 stands at place 2, its relatives 0 and 1 at places 1 and 4."""
    rank = np.array([1, 4, 0, 2, 3, 5, 6])
    total = np.array([2.0, 0.0, 1.0])
    n_places = np.array([2, 2, 3])  # x before 0: places 0, 1; between: 2, 3; behind 1: 4, 5, 6
    expected = n_places * np.exp(-total / 1.5)
    state = np.array([12345], np.uint64)
    counts, places = np.zeros(3), np.zeros((3, 7))
    for _ in range(20_000):
        gap, place = kernels.draw_gap(
            total, 2, np.array([0, 1, -1]), rank, 2, 1.5, state, np.empty(3)
        )
        counts[gap] += 1
        places[gap, place] += 1
    np.testing.assert_allclose(counts / counts.sum(), expected / expected.sum(), atol=0.02)
    for gap, row in enumerate(places):
        assert np.count_nonzero(row) == n_places[gap]
        assert row[row > 0].min() > 0.8 * row.max()  # all places of a gap alike


def test_the_same_seed_gives_the_same_order(oracle):
    tables = tables_of(oracle.problem_of(12, 4), 5)
    orders = [
        anneal(tables, np.arange(12), 2000, TEMPERATURES, np.random.RandomState(seed))[0]
        for seed in (1, 1)
    ]
    assert np.array_equal(*orders)


def test_kernels_compile_once():
    assert len(annealing._anneal.signatures) == 1
    assert len(score_tables._fill_scores.signatures) == 1


PLAN = TablePlan(
    n_candidates=8,
    n_further=4,
    n_islands=2,
    n_random=1,
    n_warm=1,
    n_crossed=1,
    steps=200,
    lists=("pool", "partial", "now", "last"),
    patience=4,
    max_rounds=12,
)


def empty_network(oracle, problem):
    m = len(problem.R)
    order = respecting(problem.required, np.arange(m))
    parents = problem.required.copy()
    return ScoredNetwork(oracle.network_score(problem, parents), order, parents)


def search(oracle, problem, plan=PLAN, known=None, seed=0):
    partial = np.abs(problem.R)
    known = [empty_network(oracle, problem)] if known is None else known
    return search_tables(problem, known, partial, plan, np.random.RandomState(seed))


@pytest.mark.parametrize("seed", range(2))
def test_it_finds_the_best_network_with_few_candidates_at_a_time(oracle, seed):
    problem = oracle.problem_of(11, seed)
    assert search(oracle, problem).score == pytest.approx(best_network(problem).score)


def test_the_score_is_that_of_the_network(oracle):
    problem = oracle.problem_of(30, 0)
    network = search(oracle, problem)
    assert is_dag(network.parents)
    assert network.score == pytest.approx(oracle.network_score(problem, network.parents))
    rank = np.argsort(network.order)
    assert all(rank[u] < rank[v] for v, u in np.argwhere(network.parents))


def test_it_is_never_worse_than_what_is_known(oracle):
    problem = oracle.problem_of(12, 1)
    best = best_network(problem)
    hopeless = PLAN._replace(
        n_candidates=1, n_further=1, n_warm=0, n_crossed=0, n_islands=0, max_rounds=2
    )
    worse = empty_network(oracle, problem)
    assert search(oracle, problem, hopeless, [worse, best]).score == best.score


def test_required_and_forbidden_edges_hold(oracle):
    free = search(oracle, oracle.problem_of(14, 2))
    (v, u), (y, x) = np.argwhere(free.parents)[[0, -1]]
    problem = oracle.problem_of(14, 2, forbidden=[(x, y)], required=[(v, u)])
    network = search(oracle, problem)
    assert network.parents[u, v]
    assert not network.parents[y, x]
    assert network.score == pytest.approx(best_network(problem).score)


def test_tables_shrink_until_they_fit_in_memory(oracle, monkeypatch):
    monkeypatch.setattr(annealing, "MAX_SETS", 1)
    problem = oracle.problem_of(14, 4)
    known = search(oracle, problem)
    tables = annealing._tables_around(problem, known.parents, np.abs(problem.R), PLAN)
    n_neighbours = (known.parents | known.parents.T).sum(axis=1)
    smallest = np.left_shift(1, np.minimum(n_neighbours + 1, PLAN.n_candidates)).sum()
    assert tables.best.size == smallest


def test_islands_end_when_three_agree(oracle, monkeypatch):
    calls = []
    improved = annealing._improved
    monkeypatch.setattr(annealing, "_improved", lambda *given: calls.append(1) or improved(*given))
    search(oracle, oracle.problem_of(6, 5), PLAN._replace(n_islands=10))
    assert len(calls) == 4  # three that agree, and the last one


def test_orders_are_changed_only_as_far_as_required_edges_need():
    required = np.zeros((4, 4), bool)
    required[0, 2] = True
    assert respecting(required, np.array([3, 0, 1, 2])).tolist() == [3, 1, 2, 0]


def test_crossed_orders_take_a_neighbourhood_from_the_second_network():
    chain = np.eye(6, k=-1, dtype=bool)  # 0 -> 1 -> ... -> 5
    first = ScoredNetwork(0.0, np.arange(6), chain)
    second = ScoredNetwork(0.0, np.arange(6)[::-1].copy(), chain.T.copy())
    orders = [tuple(crossed(first, second, np.random.RandomState(seed))) for seed in range(60)]
    assert len(set(orders)) > 5
    assert all(sorted(order) == list(range(6)) for order in orders)
    same = crossed(first, first, np.random.RandomState(0))
    assert np.array_equal(same, first.order)


def test_the_best_networks_are_kept_one_per_score():
    most, order, parents = annealing.MAX_POOL_NETWORKS, np.arange(2), np.zeros((2, 2), bool)
    scores = [9.0, 1.0, 1.0 + 1e-9, *np.arange(2.0, 2.0 + most)]
    kept = annealing._best_distinct([ScoredNetwork(score, order, parents) for score in scores])
    assert [network.score for network in kept] == np.arange(1.0, 1.0 + most).tolist()
