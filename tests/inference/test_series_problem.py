from dataclasses import replace

import numpy as np
import pytest

from sgbn.cohort.series import subject_moments
from sgbn.core.exceptions import InputError
from sgbn.inference.difference_input import read_group_data
from sgbn.inference.difference_problem import fingerprint
from sgbn.inference.permutations import permute
from sgbn.inference.series_differences import pair_weights, series_problem_of
from sgbn.learn.series import SeriesSGBN, subject_weights
from sgbn.runs.dask import packed

M, SUBJECTS = 5, 36
GRAPH = np.zeros((M, M), bool)
GRAPH[[0, 0, 1, 2, 3], [1, 2, 3, 3, 4]] = True


def make_series(rng, volumes=60):
    series = []
    for _ in range(SUBJECTS):
        X = rng.normal(size=(volumes, M))
        for j in range(1, M):
            X[:, j] += X[:, GRAPH[:, j]].sum(axis=1) * rng.normal(0.5, 0.1)
        series.append(X)
    return series


@pytest.fixture(scope="module")
def moments():
    return subject_moments(make_series(np.random.default_rng(0)))


def data_of(moments, groups, **more):
    return read_group_data(np.zeros((len(moments), M)), groups, **more)


def make_problem(moments, groups, named=(), among=None, **more):
    data = data_of(moments, groups, **more)
    return series_problem_of(data, moments, GRAPH, "two-sided", named, among)


def test_ways_of_a_pair_are_its_regressions_given_others(moments):
    edges, given = np.array([[1, 4], [3, 0]]), np.zeros((2, M), bool)
    given[0, [0, 2]] = True
    forward, backward, z = pair_weights(moments, edges, given)
    for s, R in enumerate(moments.R):
        own = [1, 0, 2]
        assert forward[s, 0] == pytest.approx(np.linalg.solve(R[np.ix_(own, own)], R[own, 4])[0])
        own = [4, 0, 2]
        assert backward[s, 0] == pytest.approx(np.linalg.solve(R[np.ix_(own, own)], R[own, 1])[0])
        P = np.linalg.inv(R[np.ix_([1, 4, 0, 2], [1, 4, 0, 2])])
        partial = -P[0, 1] / np.sqrt(P[0, 0] * P[1, 1])
        assert np.tanh(z[s, 0]) == pytest.approx(partial)
        np.testing.assert_allclose([forward[s, 1], backward[s, 1]], R[3, 0])


def test_the_weights_of_the_groups_are_means_over_subjects(moments):
    groups = np.arange(SUBJECTS) % 3
    problem = make_problem(moments, groups, named=[(4, 0)])
    fit = problem.fit()
    weights = subject_weights(moments, GRAPH)
    for c in range(3):
        expected = weights[groups == c].mean(axis=0)[tuple(fit.edges.T)]
        np.testing.assert_allclose(fit.weights.weights[c], expected)
    pair = pair_weights(moments, np.array([[4, 0]]), (GRAPH[:, [4]] | GRAPH[:, [0]]).T)
    for found, own in zip(fit.named, pair, strict=True):
        assert found.weights[1, 0] == pytest.approx(own[groups == 1].mean())
    assert (fit.parents == GRAPH).all()
    assert fit.in_pool.all()


def test_all_edges_of_a_subject_are_exchanged_together(moments):
    groups = np.arange(SUBJECTS) % 2
    problem = make_problem(moments, groups)
    rows = problem.data.exchange().draw(np.random.default_rng((0, 0)))
    swapped = make_problem(moments.take(rows), groups).fit()
    found = problem.refit((0, 1))(rows)
    np.testing.assert_allclose(found.weights.weights, swapped.weights.weights)
    np.testing.assert_allclose(found.weights.covariances, swapped.weights.covariances)
    np.testing.assert_allclose(found.ways.statistics((0, 1)), swapped.ways.statistics((0, 1)))


def test_the_order_of_subjects_does_not_matter_to_the_statistics(moments):
    rng = np.random.default_rng(1)
    groups, age, order = np.arange(SUBJECTS) % 2, rng.normal(size=SUBJECTS), rng.permutation(36)
    plain = make_problem(moments, groups, covariates={"age": age}).fit()
    other = make_problem(moments.take(order), groups[order], covariates={"age": age[order]}).fit()
    np.testing.assert_allclose(
        plain.weights.statistic((0, 1)), other.weights.statistic((0, 1)), rtol=1e-9
    )


def test_sets_of_groups_exchange_their_own_subjects_only(moments):
    groups = np.arange(SUBJECTS) % 3
    problem = make_problem(moments, groups, named=[(0, 4)], among=GRAPH)
    found = permute(problem, (0, 0), 3, (0, 2))
    assert found["tests"].shape == (3 * len(problem.edges),)
    fit = problem.refit((0, 2))(problem.data.exchange((0, 2)).draw(np.random.default_rng(1)))
    np.testing.assert_allclose(fit.weights.weights[1], problem.fit().weights.weights[1])


def test_a_graph_without_edges_is_tested_as_a_whole_and_finds_nothing(moments):
    data = data_of(moments, np.arange(SUBJECTS) % 2)
    problem = series_problem_of(data, moments, np.zeros((M, M), bool), "two-sided")
    found = permute(problem, (0, 0), 3, (0, 1))
    assert (found["totals"] == 0).all()
    assert not found["tests"].size


def test_groups_that_covariates_use_up_are_refused(moments):
    rng = np.random.default_rng(0)
    covariates = {f"c{k}": rng.normal(size=SUBJECTS) for k in range(28)}
    with pytest.raises(InputError, match="At least 5 must remain"):
        make_problem(moments, np.arange(SUBJECTS) % 2, covariates=covariates)


def test_the_fingerprint_knows_the_weights_and_a_worker_gets_no_series(moments):
    groups, learner = np.arange(SUBJECTS) % 2, SeriesSGBN()
    problem = make_problem(moments, groups)
    again, other = make_problem(moments, groups), make_problem(moments, groups[::-1])
    assert fingerprint(problem, learner) == fingerprint(again, learner)
    assert fingerprint(problem, learner) != fingerprint(other, learner)
    changed = replace(problem, weights=problem.weights + 1e-5)
    assert fingerprint(problem, learner) != fingerprint(changed, learner)
    assert len(packed(problem)) < problem.weights.nbytes + 20_000
