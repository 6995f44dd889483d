from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedGroupKFold
from tests.codes import refused

from sgbn import Cohort
from sgbn.cohort.simulate import simulate_cohort
from sgbn.comparison.settings import Settings
from sgbn.comparison.steps import cross_validation
from sgbn.comparison.steps.accuracy import OURS, parts_of
from sgbn.comparison.steps.cross_validation import (
    FIRST_PEER,
    PEERS,
    cross_validate,
    exchanged_accuracy,
    fit_model,
    fold_numbers,
    folds_of_repeats,
    inner_folds,
    largest_parts,
    permuted_accuracies,
)
from sgbn.learn.classifier import SGBNClassifier
from sgbn.learn.peers import COVARIATES_ALONE
from sgbn.paper.classifier_cv import SGBNClassifierCV
from sgbn.prepare.pipeline import cohort_table, make_analysis, prepare
from sgbn.runs.study import Study

FEW = Settings(n_folds=2, n_repeats=2, peers=False)


@pytest.fixture(scope="module")
def cohort():
    return simulate_cohort(40, regions=5, differ="means", mean_shift=0.8, covariates=["age"])


@pytest.fixture(scope="module")
def found(cohort):
    return cross_validate(cohort, FEW, Study())


def test_every_subject_is_classified_once_a_repeat(found, cohort):
    assert list(found.probabilities) == [OURS, FIRST_PEER, COVARIATES_ALONE]
    for probabilities in found.probabilities.values():
        assert probabilities.shape == (2, len(cohort), 2)
        np.testing.assert_allclose(probabilities.sum(axis=2), 1)
    assert not np.array_equal(found.folds[0], found.folds[1])


def test_the_table_has_means_over_folds(found, cohort):
    table = found.table().set_index(["method", "metric"])
    row = table.loc[FIRST_PEER, "balanced accuracy"]
    guesses = found.probabilities[FIRST_PEER].argmax(axis=2)
    codes = (cohort.group == "patient").astype(int)
    scores = [
        balanced_accuracy_score(codes[test], guess[test])
        for fold_of, guess in zip(found.folds, guesses, strict=True)
        for test in parts_of(fold_of)
    ]
    assert row["mean"] == pytest.approx(np.mean(scores))
    assert row["low"] < row["mean"] < row["high"]


