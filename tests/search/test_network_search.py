import numpy as np
import pytest
from scipy.special import comb

from sgbn.search.candidates import inverse_correlation
from sgbn.search.exact_order import best_network
from sgbn.search.network_search import (
    default_gamma,
    ebic_prices,
    most_parents,
    search_network,
    starting_orders,
)
from sgbn.search.search_candidates import ParentProblem
from sgbn.search.search_plan import SearchPlan, search_plan

N = 200


@pytest.fixture
def problem(simulate):
    X, _ = simulate(12, N, 7, degree=4.0)
    R = np.corrcoef(X, rowvar=False)
    allowed = ~np.eye(12, dtype=bool)
    return ParentProblem(R, N, ebic_prices(N, 12, 1.0), 11, allowed, np.zeros((12, 12), bool))


def search(problem, plan, variance=None):
    precision = inverse_correlation(problem.R, N)
    return search_network(problem, precision, plan, np.random.RandomState(0), variance)


def test_prices_are_those_of_the_extended_bic_and_never_fall():
    price = ebic_prices(50, 9, 0.7)
    assert price[3] == pytest.approx(3 * np.log(50) + 1.4 * np.log(comb(8, 3)))
    assert (np.diff(price) > 0).all()


def test_gamma_grows_with_the_logarithm_of_the_samples():
    assert default_gamma(20) == default_gamma(100) == 1.0
    assert default_gamma(1000) == pytest.approx(1.5)


def test_parents_are_at_most_a_third_of_the_samples():
    assert most_parents(30, 50, None) == 10
    assert most_parents(30, 5, None) == 4
    assert most_parents(30, 50, 2) == 2
    assert most_parents(2, 50, None) == 1


def test_few_variables_are_compared_in_all_networks(problem):
    found = search(problem, search_plan("standard", None, None, 12, N))
    assert found.score == best_network(problem).score


def test_tables_improve_what_trees_found(problem):
    plan = search_plan("standard", None, None, 40, N)
    trees = search(problem, SearchPlan(1, 0))
    tables = search(problem, plan._replace(exact=0))
    assert tables.score <= trees.score
    assert tables.score == pytest.approx(best_network(problem).score)


def test_equal_variances_have_a_criterion_of_their_own(problem):
    plan = search_plan("thorough", None, None, 12, N)
    found = search(problem, plan, np.ones(12))
    assert found.score != best_network(problem).score
    assert found.score == search(problem, SearchPlan(2, 30), np.ones(12)).score


def test_orders_to_start_from_rise_fall_and_are_random_and_keep_required_edges():
    required = np.zeros((5, 5), bool)
    required[0, 4] = True
    orders = starting_orders(required, 4, np.random.RandomState(0))
    assert orders[0].tolist() == [1, 2, 3, 4, 0]
    assert orders[1].tolist() == [4, 3, 2, 1, 0]
    assert all(list(order).index(4) < list(order).index(0) for order in orders)
    assert len({tuple(order) for order in orders}) == 4
