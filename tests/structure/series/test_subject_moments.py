import numpy as np
import pytest

from sgbn import Cohort
from sgbn.cohort.series import (
    SeriesCohort,
    ar_filter,
    effective_volumes,
    filtered_series,
    subject_moments,
)
from sgbn.core.exceptions import InputError


def test_the_filter_is_the_autoregression_that_regions_share(autoregressive):
    series = autoregressive(4000, 5, [0.5, 0.2], 0)
    found = ar_filter([series - series.mean(axis=0)])
    assert len(found) == 2
    assert found == pytest.approx([0.5, 0.2], abs=0.05)


def test_white_noise_has_no_filter_and_keeps_its_volumes():
    series = list(np.random.default_rng(1).standard_normal((3, 300, 6)))
    moments = subject_moments(series)
    assert moments.ar_order.tolist() == [0, 0, 0]
    assert (moments.n > 270).all()
    assert (moments.n <= 300).all()


def test_correlations_are_those_of_the_innovations(autoregressive):
    mixing = np.array([[1.0, 0.6, 0.0], [0.0, 1.0, -0.5], [0.0, 0.0, 1.0]])
    moments = subject_moments([autoregressive(6000, 3, [0.8], 2, mixing)])
    S = mixing.T @ mixing
    sd = np.sqrt(np.diag(S))
    assert moments.R[0] == pytest.approx(S / np.outer(sd, sd), abs=0.05)


def test_the_effective_number_is_what_the_spread_of_correlations_says(autoregressive):
    """Var r = 1 / n for independent series: checked by simulation, without a filter."""
    rng = np.random.default_rng(3)
    T, a = 200, 0.7
    r, sizes = [], []
    for _ in range(100):
        rows = autoregressive(T, 2, [a], rng.integers(2**31))
        rows = rows - rows.mean(axis=0)
        r.append(np.corrcoef(rows, rowvar=False)[0, 1])
        sizes.append(effective_volumes([rows], 0))
    assert np.median(sizes) == pytest.approx(1 / np.var(r), rel=0.25)
    assert np.median(sizes) < T / 2


def test_no_lag_crosses_runs(autoregressive):
    """Two runs of opposite slow drifts are not taken for one series."""
    rows = autoregressive(120, 3, [0.6], 4)
    moments = subject_moments([rows], run_lengths=[(60, 60)])
    first = next(iter(filtered_series(SeriesCohort.of([rows], run_lengths=[(60, 60)]))))
    assert len(first.rows) == 120 - 2 * moments.ar_order[0]
    shifted = rows.copy()
    shifted[60:] += 1000.0  # another level of the second run changes nothing
    again = subject_moments([shifted], run_lengths=[(60, 60)])
    assert pytest.approx(moments.R, abs=1e-8) == again.R
    assert again.n == pytest.approx(moments.n)


def test_scale_and_level_do_not_matter(autoregressive):
    rows = autoregressive(150, 4, [0.5], 5)
    one = subject_moments([rows])
    other = subject_moments([rows * [1.0, 10.0, 0.1, 3.0] + [5.0, 0.0, -7.0, 100.0]])
    assert pytest.approx(one.R) == other.R
    assert other.n == pytest.approx(one.n)


def test_effects_of_the_volume_before_are_taken_out():
    """y follows x one volume later: only without these effects are they unrelated."""
    x = np.random.default_rng(6).standard_normal((5001, 1))
    rows = np.column_stack([x[1:, 0] + 0.9 * x[:-1, 0], x[:-1, 0]])
    rows += 0.01 * np.random.default_rng(7).standard_normal(rows.shape)
    plain, lagged = subject_moments([rows]), subject_moments([rows], lagged=True)
    assert abs(plain.R[0, 0, 1]) > 0.3
    assert abs(lagged.R[0, 0, 1]) < 0.1


@pytest.mark.parametrize("short", [10, 12])
def test_a_short_run_does_not_switch_the_filter_off(short, autoregressive):
    rows = autoregressive(200 + short, 3, [0.8], 10)
    cohort = SeriesCohort.of([rows], run_lengths=[(200, short)])
    whole, alone = subject_moments(cohort), subject_moments([rows[:200]])
    assert whole.ar_order.tolist() == alone.ar_order.tolist() == [1]
    assert whole.n == pytest.approx(alone.n, abs=short + 15)


def test_a_band_pass_filter_costs_volumes(autoregressive):
    """Those left after an ideal filter from 0.01 to 0.1 Hz: 1 / var r of independent regions."""
    rng = np.random.default_rng(11)
    sizes, r = [], []
    for _ in range(15):
        rows = autoregressive(200, 6, [0.4], rng.integers(2**31))
        spectrum = np.fft.rfft(rows, axis=0)
        frequency = np.fft.rfftfreq(200, 2.0)
        spectrum[(frequency < 0.01) | (frequency > 0.1)] = 0
        moments = subject_moments([np.fft.irfft(spectrum, 200, axis=0)])
        sizes.append(moments.n[0])
        r.append(moments.R[0][np.triu_indices(6, 1)])
    assert np.mean(sizes) == pytest.approx(1 / np.square(r).mean(), rel=0.25)
    assert np.mean(sizes) < 90


def test_regions_that_determine_each_other_are_refused(autoregressive):
    rows = autoregressive(150, 6, [0.5], 12)
    with pytest.raises(InputError, match=r"in subject 's1', some regions determine each other"):
        subject_moments([rows, rows - rows.mean(axis=1, keepdims=True)])
    wide = np.random.default_rng(13).standard_normal((40, 60))
    assert subject_moments([wide]).m == 60  # more regions than volumes do so in any case


def test_run_lengths_beside_a_cohort_are_refused(autoregressive):
    cohort = SeriesCohort.of([autoregressive(60, 2, [0.3], 14)])
    with pytest.raises(InputError, match="has its own run lengths"):
        subject_moments(cohort, run_lengths=[(30, 30)])
    plain = Cohort(np.ones((2, 2)), ("a", "b"), ("s", "t"))
    with pytest.raises(InputError, match="but series are needed"):
        subject_moments(plain)


def test_parts_of_the_subjects():
    moments = subject_moments(list(np.random.default_rng(8).standard_normal((4, 50, 2))))
    part = moments.take([True, False, True, False])
    assert part.ids == ("s0", "s2")
    assert np.array_equal(part.R, moments.R[[0, 2]])
    assert len(part) == 2


def test_what_cannot_be_used_is_named():
    rows = np.random.default_rng(9).standard_normal((60, 3))
    empty = rows.copy()
    empty[:, 1] = 2.0
    with pytest.raises(InputError, match="region 'x1' of subject 's1' is empty"):
        subject_moments([rows, empty])
    steps = rows.copy()
    steps[:30, 1], steps[30:, 1] = 2.0, 3.0
    with pytest.raises(InputError, match="region 'x1' of subject 's0' is constant within each"):
        subject_moments([steps], run_lengths=[(30, 30)])
    with pytest.raises(InputError, match="15 volumes of subject 's0' are worth"):
        subject_moments([rows[:15]])
    with pytest.raises(InputError, match="lagged=True needs at least 100 volumes"):
        subject_moments([np.random.default_rng(0).standard_normal((60, 50))], lagged=True)
