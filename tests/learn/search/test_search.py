from dataclasses import replace

import numpy as np
import pytest

from sgbn.cohort.simulate import simulate_sem
from sgbn.core.graph import is_dag, random_dag
from sgbn.core.moments import moments_of
from sgbn.learn.search.orders import parents_for
from sgbn.learn.search.plan import SearchPlan, SearchProblem
from sgbn.learn.search.search import (
    SubjectsProblem,
    best_network,
    residual_shares,
    search_network,
    search_on_trees,
    search_subjects,
    starting_orders,
)
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


def subjects(m, S, seed, n=150):
    """Correlations of subjects with one graph and weights of their own, and the graph."""
    rng = np.random.default_rng(seed)
    graph = random_dag(m, 2.0, rng)
    R = [np.corrcoef(simulate_sem(graph, n, random_state=rng)[0], rowvar=False) for _ in range(S)]
    return np.array(R), graph


def problem_of(R, n, penalty=1.0, required=()):
    m = R.shape[1]
    must = np.zeros((m, m), bool)
    for i, j in required:
        must[i, j] = True
    allowed = ~np.eye(m, dtype=bool) & ~must.T
    names = [f"v{k:02d}" for k in range(m)]
    return SubjectsProblem.of_subjects(R, n, (allowed, must), penalty, m - 1, names)


def mean_score(problem, parents, R, n, penalty):
    """The criterion, by regressions of its own."""
    S, m = R.shape[:2]
    graph = problem.to_user(parents)
    total = 0.0
    for j in range(m):
        P = np.flatnonzero(graph[:, j])
        for s in range(S):
            left = 1.0
            if len(P):
                left -= R[s][j, P] @ np.linalg.solve(R[s][np.ix_(P, P)], R[s][P, j])
            total += n[s] * np.log(left) + penalty * len(P) * np.log(n[s])
    choices = problem.price - penalty * np.arange(len(problem.price)) * np.log(n).mean()
    return total / S + choices[parents.sum(axis=1)].sum()


def test_the_score_is_the_mean_over_subjects():
    R, _ = subjects(7, 5, 0)
    n = np.array([100.0, 120.5, 90.0, 150.0, 60.0])
    problem = problem_of(R, n, 0.8)
    network = best_network(problem)
    assert network.score == pytest.approx(problem.score(network.parents))
    assert network.score == pytest.approx(mean_score(problem, network.parents, R, n, 0.8))


def test_of_one_subject_it_is_the_extended_bic():
    R, _ = subjects(6, 1, 1)
    problem = problem_of(R, np.array([150.0]))
    assert np.allclose(problem.R_of_subjects[0], problem.R)
    k = np.arange(4)
    binomial = np.log([1, 5, 10, 10])
    assert problem.price[:4] == pytest.approx(k * np.log(150) + 2 * np.log10(150) / 2 * binomial)


@pytest.mark.parametrize("seed", range(1))
def test_a_search_finds_the_graph_that_subjects_share(seed):
    R, graph = subjects(18, 12, seed, n=400)
    problem = problem_of(R, np.full(12, 400.0))
    network = search_subjects(problem, np.random.RandomState(0))
    learned = problem.to_user(network.parents)
    assert np.array_equal(learned | learned.T, graph | graph.T)
    assert network.score == pytest.approx(problem.score(network.parents))


def test_the_order_of_variables_and_subjects_does_not_matter():
    R, _ = subjects(16, 6, 4)
    n = np.linspace(80, 160, 6)
    rng = np.random.default_rng(0)
    first = problem_of(R, n)
    edges = first.to_user(search_subjects(first, np.random.RandomState(0)).parents)
    columns, rows = rng.permutation(16), rng.permutation(6)
    names = [f"v{k:02d}" for k in columns]
    everything = ~np.eye(16, dtype=bool), np.zeros((16, 16), bool)
    moved = SubjectsProblem.of_subjects(
        R[rows][:, columns][:, :, columns], n[rows], everything, 1.0, 15, names
    )
    again = moved.to_user(search_subjects(moved, np.random.RandomState(0)).parents)
    assert np.array_equal(again, edges[np.ix_(columns, columns)])


def test_required_edges_are_there():
    R, _ = subjects(16, 4, 5)
    problem = problem_of(R, np.full(4, 150.0), required=[(3, 9), (9, 1)])
    edges = problem.to_user(search_subjects(problem, np.random.RandomState(0)).parents)
    assert edges[3, 9]
    assert edges[9, 1]


def test_residual_shares_are_those_of_regressions():
    R, _ = subjects(5, 3, 6)
    shares = residual_shares(R, 2, np.array([0, 4]))
    for s in range(3):
        P = [0, 4]
        left = 1 - R[s][2, P] @ np.linalg.solve(R[s][np.ix_(P, P)], R[s][P, 2])
        assert shares[s] == pytest.approx(left)
