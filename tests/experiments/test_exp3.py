import csv
from dataclasses import replace

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB

from sgbn import Cohort, InputError, StudyError, simulate_cohort
from sgbn.comparison.peers import COVARIATES_ALONE
from sgbn.experiments import exp3
from sgbn.experiments.data import data_folder
from sgbn.experiments.exp3_methods import Method
from sgbn.runs import Study

SETTINGS = exp3.Settings(splits=2, regions=6, sizes=(24, 12))


@pytest.fixture(scope="module")
def table():
    return simulate_cohort(20, 0, regions=10, covariates=["age", "sex"], missing=0.01)


@pytest.fixture(scope="module")
def problem(table):
    cohort, train, test = exp3.draw(exp3.Sample((24, 12), table), 0, 0)
    return exp3.prepare(cohort, np.asarray(cohort.group), train, test, 6)


@pytest.fixture
def few_methods(monkeypatch):
    monkeypatch.setattr(exp3, "pipelines", lambda seed: {"naive Bayes": GaussianNB()})
    monkeypatch.setattr(exp3, "grid", lambda: [Method("MM-SGBN", "free", edges=10)])


def test_splits_keep_the_groups_shares_and_differ(table):
    sample = exp3.Sample((24, 12), table)
    seen = set()
    for split in range(5):
        cohort, train, test = exp3.draw(sample, split, 0)
        assert (len(train), len(test)) == (24, 12)
        assert not set(train) & set(test)
        assert (cohort.group[train] == "patient").sum() == 12
        seen.add(tuple(sorted(test)))
    assert len(seen) == 5
    assert np.array_equal(exp3.draw(sample, 3, 0)[2], exp3.draw(sample, 3, 0)[2])
    assert not np.array_equal(exp3.draw(sample, 3, 0)[2], exp3.draw(sample, 3, 1)[2])


def test_simulated_cohorts_are_drawn_afresh_and_again_the_same():
    sample = exp3.Sample((24, 40), differ="edges")
    first, second = (exp3.draw(sample, split, 0)[0] for split in range(2))
    assert len(first) == 64
    assert not np.allclose(first.values, second.values)
    assert np.array_equal(first.values, exp3.draw(sample, 0, 0)[0].values)
    assert sample.overlap == 0


def test_odd_sizes_can_be_simulated():
    _, train, test = exp3.draw(exp3.Sample((25, 40), differ="edges"), 0, 0)
    assert (len(train), len(test)) == (25, 40)


def test_the_test_part_plays_no_role_in_training(table, problem):
    cohort, train, test = exp3.draw(exp3.Sample((24, 12), table), 0, 0)
    values, y = table.values.copy(), np.asarray(cohort.group).copy()
    values[test] = 10 * np.nan_to_num(values[test])[::-1]
    y[test] = y[test][::-1]
    spoiled = exp3.prepare(replace(cohort, values=values, biology=values), y, train, test, 6)
    assert np.array_equal(spoiled.train, problem.train)
    assert problem.train.shape == (24, 6)
    assert np.allclose(problem.train.mean(axis=0), 0)
    assert not np.allclose(spoiled.test, problem.test)
    assert list(problem.covariates[0]) == ["age", "sex"]


def test_outcomes_are_those_of_the_test_part(problem):
    prior = DummyClassifier(strategy="constant", constant="patient")
    outcome = exp3.evaluate(prior, problem)
    assert (outcome.balanced, outcome.accuracy) == (0.5, 0.5)
    assert np.isnan(outcome.growth)
    assert outcome.failure == ""


def test_a_failure_is_part_of_the_result(problem):
    outcome = exp3.evaluate(DummyClassifier(strategy="none such"), problem)
    assert np.isnan(outcome.balanced)
    assert "none such" in outcome.failure


def test_a_move_adds_no_more_fitting_error_than_allowed(problem):
    method = Method("MM-SGBN", "free", edges=20, slack=0.05)
    growth = exp3.evaluate(method.make(), problem).growth
    assert 0 < growth < 0.05 + 1e-8


