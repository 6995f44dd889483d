from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import auc, log_loss, recall_score, roc_auc_score

from sgbn.comparison.methods import describe_methods
from sgbn.comparison.report import render_report
from sgbn.comparison.steps.accuracy import (
    METRICS,
    OURS,
    SENSITIVITY,
    SPECIFICITY,
    Accuracy,
    accuracy_section,
)
from sgbn.learn.peers import COVARIATES_ALONE


def made(groups=("a", "b"), seed=0):
    rng = np.random.default_rng(seed)
    labels = np.array(groups)[np.arange(60) % len(groups)]
    folds = np.array([rng.permutation(60) % 4 for _ in range(3)])
    raw = rng.random((3, 60, len(groups)))
    return Accuracy(
        groups,
        labels,
        folds,
        {OURS: raw / raw.sum(axis=2, keepdims=True), "other": np.full(raw.shape, 1 / len(groups))},
        np.array([]),
        np.array([]),
        np.empty((0, 60, len(groups))),
        np.empty((60, 0), dtype=[("source", object), ("target", object), ("value", float)]),
        np.zeros((60, 2), int),
    )


def test_scores_are_those_of_scikit_learn():
    found = made()
    table = found.table().set_index(["method", "metric"])["mean"]
    losses, areas = [], []
    for own, probabilities in zip(found.folds, found.probabilities[OURS], strict=True):
        for fold in range(4):
            rows = own == fold
            losses.append(log_loss(found.labels[rows], probabilities[rows], labels=["a", "b"]))
            areas.append(roc_auc_score(found.labels[rows] == "b", probabilities[rows, 1]))
    assert table[OURS, "log-loss"] == pytest.approx(np.mean(losses))
    assert table[OURS, "AUC"] == pytest.approx(np.mean(areas))


@pytest.mark.parametrize("groups", [("a", "b"), ("a", "b", "c")])
def test_every_metric_of_any_number_of_groups(groups):
    found = made(groups)
    table = found.table()
    assert set(table["metric"]) == {*METRICS, *found.recalls}
    assert np.isfinite(table["mean"]).all()
    assert found.chance == pytest.approx(1 / len(groups))
    uninformed = table[(table["method"] == "other") & (table["metric"] == "log-loss")]
    assert uninformed["mean"].item() == pytest.approx(np.log(len(groups)))


def test_a_wider_level_gives_a_wider_interval():
    found = made()
    strict, loose = (found.table(level).iloc[0] for level in (0.01, 0.2))
    assert strict["high"] - strict["low"] > loose["high"] - loose["low"]


def test_the_difference_of_two_methods_is_on_the_same_folds():
    found = made()
    means = found.table().set_index(["method", "metric"])["mean"]
    gain = found.difference(OURS, "other")
    both = means[OURS, METRICS[0]] - means["other", METRICS[0]]
    assert gain.mean == pytest.approx(both)
    assert found.difference("other", OURS).mean == pytest.approx(-both)


def test_without_sparsities_the_table_is_empty():
    assert made().sparsity().empty


def test_no_interval_leaves_what_a_score_can_be():
    found = made(seed=3)
    table = found.table(1e-9)
    shares = table[table["metric"] != "log-loss"]
    ours = shares[shares["method"] == OURS]
    assert (ours["low"] == 0).all()
    assert (ours["high"] == 1).all()
    assert (table["low"] >= 0).all()


def test_sensitivity_is_that_of_the_group_beside_the_reference():
    found = made()
    for reference, other in (("a", "b"), ("b", "a")):
        table = replace(found, reference=reference).table().set_index(["method", "metric"])["mean"]
        for metric, group in ((SENSITIVITY, other), (SPECIFICITY, reference)):
            scores = []
            for own, probabilities in zip(found.folds, found.probabilities[OURS], strict=True):
                predicted = np.array(["a", "b"])[probabilities.argmax(axis=1)]
                for fold in range(4):
                    rows = own == fold
                    scores.append(
                        recall_score(found.labels[rows], predicted[rows], pos_label=group)
                    )
            assert table[OURS, metric] == pytest.approx(np.mean(scores))


