import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from sgbn.comparison.accuracy import METRICS, OURS, Accuracy


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
    assert set(table["metric"]) == set(METRICS)
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
