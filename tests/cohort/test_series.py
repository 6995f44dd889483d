import pickle

import numpy as np
import pytest
from tests.codes import refused

from sgbn import Cohort
from sgbn.cohort.series import (
    SeriesCohort,
    ar_filter,
    effective_volumes,
    filtered_series,
    subject_moments,
)


@pytest.fixture
def cohort():
    rng = np.random.default_rng(0)
    series = [rng.standard_normal((length, 3)) for length in (30, 40, 50)]
    return SeriesCohort.of(
        series,
        ["a", "b", "c"],
        ["s1", "s2", "s3"],
        run_lengths=[(30,), (20, 20), (50,)],
        tr=2.0,
        group=["x", "y", "x"],
        covariates={"age": [20.0, 30.0, 40.0]},
    )


def test_it_is_a_cohort_whose_rows_are_subjects(cohort):
    assert isinstance(cohort, Cohort)
    assert len(cohort) == 3
    assert cohort.sizes == {"x": 2, "y": 1}
    assert cohort.n_volumes == (30, 40, 50)
    assert cohort.summary().split("\n")[1] == (
        "time series of 30 to 50 volumes in up to 2 runs, one every 2 s"
    )


def test_values_describe_the_spread_and_are_missing_where_a_region_is_empty():
    series = np.random.default_rng(1).standard_normal((20, 2))
    series[:, 1] = 7.1
    cohort = SeriesCohort.of([series])
    assert cohort.values[0, 0] == pytest.approx(series[:, 0].std())
    assert np.isnan(cohort.values[0, 1])
    assert cohort.summary().split("\n")[-1] == "empty regions: 1 in 1 subject"


def test_a_part_takes_its_series_along(cohort):
    part = cohort.subset(groups=["x"], regions=["c", "a"])
    assert part.ids == ("s1", "s3")
    assert part.run_lengths == ((30,), (50,))
    assert np.array_equal(part.series[1], cohort.series[2][:, [2, 0]])
    assert part.covariates["age"].tolist() == [20.0, 40.0]
    assert part.tr == 2.0


def test_the_fingerprint_knows_volumes_and_runs_but_not_the_tr(cohort):
    assert pickle.loads(pickle.dumps(cohort)).fingerprint == cohort.fingerprint  # noqa: S301

    def fingerprint(series=cohort.series, runs=cohort.run_lengths, tr=2.0):
        about = {"group": cohort.group, "covariates": cohort.covariates, "tr": tr}
        parts = (series, cohort.regions, cohort.ids)
        return SeriesCohort.of(*parts, run_lengths=runs, **about).fingerprint

    assert fingerprint() == fingerprint(tr=3.0) == cohort.fingerprint
    turned = [one[::-1] for one in cohort.series]  # the spread is the same
    assert fingerprint(turned) != cohort.fingerprint
    assert fingerprint(runs=None) != cohort.fingerprint


def test_series_cannot_be_changed_and_the_callers_stay_writable():
    series = np.random.default_rng(2).standard_normal((10, 2))
    cohort = SeriesCohort.of([series])
    with pytest.raises(ValueError, match="read-only"):
        cohort.series[0][0, 0] = 1.0
    series[0, 0] = 5.0
    assert cohort.series[0][0, 0] != 5.0


@pytest.fixture
def pair():
    """Series of two subjects."""
    return list(np.random.default_rng(3).standard_normal((2, 60, 3)))


def with_column(series, *cells):
    """The series with a column of runs of equal cells of 30 volumes."""
    changed = series.copy()
    changed[:, 1] = np.repeat(cells, 60 // len(cells))
    return changed


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda one, two: SeriesCohort.of([one, two[:, :2]]), "series.shape"),
        (lambda one, two: SeriesCohort.of([one, two[:1]]), "series.short"),
        (lambda one, two: SeriesCohort.of([one, two[:0]]), "series.short"),
        (lambda one, two: SeriesCohort.of([one, np.full((9, 3), "x")]), "series.numbers"),
        (lambda one, two: SeriesCohort.of([one, with_column(two, np.nan)]), "series.cell"),
        (lambda one, two: SeriesCohort.of([]), "series.none"),
        (lambda one, two: SeriesCohort.of(one), "series.table"),
        (lambda one, two: SeriesCohort.of([one, two], ids=["a"]), "series.ids"),
        *(
            (lambda one, two, runs=runs: SeriesCohort.of([one], run_lengths=[runs]), "runs.lengths")
            for runs in ((20, 20), (), (30.9, 29.1), (30.0, 30.0), (True, 59))
        ),
        (lambda one, two: SeriesCohort.of([one], run_lengths=[(51, 9)]), "runs.short"),
        (lambda one, two: np.asarray(SeriesCohort.of([one])), "cohort.array"),
        (lambda one, two: subject_moments([one, with_column(two, 2.0)]), "series.empty"),
        (
            lambda one, two: subject_moments([with_column(one, 2, 3)], run_lengths=[(30, 30)]),
            "series.flat",
        ),
        (lambda one, two: subject_moments([one[:15]]), "series.worth"),
        (
            lambda one, two: subject_moments([np.hstack([one, two] * 9)[:50]], lagged=True),
            "series.lagged",
        ),
        (
            lambda one, two: subject_moments(SeriesCohort.of([one]), run_lengths=[(30, 30)]),
            "series.names",
        ),
        (
            lambda one, two: subject_moments(Cohort(one, ("a", "b", "c"), range(60))),
            "series.cohort",
        ),
    ],
)
def test_series_that_cannot_be_used_are_refused(pair, call, code):
    with refused(code):
        call(*pair)


def test_a_run_may_have_ten_volumes(cohort):
    assert SeriesCohort.of([cohort.series[0]], run_lengths=[(20, 10)]).run_lengths == ((20, 10),)


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
    with refused("series.determined"):
        subject_moments([rows, rows - rows.mean(axis=1, keepdims=True)])
    wide = np.random.default_rng(13).standard_normal((40, 60))
    assert subject_moments([wide]).m == 60  # more regions than volumes do so in any case


def test_parts_of_the_subjects():
    moments = subject_moments(list(np.random.default_rng(8).standard_normal((4, 50, 2))))
    part = moments.take([True, False, True, False])
    assert part.ids == ("s0", "s2")
    assert np.array_equal(part.R, moments.R[[0, 2]])
    assert len(part) == 2
