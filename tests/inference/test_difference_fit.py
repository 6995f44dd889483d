from dataclasses import replace

import numpy as np
import pytest

from sgbn import SGBN, InputError
from sgbn.inference.difference_fit import fingerprint, problem_of, statistics
from sgbn.inference.difference_input import read_group_data
from sgbn.inference.joint import POOLED_GAMMA, GroupWeights, group_weights
from sgbn.runs.calls import packed

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
    expected = problem.shared.parents_of(S, len(rows), POOLED_GAMMA)
    np.testing.assert_array_equal(fit.pooled, expected)
    np.testing.assert_array_equal(fit.parents, expected)
    assert (fit.pooled != problem.shared.pooled).any()


def test_weights_are_those_of_the_rows_of_each_group_on_all_parents(group_data):
    problem = make_problem(group_data)
    fit = problem.fit(problem.residuals)
    lost = problem.nuisance.rank / len(problem.residuals)
    expected = group_weights(problem.residuals, group_data.codes, fit.parents, lost)
    for own, other in zip(fit.weights, expected, strict=True):
        for mine, theirs in zip(own, other, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_a_worker_gets_the_table_once():
    X = np.random.default_rng(0).normal(size=(4000, 8))
    data = read_group_data(X, np.arange(4000) % 2, None, None, None)
    problem = make_problem(data)
    assert problem.data.values.size == 0
    groups, means = 4000 * 8, problem.nuisance.basis.nbytes
    assert len(packed(problem)) < X.nbytes + groups + means + 10_000
    assert np.array_equal(data.values, X)  # what was given is as it was


def test_q_of_two_groups_is_the_square_of_t():
    rng = np.random.default_rng(0)
    parents = np.triu(np.ones((4, 4), bool), 1)
    a, b = (
        GroupWeights(parents * rng.normal(size=(4, 4)), parents * rng.random((4, 4)), np.ones(4))
        for _ in range(2)
    )
    t = statistics([a, b], parents)[parents]
    (beta, v), (gamma, w) = ((own.weights[parents], own.variances[parents]) for own in (a, b))
    mean = (beta / v + gamma / w) / (1 / v + 1 / w)
    np.testing.assert_allclose((beta - mean) ** 2 / v + (gamma - mean) ** 2 / w, t**2)
    three = statistics([a, b, a], parents)[parents]
    assert (three >= np.abs(t) - 1e-12).all()


@pytest.mark.filterwarnings("ignore::sgbn.DataWarning")  # so few residuals are collinear
def test_used_up_degrees_of_freedom_are_refused(two_groups):
    X, y = two_groups(12)
    covariates = dict(enumerate(np.random.default_rng(0).normal(size=(21, 24))))
    data = read_group_data(X, y, covariates, None, None)
    with pytest.raises(InputError, match=r"covariates and sites take 11\.5"):
        make_problem(data)
    problem = make_problem(replace(data, covariates=dict(list(covariates.items())[:19])))
    crowded = replace(problem, shared=AllBefore())
    with pytest.raises(InputError, match="the parents of a region up to 5"):
        crowded.fit(problem.residuals)


class AllBefore:
    """Parents are all regions that come before."""

    def parents_of(self, S, n, gamma):
        return np.triu(np.ones_like(S, bool), 1)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: {"values": d.values + 1e-4 * np.eye(*d.values.shape)},
        lambda d: {"sites": d.sites[::-1]},
        lambda d: {"pairs": np.tile(np.arange(ROWS), 2)},
        lambda d: {"lobes": (*d.lobes[:-1], "other")},
        lambda d: {"regions": (*d.regions[:-1], "other")},
        lambda d: {"groups": ("AD", "NC")},
    ],
)
def test_every_part_of_the_data_is_in_the_fingerprint(group_data, change):
    learner = SGBN(n_kicks=0)
    plain = fingerprint(make_problem(group_data), learner)
    assert plain == fingerprint(make_problem(group_data), SGBN(n_kicks=0))
    changed = replace(group_data, **change(group_data))
    assert fingerprint(make_problem(changed), learner) != plain


def test_long_parameters_are_in_the_fingerprint(group_data):
    problem = make_problem(group_data)
    pairs = [(f"r{i}", f"r{j}") for i in range(6) for j in range(i)] * 40
    first, second = (SGBN(forbidden=[*pairs[:300], own, *pairs[300:]]) for own in pairs[:2])
    assert repr(first) == repr(second)  # cut
    assert fingerprint(problem, first) != fingerprint(problem, second)
