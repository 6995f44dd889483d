from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from tests.codes import refused

from sgbn.cohort.simulate import simulate_cohort
from sgbn.comparison.compare import compare
from sgbn.comparison.settings import Settings
from sgbn.comparison.step import Job, Step, finished_steps, seconds_of_step
from sgbn.comparison.steps import STEPS, TITLES, networks, told_apart
from sgbn.comparison.steps.accuracy import Accuracy
from sgbn.comparison.steps.networks import NetworksStep, learn_network
from sgbn.comparison.steps.replication import ReplicationStep
from sgbn.comparison.steps.sensitivity import HALF, TWICE
from sgbn.comparison.steps.series_accuracy import cross_validate_series
from sgbn.comparison.steps.told_apart import AccuracyStep
from sgbn.core.problems import InputError, StudyError
from sgbn.inference.series_differences import series_differences
from sgbn.learn.ensemble import SGBNEnsemble
from sgbn.learn.series import SeriesSGBN
from sgbn.learn.sgbn import SGBN
from sgbn.prepare.pipeline import prepare
from sgbn.runs.study import Study

REPLICATE = Settings.networks_only(n_permutations=39, replicate="half")


def job_of(cohort, settings, folder=None):
    announced = []
    learner = SGBN(n_kicks=0, outliers="keep")
    job = Job(cohort, prepare(cohort), settings, learner, learner, Study(folder), announced.append)
    job.announced = announced
    return job


@pytest.fixture
def job(small_cohort):
    return job_of(small_cohort, Settings.networks_only(n_repeats=1))


def done(step, job):
    found = {}
    job.run(step, found)
    return found


def replicated(job):
    return done(ReplicationStep(), job)["replication"]


def test_labels_are_exchanged_within_the_sites_of_the_cohort(monkeypatch):
    cohort = simulate_cohort(30, 3, regions=5, n_sites=3)
    settings = Settings.networks_only(n_repeats=1, accuracy_permutations=19)
    given = []
    monkeypatch.setattr(
        told_apart, "permuted_accuracies", lambda *arguments: given.append(arguments)
    )
    told_apart._permuted(job_of(cohort, settings))
    [(exchanged, exchange, *_)] = given
    rows = exchange.draw(np.random.default_rng(0))
    np.testing.assert_array_equal(exchanged.site[rows], exchanged.site)
    assert (exchanged.group[rows] != exchanged.group).any()


def test_slow_steps_are_the_last():
    slow = [bool(step.still) for step in STEPS]
    assert slow == sorted(slow)


def test_a_step_says_that_it_begins_and_how_long_it_took(job):
    assert list(done(NetworksStep(), job)["learners"]) == job.groups
    assert job.announced == [TITLES["networks"]]
    assert job.seconds["networks"] > 0


def test_a_process_gets_the_rows_of_its_group_alone(job, monkeypatch):
    sent = {}

    def learn_here(task, parts, n_jobs):
        assert task.args == (job.learner,)
        sent.update(parts)
        return [task(part) for part in parts]

    monkeypatch.setattr(networks, "in_parallel", learn_here)
    learned = done(NetworksStep(), job)["learners"]
    for group in job.groups:
        part = job.prepared.subset(groups=[group])
        assert tuple(sent[group].index) == part.ids
        assert np.array_equal(sent[group], part.values)
        of_cohort = learn_network(job.learner, job.prepared, group, Study())
        assert np.array_equal(learned[group].coef_, of_cohort.coef_)


@pytest.mark.parametrize("learner", [SGBN(1.0), SGBNEnsemble(n_chains=2, n_pairs=2)])
def test_outliers_are_those_of_the_learners(sites_cohort, learner):
    values = sites_cohort.values.copy()
    values[::16] += np.linspace(4, 12, 15)[:, None] * np.array([1, -1] * 3)
    far = replace(sites_cohort, values=values)
    found = compare(far, Settings.networks_only(), learner=learner)
    for group, fitted in found.learners.items():
        of_group = found.outliers[found.prepared.group == group]
        assert of_group.any()
        assert np.array_equal(of_group, fitted.outliers_)


def test_what_was_not_asked_for_is_not_done(job):
    for step in STEPS:
        if step.name not in ("networks", "accuracy"):
            assert done(step, job) == {}
    assert not job.seconds


def test_nothing_can_be_compared_without_networks(job):
    job.learner = SGBN(gamma=-1.0)
    with pytest.raises(InputError):
        done(NetworksStep(), job)


def test_a_step_is_left_out_without_the_step_that_it_needs(job):
    job.skipped["accuracy"] = "too few subjects"
    job.settings = Settings(n_repeats=1)
    assert done(STEPS[-1], job) == {}
    assert not job.announced


