from dataclasses import replace

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB

from sgbn.cohort.simulate import simulate_cohort
from sgbn.learn.peers import COVARIATES_ALONE
from sgbn.paper.experiments import experiment
from sgbn.paper.experiments.exp3 import Method


@pytest.fixture(scope="module")
def table():
    return simulate_cohort(20, 0, regions=10, covariates=["age", "sex"], missing=0.01)


@pytest.fixture(scope="module")
def rows(table):
    [rows] = experiment.splits(table, (24, 12), 0)
    return rows


@pytest.fixture(scope="module")
def problem(table, rows):
    return experiment.prepare(table, np.asarray(table.group), rows, 6)


def test_splits_keep_the_groups_shares_and_the_rest_can_be_tested(table):
    several = list(experiment.splits(table, (24, None), 0, n_splits=3))
    assert len({tuple(sorted(test)) for _, test in several}) == 3
    for train, test in several:
        assert sorted([*train, *test]) == list(range(40))
        assert (table.group[train] == "patient").sum() == 12


def test_the_test_part_plays_no_role_in_training(table, rows, problem):
    _, test = rows
    values, y = table.values.copy(), np.asarray(table.group).copy()
    values[test] = 10 * np.nan_to_num(values[test])[::-1]
    y[test] = y[test][::-1]
    spoiled = experiment.prepare(replace(table, values=values, biology=values), y, rows, 6)
    assert np.array_equal(spoiled.train, problem.train)
    assert problem.train.shape == (24, 6)
    assert np.allclose(problem.train.mean(axis=0), 0)
    assert not np.allclose(spoiled.test, problem.test)
    assert list(problem.covariates[0]) == ["age", "sex"]


def test_covariates_alone_are_compared_where_there_are_any(problem):
    assert list(experiment.evaluate_all({"naive": GaussianNB()}, problem)) == [
        "naive",
        COVARIATES_ALONE,
    ]
    without = experiment.Problem(*problem[:4])
    assert list(experiment.evaluate_all({"naive": GaussianNB()}, without)) == ["naive"]


def test_outcomes_are_those_of_the_test_part(problem):
    prior = DummyClassifier(strategy="constant", constant="patient")
    outcome = experiment.evaluate(prior, problem)
    assert outcome.balanced == 0.5
    assert np.isnan(outcome.growth)
    assert outcome.failure == ""


def test_a_failure_is_part_of_the_result(problem):
    outcome = experiment.evaluate(DummyClassifier(strategy="none such"), problem)
    assert np.isnan(outcome.balanced)
    assert "none such" in outcome.failure


def test_a_move_adds_no_more_fitting_error_than_allowed(problem):
    method = Method("MM-SGBN", "free", edges=20, slack=0.05)
    growth = experiment.evaluate(method.make(), problem).growth
    assert 0 < growth < 0.05 + 1e-8
