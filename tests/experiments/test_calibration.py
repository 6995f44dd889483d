from dataclasses import replace

import numpy as np
import pytest

from sgbn import StudyError
from sgbn.experiments import calibration, calibration_bound
from sgbn.experiments.calibration import (
    count,
    learner_of,
    pooled_parents,
    same_weights,
    score_cohort,
)
from sgbn.experiments.calibration_cohorts import Setting, draw, in_lobes
from sgbn.experiments.calibration_peers import Found
from sgbn.inference.joint import SharedOrder

SETTING = Setting((40, 30), changed=4, regions=12)


def test_weights_of_the_true_graph_differ_where_they_were_changed():
    pair = draw(SETTING, 3)
    graph = pair.networks[0].coef != 0
    np.testing.assert_array_equal(~same_weights(pair, graph), pair.changed)
    turned = same_weights(pair, graph.T)  # the wrong way round more seem to differ
    assert (~turned).sum() > pair.changed.sum()


def test_discoveries_are_counted_as_pairs():
    pair = draw(SETTING, 3)
    perfect = count(pair, Found(pair.changed, True))
    assert (perfect.found, perfect.hits, perfect.forward, perfect.beside) == (4, 4, 4, 0)
    backward = count(pair, Found(pair.changed.T, True))
    assert (backward.found, backward.hits, backward.forward, backward.beside) == (4, 4, 0, 0)
    both_ways = ~np.eye(12, dtype=bool)
    everything = count(pair, Found(both_ways, False, both_ways))
    assert (everything.found, everything.hits, everything.beside) == (66, 4, 62)
    assert everything.false == 66
    assert np.isnan(everything.forward)
    assert np.isnan(count(pair, None).found)


def test_a_cohort_with_changed_edges_is_scored_by_all_methods():
    scores = score_cohort(replace(SETTING, sizes=(60, 60)), 0)
    assert len(scores["methods"]) == len(calibration.TESTS) + len(calibration.PEERS)
    joint = {field: scores[field][0] for field in calibration.FIGURES}
    assert joint["hits"] >= 2
    assert joint["forward"] <= joint["hits"] <= joint["found"] <= joint["tested"]
    assert joint["false"] <= joint["found"]
    assert joint["global_p"] == 1 / 200
    null = score_cohort(replace(SETTING, changed=0), 0)
    assert null["methods"] == ["joint"]
    assert null["false"] == null["found"] == null["beside"]
    assert null["unequal"] == 0
    assert null["family"] == null["any_family"]


def test_edges_are_told_apart_by_who_chose_them():
    pair = draw(replace(SETTING, sizes=(60, 60)), 0)
    pooled = pooled_parents(in_lobes(pair.values), pair, learner_of(pair, False))
    scores = score_cohort(replace(SETTING, sizes=(60, 60)), 0)
    assert scores["tested"][1] == pooled.sum() < scores["tested"][0]  # a group adds parents
    assert scores["low_p"][1] == scores["low_p_pool"][1]
    assert np.isnan(scores["low_p_group"][1])


def test_a_known_order_leaves_fewer_unequal_weights():
    setting = Setting((60, 60), noise=2.0, regions=12)
    pair = draw(setting, 1)
    found = SharedOrder(pair.values, learner_of(pair, True), [f"x{k}" for k in range(12)]).order
    place = np.argsort(found)
    sources, targets = np.nonzero(pair.networks[0].coef)
    assert (place[sources] < place[targets]).all()
    guessed, known = (
        sum(score_cohort(setting, cohort, order)["unequal"][0] for cohort in range(4))
        for order in (False, True)
    )
    assert known < guessed


def test_a_run_goes_on_and_does_not_depend_on_processes(tmp_path, monkeypatch):
    def only(seed, regions):
        return {"null": Setting((20, 20), regions=regions, seed=seed)}

    monkeypatch.setattr(calibration, "settings", only)
    monkeypatch.setattr(calibration_bound, "DRAWS", 5)
    monkeypatch.setattr(calibration_bound, "N_PAIRS", 2)
    options = {"progress": False, "regions": 8, "cost": (5, 30, 19)}
    one, two = tmp_path / "one", tmp_path / "two"
    calibration.run(one, 2, **options)
    calibration.run(one, 4, **options)
    calibration.run(two, 4, n_jobs=2, **options)
    first, second = (calibration.read(folder / "null") for folder in (one, two))
    assert first.cohorts == 4
    for field in calibration.FIGURES:
        np.testing.assert_array_equal(first.of(field, "joint"), second.of(field, "joint"))
    with pytest.raises(StudyError, match="seed: 0 there, 1 now"):
        calibration.run(one, 4, seed=1, **options)
