import numpy as np
import pytest
from tests.codes import refused

from sgbn import Cohort
from sgbn.cohort.series import SeriesCohort
from sgbn.cohort.simulate import simulate_cohort
from sgbn.prepare.independence import (
    OVERRULED,
    check_independence,
    counter_stems,
    drawn_in,
    find_exchanged,
    gaps_to_likest,
    in_robust_sd,
    long_stems,
    near_pairs,
    numbered_rows,
    session_stems,
    spelling_stems,
    surrogate,
    unit_rows,
)
from sgbn.prepare.review import review

from .series import autoregressive, cohort_of


def independence_cohort_of(values, ids, **more):
    group = np.array(["a", "b"])[np.arange(len(values)) // 2 % 2]
    return Cohort(values, [f"r{k}" for k in range(values.shape[1])], ids, group=group, **more)


def visits(rng, persons=30, noise=0.5, m=12):
    """Two rows of each person, one after the other."""
    own = rng.standard_normal((persons, m))
    return np.repeat(own, 2, axis=0) + noise * rng.standard_normal((2 * persons, m))


def stops(cohort):
    return {one.problem.code: one.problem.values for one in review(cohort).stops}


MANGLED = (
    "sub-{p:02}_ses-{v:02}",
    "sub-{p:02}_run-{v}",
    "sub-{p:02}_T{v}",
    "sub{p:03}.v{v}",
    "P{p:02}_visit{v}",
    "P{p:02} session {v}",
    "{p:04}-tp{v}",
    "{p:04}_{v}",
    "{p:04}-0{v}",
    "ID{p:02}_scan{v}",
    "ID{p:02}_wave{v}",
    "ID{p:02}time{v}",
)


@pytest.mark.parametrize("name", MANGLED)
def test_sessions_are_found_by_their_names(name):
    ids = [name.format(p=k // 2, v=1 + k % 2) for k in range(60)]
    values = stops(independence_cohort_of(visits(np.random.default_rng(0)), ids))
    assert values["rows.sessions"] == {"subjects": ids, "n": 30}


@pytest.mark.parametrize(("first", "second"), [("a", "b"), ("_baseline", "_followup")])
def test_sessions_may_have_words_for_names(first, second):
    ids = [f"s{k // 2:02}{(first, second)[k % 2]}" for k in range(60)]
    values = stops(independence_cohort_of(visits(np.random.default_rng(0)), ids))
    assert values["rows.sessions"]["n"] == 30


@pytest.mark.parametrize("name", ["sub-{k:02}", "site{s}_{k:03}", "site{s}_{c}", "{k}", "T{k}"])
def test_names_of_subjects_are_no_sessions(name):
    rng = np.random.default_rng(0)
    ids = [name.format(k=k, s=k // 5, c=1 + k % 5) for k in range(60)]
    assert stops(independence_cohort_of(rng.standard_normal((60, 12)), ids)) == {}


def test_pairs_that_are_named_are_no_find():
    values = visits(np.random.default_rng(0))
    ids = [f"s{k // 2:02}_ses-{k % 2}" for k in range(60)]
    group = np.tile(["before", "after"], 30)
    names = [f"r{k}" for k in range(12)]
    pair = [f"s{k // 2:02}" for k in range(60)]
    assert stops(Cohort(values, names, ids, group=group, pair=pair)) == {}


def test_near_copies_are_all_named():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((60, 12))
    values[40:52] = values[:12] + 1e-3 * rng.standard_normal((12, 12))
    ids = [f"sub-{k:02}" for k in range(60)]
    copies = stops(independence_cohort_of(values, ids))["rows.copies"]
    assert copies["n"] == 12
    pairs = [name for k in range(12) for name in (f"sub-{k:02}", f"sub-{k + 40:02}")]
    assert copies["subjects"] == pairs


@pytest.mark.parametrize("memory", [0.6, 0.95])
def test_points_in_time_are_found(memory):
    rng = np.random.default_rng(0)
    values = rng.standard_normal((400, 12))
    for t in range(1, 400):
        values[t] = memory * values[t - 1] + np.sqrt(1 - memory**2) * values[t]
    found = stops(independence_cohort_of(values, [str(k) for k in range(400)]))
    assert [*found] == ["rows.neighbours"]


def test_rows_sorted_by_site_are_no_points_in_time():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((400, 12)) + np.repeat(rng.standard_normal((8, 12)), 50, axis=0)
    assert stops(independence_cohort_of(values, [str(k) for k in range(400)])) == {}


def test_who_says_that_rows_are_subjects_is_warned_and_goes_on():
    drawn = simulate_cohort(30, regions=6)
    ids = [f"s{k // 2:02}_ses-{k % 2}" for k in range(60)]
    cohort = Cohort(drawn.values, drawn.regions, ids, group=drawn.group)
    with refused("rows.sessions"):
        review(cohort).require()
    overruled = review(cohort, rows_are_subjects=True)
    assert len(overruled.require()) == 60
    (finding,) = [one for one in overruled.findings if one.problem.code == "rows.sessions"]
    assert finding.level == "warning"
    assert finding.problem.remedy == OVERRULED


def test_rows_far_out_make_no_copies_of_the_others():
    drawn = simulate_cohort(60, regions=8)
    values = drawn.values.copy()
    values[[5, 50, 100]] *= 20
    assert stops(Cohort(values, drawn.regions, drawn.ids, group=drawn.group)) == {}


def test_copies_are_found_in_regions_that_are_mostly_zero():
    values = np.random.default_rng(0).standard_normal((60, 12))
    values[:50, 3] = 0.0
    values[41] = values[7]
    found = stops(independence_cohort_of(values, [f"x{k:02}" for k in range(60)]))
    assert found["rows.copies"] == {"n": 1, "subjects": ["x07", "x41"]}


def test_many_copies_of_one_row_are_named_once_each():
    values = np.random.default_rng(0).standard_normal((1100, 12))
    values[:1000] = values[0]
    values[1050] = values[1060]
    ids = [f"x{k:04}." for k in range(1100)]
    copies = stops(independence_cohort_of(values, ids))["rows.copies"]
    assert copies == {"n": 2, "subjects": [*ids[:1000], ids[1050], ids[1060]]}


def test_one_person_is_no_persons():
    ids = [*(f"s{k}" for k in range(58)), "p_ses-1", "p_ses-2"]
    found = stops(independence_cohort_of(np.random.default_rng(0).standard_normal((60, 12)), ids))
    assert found["rows.sessions"] == {"subjects": ids[-2:], "n": 1}


@pytest.mark.parametrize("m", [4, 12])
@pytest.mark.parametrize("name", ["site{}_run{}", "batch{}_day{}"])
def test_many_independent_rows_of_one_stem_are_not_stopped_by_name(name, m):
    ids = [name.format(k // 30, k % 30) for k in range(120)]
    found = review(independence_cohort_of(np.random.default_rng(0).standard_normal((120, m)), ids))
    assert not found.stops
    said = [one for one in found.findings if one.problem.code == "rows.sessions"]
    assert len(said) == (m == 4)  # too few regions to tell: a warning


def test_many_rows_of_one_stem_that_are_alike_are_stopped():
    rng = np.random.default_rng(0)
    own = np.repeat(rng.standard_normal((6, 12)), 20, axis=0)
    values = rng.permutation(own + 0.7 * rng.standard_normal((120, 12)), axis=1)
    ids = [f"p{k // 20}_run{k % 20}" for k in range(120)]
    found = stops(independence_cohort_of(values, ids))["rows.sessions"]
    assert (len(found["subjects"]), found["n"]) == (120, 6)


def test_many_rows_of_a_named_person_are_volumes():
    rng = np.random.default_rng(0)
    persons = np.repeat([f"p{k}" for k in range(6)], 40)
    cohort = Cohort(
        rng.standard_normal((240, 12)),
        [f"r{k}" for k in range(12)],
        [f"row{k}" for k in range(240)],
        group=np.repeat(["a", "b"], 120),
        person=persons,
    )
    assert next(check_independence(cohort)).problem.values == {"n": 40}
    few = cohort.subset(np.arange(240) % 40 < 4)
    assert "rows.volumes" not in [one.problem.code for one in check_independence(few)]


def draw(n=60, m=12):
    return np.random.default_rng(0).normal(size=(n, m))


def test_near_pairs_are_those_that_agree_in_all_regions():
    values = draw()
    values[7] = values[3] + 0.01
    values[9] = values[3]
    values[9, -2] += 1.0  # near in most regions, and far in one
    assert near_pairs(values, 0.05).tolist() == [[3, 7]]


def test_the_likest_row_of_another_unit_is_found():
    values = draw()
    values[20] = values[5] + 0.1 * values[6]
    unit = np.arange(60)
    gaps, likest = gaps_to_likest(unit_rows(values), unit, np.array([5, 30]), 10)
    assert likest[0] == 20
    assert gaps[0] > gaps[1]
    unit[20] = 5  # of one person: they may be alike
    assert gaps_to_likest(unit_rows(values), unit, np.array([5]), 10)[1][0] != 20


def test_surrogates_have_the_covariance_of_the_rows():
    values = draw(4000, 3) @ np.array([[1, 0.5, 0], [0, 1, 0], [0, 0, 3]])
    np.testing.assert_allclose(np.cov(surrogate(values).T), np.cov(values.T), atol=0.5)


def test_a_cell_far_out_changes_neither_spread_nor_covariance():
    values = draw()
    plain = in_robust_sd(values)
    values[0, 0] = 1e6
    np.testing.assert_allclose(in_robust_sd(values)[1:], plain[1:], rtol=0.1)
    assert drawn_in(values)[0, 0] < 20


@pytest.mark.parametrize(
    ("first", "second", "stem"),
    [
        ("a_ses-1", "a_ses-2", "a"),
        ("sub-01_ses-pre_run-1", "sub-01_ses-post_run-1", "sub-01"),
        ("sub-01_task-rest_run-1", "sub-01_task-rest_run-2", "sub-01"),
        ("P1_T1", "P1_T2", "P1"),
        ("P1.v1", "P1.v2", "P1"),
        ("07 baseline", "07 follow-up", "07"),
        ("07_pre", "07_post", "07"),
        ("07_bl", "07_month6", "07"),
        ("ID02time1", "ID02time2", "ID02"),
    ],
)
def test_words_for_sessions_leave_the_person(first, second, stem):
    assert session_stems([first, second, "other"]) == {stem: [0, 1]}


@pytest.mark.parametrize(
    "name",
    [*("patient{}", "subject{}", "participant_{:03}", "test{}", "T{}", "ses{}", "005{:04}")],
)
def test_counted_subjects_are_no_sessions(name):
    ids = [name.format(k) for k in range(20)]
    assert session_stems(ids) == long_stems(ids) == {}


def test_counters_letters_dates_and_prefixes_leave_a_stem():
    for pair in (
        ("01_1", "01_2"),
        ("01a", "01b"),
        ("01_20190102", "01_2020-01-02"),
        ("v1_01", "v2_01"),
        ("01t1", "01t2"),
    ):
        assert counter_stems([*pair, "02_1"]) == {"01": [0, 1]}


def test_spellings_of_one_name():
    assert spelling_stems(["S_01", "s-1", "S02", "s11"]) == {"s-1": [0, 1]}


def test_rows_are_ordered_by_the_numbers_of_their_names():
    ids = ["a_3", "b_1", "a_1", "a_2", "x", "b_10", "b_9"]
    found = numbered_rows(ids, fewest=2)
    np.testing.assert_array_equal(found, [[2, 3, 0], [1, 6, 5]])
    assert numbered_rows(ids, fewest=3) == []


def turned(n=6, levels=0.0, **shape):
    rng = np.random.default_rng(0)
    own = levels * rng.standard_normal(shape["regions"])
    series = [(autoregressive(rng, 0.5, **shape) + own).T for _ in range(n)]
    return SeriesCohort.of(series, group=list("AB") * (n // 2))


@pytest.mark.parametrize("levels", [0.0, 100.0])
@pytest.mark.parametrize("shape", [(176, 60), (120, 200)], ids=str)
def test_series_with_a_row_per_region_are_a_warning(shape, levels):
    cohort = turned(volumes=shape[0], regions=shape[1], levels=levels)
    found = [one for one in review(cohort).findings if one.problem.code == "series.exchanged"]
    assert [one.level for one in found] == ["warning"]
    assert len(found[0].problem.values["subjects"]) == 6


@pytest.mark.parametrize("phi", [0.0, 0.5])
@pytest.mark.parametrize("shape", [(176, 60), (120, 200)], ids=str)
def test_series_with_a_row_per_volume_are_fine(shape, phi):
    cohort = cohort_of(n=6, phi=phi, volumes=shape[0], regions=shape[1])
    assert find_exchanged(cohort) == (cohort, [])


def test_neighbours_that_are_alike_do_not_exchange_long_series():
    def smooth(series):
        return series + np.roll(series, 1, axis=1) + np.roll(series, 2, axis=1)

    assert not find_exchanged(cohort_of(smooth, n=6, volumes=176, regions=60))[1]


def test_some_subjects_are_named():
    right, wrong = cohort_of(n=2, volumes=60, regions=60), turned(n=2, volumes=60, regions=60)
    both = SeriesCohort.of([*right.series, *wrong.series])
    (found,) = find_exchanged(both)[1]
    assert found.problem.values["subjects"] == ["s2", "s3"]