def test_more_groups_have_a_recall_each():
    found = made(("a", "b", "c"))
    means = found.table().set_index(["method", "metric"])["mean"][OURS]
    balanced = np.mean([means[f"recall, {group}"] for group in "abc"])
    assert balanced == pytest.approx(means[METRICS[0]], abs=0.05)  # folds differ in their sizes
    assert found.roc().empty


def test_p_of_the_accuracy_is_of_the_corrected_resampled_t():
    found = made()
    scores = found._scores(found.probabilities[OURS], METRICS[0])
    error = scores.std(ddof=1) * np.sqrt(1 / 12 + 1 / 3)  # a fold to the three others
    expected = stats.t.sf((scores.mean() - 0.5) / error, 11)
    assert found.p_value() == pytest.approx(expected)
    table = found.table()
    assert table["p"].notna().tolist() == [True, *[False] * 4, *[False] * 5]  # "other" is constant


def test_groups_that_are_told_apart_have_a_small_p_and_a_steep_curve():
    found = made()
    sure = np.where(found.labels[:, None] == np.array(["a", "b"]), 0.8, 0.2)
    noise = np.random.default_rng(1).normal(0, 0.25, (3, 60, 1)) * [1, -1]
    known = replace(found, probabilities={OURS: np.clip(sure + noise, 0.01, 0.99)})
    assert known.p_value() < 0.001
    curve = known.roc()
    area = auc(1 - curve[SPECIFICITY], curve[SENSITIVITY])
    mean = known.probabilities[OURS].mean(axis=0)[:, 1]
    assert area == pytest.approx(roc_auc_score(found.labels == "b", mean))
    assert area > 0.9


def test_our_classifier_is_the_first():
    found = made()
    named = replace(found, probabilities={"mine": found.probabilities[OURS], **found.probabilities})
    assert named.ours == "mine"
    assert named.p_value() == found.p_value(OURS)
    assert named.roc().equals(found.roc(OURS))


def column(table, source):
    k = [field.source for field in table.fields].index(source)
    return [row.cells[k] for row in table.rows]


def test_classifiers_are_sorted_and_covariates_stand_out(compared):
    section = accuracy_section(compared)
    table = section["table"]
    marks = {row.cells[0].text: row.mark for row in table.rows}
    assert marks[OURS] == "ours"
    assert marks[COVARIATES_ALONE] == "covariates"
    means = [float(cell.text.split()[0]) for cell in column(table, "balanced accuracy")]
    assert means == sorted(means, reverse=True)
    assert section["gain"]


def test_sensitivity_and_specificity_of_each_classifier(compared):
    shown = accuracy_section(compared)
    titles = [field.title for field in shown["recognised"].fields]
    assert titles == ["classifier", "sensitivity", "specificity", "p of the balanced accuracy"]
    methods = [row.cells[0].text for row in shown["recognised"].rows]
    assert sorted(methods) == sorted(compared.accuracy.probabilities)
    assert shown["sensitivity_of"] == "patient"
    assert shown["ours"] == OURS


def test_more_groups_have_their_recall(three_compared):
    shown = accuracy_section(three_compared)
    assert [field.source for field in shown["recognised"].fields[1:4]] == [
        f"recall, {group}" for group in "abc"
    ]
    assert shown["sensitivity_of"] == ""


def test_where_p_comes_from_is_said(compared, html, no_pictures):
    assert "Sensitivity is the share of patient" in html
    assert "--accuracy-permutations 99" in html
    permuted = replace(compared.accuracy, permuted=np.linspace(0.4, 0.6, 39))
    tested = replace(compared, accuracy=permuted)
    assert "by 39 permutations of the labels" in render_report(tested, pictures=no_pictures)
    assert "tested by 39 permutations of the labels" in describe_methods(tested).text


@pytest.mark.parametrize(
    ("p", "said"), [(np.nan, "unknown"), (1e-9, "below 0.001"), (0.5, "0.500")]
)
def test_p_is_a_number_a_bound_or_unknown(compared, monkeypatch, p, said):
    monkeypatch.setattr(type(compared.accuracy), "p_value", lambda *_: p)
    assert accuracy_section(compared)["p"] == said


def test_nothing_is_said_where_nothing_was_tried(compared):
    assert accuracy_section(replace(compared, accuracy=None)) is None


def test_the_page_has_table_and_curve(html):
    assert 'id="recognised-table"' in html
    assert "ROC curves" in html
