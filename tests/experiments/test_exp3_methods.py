from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.exceptions import InputError, StudyError
from sgbn.learn.peers import COVARIATES_ALONE
from sgbn.paper.experiments import exp3
from sgbn.paper.experiments.exp3 import (
    BIASES,
    MOVED,
    NETWORKS,
    RULES,
    Method,
    at_base,
    defaults,
    grid,
    methods,
)
from sgbn.paper.experiments.experiment import data_folder
from sgbn.runs.study import Study

SETTINGS = exp3.Settings(splits=2, regions=6, sizes=(24, 12))


@pytest.fixture(scope="module")
def table():
    return simulate_cohort(20, 0, regions=10, covariates=["age", "sex"], missing=0.01)


@pytest.fixture
def few_methods(monkeypatch):
    monkeypatch.setattr(exp3, "pipelines", lambda seed: {"naive Bayes": GaussianNB()})
    monkeypatch.setattr(exp3, "grid", lambda: [Method("MM-SGBN", "free", edges=10)])


def test_splits_keep_the_groups_shares_and_differ(table):
    sample = exp3.Sample((24, 12), table)
    seen = set()
    for split in range(5):
        cohort, (train, test) = exp3.draw(sample, split, 0)
        assert (len(train), len(test)) == (24, 12)
        assert not set(train) & set(test)
        assert (cohort.group[train] == "patient").sum() == 12
        seen.add(tuple(sorted(test)))
    assert len(seen) == 5
    first, again, other = (exp3.draw(sample, 3, seed)[1][1] for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_simulated_cohorts_are_drawn_afresh_and_again_the_same():
    sample = exp3.Sample((24, 40), differ="edges")
    first, second = (exp3.draw(sample, split, 0)[0] for split in range(2))
    assert len(first) == 64
    assert not np.allclose(first.values, second.values)
    assert np.array_equal(first.values, exp3.draw(sample, 0, 0)[0].values)
    assert sample.overlap == 0


def test_odd_sizes_can_be_simulated():
    _, (train, test) = exp3.draw(exp3.Sample((25, 40), differ="edges"), 0, 0)
    assert (len(train), len(test)) == (25, 40)


def test_a_run_is_kept_resumed_and_read(tmp_path, table, few_methods, monkeypatch):
    data = {
        "table": exp3.to_split(table, SETTINGS.sizes),
        "edges": exp3.Sample((24, 12), differ="edges"),
    }
    exp3.EXPERIMENT.run(Study(tmp_path), SETTINGS, data)
    results = exp3.EXPERIMENT.results(tmp_path)
    assert (exp3.real(results), exp3.simulated(results)) == (["table"], ["edges"])
    assert results["table"].noted["overlap"] == 0.5
    assert results["table"].methods[-1] == COVARIATES_ALONE
    assert COVARIATES_ALONE not in results["edges"].methods
    assert results["edges"].of("naive Bayes", "balanced").shape == (2,)
    assert results["table"].noted["regions"].tolist() == [10, 6]
    assert results["edges"].noted["regions"].tolist() == [40, 6]
    monkeypatch.setattr(exp3, "draw", None)  # nothing is drawn again
    exp3.EXPERIMENT.run(Study(tmp_path), SETTINGS, data)
    with pytest.raises(StudyError, match="other settings"):
        exp3.EXPERIMENT.run(Study(tmp_path), replace(SETTINGS, seed=1), data)


def test_tables_and_sizes_are_told_apart(table):
    known = exp3.Sample((24, 12), table).content
    assert exp3.Sample((24, 12), replace(table)).content == known
    assert exp3.Sample((24, 13), table).content != known
    assert exp3.Sample((24, 12), replace(table, group=table.group[::-1])).content != known


def test_results_of_other_labels_are_not_taken_for_these(tmp_path, table, few_methods):
    sample = exp3.to_split(table, SETTINGS.sizes)
    exp3.EXPERIMENT.run(Study(tmp_path), SETTINGS, {"table": sample})
    shuffled = replace(table, group=np.random.default_rng(0).permutation(table.group))
    with pytest.raises(StudyError, match="other settings"):
        exp3.EXPERIMENT.run(Study(tmp_path), SETTINGS, {"table": replace(sample, cohort=shuffled)})


def test_tables_that_cannot_be_split_are_refused(table):
    three = simulate_cohort(20, 0, groups=("a", "b", "c"))
    with pytest.raises(InputError, match=r"3 groups.*--groups"):
        exp3.to_split(three, SETTINGS.sizes)
    with pytest.raises(InputError, match=r"40 subjects, fewer than 80 .*--train"):
        exp3.to_split(table, (80, 40))


def test_a_real_table_that_is_too_small_is_named(table, monkeypatch):
    large = simulate_cohort(60, 0, regions=4)
    tables = {"cobre": large, "abide": table, "ixi": large}
    monkeypatch.setattr(exp3, "real_tables", lambda: tables)
    assert set(tables) < set(exp3.samples(SETTINGS))
    with pytest.raises(InputError, match=r"'abide' has 40 subjects, fewer than 80 .*--train"):
        exp3.samples(exp3.Settings())


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


@pytest.fixture(scope="module")
def groups():
    """Two groups that differ in the means of some regions, and nothing else."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((160, 8)) + 0.7 * rng.standard_normal((160, 1))
    X[::2, :4] += 0.9
    return X, np.tile(["MCI", "NC"], 80)


def test_every_method_has_a_name_of_its_own():
    labels = [method.label for method in grid()]
    assert len(set(labels)) == len(labels) == len(set(grid()))


def test_one_factor_is_varied_at_a_time():
    for method in grid():
        base = Method(method.network, method.bias, method.rule)
        assert sum(a != b for a, b in zip(method, base, strict=True)) <= 1


def test_the_grid_holds_every_row_of_the_figure():
    assert len(at_base()) == len(NETWORKS) * len(BIASES) * len(RULES)
    rows = [*at_base()]
    for bias in BIASES:
        rows += [method for rule in RULES for method in methods(NETWORKS, bias, rule, "alpha")]
        rows += [*methods(MOVED, bias, varied="edges moved"), *methods(MOVED, bias, varied="slack")]
    assert set(rows) == set(grid())


@pytest.mark.parametrize("method", at_base(), ids=lambda method: method.label)
def test_every_method_classifies(groups, method):
    X, y = groups
    classifier = clone(method.make()).fit(X[:100], y[:100])
    least = 0.4 if method.network not in MOVED and method.bias == "penalised" else 0.6
    assert classifier.score(X[100:], y[100:]) > least


def test_a_penalised_bias_loses_the_means_and_a_move_gives_them_back():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((160, 30)) + 0.5 * rng.standard_normal((160, 1))
    X[::2, :15] += 0.9
    y = np.tile(["MCI", "NC"], 80)
    scores = {
        (network, bias): Method(network, bias, alpha=0.5).make().fit(X, y).score(X, y)
        for network in ("OR-SGBN", "KL-SGBN", "MM-SGBN")
        for bias in BIASES
    }
    assert scores["OR-SGBN", "free"] > 0.7
    assert scores["OR-SGBN", "penalised"] < 0.6
    assert scores["KL-SGBN", "penalised"] > 0.7
    assert scores["MM-SGBN", "penalised"] > 0.8


def test_the_defaults_are_those_of_the_package():
    for name, classifier in defaults().items():
        assert type(classifier).__name__ == name
        assert classifier.get_params() == type(classifier)().get_params()


def test_results_of_another_grid_are_not_mixed_in(exp3_folder, monkeypatch):
    monkeypatch.setitem(exp3.VARIED, "slack", [{"slack": 0.01}])
    with pytest.raises(StudyError, match=r"varied: .*'slack': \[{'slack': 0\.01}\].* now"):
        exp3.EXPERIMENT.run(Study(exp3_folder), exp3.Settings(), {})
