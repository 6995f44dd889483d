import pickle

import numpy as np
import pytest

from sgbn import Cohort
from sgbn.cohort.series import SeriesCohort
from sgbn.core.exceptions import InputError


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


def test_the_fingerprint_knows_volumes_and_runs(cohort):
    again = pickle.loads(pickle.dumps(cohort))  # noqa: S301
    assert again.fingerprint == cohort.fingerprint
    series = [one[::-1] for one in cohort.series]  # the spread is the same
    about = {"group": cohort.group, "covariates": cohort.covariates, "tr": 2.0}
    turned = SeriesCohort.of(
        series, cohort.regions, cohort.ids, run_lengths=cohort.run_lengths, **about
    )
    assert turned.fingerprint != cohort.fingerprint
    one_run = SeriesCohort.of(cohort.series, cohort.regions, cohort.ids, **about)
    assert one_run.fingerprint != cohort.fingerprint


def test_series_cannot_be_changed_and_the_callers_stay_writable():
    series = np.random.default_rng(2).standard_normal((10, 2))
    cohort = SeriesCohort.of([series])
    with pytest.raises(ValueError, match="read-only"):
        cohort.series[0][0, 0] = 1.0
    series[0, 0] = 5.0
    assert cohort.series[0][0, 0] != 5.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: [s[0], s[1][:, :2]], r"'s1' has shape \(20, 2\), but there are 3 regions"),
        (lambda s: [s[0], s[1][:1]], "the series of subject 's1' has 1 volume, but at least 10"),
        (lambda s: [s[0], s[1][:0]], "the series of subject 's1' has 0 volumes, but at least 10"),
        (lambda s: [s[0], np.full((9, 3), "x")], "'s1' holds .* not a number"),
        (lambda s: [], "there is no series"),
    ],
)
def test_wrong_series_name_the_subject(change, message):
    series = list(np.random.default_rng(3).standard_normal((2, 20, 3)))
    with pytest.raises(InputError, match=message):
        SeriesCohort.of(change(series))


def test_a_missing_volume_names_subject_volume_and_region():
    series = np.random.default_rng(4).standard_normal((2, 20, 3))
    series[1, 4, 2] = np.nan
    with pytest.raises(InputError, match="subject 's1' is nan at volume 5 of region 'x2'"):
        SeriesCohort.of(list(series))


def test_runs_must_add_up(cohort):
    with pytest.raises(InputError, match=r"runs of subject 's0' have \[10, 10\] volumes"):
        SeriesCohort.of([cohort.series[0]], run_lengths=[(10, 10)])
    with pytest.raises(InputError, match=r"have \[\] volumes, but the series has 30"):
        SeriesCohort.of([cohort.series[0]], run_lengths=[()])
    with pytest.raises(InputError, match="2 series and 1 ids"):
        SeriesCohort.of(cohort.series[:2], ids=["a"])


@pytest.mark.parametrize("lengths", [(15.9, 14.1), (15.0, 15.0), (True, 29)])
def test_runs_have_whole_numbers_of_volumes(cohort, lengths):
    with pytest.raises(InputError, match=r"subject 's0' have .*\. Give whole numbers"):
        SeriesCohort.of([cohort.series[0]], run_lengths=[lengths])


def test_runs_of_fewer_than_ten_volumes_are_refused(cohort):
    with pytest.raises(InputError, match=r"run 2 of subject 's0' has 9 volumes, but at least 10"):
        SeriesCohort.of([cohort.series[0]], run_lengths=[(21, 9)])
    assert SeriesCohort.of([cohort.series[0]], run_lengths=[(20, 10)]).run_lengths == ((20, 10),)


def test_one_table_is_no_list_of_series():
    rows = np.random.default_rng(5).standard_normal((30, 3))
    with pytest.raises(InputError, match="one table, but a list of series"):
        SeriesCohort.of(rows)


def test_it_is_no_table_of_numbers(cohort):
    with pytest.raises(InputError, match=r"SeriesSGBN\(\).fit\(cohort\)"):
        np.asarray(cohort)


def test_the_tr_changes_no_result(cohort):
    about = {"group": cohort.group, "covariates": cohort.covariates}
    runs = cohort.run_lengths
    other = SeriesCohort.of(
        cohort.series, cohort.regions, cohort.ids, run_lengths=runs, tr=3.0, **about
    )
    assert other.fingerprint == cohort.fingerprint