@pytest.mark.parametrize("n_permutations", [0, 39])
def test_labels_are_exchanged_as_the_design_allows_where_that_was_asked_for(
    small_cohort, n_permutations, monkeypatch
):
    job = job_of(small_cohort, Settings(n_repeats=1, accuracy_permutations=n_permutations))
    none, asked = np.empty(0), []
    measured = Accuracy(("control", "patient"), none, none, {}, none, none, none, none, none)

    def permute(cohort, exchange, settings, study):
        asked.append(exchange)
        return np.full(n_permutations, 0.5)

    monkeypatch.setattr(told_apart, "cross_validate", lambda *_: measured)
    monkeypatch.setattr(told_apart, "permuted_accuracies", permute)
    found = done(AccuracyStep(), job)["accuracy"]
    assert found.permuted.tolist() == [0.5] * n_permutations
    assert len(asked) == (n_permutations > 0)


class FailingStep(Step):
    name, title = "accuracy", "the title"

    def __init__(self, error):
        self.error = error

    def run(self, job, found):
        raise self.error


def test_what_the_data_do_not_allow_is_kept_with_its_reason(job):
    assert done(FailingStep(InputError("too few subjects")), job) == {}
    assert str(job.skipped["accuracy"]) == "too few subjects"
    with pytest.raises(ZeroDivisionError) as caught:
        done(FailingStep(ZeroDivisionError()), job)
    assert caught.value.__notes__ == ["in the step: the title"]


def test_a_planted_change_is_replicated_and_a_second_start_does_no_work(
    sites_cohort, tmp_path, monkeypatch
):
    first = replicated(job_of(sites_cohort, REPLICATE, tmp_path))
    best = first.table[first.table["confirmed"]][0]
    assert {best["source"], best["target"]} == {"r2", "r3"}
    assert f"{best['source']} – {best['target']}" in first.words
    parts = tmp_path / "replication"
    assert {path.name for path in parts.iterdir()} == {"discovery", "confirmation"}
    monkeypatch.setattr("sgbn.runs.study._run_task", lambda *_, **__: pytest.fail("done twice"))
    again = replicated(job_of(sites_cohort, REPLICATE, tmp_path))
    assert np.array_equal(again.table, first.table)


def test_a_site_is_held_back(sites_cohort):
    settings = replace(REPLICATE, replicate="site=UCLA", n_permutations=20)
    replication = replicated(job_of(sites_cohort, settings))
    assert replication.sizes["confirmation"] == {"control": 40, "patient": 40}


def test_a_part_that_cannot_be_prepared_leaves_the_step_out(sites_cohort):
    values = sites_cohort.values.copy()
    at_kki = sites_cohort.site == "KKI"
    values[~at_kki & (sites_cohort.group == "control"), 1] = 7.0
    place = {"place": np.where(at_kki, "KKI", "other")}
    bad = replace(sites_cohort, values=values, site=None, covariates=place)
    settings = replace(REPLICATE, replicate="place=KKI", n_permutations=20)
    comparison = compare(bad, settings, learner=SGBN(n_kicks=0))
    assert comparison.replication is None
    assert comparison.skipped["replication"].code == "part"
    assert comparison.tables.replication.empty


@pytest.mark.parametrize("outliers", ["keep", None])
def test_replication_keeps_outliers_if_told_so(sites_cohort, outliers):
    values = sites_cohort.values.copy()
    values[[0, 1, 2, 3]] += 60 * np.array([1, -1] * 3)
    settings = replace(REPLICATE, outliers=outliers, n_permutations=20, seed=1)
    far = replace(sites_cohort, values=values)
    replication = replicated(job_of(far, settings))
    parts = replication.left_out.values()
    assert any(names for part in parts for names in part.values()) == (outliers is None)


def test_steps_that_need_one_row_per_subject_are_left_out(chains_of_series):
    steps = Settings().for_cohort(chains_of_series).steps
    assert not [step for step in STEPS if step.not_for_series and step.name in steps]
    assert steps == ("networks", "confidence", "differences", "sensitivity", "accuracy")
    allowed = Settings(transform="none", outliers="keep")
    assert allowed.for_cohort(chains_of_series).steps == steps


@pytest.mark.parametrize(
    "asked",
    [{"replicate": "half"}, {"select": 3}, {"transform": "normal-scores"}, {"outliers": "trim"}],
)
def test_what_time_series_cannot_have_is_refused(asked, chains_of_series):
    with refused("series.setting"):
        compare(chains_of_series, Settings(**asked))


