import numpy as np
import pytest

from sgbn.cohort.simulate_series import (
    canonical_response,
    fading_filter,
    filtered,
    smoothing_filters,
)


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
