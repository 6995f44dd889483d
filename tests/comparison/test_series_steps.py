from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from sgbn.comparison import step
from sgbn.comparison.compare import compare
from sgbn.comparison.settings import Settings
from sgbn.comparison.step import NOT_FOR_SERIES, REFUSED, confidence_of_series, series_settings
from sgbn.comparison.steps.sensitivity import HALF, TWICE
from sgbn.comparison.steps.series_accuracy import cross_validate_series
from sgbn.core.exceptions import InputError, StudyError
from sgbn.inference.series_differences import series_differences
from sgbn.learn.series import SeriesSGBN
from sgbn.runs.study import Study


def test_steps_that_need_one_row_per_subject_are_left_out():
    steps = series_settings(Settings()).steps
    assert not {*steps} & {*NOT_FOR_SERIES}
    assert steps == ("networks", "confidence", "differences", "sensitivity", "accuracy")


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ({"replicate": "half"}, "replicate"),
        ({"select": 3}, "select"),
        ({"transform": "normal-scores"}, "transform"),
        ({"outliers": "trim"}, "outliers"),
    ],
)
def test_what_time_series_cannot_have_is_refused_with_its_reason(asked, name, chains_of_series):
    with pytest.raises(InputError, match=f"^{name}=.* is not for time series: {REFUSED[name]}"):
        compare(chains_of_series, Settings(**asked))


def test_what_is_the_same_as_the_default_is_no_wish():
    settings = Settings(transform="none", outliers="keep")
    assert series_settings(settings).steps == series_settings(Settings()).steps


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
    assert confidence_of_series(job, learners) == {"b": "sure"}
    assert job.skipped == {"confidence": step.TOO_FEW_SERIES}


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
    with pytest.raises(StudyError, match="seed: 0 there, 1 now"):
        compare(chains_of_series, replace(settings, seed=1), folder=tmp_path)


@pytest.mark.long
def test_accuracy_is_that_of_series_with_exchanges_of_labels(chains_of_series):
    few = {"n_folds": 2, "n_repeats": 1, "peers": False, "accuracy_permutations": 19}
    settings = replace(Settings.networks_only(), **few)
    found = compare(chains_of_series, settings).accuracy
    study, learner = Study(None), SeriesSGBN(n_pairs=0)
    settings = settings.with_reference(chains_of_series.groups)
    alone = cross_validate_series(chains_of_series, settings, study, learner)
    for method, probabilities in alone.probabilities.items():
        assert np.array_equal(found.probabilities[method], probabilities)
    assert len(found.permuted) == 19
