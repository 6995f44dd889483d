import numpy as np
import pytest

from sgbn.core.exceptions import InputError
from sgbn.inference.difference_input import read_group_data
from sgbn.inference.difference_problem import group_columns
from sgbn.inference.differences import problem_of, surest_parents
from sgbn.inference.joint import POOLED_GAMMA, covariances, weights_on
from sgbn.learn.sgbn import SGBN
from sgbn.runs.dask import packed

ROWS = 30


@pytest.fixture(scope="module")
def group_data(two_groups):
    X, y = two_groups(ROWS)
    return read_group_data(X, y, None, np.arange(2 * ROWS) % 2, None)


def make_problem(data, learner=None, **options):
    choices = {"separate": True, "alternative": "two-sided"} | options
    return problem_of(data, learner or SGBN(n_kicks=0), **choices)


def test_pooled_parents_are_those_of_the_rows_at_hand(group_data):
    problem = make_problem(group_data, separate=False)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=problem.residuals.shape)
    rows[:, problem.shared.order[-1]] += 2 * rows[:, problem.shared.order[0]]
    fit = problem.fit(rows)
    S = rows.T @ rows / len(rows)
    expected = problem.shared.parents_of(S, len(rows), POOLED_GAMMA, problem.most_parents)
    np.testing.assert_array_equal(fit.parents, expected)
    assert fit.in_pool.all()
    assert (expected != problem.fit(problem.residuals).parents).any()


def test_weights_are_those_of_the_rows_of_each_group_on_all_parents(group_data):
    problem = make_problem(group_data)
    fit = problem.fit(problem.residuals)
    expected = weights_on(covariances(problem.residuals, group_data.codes), fit.parents)
    own = fit.weights.matrices(fit.edges, len(group_data.regions))
    for mine, theirs in zip(own, expected, strict=True):
        np.testing.assert_allclose(mine.weights, theirs.weights, rtol=1e-9, atol=1e-12)


def test_a_smaller_penalty_tests_more_edges_along_the_same_order(group_data):
    dense, usual, sparse = (make_problem(group_data, penalty=one) for one in (0.5, 1.0, 2.0))
    counts = [len(one.fit(one.residuals).edges) for one in (dense, usual, sparse)]
    assert counts[0] > counts[1] > counts[2]
    np.testing.assert_array_equal(dense.shared.order, sparse.shared.order)


def test_groups_that_do_not_add_parents_test_no_edge_of_their_own(group_data):
    alone = make_problem(group_data, separate=False)
    assert alone.fit(alone.residuals).in_pool.all()


def test_a_worker_gets_the_table_once():
    X = np.random.default_rng(0).normal(size=(4000, 8))
    data = read_group_data(X, np.arange(4000) % 2, None, None, None)
    problem = make_problem(data)
    assert problem.data.values.size == 0
    groups, means = 4000 * 8 * 3, problem.nuisance.basis.nbytes  # of rows, and rows of groups
    assert len(packed(problem)) < X.nbytes + groups + means + 10_000
    assert np.array_equal(data.values, X)  # what was given is as it was


@pytest.mark.filterwarnings("ignore::sgbn.DataWarning")  # so few residuals are collinear
def test_used_up_degrees_of_freedom_are_refused(two_groups):
    X, y = two_groups(12)
    covariates = dict(enumerate(np.random.default_rng(0).normal(size=(21, 24))))
    data = read_group_data(X, y, covariates, None, None)
    with pytest.raises(InputError, match=r"covariates and sites use up 11\.5"):
        make_problem(data)


def test_a_region_has_at_most_a_fifth_as_many_parents_as_the_smallest_group_has_rows(two_groups):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(62, 40))
    X[:, 20:] += X[:, :20] @ rng.normal(size=(20, 20))
    data = read_group_data(X, np.repeat([0, 1], [32, 30]), None, None, None)
    problem = make_problem(data)
    assert problem.most_parents == 5  # a fifth of 29, once a mean is taken out
    for rows in (problem.residuals, rng.permutation(problem.residuals)):
        assert problem.fit(rows).parents.sum(axis=0).max() <= 5
    few = make_problem(data, SGBN(n_kicks=0, max_parents=2))
    pooled, _ = few.choose(group_columns(few.residuals, few.units))
    assert pooled.sum(axis=0).max() <= 2


def test_rows_of_a_person_count_once_for_the_parents():
    X = np.random.default_rng(0).normal(size=(120, 4))
    codes, persons = np.repeat([0, 1], 60), np.arange(120) // 4
    data = read_group_data(X, codes, None, None, None, None, persons)
    assert make_problem(data).most_parents == 2  # of 15 persons, less a quarter of one for means


def test_parents_of_the_pool_stay_first():
    parents = np.zeros((5, 5), bool)
    parents[:4, 4] = True
    pooled = np.zeros_like(parents)
    pooled[0, 4] = True
    S = np.eye(5)
    S[4, :4] = S[:4, 4] = [0.0, 0.1, 0.5, 0.3]
    kept = surest_parents(parents, pooled, [S, np.eye(5)], 2)
    assert np.flatnonzero(kept[:, 4]).tolist() == [0, 2]


def test_copies_of_regions_are_refused_by_name(two_groups):
    X, y = two_groups()
    X = X.assign(copy=3 * X["r1"] + 2)
    with pytest.raises(InputError, match=r"are copies of each other.*: 'r1 and copy'"):
        make_problem(read_group_data(X, y, None, None, None))
