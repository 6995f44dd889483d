from dataclasses import replace

import numpy as np
import pytest
from calibration_parts.cohorts import (
    CHANGE,
    LOBES,
    NOISES,
    SAME_PERSON,
    Setting,
    draw,
    hidden_loads,
    in_lobes,
)

from sgbn.core.graph import is_dag

SETTING = Setting((40, 30), changed=4, regions=12)
LARGE = Setting((20_000, 20_000), regions=6)


def test_groups_differ_in_the_changed_edges_only():
    pair = draw(SETTING, 3, 0)
    first, second = (network.coef for network in pair.networks)
    assert pair.values.shape == (70, 12)
    assert np.bincount(pair.codes).tolist() == [40, 30]
    assert is_dag(first)
    assert np.count_nonzero(first) == 18
    np.testing.assert_array_equal(pair.changed, first != second)
    moved = (first - second)[pair.changed] * np.sign(first[pair.changed])
    assert len(moved) == 4
    assert (moved >= CHANGE[0]).all()
    assert (moved <= CHANGE[1]).all()


def test_rows_have_the_covariance_of_their_network():
    pair = draw(replace(LARGE, scale=2.0, changed=2), 0, 0)
    for rows, network in zip(pair.rows, pair.networks, strict=True):
        sd = np.sqrt(np.diag(network.covariance))
        gap = (np.cov(rows.T) - network.covariance) / np.outer(sd, sd)
        assert np.abs(gap).max() < 0.05
    ratio = pair.networks[1].noise_variance / pair.networks[0].noise_variance
    assert sorted(ratio) == [1.0] * 3 + [4.0] * 3


@pytest.mark.parametrize("name", NOISES)
def test_noise_has_mean_zero_and_variance_one(name):
    noise = NOISES[name](np.random.default_rng(0), 1_000_000)
    assert abs(noise.mean()) < 0.01
    assert abs(noise.var() - 1) < 0.1


def test_hidden_causes_load_on_half_of_the_regions():
    loads = hidden_loads(3, 12, np.random.default_rng(0))
    assert (np.count_nonzero(loads, axis=1) == 6).all()
    plain, confounded = (draw(replace(LARGE, hidden=k), 0, 0) for k in (0, 3))
    assert confounded.values.var() > plain.values.var()


def test_squashed_columns_are_within_one_and_only_shifts_move_means():
    for shift in (False, True):
        pair = draw(replace(LARGE, squash=True, shift=shift), 0, 0)
        gap = np.abs(pair.rows[1].mean(axis=0) - pair.rows[0].mean(axis=0))
        assert np.abs(pair.values).max() <= 1
        assert (gap > 0.1).sum() == (3 if shift else 0)
        assert pair.known is not shift


def test_the_share_of_outlier_rows_is_that_of_one_group():
    clean, bad = (draw(Setting((200, 200), outliers=share), 0, 0) for share in (0.0, 0.02))
    touched = (clean.values != bad.values).any(axis=1)
    assert np.bincount(bad.codes[touched], minlength=2).tolist() == [0, 4]
    assert not bad.known


def test_the_named_edge_has_noise_that_goes_with_its_parent():
    pair = draw(replace(LARGE, uneven=True), 0, 0)
    ((source, target),) = pair.options["edges"]
    i, j = int(source[1:]), int(target[1:])
    network = pair.networks[0]
    assert network.coef[i, j] != 0
    left = np.abs(pair.values[:, j] - pair.values @ network.coef[:, j])
    assert np.corrcoef(left, np.abs(pair.values[:, i]))[0, 1] > 0.3


def test_rows_of_a_person_are_alike_and_the_label_is_the_persons():
    pair = draw(Setting((3000, 3000), sessions=4, regions=4), 0, 0)
    person = pair.options["persons"]
    assert set(np.bincount(person)) == {1, 2, 3, 4}
    assert all(len(set(pair.codes[person == k])) == 1 for k in range(50))
    visits = draw(Setting((4000, 4000), paired=True, regions=4), 0, 0)
    first, second = visits.rows
    assert np.corrcoef(first[:, 0], second[:, 0])[0, 1] == pytest.approx(SAME_PERSON, abs=0.03)
    np.testing.assert_allclose(np.cov(first.T), visits.networks[0].covariance, rtol=0.1, atol=0.1)


def test_only_the_last_of_several_groups_differs():
    pair = draw(Setting((20, 20, 20), changed=2, regions=8), 0, 0)
    coefs = [network.coef for network in pair.networks]
    np.testing.assert_array_equal(coefs[0], coefs[1])
    assert (coefs[0] != coefs[2]).sum() == 2
    assert len(pair.rows) == 3


def test_a_cohort_can_be_drawn_again_and_no_other_is_like_it():
    one, again, other = (draw(SETTING, cohort, 0) for cohort in (0, 0, 1))
    np.testing.assert_array_equal(one.values, again.values)
    assert (one.networks[0].coef != other.networks[0].coef).any()
    assert (draw(SETTING, 0, 1).networks[0].coef != one.networks[0].coef).any()


def test_nuisance_is_given_to_the_tests():
    pair = draw(Setting((30, 30), nuisance=True, regions=12), 0, 0)
    assert not pair.changed.any()
    assert set(pair.options) == {"groups", "covariates", "sites"}
    assert len(set(pair.options["sites"])) == 3
    older = [pair.options["covariates"]["age"][pair.codes == c].mean() for c in (0, 1)]
    assert older[1] > older[0]


def test_rows_become_a_cohort_with_regions_in_all_lobes():
    values = draw(SETTING, 0, 0).values
    cohort = in_lobes(values)
    np.testing.assert_array_equal(cohort.values, values)
    assert cohort.regions[11] == "x11"
    assert sorted(np.unique(cohort.lobes, return_counts=True)[1]) == [12 // LOBES] * LOBES