def test_labels_by_chance_are_classified_by_chance():
    """The canary: shuffled labels, and regions that are selected by them inside the folds."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(160, 60))
    group = rng.permutation(np.repeat(["a", "b"], 80))
    noise = Cohort(values, [f"r{k}" for k in range(60)], range(160), group=group)
    found = cross_validate(noise, Settings(n_folds=2, n_repeats=1, select=4, peers=False), Study())
    table = found.table().set_index(["method", "metric"])["mean"]
    for method in found.probabilities:
        assert abs(table[method, "balanced accuracy"] - 0.5) < 0.12


def test_families_are_whole_in_all_folds_and_peers_and_sparsities_are_tried(monkeypatch):
    monkeypatch.setattr("sgbn.learn.peers.TREES", 20)
    drawn = simulate_cohort(32, regions=4)
    person = np.array([f"{group}{k // 2}" for k, group in enumerate(drawn.group)])
    family = np.array([f"f{k // 4}" for k in range(64)])
    cohort = replace(drawn, person=person, block=family)
    split, inner = StratifiedGroupKFold.split, []

    def watched(self, X, y=None, groups=None):
        for train, test in split(self, X, y, groups):
            inner.append(not set(np.asarray(groups)[train]) & set(np.asarray(groups)[test]))
            yield train, test

    monkeypatch.setattr(StratifiedGroupKFold, "split", watched)
    found = cross_validate(cohort, Settings(n_folds=2, n_repeats=1), Study())
    for name in set(family):
        assert len(set(found.folds[0][family == name])) == 1
    assert all(inner)
    # beside 2 parts, and 4 folds inside each for two logistic regressions: those of our classifier
    assert len(inner) > 2 + 2 * 2 * 4
    assert set(PEERS) < set(found.probabilities)
    table = found.sparsity()
    assert (np.diff(table["gamma"]) > 0).all()
    assert (np.diff(table["edges"]) <= 0).all()
    assert table["mean"].between(0, 1).all()


def test_parts_of_the_explanation_are_of_the_subject(found, cohort):
    parts = found.explanations
    assert parts.shape == (len(cohort), 5)
    assert np.abs(parts["value"][:, 0]).min() > 0
    assert (np.diff(np.abs(parts["value"]), axis=1) <= 1e-12).all()
    assert set(parts["target"].ravel()) <= set(cohort.regions)


def test_three_groups_have_their_chance(cohort):
    group = np.array(["a", "b", "c"])[np.arange(len(cohort)) % 3]
    three = Cohort(cohort.values, cohort.regions, cohort.ids, group=group)
    found = cross_validate(three, Settings(n_folds=2, n_repeats=1, peers=False), Study())
    assert found.chance == pytest.approx(1 / 3)
    assert found.table()["mean"].notna().all()


def test_a_method_against_itself_differs_by_nothing(found):
    assert found.difference(OURS, OURS).mean == 0


def test_the_model_is_the_analysis_that_is_cross_validated_on_all_subjects(cohort):
    model = fit_model(cohort, FEW, Study())
    expected = make_analysis(cohort, classifier=SGBNClassifierCV(random_state=FEW.seed))
    table = cohort_table(cohort)
    expected.fit(table, cohort.group)
    assert np.array_equal(model.predict_proba(table), expected.predict_proba(table))
    assert "select" in fit_model(cohort, Settings(select=2), Study()).named_steps


def test_a_fitted_model_is_read_again_and_knows_what_the_table_called_the_site(
    cohort, tmp_path, monkeypatch
):
    table = cohort_table(cohort)
    first = fit_model(cohort, FEW, Study(tmp_path)).predict_proba(table)
    monkeypatch.setattr(SGBNClassifierCV, "fit", None)
    for column in ("scanner", "machine"):
        named = replace(cohort, provenance={"site_column": column})
        again = fit_model(named, FEW, Study(tmp_path))
        assert np.array_equal(again.predict_proba(table), first)
        assert again.site_column_ == column
    unnamed = replace(cohort, provenance={})
    assert not hasattr(fit_model(unnamed, FEW, Study(tmp_path)), "site_column_")


def test_explanations_of_some_rows_at_a_time_are_those_of_all(monkeypatch):
    cohort = simulate_cohort(30, regions=6)
    table = cohort_table(cohort)
    classifier = SGBNClassifier(temperature=1.0).fit(table, cohort.group)
    probabilities = classifier.predict_proba(table)
    whole = largest_parts(classifier, table, probabilities)
    found = classifier.explain(table)
    assert np.allclose(
        np.abs(whole["values"]).max(axis=1),
        np.abs(np.hstack([found.own, found.edges])).max(axis=1),
    )
    monkeypatch.setattr(cross_validation, "ROWS_PER_BLOCK", 7)
    parts = largest_parts(classifier, table, probabilities)
    np.testing.assert_allclose(parts["values"], whole["values"], rtol=1e-12)
    for name in ("sources", "targets", "likeliest"):
        assert np.array_equal(parts[name], whole[name])


def test_exchanged_labels_are_classified_by_chance_and_give_a_p(
    found, cohort, tmp_path, monkeypatch
):
    one_setting = {"alphas": [0.7], "pools": [0.5], "ridges": [0.2], "mean_shares": [1.0]}
    fast = partial(SGBNClassifierCV, **one_setting)  # of 36, which take 15 s
    monkeypatch.setattr(cross_validation, "SGBNClassifierCV", fast)
    settings = replace(FEW, accuracy_permutations=19)
    exchange = prepare(cohort).design.exchange()
    permuted = permuted_accuracies(cohort, exchange, settings, Study(tmp_path))
    assert permuted.shape == (19,)
    assert abs(permuted.mean() - 0.5) < 0.06
    again = permuted_accuracies(cohort, exchange, settings, Study(tmp_path, n_jobs=2))
    np.testing.assert_array_equal(again, permuted)
    tested = replace(found, permuted=permuted)
    assert tested.p_value() == 1 / 20  # the groups differ in their means
    assert tested.p_value(FIRST_PEER) == found.p_value(FIRST_PEER)
    p = tested.table().query("metric == 'balanced accuracy'").set_index("method")["p"]
    assert p[OURS] == 1 / 20


def test_a_task_with_the_labels_as_they_are_is_the_first_repeat(found, cohort):
    class Stay:
        def draw(self, rng):
            return np.arange(len(cohort))

    settings = replace(FEW, accuracy_permutations=19)
    classify = partial(cross_validation._probabilities, settings)
    same = exchanged_accuracy(cohort, settings, Stay(), 0, classify)["accuracy"]
    first = replace(found, probabilities={OURS: found.probabilities[OURS][:1]})
    assert same == pytest.approx(first.table()["mean"][0])


def test_covariates_alone_bend_with_the_cohort(cohort):
    """One group is in the middle of the ages: a line cannot tell it."""
    age = np.random.default_rng(0).uniform(20, 80, len(cohort))
    group = np.where(np.abs(age - 50) < 15, "patient", "control")
    line = replace(cohort, covariates={"age": age}, group=group)
    test = np.arange(len(cohort)) % 3 == 0
    right = [
        cross_validation._task(bent, FEW, None, test, COVARIATES_ALONE, False)["probabilities"]
        for bent in (line, replace(line, smooth=("age",)))
    ]
    accuracies = [np.mean((p[:, 1] > 0.5) == (group[test] == "patient")) for p in right]
    assert accuracies[0] < 0.75
    assert accuracies[1] > 0.85


FOLDS_FEW = Settings(n_folds=4, n_repeats=2)


class Stay:
    """An exchange that leaves all labels where they are."""

    def __init__(self, n):
        self.n = n

    def draw(self, rng):
        return np.arange(self.n)


def test_each_repeat_has_other_folds_with_a_like_share_of_both_groups(small_cohort):
    folds = folds_of_repeats(small_cohort, FOLDS_FEW)
    assert folds.shape == (2, 80)
    assert not np.array_equal(*folds)
    for test in parts_of(folds[0]):
        assert np.unique(small_cohort.group[test], return_counts=True)[1].tolist() == [10, 10]


@pytest.mark.parametrize("kind", ["pair", "block"])
def test_rows_of_one_person_or_family_are_in_one_fold(small_cohort, kind):
    unit = np.tile(np.arange(40), 2)
    folds = fold_numbers(replace(small_cohort, **{kind: unit}), FOLDS_FEW, 0)
    for number in range(40):
        assert len(set(folds[unit == number])) == 1


def test_small_groups_have_as_many_folds_as_subjects(small_cohort):
    few = small_cohort.subset(rows=np.r_[0:3, 40:80])
    assert fold_numbers(few, FOLDS_FEW, 0).max() == 2


def test_a_group_of_one_family_cannot_be_cross_validated(small_cohort):
    families = replace(small_cohort, block=np.asarray(small_cohort.group))
    with refused("folds.one-block"):
        fold_numbers(families, FOLDS_FEW, 0)


@pytest.mark.parametrize(("n", "expected"), [(40, 5), (5, 3), (3, 2), (2, 1)])
def test_inner_folds_need_subjects_of_each_group_in_training(small_cohort, n, expected):
    few = small_cohort.subset(rows=np.r_[0:n, 40:80])
    assert inner_folds(few, FOLDS_FEW) == expected


def test_the_accuracy_of_exchanged_labels_is_the_mean_over_the_folds(small_cohort):
    tested = []

    def classify(exchanged, test):
        tested.append(test)
        return np.tile([1.0, 0.0], (test.sum(), 1))  # always the first group

    result = exchanged_accuracy(small_cohort, FOLDS_FEW, Stay(80), 0, classify)
    assert result["accuracy"] == 0.5
    assert (np.sum(tested, axis=0) == 1).all()
