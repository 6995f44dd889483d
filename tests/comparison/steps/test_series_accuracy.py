import sys
from dataclasses import replace

import numpy as np
import pytest
from nilearn.connectome import ConnectivityMeasure
from scipy.stats import zscore
from sklearn.linear_model import LogisticRegression
from tests.codes import refused, warned

from sgbn.cohort.series import subject_moments
from sgbn.cohort.simulate_series import simulate_series
from sgbn.comparison.settings import Settings
from sgbn.comparison.steps import cross_validation, series_accuracy
from sgbn.comparison.steps.accuracy import OURS
from sgbn.comparison.steps.cross_validation import fold_numbers
from sgbn.comparison.steps.series_accuracy import (
    CONNECTIVITY,
    FIRST_PEER,
    LIKELIHOOD,
    cross_validate_series,
    permuted_series_accuracies,
)
from sgbn.learn.peers import COVARIATES_ALONE
from sgbn.learn.series import SeriesSGBN
from sgbn.runs.study import Study

ALL_STRENGTHS, ALL_FOLDS = series_accuracy.Cs, cross_validation.FOLDS
FEW = Settings(n_folds=2, n_repeats=1, peers=False)
ALL = replace(FEW, peers=True)


@pytest.fixture(scope="module", autouse=True)
def little_tuning():
    """Two strengths of the logistic regression and two folds: tuning takes nearly all the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(series_accuracy, "Cs", np.array([1e-3, 1e-1]))
        patch.setattr(cross_validation, "FOLDS", 2)
        yield


@pytest.fixture(scope="module")
def cohort():
    return simulate_series(15, regions=10, n_volumes=120, n_changed=5)


@pytest.fixture(scope="module")
def found(cohort):
    return cross_validate_series(cohort, ALL, Study())


def test_all_methods_classify_every_subject(found, cohort):
    assert list(found.probabilities) == [OURS, LIKELIHOOD, *CONNECTIVITY, COVARIATES_ALONE]
    for probabilities in found.probabilities.values():
        assert probabilities.shape == (1, len(cohort), 2)
        np.testing.assert_allclose(probabilities.sum(axis=2), 1)
    assert found.groups == ("control", "patient")


def test_networks_that_differ_are_told_apart_and_motion_does_not(found):
    table = found.table().set_index(["method", "metric"])["mean"].unstack()["balanced accuracy"]
    assert table[OURS] > 0.7
    assert table[LIKELIHOOD] > 0.7
    assert table[COVARIATES_ALONE] < 0.7
    assert len(found.sparsity()) == 0
    assert len(found.roc()) > 2


def test_without_peers_tangent_space_is_beside_ours(cohort):
    found = cross_validate_series(cohort, replace(FEW, n_repeats=2), Study())
    assert list(found.probabilities) == [OURS, FIRST_PEER, COVARIATES_ALONE]
    assert found.probabilities[OURS].shape[0] == 2


def test_series_are_filtered_as_the_learner_does(cohort):
    learner, moments = SeriesSGBN(lagged=True), subject_moments(cohort, lagged=True)
    found = cross_validate_series(cohort, FEW, Study(), learner)
    test = fold_numbers(cohort, FEW, 0) == 0
    graph = series_accuracy._graph_task(moments, learner, test)["graph"]
    task = {"test": test, "graph": graph, "method": OURS, "explained": False}
    expected = series_accuracy._task(cohort, moments, FEW, **task)["probabilities"]
    np.testing.assert_array_equal(found.probabilities[OURS][0, test], expected)


def test_groups_without_a_difference_are_not_told_apart():
    cohort = simulate_series(40, regions=6, n_volumes=60, n_changed=0, covariates=())
    found = cross_validate_series(cohort, FEW, Study())
    table = found.table()
    means = table[table["metric"] == "balanced accuracy"].set_index("method")["mean"]
    assert (np.abs(means - 0.5) < 0.17).all()


def test_explanations_end_where_there_are_no_more_edges(cohort):
    few = cohort.subset(regions=["Precentral_L", "Precentral_R"])
    result = cross_validate_series(few, FEW, Study())
    assert result.explanations.shape == (30, 5)
    parts = result.explanations
    assert set(parts["source"][:, 0]) <= set(few.regions)
    assert (parts["source"][:, 1:] == "").all()  # two regions have one edge
    assert (parts["value"][:, 1:] == 0).all()


def test_explanations_name_edges_and_speak_for_the_prediction(found, cohort):
    parts = found.explanations
    assert set(parts["source"].ravel()) <= set(cohort.regions)
    sizes = np.abs(parts["value"])
    assert (np.diff(sizes, axis=1) <= 0).all()
    # the intercept aside, what speaks for the likeliest group is positive in sum
    assert (parts["value"].sum(axis=1) > 0).mean() > 0.8


def test_results_do_not_depend_on_processes_and_resume(cohort, tmp_path, monkeypatch):
    monkeypatch.setattr(series_accuracy, "Cs", ALL_STRENGTHS)  # as other processes have them
    monkeypatch.setattr(cross_validation, "FOLDS", ALL_FOLDS)
    plain = cross_validate_series(cohort, FEW, Study())
    beside = cross_validate_series(cohort, FEW, Study(tmp_path, n_jobs=2), SeriesSGBN(n_jobs=2))
    monkeypatch.setattr(series_accuracy, "_task", None)  # all is there: nothing is run again
    monkeypatch.setattr(series_accuracy, "_graph_task", None)
    again = cross_validate_series(cohort, FEW, Study(tmp_path), SeriesSGBN())
    for method, probabilities in beside.probabilities.items():
        np.testing.assert_array_equal(probabilities, again.probabilities[method])
        np.testing.assert_array_equal(probabilities, plain.probabilities[method])


@pytest.mark.parametrize("method", [OURS, LIKELIHOOD, *CONNECTIVITY])
def test_no_method_sees_the_labels_of_subjects_left_out(cohort, method):
    settings, moments = FEW, subject_moments(cohort)
    test = fold_numbers(cohort, settings, 0) == 0
    graph = np.triu(np.ones((10, 10), bool), 1)
    lied = np.where(test, np.where(cohort.group == "control", "patient", "control"), cohort.group)
    common = {"settings": settings, "test": test, "graph": graph, "explained": False}
    task = {"moments": moments, "method": method, **common}
    true, false = (
        series_accuracy._task(replace(cohort, group=group), **task)["probabilities"]
        for group in (cohort.group, lied)
    )
    np.testing.assert_array_equal(true, false)


def test_nothing_of_subjects_left_out_reaches_the_graph(cohort):
    moments = subject_moments(cohort)
    test = np.arange(30) % 3 == 0
    changed = moments.R.copy()
    changed[test] = np.eye(10)
    other = type(moments)(changed, *list(vars(moments).values())[1:])
    graphs = [series_accuracy._graph_task(each, None, test)["graph"] for each in (moments, other)]
    np.testing.assert_array_equal(*graphs)


def test_tangent_space_is_nilearns_and_fitted_to_the_training_part(cohort):
    test = np.arange(30) % 3 == 0
    part = series_accuracy._Part(cohort, subject_moments(cohort), FEW, test, np.eye(10) > 1)
    found = series_accuracy._connectivity(part, "tangent")
    measure = ConnectivityMeasure(kind="tangent", vectorize=True, discard_diagonal=True)
    series = [zscore(one) for one in cohort.series]  # the shrinkage depends on units
    measure.fit([series[k] for k in np.flatnonzero(~test)])
    left_out = [series[k] for k in np.flatnonzero(test)]
    np.testing.assert_allclose(found.test, measure.transform(left_out))


def test_the_rotated_regression_is_the_plain_one(cohort):
    test = np.arange(30) % 3 == 0
    part = series_accuracy._Part(cohort, subject_moments(cohort), FEW, test, np.eye(10) > 1)
    X = np.random.default_rng(0).standard_normal((30, 50))
    X -= X[~test].mean(axis=0)
    rotated = series_accuracy._logistic(part).fit(X[~test], part.labels)
    plain = LogisticRegression(
        C=rotated["tune"].best_params_["C"], class_weight="balanced", max_iter=2000
    )
    plain.fit(X[~test], part.labels)
    np.testing.assert_allclose(
        rotated.predict_proba(X[test]), plain.predict_proba(X[test]), atol=1e-3
    )


def test_persons_are_in_one_fold_inside_and_outside(cohort):
    persons = np.repeat([f"p{k}" for k in range(10)], 3)
    cohort = replace(cohort, group=np.repeat(["a", "b"], 15), block=persons)
    found = cross_validate_series(cohort, FEW, Study())
    for person in set(persons):
        assert len(set(found.folds[0][persons == person])) == 1
    test = found.folds[0] == 0
    part = series_accuracy._Part(cohort, subject_moments(cohort), FEW, test, np.eye(10) > 1)
    splits = series_accuracy._logistic(part)["tune"].cv.split(part.labels, part.labels, part.units)
    for train, inner in splits:
        assert not set(part.units[train]) & set(part.units[inner])


def test_sites_and_covariates_are_taken_out_in_the_training_part():
    cohort = simulate_series(
        12, regions=6, n_volumes=60, n_sites=2, covariates=("mean_fd", "age", "sex")
    )
    found = cross_validate_series(cohort, FEW, Study())
    assert np.isfinite(found.probabilities[OURS]).all()


def test_three_groups():
    groups = ("control", "mild", "severe")
    cohort = simulate_series(9, regions=6, n_volumes=60, groups=groups)
    found = cross_validate_series(cohort, ALL, Study())
    assert found.probabilities[OURS].shape == (1, 27, 3)
    assert found.probabilities[LIKELIHOOD].shape == (1, 27, 3)
    assert found.explained.shape == (27, 2)


def test_permutations_give_one_accuracy_each(cohort):
    settings = replace(FEW, accuracy_permutations=19)
    few = replace(cohort.subset(regions=cohort.regions[:4]), covariates={})
    exchange = few.design.exchange()
    permuted = permuted_series_accuracies(few, exchange, settings, Study())
    assert permuted.shape == (19,)
    assert 0.3 < permuted.mean() < 0.7
    assert len(set(permuted.tolist())) > 1


def test_without_nilearn_the_others_go_on_with_a_warning(cohort, monkeypatch):
    monkeypatch.setitem(sys.modules, "nilearn.connectome", None)  # an import then fails
    with warned("nilearn.missing"):
        methods = series_accuracy._methods(cohort, ALL)
    assert methods == [OURS, LIKELIHOOD, COVARIATES_ALONE]


def test_what_cannot_be_done_is_refused(cohort):
    tiny = cohort.subset([0, 1, 15, 16])
    with refused("folds.small-group"):
        cross_validate_series(tiny, FEW, Study())


def test_covariates_alone_bend_with_the_cohort(cohort):
    """One group is in the middle of the ages: a line cannot tell it."""
    age = np.linspace(20, 80, len(cohort))
    group = np.where(np.abs(age - 50) < 15, "patient", "control")
    line = replace(cohort, covariates={"age": age}, group=group)
    test = np.arange(len(cohort)) % 3 == 0
    accuracies = []
    for bent in (line, replace(line, smooth=("age",))):
        part = series_accuracy._Part(bent, subject_moments(bent), FEW, test, np.eye(10) > 1)
        patient = series_accuracy._by_covariates(part)[:, 1] > 0.5
        accuracies.append(np.mean(patient == (group[test] == "patient")))
    assert accuracies[0] < 0.75
    assert accuracies[1] > 0.85
