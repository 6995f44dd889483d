from functools import cache, partial

import numpy as np
import pytest

from sgbn.cohort.series import SeriesCohort
from sgbn.prepare.review import review

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
    return [str(one) for one in review(cohort, **given).findings]


def emptied(cohort, cells):
    """Cohort with constant series in those places (subject, region)."""
    series = [one.copy() for one in cohort.series]
    for row, column in cells:
        series[row][:, column] = 7.0
    about = {"group": cohort.group, "covariates": cohort.covariates, "tr": cohort.tr}
    return SeriesCohort.of(series, cohort.regions, cohort.ids, **about)


def test_series_without_any_oddity_have_a_note_about_the_atlas_alone():
    cohort = plain()
    reviewed = review(cohort)
    (note,) = reviewed.findings
    assert str(note) == "note: no atlas has these regions. Pictures do not show lobes."
    assert reviewed.cohort is cohort


def test_a_region_that_is_empty_in_many_subjects_is_left_out():
    reviewed = review(emptied(plain(), [(0, 3), (1, 3), (2, 3)]))
    assert "'x3'" in reviewed.findings[0].what
    assert "1 region is empty in more than 5% of the subjects (in up to 3 of 40)" in str(
        reviewed.findings[0]
    )
    assert len(reviewed.cohort) == 40
    assert "x3" not in reviewed.cohort.regions


def test_subjects_with_an_empty_region_are_left_out_by_name():
    reviewed = review(emptied(plain(), [(4, 3), (7, 2)]))
    assert reviewed.findings[0].left_out == ("s4", "s7")
    assert "2 subjects have an empty region ('x2', 'x3'): 's4', 's7'" in reviewed.findings[0].what
    assert len(reviewed.cohort) == 38
    assert len(reviewed.cohort.regions) == 10


def test_a_scan_that_failed_does_not_cost_a_region():
    cells = [(0, column) for column in range(8)] + [(1, 3), (2, 3)]
    reviewed = review(emptied(plain(), cells))
    assert "more than 50% of the regions: 's0'" in reviewed.findings[0].what
    assert len(reviewed.cohort) < 40


def test_subjects_with_few_volumes_are_left_out_by_name():
    cohort = plain()
    short = autoregressive(np.random.default_rng(9), volumes=20)
    series = [short, *cohort.series[1:]]
    about = {"group": cohort.group, "covariates": cohort.covariates, "tr": 2.0}
    reviewed = review(SeriesCohort.of(series, cohort.regions, cohort.ids, **about))
    assert reviewed.findings[0].left_out == ("s0",)
    assert "worth fewer than 20 independent volumes: 's0'" in reviewed.findings[0].what
    assert len(reviewed.cohort) == 39


def test_pairs_that_lose_a_partner_go_too():
    pair = np.repeat(np.arange(20), 2).astype(str)
    cohort = emptied(plain(), [(0, 1)])
    paired = cohort_with(cohort, pair=pair)
    assert len(review(paired).cohort) == 38


def cohort_with(cohort, **labels):
    about = {"group": cohort.group, "covariates": cohort.covariates, "tr": cohort.tr}
    return SeriesCohort.of(cohort.series, cohort.regions, cohort.ids, **(about | labels))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (partial(butterworth, low=0.01, high=0.1), "a band-pass filter is seen in 40 of 40"),
        (partial(cut_out, low=0.0, high=0.1), "a low-pass filter is seen in 40 of 40 subjects"),
        (cosines_out, "a high-pass filter is seen in 40 of 40 subjects: changes slower than about"),
    ],
)
def test_filters_are_a_warning_that_says_what_they_mean(change, said):
    (warning,) = [one for one in found(made(change)) if one.startswith("warning")]
    assert said in warning
    if "low-pass" in said or "band-pass" in said:
        assert "faster than about 0.1" in warning
        assert "200 volumes are worth about" in warning
        assert "this number is what counts" in warning


def test_some_filtered_subjects_are_pointed_out():
    before, filtered = plain(), made(partial(cut_out, low=0.01, high=0.1))
    series = [*before.series[:20], *filtered.series[20:]]
    about = {"group": before.group, "covariates": before.covariates, "tr": None}
    said = "".join(found(SeriesCohort.of(series, before.regions, before.ids, **about)))
    assert "is seen in 20 of 40 subjects" in said
    assert "Not all subjects seem to be filtered" in said
    assert "of the highest frequency" in said
    assert "(TR) is not known" in said


def test_a_filter_of_one_group_stops():
    before, filtered = plain(), made(partial(cut_out, low=0.01, high=0.1))
    first = before.groups[0]
    series = [
        unfiltered if label == first else after
        for label, unfiltered, after in zip(
            before.group, before.series, filtered.series, strict=True
        )
    ]
    about = {"group": before.group, "covariates": before.covariates, "tr": 2.0}
    (stop,) = review(SeriesCohort.of(series, before.regions, before.ids, **about)).stops
    assert "filtered differently: a filter is seen in 0 of" in stop.what


def test_copies_stop_even_if_they_are_scaled_and_rounded():
    cohort = plain()
    series = list(cohort.series)
    series[5] = np.round(3.0 * series[2] + 10.0, 2)
    about = {"group": cohort.group, "covariates": cohort.covariates, "tr": 2.0}
    copied = SeriesCohort.of(series, cohort.regions, cohort.ids, **about)
    (stop,) = review(copied).stops
    assert "1 pair of series are copies of each other or nearly so, such as s2 and s5" in stop.what
    assert not review(copied, rows_are_subjects=True).stops


def test_sessions_of_unknown_persons_stop():
    cohort = plain()
    ids = [f"sub-{k // 2}_ses-{k % 2}" for k in range(40)]
    about = {"group": cohort.group, "covariates": cohort.covariates, "tr": 2.0}
    (stop,) = review(SeriesCohort.of(cohort.series, cohort.regions, ids, **about)).stops
    assert "sessions of 20 persons" in stop.what
    assert "--pair COLUMN" in stop.action
    persons = {"pair": [name[:-6] for name in ids]}
    known = SeriesCohort.of(cohort.series, cohort.regions, ids, **about, **persons)
    assert not review(known).stops


def test_small_groups_and_covariates_are_spoken_of_as_in_tables():
    small = "".join(found(made(n=12)))
    assert "the group 'A' has only 6 subjects. Only large differences can be found" in small
    assert "no group column" in "".join(found(made(group=None)))
    told = made(covariates={"mean_fd": np.arange(40) % 2 + 0.1})
    assert "is the group under another name" in "".join(found(told))
    assert "more than half the number" not in "".join(found(made(n=12, regions=30)))


def test_nobody_left_is_said_and_no_crash():
    short = cohort_of(n=4, volumes=12)
    assert "only 0 subjects" in "".join(found(short))
    constant = SeriesCohort.of([np.ones((30, 3))] * 2, group=["A", "B"])
    assert "only 0 subjects" in "".join(found(constant))
