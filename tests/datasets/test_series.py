import pickle

import numpy as np
import pytest

from sgbn.cohort.series import SeriesCohort
from sgbn.cohort.simulate_series import simulate_series
from sgbn.core.exceptions import InputError

ABIDE = (0.32, 0.10, 0.02, 0.00, -0.02)  # measured at lags 1 to 5, see simulate_series
EVERYTHING = {
    "regions": 12,
    "n_volumes": (60, 90),
    "delay_sd": 0.5,
    "n_hidden": 2,
    "motion_effect": 0.2,
    "motion_gap": 1.0,
    "covariates": ("sex", "mean_fd", "age"),
    "n_sites": 2,
}


@pytest.fixture(scope="module")
def cohort():
    return simulate_series(30, random_state=0, n_volumes=176)


@pytest.fixture(scope="module")
def full():
    return simulate_series([20, 10, 15], 1, groups=("control", "mild", "severe"), **EVERYTHING)


def test_two_groups_of_named_regions(cohort):
    assert isinstance(cohort, SeriesCohort)
    assert cohort.sizes == {"control": 30, "patient": 30}
    assert {series.shape for series in cohort.series} == {(176, 40)}
    assert cohort.tr == 2.0
    assert "Hippocampus_L" in cohort.regions
    assert cohort.places[0].name == cohort.regions[0]
    assert list(cohort.networks) == ["control", "patient"]
    assert cohort.subject_weights.shape == (60, 40, 40)
    assert repr(cohort) == "SimulatedSeries(60 subjects x 40 regions; control 30, patient 30)"


def test_the_same_seed_gives_the_same_series_and_another_one_others():
    first, again, other = (simulate_series(3, seed, regions=8, n_volumes=30) for seed in (0, 0, 1))
    assert again.fingerprint == first.fingerprint
    assert other.fingerprint != first.fingerprint


def test_autocorrelations_are_like_those_of_abide(cohort):
    correlations = []
    for series in cohort.series:
        x = (series - series.mean(axis=0)) / series.std(axis=0)
        correlations.append([np.sum(x[lag:] * x[:-lag]) / x.size for lag in range(1, 6)])
    np.testing.assert_allclose(np.mean(correlations, axis=0), ABIDE, atol=0.04)


def test_networks_are_standardised_and_differ_at_the_changed_edges_alone(cohort):
    first, other = cohort.networks.values()
    for network in (first, other):
        np.testing.assert_allclose(np.diag(network.covariance), 1)
        assert network.names == cohort.regions
    differing = {
        (cohort.regions[i], cohort.regions[j]) for i, j in np.argwhere(first.coef != other.coef)
    }
    assert set(cohort.changed["patient"]) == differing
    assert len(differing) == 10
    kinds = cohort.kinds("patient")
    assert set(kinds) == differing
    assert {"lost", "weaker", "stronger"} >= set(kinds.values())


def test_without_changes_the_groups_have_one_network():
    cohort = simulate_series(2, regions=8, n_changed=0)
    assert cohort.changed == {"patient": ()}
    assert cohort.kinds("patient") == {}
    first, other = cohort.networks.values()
    np.testing.assert_array_equal(first.coef, other.coef)


def test_long_series_without_noise_have_the_correlations_of_the_network():
    cohort = simulate_series(1, regions=10, n_volumes=20_000, heterogeneity=0, noise=0)
    for series, network in zip(cohort.series, cohort.networks.values(), strict=True):
        np.testing.assert_allclose(np.corrcoef(series.T), network.covariance, atol=0.05)


def test_subjects_vary_around_their_group():
    cohort = simulate_series(80, regions=8, n_volumes=20, heterogeneity=0.15)
    of_group = cohort.networks["control"].coef
    weights = cohort.subject_weights[cohort.group == "control"]
    np.testing.assert_allclose(weights.mean(axis=0), of_group, atol=0.05)
    assert weights.std(axis=0)[of_group != 0].mean() == pytest.approx(0.15, abs=0.03)


def test_motion_differs_between_the_groups_and_moves_the_weights():
    cohort = simulate_series(
        *(80, 0), regions=12, n_volumes=20, heterogeneity=0, motion_effect=0.1, motion_gap=1.0
    )
    motion = np.log(cohort.covariates["mean_fd"])
    control = cohort.group == "control"
    gap = motion[~control].mean() - motion[control].mean()
    assert gap / motion[control].std() == pytest.approx(1.0, abs=0.3)
    assert np.exp(motion[control].mean()) == pytest.approx(0.058, abs=0.01)  # as in ABIDE
    lobes = np.array(cohort.lobes)
    for i, j in np.argwhere(cohort.networks["control"].coef):
        size = np.abs(cohort.subject_weights[control, i, j])
        together = np.corrcoef(size, motion[control])[0, 1]
        assert together * (1 if lobes[i] == lobes[j] else -1) > 0.5


def test_options_leave_the_networks_as_they_are(full):
    plain = simulate_series(
        [20, 10, 15], 1, groups=("control", "mild", "severe"), regions=12, n_volumes=20
    )
    for group, network in plain.networks.items():
        np.testing.assert_array_equal(network.coef, full.networks[group].coef)


def test_everything_that_can_be_asked_for(full):
    assert full.sizes == {"control": 20, "mild": 10, "severe": 15}
    assert list(full.covariates) == ["mean_fd", "age", "sex"]
    assert set(full.site) == {"site1", "site2"}
    assert 60 <= min(full.n_volumes) < max(full.n_volumes) <= 90
    assert len(full.hidden) == 2
    assert set(full.hidden[0]) < set(full.regions)
    assert np.std(list(full.delays.values())) > 0
    assert set(full.changed) == {"mild", "severe"}


def test_a_part_keeps_the_truth_of_its_subjects(full):
    part = full.subset(groups=["severe"], regions=full.regions[:4])
    np.testing.assert_array_equal(
        part.subject_weights, full.subject_weights[full.group == "severe"]
    )
    assert part.series[0].shape[1] == 4
    assert part.networks["control"].m == 12


def test_it_travels_to_workers_and_cannot_be_changed(full):
    copy = pickle.loads(pickle.dumps(full))  # noqa: S301
    assert copy.fingerprint == full.fingerprint
    assert copy.changed == full.changed
    with pytest.raises(ValueError, match="read-only"):
        copy.subject_weights[0] = 0
    with pytest.raises(TypeError):
        copy.networks["control"] = None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_volumes": 5}, "n_volumes"),
        ({"n_volumes": (90, 60)}, "the second must not be smaller"),
        ({"n_volumes": (1, 2, 3)}, "fewest, most"),
        ({"covariates": ["mean_FD"]}, "no covariate is called 'mean_FD'"),
        ({"tr": 0}, "tr is 0"),
        ({"noise": 2}, "noise is 2"),
        ({"autoregression": 1}, "autoregression is 1"),
        ({"n_sites": 1}, "n_sites is 1"),
        ({"heterogeneity": -1}, "heterogeneity is -1"),
        ({"groups": ["one"]}, "two or more"),
    ],
)
def test_wrong_requests_are_refused_by_name(wrong, message):
    with pytest.raises(InputError, match=message):
        simulate_series(5, regions=6, **wrong)