def test_a_run_is_kept_resumed_and_read(tmp_path, table, few_methods, monkeypatch):
    data = exp3.table_samples(table, SETTINGS) | {"edges": exp3.Sample((24, 12), differ="edges")}
    exp3.run(Study(tmp_path), SETTINGS, data)
    results = exp3.read(tmp_path)
    assert (results.real, results.simulated) == (["table"], ["edges"])
    assert results.data["table"].overlap == 0.5
    assert results.data["table"].methods[-1] == COVARIATES_ALONE
    assert COVARIATES_ALONE not in results.data["edges"].methods
    assert results.data["edges"].of("naive Bayes").shape == (2,)
    assert {name: one.regions for name, one in results.data.items()} == {
        "table": (10, 6),
        "edges": (40, 6),
    }
    monkeypatch.setattr(exp3, "draw", None)  # nothing is drawn again
    exp3.run(Study(tmp_path), SETTINGS, data)
    with pytest.raises(StudyError, match="other settings"):
        exp3.run(Study(tmp_path), replace(SETTINGS, seed=1), data)


def test_tables_and_sizes_are_told_apart(table):
    known = exp3.Sample((24, 12), table).digest
    assert exp3.Sample((24, 12), replace(table)).digest == known
    assert exp3.Sample((24, 13), table).digest != known
    assert exp3.Sample((24, 12), replace(table, group=table.group[::-1])).digest != known


def test_results_of_other_labels_are_not_taken_for_these(tmp_path, table, few_methods):
    exp3.run(Study(tmp_path), SETTINGS, exp3.table_samples(table, SETTINGS))
    shuffled = replace(table, group=np.random.default_rng(0).permutation(table.group))
    with pytest.raises(StudyError, match="other settings"):
        exp3.run(Study(tmp_path), SETTINGS, exp3.table_samples(shuffled, SETTINGS))


def test_means_leave_failures_out():
    values = {"balanced": np.array([[0.5, np.nan, 0.7], [np.nan] * 3])}
    data = exp3.Data(["some", "none"], values, 0.5, (24, 12))
    assert data.mean("some") == pytest.approx(0.6)
    assert np.isnan(data.mean("none"))


def test_every_outcome_is_a_row(tmp_path, table, few_methods):
    exp3.run(Study(tmp_path), SETTINGS, exp3.table_samples(table, SETTINGS))
    results = exp3.read(tmp_path)
    path = exp3.write_rows(tmp_path, results)
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 2 * len(results.data["table"].methods)
    naive = [float(row["balanced"]) for row in rows if row["method"] == "naive Bayes"]
    assert naive == pytest.approx(results.data["table"].of("naive Bayes"), abs=1e-5)


def test_tables_that_cannot_be_split_are_refused(table):
    three = simulate_cohort(20, 0, groups=("a", "b", "c"))
    with pytest.raises(InputError, match=r"3 groups.*--groups"):
        exp3.table_samples(three, SETTINGS)
    with pytest.raises(InputError, match=r"40 subjects, fewer than 80 .*--train"):
        exp3.table_samples(table, exp3.Settings())


def test_a_real_table_that_is_too_small_is_named(tmp_path, table, monkeypatch):
    (tmp_path / "neuro").mkdir()
    monkeypatch.setenv("SGBN_DATA", str(tmp_path))
    large = simulate_cohort(60, 0, regions=4)
    tables = {"cobre": large, "abide": table, "ixi": large}
    monkeypatch.setattr(exp3, "_real_tables", lambda folder: tables)
    assert set(tables) < set(exp3.samples(SETTINGS))
    with pytest.raises(InputError, match=r"'abide' has 40 subjects, fewer than 80 .*--train"):
        exp3.samples(exp3.Settings())


def test_one_site_is_none():
    rng = np.random.default_rng(0)
    ids = [f"s{k}" for k in range(4)]
    cohort = Cohort(rng.standard_normal((4, 2)), ["a", "b"], ids, site=["x", "x", "y", "y"])
    assert exp3.one_site(cohort) is cohort
    assert exp3.one_site(cohort.subset([0, 1])).site is None


def test_without_real_tables_there_are_simulations(tmp_path, monkeypatch):
    monkeypatch.setenv("SGBN_DATA", str(tmp_path))
    assert list(exp3.samples(exp3.Settings())) == list(exp3.SIMULATED)


def test_the_real_tables_have_two_groups_and_no_covariate_that_makes_them():
    folder = data_folder()
    if folder is None or not (folder / "neuro").is_dir():
        pytest.skip("the real tables are not part of the package: set SGBN_DATA to their folder")
    data = exp3.samples(exp3.Settings())
    tables = {name: sample.cohort for name, sample in data.items() if sample.cohort is not None}
    assert set(tables) == {"cobre", "abide", "ixi", "cobre-small", "ixi-small"}
    assert all(len(cohort.groups) == 2 and cohort.site is None for cohort in tables.values())
    assert "age" not in tables["ixi"].covariates
    assert "fiq" not in tables["abide"].covariates
    assert data["ixi-small"].sizes == (60, 43)
