import numpy as np
import pytest

from sgbn import Cohort
from sgbn.cohort.atlas import load_atlas
from sgbn.prepare.findings import (
    Finding,
    check_groups,
    check_reference,
    filled,
    first_true,
    leave_out_incomplete_pairs,
    parts,
)
from sgbn.prepare.review import review


def test_a_finding_reads_as_two_sentences():
    assert str(Finding("note", "this is odd", "Look at it")) == "note: this is odd. Look at it."


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


def test_the_first_mark_is_found():
    assert first_true(np.array([False, True, True])) == 1


N = 60


def test_groups_must_be_two_or_more_of_two_or_more(make, only):
    assert "no group column" in only(make(group=None)).what
    assert "only the group 'CTR'" in only(make(group=["CTR"] * N)).what
    alone = only(make(group=["AD"] + ["CTR", "SCZ"] * 29 + ["CTR"]))
    assert (alone.level, "'AD' has one subject (sub-00)" in alone.what) == ("stop", True)
    few = only(make(group=["AD"] * 10 + ["CTR"] * 50))
    assert (few.level, "'AD' has only 10 subjects" in few.what) == ("warning", True)


def test_many_small_groups_are_dates_or_ages_and_stop(make, only):
    dates = only(make(group=[f"2020-01-{1 + k % 20:02}" for k in range(N)]))
    assert dates.level == "stop"
    assert (
        "there are 20 groups, and at least half of them have fewer than 10 subjects" in dates.what
    )
    assert "--group" in dates.action
    five = check_groups(make(group=[f"g{k % 5}" for k in range(N)]))
    assert {one.level for one in five} == {"warning"}


def test_a_reference_that_no_name_tells_is_said(make):
    assert check_reference(make()) == []
    assert check_reference(make(group=["AD", "MCI"] * 30), "AD") == []
    (finding,) = check_reference(make(group=["AD", "MCI"] * 30))
    assert "'AD' is the reference, the first by name" in finding.what
    assert "--reference" in finding.action
    (finding,) = check_reference(make(group=["HC", "controls", "AD"] * 20))
    assert "'HC' and 'controls', which look like controls" in finding.what


def wide(m, n, atlas=None, unknown=0):
    """Two groups of n subjects with m regions of an atlas, or of none."""
    names = [f"r{k}" for k in range(m)]
    if atlas is not None:
        atlas = load_atlas(atlas)
        names = [region.name for region in atlas.regions[: m - unknown]] + names[:unknown]
    values = np.random.default_rng(1).normal(size=(2 * n, m))
    return Cohort(values, names, range(2 * n), group=["AD", "CTR"] * n, atlas=atlas)


def many_regions(cohort):
    return [f for f in check_groups(cohort) if "regions are more than half" in f.what]


def test_more_regions_than_half_the_smallest_group_are_said():
    (finding,) = many_regions(wide(12, 22).subset(range(1, 44)))  # 21 of AD
    assert finding.level == "warning"
    assert finding.what.startswith("12 regions are more than half the number of subjects")
    assert finding.what.endswith("smallest group, 'AD', which has 21")
    assert "at most 10 regions" in finding.action
    assert many_regions(wide(11, 22)) == []
    assert many_regions(wide(5, 9)), "also where the group is small by itself"
    assert "makes up for so few" in many_regions(wide(5, 3))[0].action


def test_lobes_are_offered_with_their_numbers_of_regions():
    cohort = wide(60, 50, "aal", unknown=3)
    (finding,) = many_regions(cohort)
    offered = finding.action.partition("--lobes: ")[2].partition(")")[0].split(", ")
    lobes = [lobe for lobe in set(cohort.lobes) if lobe != "unknown"]
    counts = {lobe: cohort.lobes.count(lobe) for lobe in lobes}
    assert {text.rsplit(" ", 1)[0]: int(text.rsplit(" ", 1)[1]) for text in offered} == counts
    assert [int(text.rsplit(" ", 1)[1]) for text in offered] == sorted(counts.values())[::-1]
    assert "--regions" in finding.action
    lobe = offered[0].rsplit(" ", 1)[0]
    part = cohort.subset(lobes=[lobe])
    assert len(part.regions) == counts[lobe]


@pytest.mark.parametrize(
    "cohort", [wide(60, 50), wide(60, 50, "aal").subset(lobes=["frontal"]).subset(range(40))]
)
def test_lobes_are_not_offered_where_they_do_not_help(cohort):
    (finding,) = many_regions(cohort)
    assert "lobes" not in finding.action
    assert "a list or a pattern of names" in finding.action


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
    assert kept.complete.all()
    assert finding.level == "warning"
    assert finding.what.endswith("each group: 'a', 'b', 'p05', 'p10'")
    assert "rows (6) are left out" in finding.action
    assert "27 persons remain" in finding.action


def test_three_groups_need_a_visit_in_each(make):
    group = np.resize(["A", "B", "C"], N)
    pair = np.repeat([f"p{k:02}" for k in range(20)], 3)
    pair[59] = "c"
    kept, (finding,) = leave_out_incomplete_pairs(make(group=group, pair=pair))
    assert len(kept) == 57
    assert "'c', 'p19'" in finding.what


@pytest.mark.parametrize(
    ("n_pairs", "said"), [(0, "no complete pairs are left"), (1, "1 complete pair is")]
)
def test_fewer_than_two_complete_pairs_stop(make, n_pairs, said):
    pair = np.array([f"q{k:02}" for k in range(N)])
    pair[: 2 * n_pairs] = PERSON[: 2 * n_pairs]
    reviewed = review(make(pair=pair))
    (finding,) = reviewed.stops
    assert said in finding.what
    assert "--pair" in finding.action
    pair[:4] = PERSON[:4]
    assert leave_out_incomplete_pairs(make(pair=pair))[1][0].level == "warning"
