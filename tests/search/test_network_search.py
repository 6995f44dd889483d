from dataclasses import replace

import numpy as np
import pytest

from sgbn.core.moments import moments_of
from sgbn.learn.search.orders import parents_for
from sgbn.learn.search.plan import SearchPlan, SearchProblem
from sgbn.learn.search.search import best_network, search_network, search_on_trees, starting_orders
from sgbn.learn.search.trees import make_trees

N, M = 200, 12
ALL, NONE = ~np.eye(M, dtype=bool), np.zeros((M, M), bool)


@pytest.fixture
def problem(simulate):
    X, _ = simulate(M, N, 7, degree=4.0)
    return SearchProblem.of(moments_of(X, [""] * M), (ALL, NONE), 1.0, M - 1)


def search(problem, plan):
    return search_network(problem, plan, np.random.RandomState(0))


def test_few_variables_are_compared_in_all_networks(problem):
    network = search(problem, SearchPlan.for_size(N, M))
    assert network.score == best_network(problem).score


def test_tables_improve_what_trees_found(problem):
    trees = search(problem, SearchPlan(1, 0))
    tables = search(problem, SearchPlan.for_size(N, 40))
    assert tables.score <= trees.score
    assert tables.score == pytest.approx(best_network(problem).score)


def test_quick_searches_give_tables_their_starts(problem):
    plan = SearchPlan.for_size(N, 40, "thorough")
    tables = plan.tables._replace(n_islands=2, steps=5, max_rounds=3)
    network = search(problem, plan._replace(n_quick=3, n_kicks=0, tables=tables))
    assert network.score == pytest.approx(best_network(problem).score)


def test_equal_variances_of_units_whose_ratio_overflows_are_searched(problem):
    far = np.where(np.arange(M) < M // 2, 1e-300, 1e280)  # no float holds their ratio
    network = search(replace(problem, variance=far), SearchPlan(2, 30))
    assert np.isfinite(network.score)


def test_equal_variances_have_a_criterion_of_their_own(problem):
    equal = replace(problem, variance=np.ones(M))
    network = search(equal, SearchPlan.for_size(N, M, "thorough", equal_noise=True))
    assert network.score != best_network(problem).score
    assert network.score == search(equal, SearchPlan(2, 30)).score


def test_candidates_that_were_missed_are_added_until_none_is(problem):
    start, rng = [np.arange(M)], np.random.RandomState(0)
    full = search_on_trees(problem, SearchPlan(1, 3), start, rng)
    none = SearchPlan(1, 3, candidate_z=np.inf)
    network = search_on_trees(problem, none, start, np.random.RandomState(0))
    best = parents_for(make_trees(problem), network.order)
    assert np.array_equal(best.parents, network.parents)
    assert network.score == pytest.approx(full.score, rel=0.01)
    few = np.triu(ALL)
    only = search_on_trees(replace(problem, allowed=few), SearchPlan(1, 3), start, rng)
    assert only.parents.any()
    assert not only.parents[~few].any()


def test_a_rough_order_is_a_start_only(problem):
    rough = search(problem, SearchPlan(1, 3, n_rough=3 * M))
    assert rough.score == pytest.approx(search(problem, SearchPlan(1, 3)).score, rel=0.01)


def test_orders_to_start_from_rise_fall_and_are_random_and_keep_required_edges():
    required = np.zeros((5, 5), bool)
    required[0, 4] = True
    orders = starting_orders(required, 4, np.random.RandomState(0))
    assert orders[0].tolist() == [1, 2, 3, 4, 0]
    assert orders[1].tolist() == [4, 3, 2, 1, 0]
    assert all(list(order).index(4) < list(order).index(0) for order in orders)
    assert len({tuple(order) for order in orders}) == 4
