import pickle

import numpy as np
import pytest
from tests.codes import refused

from sgbn.cohort.series import SeriesCohort
from sgbn.cohort.simulate_series import (
    HIDDEN_SHARE,
    HIDDEN_TARGETS,
    MOST_EXPLAINED,
    Signal,
    canonical_response,
    fading_filter,
    filtered,
    hidden_loadings,
    own_series,
    own_weights,
    simulate_series,
    smoothing_filters,
)

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
    ("wrong", "code"),
    [
        ({"n_volumes": 5}, "argument"),
        ({"n_volumes": (90, 60)}, "simulate.volumes"),
        ({"n_volumes": (1, 2, 3)}, "simulate.volumes"),
        ({"covariates": ["mean_FD"]}, "simulate.covariate"),
        ({"tr": 0}, "argument"),
        ({"noise": 2}, "argument"),
        ({"autoregression": 1}, "argument"),
        ({"groups": ["one"]}, "simulate.groups"),
    ],
)
def test_wrong_requests_are_refused_by_name(wrong, code):
    with refused(code):
        simulate_series(5, regions=6, **wrong)


CHAIN = np.array([[0, 0.6, 0, 0], [0, 0, 0.5, 0.4], [0, 0, 0, 0.3], [0, 0, 0, 0]])
NO_INPUT = np.zeros((0, 4))


def rng():
    return np.random.default_rng(0)


def signal(smoothed=0.5, delays=(0, 0, 0, 0), loadings=NO_INPUT):
    return Signal(smoothed, smoothing_filters(2.0, np.array(delays, float), 0.3), 0.3, loadings)


def implied(weights):
    covariance = np.eye(len(weights))
    for j in range(1, len(weights)):
        covariance[:j, j] = covariance[j, :j] = covariance[:j, :j] @ weights[:j, j]
    return covariance


def test_autoregression_and_smoothing_preserve_the_correlations_of_the_network():
    series = own_series(CHAIN, signal(), 100_000, 0.0, rng())
    np.testing.assert_allclose(np.cov(series.T), implied(CHAIN), atol=0.03)


def test_delays_and_noise_do_not():
    delayed = np.corrcoef(own_series(CHAIN, signal(1.0, (0, 3, 0, 0)), 100_000, 0.0, rng()).T)
    assert delayed[0, 1] < 0.8 * CHAIN[0, 1]
    noisy = np.corrcoef(own_series(CHAIN, signal(), 100_000, 0.5, rng()).T)
    np.testing.assert_allclose(noisy[0, 1], 0.5 * CHAIN[0, 1], atol=0.02)


def test_an_unmeasured_input_joins_the_regions_that_it_drives():
    loadings = np.array([[np.sqrt(HIDDEN_SHARE), 0, np.sqrt(HIDDEN_SHARE), 0]])
    nothing = np.zeros((4, 4))
    series = own_series(nothing, signal(loadings=loadings), 100_000, 0.0, rng())
    expected = np.eye(4)
    expected[0, 2] = expected[2, 0] = HIDDEN_SHARE
    np.testing.assert_allclose(np.cov(series.T), expected, atol=0.03)


def test_loadings_have_the_share_that_is_said():
    loadings = hidden_loadings(3, 10, rng())
    assert (np.count_nonzero(loadings, axis=1) == HIDDEN_TARGETS).all()
    share = np.sum(loadings**2, axis=0)
    np.testing.assert_allclose(share[share > 0], HIDDEN_SHARE)
    assert hidden_loadings(0, 10, rng()).shape == (0, 10)


def test_weights_vary_around_those_of_the_group_on_the_same_edges():
    stream = rng()
    drawn = np.array([own_weights(CHAIN, 0.1, np.ones((4, 4)), stream) for _ in range(800)])
    assert not drawn[:, CHAIN == 0].any()
    np.testing.assert_allclose(drawn.mean(axis=0), CHAIN, atol=0.01)
    np.testing.assert_allclose(drawn.std(axis=0)[CHAIN != 0], 0.1, atol=0.01)
    same = own_weights(CHAIN, 0.0, np.full((4, 4), 0.5), rng())
    np.testing.assert_allclose(same, CHAIN / 2)


def test_parents_never_explain_all_of_a_region():
    weights = own_weights(CHAIN, 0.0, np.full((4, 4), 5.0), rng())
    explained = 1 - 1 / np.diag(np.linalg.inv(implied(weights)[:2, :2]))[1]
    assert explained == pytest.approx(MOST_EXPLAINED)
    series = own_series(weights, signal(), 20_000, 0.0, rng())
    np.testing.assert_allclose(series.var(axis=0), 1, atol=0.1)


@pytest.mark.parametrize("tr", [0.5, 2.0, 3.0])
def test_the_response_peaks_after_five_seconds_and_then_undershoots(tr):
    response = canonical_response(tr)
    assert np.sum(response**2) == pytest.approx(1)
    assert abs(tr * response.argmax() - 5) <= tr / 2 + 1e-9
    assert response[0] == 0
    assert response[int(16 / tr)] < 0


def test_a_delay_makes_the_peak_later():
    early, late = (canonical_response(0.1, delay).argmax() for delay in (0.0, 2.0))
    assert 0.1 * (late - early) == pytest.approx(2.0, abs=0.2)


@pytest.mark.parametrize(
    "filters", [smoothing_filters(2.0, np.zeros(1), 0.4), fading_filter(0.4, 1)]
)
def test_white_noise_keeps_its_variance_and_gets_the_autocorrelation_of_the_filter(filters):
    noise = np.random.default_rng(0).standard_normal((200_000, 1))
    passed = filtered(noise, filters)[:, 0]
    assert len(passed) == 200_000 - len(filters) + 1
    assert passed.var() == pytest.approx(1, abs=0.03)
    expected = np.sum(filters[1:] * filters[:-1])
    assert np.mean(passed[1:] * passed[:-1]) == pytest.approx(expected, abs=0.03)


def test_a_fading_filter_is_an_autoregression():
    filters = fading_filter(0.4, 2)
    np.testing.assert_allclose(filters[1:] / filters[:-1], 0.4)
    np.testing.assert_allclose((filters**2).sum(axis=0), 1)


def test_filters_are_those_of_an_autoregression_that_the_blood_responds_to():
    impulse = np.zeros((300, 1))
    impulse[150] = 1
    response = canonical_response(2.0)
    by_hand = np.zeros(300)
    for t in range(150, 300):
        heard = response[t - 150] if t - 150 < len(response) else 0.0
        by_hand[t] = 0.5 * by_hand[t - 1] + heard
    found = smoothing_filters(2.0, np.zeros(1), 0.5)[:, 0]
    np.testing.assert_allclose(found, (by_hand / np.linalg.norm(by_hand))[150:][: len(found)])
