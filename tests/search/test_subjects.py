import numpy as np
import pytest

from sgbn.cohort.simulate import simulate_sem
from sgbn.core.graph import random_dag
from sgbn.learn.search.search import SubjectsProblem, best_network, residual_shares, search_subjects


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
