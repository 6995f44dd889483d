import numpy as np
import pytest

from sgbn import Cohort
from sgbn.prepare.findings import (
    check_groups,
    check_reference,
    filled,
    leave_out_incomplete_pairs,
    parts,
)
from sgbn.prepare.review import review


def test_parts_are_the_groups_or_all_and_never_empty(make):
    assert [rows.sum() for rows in parts(make())] == [30, 30]
    assert np.sum(parts(make()), axis=0).tolist() == [1] * 60
    assert [rows.sum() for rows in parts(make(group=None))] == [60]
    assert parts(make().subset([])) == []
    assert parts(make(group=None).subset([])) == []


def test_gaps_are_filled_by_the_median_and_the_rest_is_kept():
    values = np.array([[1.0, 4.0], [np.nan, 5.0], [3.0, 9.0], [8.0, 0.0]])
    assert filled(values)[:, 0].tolist() == [1, 3, 3, 8]
    assert np.isnan(values[1, 0])
    assert filled(values[:, 1:]).tolist() == values[:, 1:].tolist()


N = 60


@pytest.mark.parametrize(
    ("group", "level", "code"),
    [
        (None, "stop", "groups.one"),
        (["CTR"] * N, "stop", "groups.one"),
        (["AD"] + ["CTR", "SCZ"] * 29 + ["CTR"], "stop", "groups.one-subject"),
        (["AD"] * 10 + ["CTR"] * 50, "warning", "groups.small"),
        # dates or ages
        ([f"2020-01-{1 + k % 20:02}" for k in range(N)], "stop", "groups.many"),
    ],
)
def test_groups_must_be_a_few_of_enough_subjects(make, found, group, level, code):
    ((said, finding),) = found(make(group=group)).items()
    assert (said, finding.level) == (code, level)
    assert "2020" not in str(finding)


def test_five_small_groups_may_be_compared(make):
    five = check_groups(make(group=[f"g{k % 5}" for k in range(N)]))
    assert {one.level for one in five} == {"warning"}


def test_a_reference_that_no_name_tells_is_said(make):
    assert not [*check_reference(make())]
    assert not [*check_reference(make(group=["AD", "MCI"] * 30), "AD")]
    for groups, first in ((["AD", "MCI"], "AD"), (["HC", "controls", "AD"], "HC")):
        (finding,) = check_reference(make(group=np.resize(groups, N)))
        assert finding.problem.values["group"] == first


def wide(m, n):
    """Two groups of n subjects with m regions."""
    values = np.random.default_rng(1).normal(size=(2 * n, m))
    return Cohort(values, [f"r{k}" for k in range(m)], range(2 * n), group=["AD", "CTR"] * n)


def many_regions(cohort):
    return [f.problem for f in check_groups(cohort) if f.problem.code == "regions.many"]


def test_more_regions_than_half_the_smallest_group_are_said():
    (problem,) = many_regions(wide(12, 22).subset(range(1, 44)))  # 21 of AD
    assert problem.values == {"m": 12, "n": 21, "group": "AD", "most": 10}
    assert many_regions(wide(11, 22)) == []
    assert many_regions(wide(5, 9)), "also where the group is small by itself"


PERSON = np.repeat([f"p{k:02}" for k in range(30)], 2)  # of rows CTR, SCZ, CTR, SCZ, ...


def test_complete_pairs_are_kept_as_they_are(make):
    cohort = make(pair=PERSON)
    assert leave_out_incomplete_pairs(cohort) == (cohort, [])
    assert review(cohort).cohort is cohort
    for group in (None, ["CTR"] * N):
        alone = make(pair=PERSON, group=group)
        assert leave_out_incomplete_pairs(alone)[0] is alone


def test_who_is_not_there_once_in_each_group_is_left_out_and_named(make):
    pair = PERSON.copy()
    pair[4:6] = "a", "p05"  # p05 is there twice among SCZ
    pair[20] = "b"  # and p10 in SCZ only
    kept, (finding,) = leave_out_incomplete_pairs(make(pair=pair))
    gone = {*make().ids} - {*kept.ids}
    assert gone == {"sub-04", "sub-05", "sub-10", "sub-11", "sub-20", "sub-21"}
    assert kept.design.complete.all()
    assert finding.level == "warning"
    assert finding.left_out == ("a", "b", "p05", "p10")
    assert (finding.problem.values["rows"], finding.problem.values["n"]) == (6, 27)


def test_three_groups_need_a_visit_in_each(make):
    group = np.resize(["A", "B", "C"], N)
    pair = np.repeat([f"p{k:02}" for k in range(20)], 3)
    pair[59] = "c"
    kept, (finding,) = leave_out_incomplete_pairs(make(group=group, pair=pair))
    assert len(kept) == 57
    assert finding.left_out == ("c", "p19")


@pytest.mark.parametrize("n_pairs", [0, 1])
def test_fewer_than_two_complete_pairs_stop(make, n_pairs):
    pair = np.array([f"q{k:02}" for k in range(N)])
    pair[: 2 * n_pairs] = PERSON[: 2 * n_pairs]
    (finding,) = review(make(pair=pair)).stops
    assert (finding.problem.code, finding.problem.values["n"]) == ("pairs.few", n_pairs)
    pair[:4] = PERSON[:4]
    assert leave_out_incomplete_pairs(make(pair=pair))[1][0].level == "warning"
