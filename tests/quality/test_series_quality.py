from functools import partial

import numpy as np
import pytest
from scipy.signal import lfilter

from sgbn.cohort.series import SeriesCohort, subject_moments
from sgbn.prepare.series_review import effective_numbers, series_quality

from .series import autoregressive, butterworth, cohort_of, cosines_out, cut_out


def test_each_subject_has_a_row():
    cohort = cohort_of(n=3, covariates={"mean_fd": [0.1, 0.2, 0.3]})
    sheet = series_quality(cohort)
    assert sheet["subject_id"].tolist() == ["s0", "s1", "s2"]
    assert sheet["volumes"].tolist() == [200] * 3
    assert sheet["runs"].tolist() == [1] * 3
    assert sheet["mean_fd"].tolist() == [0.1, 0.2, 0.3]
    assert sheet["autocorrelation"] == pytest.approx(0.5, abs=0.1)
    assert not sheet["empty_regions"].any()


def test_without_motion_it_is_not_known():
    assert np.isnan(series_quality(cohort_of(n=2))["mean_fd"]).all()
    labels = cohort_of(n=2, covariates={"mean_fd": ["low", "high"]})
    assert np.isnan(series_quality(labels)["mean_fd"]).all()


def test_volumes_are_worth_as_many_as_the_networks_count():
    rng = np.random.default_rng(1)
    series = [autoregressive(rng, phi, volumes=90) for phi in (0.0, 0.6, 0.9)]
    cohort = SeriesCohort.of(series, run_lengths=[(90,), (40, 50), (90,)])
    assert effective_numbers(cohort) == pytest.approx(subject_moments(cohort).n)


def test_a_run_that_the_filter_uses_up_counts_for_nothing():
    rng = np.random.default_rng(1)
    rows = lfilter([1.0], [1.0, *[0.0] * 9, -0.8], rng.standard_normal((400, 5)), axis=0)[100:]
    cohort = SeriesCohort.of([rows], run_lengths=[(10, 290)])
    moments = subject_moments(cohort)
    assert moments.ar_order == [10]
    assert effective_numbers(cohort) == pytest.approx(moments.n)


def test_short_pieces_between_censored_volumes_do_not_hide_a_filter():
    pieces = [(10, 150, 12, 28)] * 4
    plain = cohort_of(n=4, run_lengths=pieces)
    filtered = cohort_of(partial(cut_out, low=0.01, high=0.1), n=4, run_lengths=pieces)
    assert not series_quality(plain)["low_pass_filter"].any()
    assert series_quality(filtered)["low_pass_filter"].all()
    slow = cohort_of(partial(cut_out, low=0.01, high=1.0), n=4, run_lengths=[(180, 20)] * 4)
    assert series_quality(slow)["high_pass_filter"].mean() > 0.5


def test_empty_regions_are_counted_and_change_nothing_else():
    series = autoregressive(np.random.default_rng(0))
    whole = SeriesCohort.of([series[:, :-1]])
    empty = series.copy()
    empty[:, -1] = 3.0
    sheet, expected = series_quality(SeriesCohort.of([empty])), series_quality(whole)
    assert sheet["empty_regions"].tolist() == [1]
    for name in ("autocorrelation", "effective_volumes", "slow_power", "fast_power"):
        assert sheet[name] == pytest.approx(expected[name])


def test_a_region_that_only_changes_between_runs_is_left_out():
    """Its mean within a run is rounded: what is left is not a series."""
    series = autoregressive(np.random.default_rng(0))
    levels = np.repeat([0.1, 0.7], len(series) // 2)
    runs = [(len(series) // 2,) * 2]
    stepped = SeriesCohort.of([np.column_stack([series, levels])], run_lengths=runs)
    sheet = series_quality(stepped)
    expected = series_quality(SeriesCohort.of([series], run_lengths=runs))
    for name in ("autocorrelation", "effective_volumes", "slow_power", "fast_power"):
        assert sheet[name] == pytest.approx(expected[name])


def test_a_subject_without_any_region_has_no_numbers():
    sheet = series_quality(SeriesCohort.of([np.ones((30, 2))]))
    assert np.isnan([sheet[name][0] for name in ("autocorrelation", "effective_volumes")]).all()
    assert not sheet["high_pass_filter"][0]


def test_power_is_a_share_of_the_variance():
    white = cohort_of(phi=0.0, n=8)
    sheet = series_quality(white)
    assert sheet["fast_power"].mean() == pytest.approx(0.6, abs=0.03)  # 0.1 to 0.25 Hz
    assert sheet["slow_power"].mean() == pytest.approx(0.04, abs=0.02)
    unknown = series_quality(cohort_of(phi=0.0, n=8, tr=None))
    assert unknown["fast_power"].tolist() == sheet["fast_power"].tolist()


FILTERS = {
    "none": (lambda series: series, False, False),
    "band-pass": (partial(butterworth, low=0.01, high=0.1), True, True),
    "sharp band-pass": (partial(cut_out, low=0.008, high=0.08), True, True),
    "low-pass": (partial(butterworth, high=0.1), False, True),
    "high-pass": (partial(butterworth, low=0.01), True, False),
    "cosines": (cosines_out, True, False),
}


@pytest.mark.parametrize("phi", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("tr", [2.0, None])
@pytest.mark.parametrize("name", FILTERS)
def test_filters_are_seen_in_most_subjects_or_in_none(name, tr, phi):
    change, high, low = FILTERS[name]
    sheet = series_quality(cohort_of(change, n=20, phi=phi, tr=tr, regions=30))
    assert (sheet["high_pass_filter"].mean() > 0.5) == high
    assert sheet["low_pass_filter"].all() == low
    if not low:
        assert not sheet["low_pass_filter"].any()
    if not high:
        assert sheet["high_pass_filter"].mean() <= 0.05


def test_filters_are_seen_with_other_trs_and_runs():
    rng = np.random.default_rng(0)
    series = [autoregressive(rng, 0.8, 1200, 10) for _ in range(4)]
    hertz = np.fft.rfftfreq(1200, 0.72)
    filtered = []
    for one in series:
        spectrum = np.fft.rfft(one - one.mean(axis=0), axis=0)
        spectrum[(hertz < 0.01) | (hertz > 0.1)] = 0
        filtered.append(np.fft.irfft(spectrum, 1200, axis=0))
    plain = series_quality(SeriesCohort.of(series, tr=0.72))
    assert not plain["low_pass_filter"].any()
    assert not plain["high_pass_filter"].any()
    sheet = series_quality(SeriesCohort.of(filtered, tr=0.72))
    assert sheet["low_pass_filter"].all()
    assert sheet["high_pass_filter"].all()


def test_a_band_pass_filter_leaves_few_volumes():
    whole = effective_numbers(cohort_of(n=4)).mean()
    assert (
        effective_numbers(cohort_of(partial(cut_out, low=0.01, high=0.1), n=4)).mean() < whole / 2
    )
