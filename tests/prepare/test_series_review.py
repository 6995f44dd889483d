from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from scipy.signal import lfilter

from sgbn import Cohort
from sgbn.cohort.series import SeriesCohort, subject_moments
from sgbn.prepare.review import review
from sgbn.prepare.series_review import (
    check_censored,
    check_motion,
    effective_numbers,
    motion_column,
    series_quality,
)

from .series import autoregressive, butterworth, cohort_of, cosines_out, cut_out


@cache
def plain():
    """The cohort without any oddity: read-only, and the same for all tests."""
    return made()


def made(change=lambda series: series, n=40, **given):
    """Cohort without any oddity, but for what is given."""
    fd = {"mean_fd": np.random.default_rng(5).uniform(0.1, 0.3, n)}
    return cohort_of(change, n, **({"covariates": fd} | given))


def found(cohort, **given):
    return {one.problem.code: one for one in review(cohort, **given).findings}


def emptied(cohort, cells):
    """Cohort with constant series in those places (subject, region)."""
    series = [one.copy() for one in cohort.series]
    for row, column in cells:
        series[row][:, column] = 7.0
    return cohort_with(cohort, series=series)


def test_series_without_any_oddity_have_a_note_about_the_atlas_alone():
    cohort = plain()
    reviewed = review(cohort)
    assert [one.problem.code for one in reviewed.findings] == ["regions.no-atlas"]
    assert reviewed.cohort is cohort


def cohort_with(cohort, **given):
    """The cohort with other series, ids or labels."""
    about = {"group": cohort.group, "covariates": cohort.covariates, "tr": cohort.tr}
    about |= {"regions": cohort.regions, "ids": cohort.ids, "series": cohort.series}
    return SeriesCohort.of(**(about | given))


FAILED = [(0, column) for column in range(8)]  # a scan, which must not cost a region


@pytest.mark.parametrize(
    ("cells", "code", "left_out", "regions"),
    [
        ([(0, 3), (1, 3), (2, 3)], "regions.empty", (), 9),
        ([(4, 3), (7, 2)], "subjects.empty", ("s4", "s7"), 10),
        ([*FAILED, (1, 3), (2, 3)], "subjects.gaps", ("s0",), None),
    ],
)
def test_empty_regions_or_who_has_them_are_left_out_by_name(cells, code, left_out, regions):
    reviewed = review(emptied(plain(), cells))
    first = reviewed.findings[0]
    assert (first.problem.code, first.left_out) == (code, left_out)
    assert regions in (None, len(reviewed.cohort.regions))
    assert (len(reviewed.cohort) < 40) == bool(left_out)
    assert ("x3" in reviewed.cohort.regions) == (regions == 10)
    if code == "subjects.empty":
        assert first.problem.values["regions"] == ["x2", "x3"]


def test_subjects_with_few_volumes_and_pairs_that_lose_a_partner_are_left_out():
    short = autoregressive(np.random.default_rng(9), volumes=20)
    reviewed = review(cohort_with(plain(), series=[short, *plain().series[1:]]))
    first = reviewed.findings[0]
    assert (first.problem.code, first.left_out) == ("subjects.short", ("s0",))
    assert len(reviewed.cohort) == 39
    pair = np.repeat(np.arange(20), 2).astype(str)
    assert len(review(cohort_with(emptied(plain(), [(0, 1)]), pair=pair)).cohort) == 38


@pytest.mark.parametrize(
    ("change", "code", "kind"),
    [
        (partial(butterworth, low=0.01, high=0.1), "filters.low", "band-pass"),
        (partial(cut_out, low=0.0, high=0.1), "filters.low", "low-pass"),
        (cosines_out, "filters.high", None),
    ],
)
def test_filters_are_a_warning_that_says_what_they_mean(change, code, kind):
    (warning,) = [one for one in found(made(change)).values() if one.level == "warning"]
    assert warning.problem.code == code
    said = warning.problem.values
    assert (said["n"], said["of"], said.get("kind")) == (40, 40, kind)
    if kind:
        assert said["border"] == pytest.approx(0.1, abs=0.03)
        assert said["worth"] < said["volumes"] == 200


