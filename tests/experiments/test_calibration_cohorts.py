from dataclasses import replace

import numpy as np

from sgbn.experiments.calibration_cohorts import LOBES, Setting, draw, in_lobes, read_fields
from sgbn.graph import is_dag
from sgbn.runs import run_study

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


def test_fields_are_read_in_the_order_of_the_cohorts(tmp_path):
    tasks = {f"{k:04d}": {"k": k} for k in (2, 0, 1)}
    run_study(tmp_path, lambda k: {"place": [k, 10 * k], "other": 0}, tasks, {}, progress=False)
    found = read_fields(tmp_path, ["place"])
    assert list(found) == ["place"]
    assert found["place"].tolist() == [[0, 0], [1, 10], [2, 20]]


def test_rows_become_a_cohort_with_regions_in_all_lobes():
    values = draw(SETTING, 0).values
    cohort = in_lobes(values)
    np.testing.assert_array_equal(cohort.values, values)
    assert cohort.regions[11] == "x11"
    assert sorted(np.unique(cohort.lobes, return_counts=True)[1]) == [12 // LOBES] * LOBES
