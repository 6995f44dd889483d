import numpy as np
import pytest

from sgbn.prepare.independence import (
    counter_stems,
    long_stems,
    numbered_rows,
    session_stems,
    spelling_stems,
)


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
