from dataclasses import replace

import numpy as np
import pytest

from sgbn import StudyError
from sgbn.experiments import calibration
from sgbn.experiments.calibration import Setting, count, draw, same_weights, score_cohort
from sgbn.experiments.calibration_peers import Found
from sgbn.graph import is_dag

SETTING = Setting((40, 30), changed=4, regions=12)


def test_groups_differ_in_the_changed_edges_only():
    pair = draw(SETTING, 3)
    first, second = (network.coef for network in pair.networks)
    assert pair.values.shape == (70, 12)
    assert np.bincount(pair.codes).tolist() == [40, 30]
    assert is_dag(first)
    assert np.count_nonzero(first) == 18
    np.testing.assert_array_equal(pair.changed, first != second)
    old, new = first[pair.changed], second[pair.changed]
    assert sorted(np.where(new == 0, 0, new / old).tolist()) == [-1, -1, 0, 0]


def test_without_a_difference_only_the_noise_differs():
    pair = draw(Setting((30, 30), noise=2.0, regions=12), 0)
    first, second = pair.networks
    assert not pair.changed.any()
    np.testing.assert_array_equal(first.coef, second.coef)
    assert sorted(second.noise_variance / first.noise_variance) == [1.0] * 6 + [4.0] * 6


def test_a_cohort_can_be_drawn_again_and_no_other_is_like_it():
    one, again, other = draw(SETTING, 0), draw(SETTING, 0), draw(SETTING, 1)
    np.testing.assert_array_equal(one.values, again.values)
    assert (one.networks[0].coef != other.networks[0].coef).any()
    assert (draw(replace(SETTING, seed=1), 0).networks[0].coef != one.networks[0].coef).any()


def test_nuisance_is_given_to_the_tests():
    pair = draw(Setting((30, 30), nuisance=True, regions=12), 0)
    assert not pair.changed.any()
    assert set(pair.options) == {"groups", "covariates", "sites"}
    assert len(set(pair.options["sites"])) == 3
    older = [pair.options["covariates"]["age"][pair.codes == c].mean() for c in (0, 1)]
    assert older[1] > older[0]


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
    joint = {field: scores[field][0] for field in calibration.Score._fields}
    assert joint["hits"] >= 2
    assert joint["forward"] <= joint["hits"] <= joint["found"] <= joint["tested"]
    assert joint["false"] <= joint["found"]
    assert joint["global_p"] == 1 / 200
    null = score_cohort(replace(SETTING, changed=0), 0)
    assert null["methods"] == ["joint"]
    assert null["false"] == null["found"] == null["beside"]


def test_a_run_goes_on_and_does_not_depend_on_processes(tmp_path, monkeypatch):
    def only(seed, regions):
        return {"null": Setting((20, 20), regions=regions, seed=seed)}

    monkeypatch.setattr(calibration, "settings", only)
    options = {"progress": False, "regions": 8, "cost": (5, 30, 19)}
    one, two = tmp_path / "one", tmp_path / "two"
    calibration.run(one, 2, **options)
    calibration.run(one, 4, **options)
    calibration.run(two, 4, n_jobs=2, **options)
    first, second = (calibration.read(folder / "null") for folder in (one, two))
    assert first.cohorts == 4
    for field in calibration.Score._fields:
        np.testing.assert_array_equal(first.of(field, "joint"), second.of(field, "joint"))
    with pytest.raises(StudyError, match="seed: 0 there, 1 now"):
        calibration.run(one, 4, seed=1, **options)