def test_networks_are_those_of_the_learner_on_each_group(compared_series, chains_of_series):
    assert compared_series.groups == ("control", "patient")
    for group, learner in compared_series.learners.items():
        part = chains_of_series.subset(chains_of_series.group == group)
        alone = SeriesSGBN(n_pairs=4).fit(part)
        assert np.array_equal(learner.coef_, alone.coef_)
        assert np.array_equal(learner.adjacency_, alone.adjacency_)
        assert np.array_equal(compared_series.supported[group], alone.supported_)
        assert compared_series.confidence[group] is learner.confidence_


def test_tests_are_those_of_subjects(compared_series, chains_of_series):
    alone = series_differences(chains_of_series, learner=SeriesSGBN(), n_permutations=39)
    assert compared_series.tests.edges.tolist() == alone.edges.tolist()
    found = compared_series.differences.iloc[0]
    assert {found["source"], found["target"]} == {"region1", "region2"}
    assert found["q_both"] <= 0.05


def test_tests_are_repeated_with_another_penalty(compared_series, chains_of_series):
    repeated = compared_series.sensitivity.tests
    assert [*repeated] == [HALF, TWICE]
    twice = series_differences(
        chains_of_series, learner=SeriesSGBN(2.0), n_permutations=39, reference="control"
    )
    assert repeated[TWICE].edges.tolist() == twice.edges.tolist()


def test_steps_that_are_not_asked_for_are_not_done(chains_of_series):
    found = compare(chains_of_series, Settings.networks_only())
    assert (found.tests, found.sensitivity, found.accuracy) == (None, None, None)
    assert [*found.seconds] == ["networks"]
    assert not found.confidence
    assert not found.skipped


def test_groups_without_halves_are_said():
    learners = {"a": SimpleNamespace(confidence_=None), "b": SimpleNamespace(confidence_="sure")}
    job = SimpleNamespace(learner=SeriesSGBN(), skipped={})
    assert networks._known_confidence(job, learners) == {"b": "sure"}
    assert job.skipped["confidence"].code == "halves.small-group"


class StoppedError(Exception):
    """A run that somebody stops at its first report."""


def test_a_first_report_comes_before_the_slow_steps_and_a_second_start_reads_what_it_shows(
    chains_of_series, tmp_path
):
    settings, shown = Settings(n_permutations=20, n_pairs=2, n_repeats=1), []

    def stop(comparison):
        shown.append(comparison)
        raise StoppedError

    kept = []
    for _ in range(2):
        with pytest.raises(StoppedError):
            compare(chains_of_series, settings, folder=tmp_path, on_found=stop)
        kept.append({path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz")})
    first, again = shown
    assert first.pending == ("sensitivity", "accuracy")
    assert first.accuracy is None
    assert len(kept[0])
    assert kept[0] == kept[1]
    assert again.tests.edges.tolist() == first.tests.edges.tolist()
    with refused("study.settings", kind=StudyError):
        compare(chains_of_series, replace(settings, seed=1), folder=tmp_path)


@pytest.mark.long
def test_accuracy_is_that_of_series_with_exchanges_of_labels(chains_of_series):
    few = {"n_folds": 2, "n_repeats": 1, "peers": False, "accuracy_permutations": 19}
    settings = replace(Settings.networks_only(), **few)
    found = compare(chains_of_series, settings).accuracy
    study, learner = Study(None), SeriesSGBN(n_pairs=0)
    settings = replace(settings, reference=chains_of_series.groups[0])
    alone = cross_validate_series(chains_of_series, settings, study, learner)
    for method, probabilities in alone.probabilities.items():
        assert np.array_equal(found.probabilities[method], probabilities)
    assert len(found.permuted) == 19


def test_a_step_keeps_the_seconds_of_the_start_that_did_it(tmp_path):
    assert finished_steps(tmp_path) == {}
    assert seconds_of_step(tmp_path, "networks", 12.5) == 12.5
    assert seconds_of_step(tmp_path, "networks", 0.1) == 12.5
    assert seconds_of_step(tmp_path, "models", 3.0) == 3.0
    assert finished_steps(tmp_path) == {"networks": 12.5, "models": 3.0}


def test_without_a_folder_nothing_is_kept():
    assert seconds_of_step(None, "networks", 2.0) == 2.0
    assert finished_steps(None) == {}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"seconds": "many"}', '{"seconds": null}'])
def test_a_damaged_note_is_written_anew(text, tmp_path):
    seconds_of_step(tmp_path, "networks", 12.5)
    (tmp_path / "steps" / "networks.json").write_text(text)
    assert finished_steps(tmp_path) == {}
    assert seconds_of_step(tmp_path, "networks", 7.0) == 7.0
    assert finished_steps(tmp_path) == {"networks": 7.0}