def test_some_filtered_subjects_are_pointed_out():
    before, filtered = plain(), made(partial(cut_out, low=0.01, high=0.1))
    series = [*before.series[:20], *filtered.series[20:]]
    said = found(cohort_with(before, series=series, tr=None))
    assert said["filters.low"].problem.values["n"] == 20
    assert {"filters.some", "series.tr"} < {*said}


def test_a_filter_of_one_group_stops():
    before, filtered = plain(), made(partial(cut_out, low=0.01, high=0.1))
    first, second = before.groups
    series = [
        unfiltered if label == first else after
        for label, unfiltered, after in zip(
            before.group, before.series, filtered.series, strict=True
        )
    ]
    (stop,) = review(cohort_with(before, series=series)).stops
    assert stop.problem.code == "filters.groups"
    assert stop.problem.values["groups"] == [second]


def test_copies_stop_even_if_they_are_scaled_and_rounded():
    series = list(plain().series)
    series[5] = np.round(3.0 * series[2] + 10.0, 2)
    copied = cohort_with(plain(), series=series)
    (stop,) = review(copied).stops
    assert stop.problem.code == "series.copies"
    assert stop.problem.values == {"n": 1, "subjects": ["s2", "s5"]}
    assert not review(copied, rows_are_subjects=True).stops


def test_sessions_of_unknown_persons_stop():
    ids = [f"sub-{k // 2}_ses-{k % 2}" for k in range(40)]
    (stop,) = review(cohort_with(plain(), ids=ids)).stops
    assert (stop.problem.code, stop.problem.values["n"]) == ("rows.sessions", 20)
    assert not review(cohort_with(plain(), ids=ids, pair=[name[:-6] for name in ids])).stops


def test_small_groups_and_covariates_are_spoken_of_as_in_tables():
    assert "groups.small" in found(made(n=12))
    assert "groups.one" in found(made(group=None))
    told = made(covariates={"mean_fd": np.arange(40) % 2 + 0.1})
    assert "covariate.is-group" in found(told)
    assert "regions.many" not in found(made(n=12, regions=30))


def test_nobody_left_is_said_and_no_crash():
    for constant in (cohort_of(n=4, volumes=12), SeriesCohort.of([np.ones((30, 3))] * 2)):
        assert found(constant)["cohort.empty"].problem.values["n"] == 0


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


def test_censored_volumes_are_said_with_what_was_left_out_beside_them():
    facts = {"volumes": 12, "subjects": 3, "short": 17}
    cohort = replace(cohort_of(), provenance={"censored": facts})
    (note,) = check_censored(cohort)
    assert note.problem.values == {"n": 29, "rows": 3, "least": 10}


def test_without_censoring_nothing_is_said():
    assert not [*check_censored(cohort_of())]


@pytest.mark.parametrize("name", ["mean_fd", "MeanFD", "func_mean_fd", "fd_mean", "mean_motion"])
def test_motion_is_known_by_its_name(name):
    assert motion_column(["age", name]) == name


def test_other_columns_are_no_motion():
    assert motion_column(["age", "fdg", "emotion", "motion_artefacts"]) is None


def cohort(p=None, **covariates):
    provenance = {} if p is None else {"unnamed_motion": {"mean_fd": {"p": p}}}
    return Cohort(
        np.zeros((2, 2)), ["x", "y"], ["s", "t"], covariates=covariates, provenance=provenance
    )


def test_motion_is_asked_about_unless_it_is_a_covariate():
    taken = replace(cohort(mean_fd=[0.1, 0.2]), provenance={"taken_motion": "mean_fd"})
    cases = {
        ("warning", "motion.groups"): cohort(0.002),
        ("note", "motion.unnamed"): cohort(0.5),
        ("note", "motion.unknown"): cohort(),
        ("note", "motion.taken"): taken,
    }
    for expected, given in cases.items():
        (finding,) = check_motion(given)
        assert (finding.level, finding.problem.code) == expected
    assert not [*check_motion(cohort(0.002, mean_fd=[0.1, 0.2]))]
