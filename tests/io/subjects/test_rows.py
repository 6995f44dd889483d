import math

import pytest

from sgbn.core.exceptions import InputError
from sgbn.read.subject_folders import SubjectRow, whole_rows


def row(name, **regions):
    return SubjectRow(name, name, f"folder/{name}", regions, {})


def names(rows):
    return [one.id for one in rows]


def test_subjects_with_the_usual_regions_are_kept():
    whole = whole_rows([row("a", x=1, y=2), row("b", y=3, x=4), row("c", x=5)])
    assert names(whole.rows) == ["a", "b"]
    assert whole.regions == ("x", "y")
    assert [(one.id, one.source) for one in whole.failures] == [("c", "folder/c")]
    assert whole.failures[0].reason == "lacks 1 region that most others have: 'y'"


def test_regions_that_most_others_lack_are_a_failure_too():
    whole = whole_rows([row("a", x=1), row("b", x=4), row("c", x=5, z=1), row("d", z=1)])
    assert names(whole.rows) == ["a", "b"]
    assert whole.failures[0].reason == "has 1 region that most others do not have: 'z'"
    assert whole.failures[1].reason.startswith("lacks 1 region that most others have and has 1")


def test_of_as_many_the_cut_off_ones_fail_and_others_are_an_error():
    for rows in ([row("a", x=1), row("b", x=1, y=1)], [row("a", x=1, y=1), row("b", x=1)]):
        assert whole_rows(rows).regions == ("x", "y")
    with pytest.raises(InputError, match=r"with 1 and 2 regions.* 1 subject"):
        whole_rows([row("a", x=1), row("b", y=1, z=1)])


def test_nothing_measured_in_most_leaves_out_the_region_else_the_subject():
    rows = [row("a", x=1, wall=math.nan), row("b", x=0, wall=math.nan), row("c", x=2, wall=1)]
    whole = whole_rows(rows, frozenset({"x"}))
    assert names(whole.rows) == ["a", "c"]
    assert (whole.regions, whole.unmeasured) == (("x",), ("wall",))
    assert whole.failures[0].reason == "1 region is 0 or not a number: 'x'"


def test_a_volume_may_be_zero():
    whole = whole_rows([row("a", x=0), row("b", x=1)])
    assert names(whole.rows) == ["a", "b"]


def test_a_volume_of_zero_in_most_is_no_region():
    whole = whole_rows([row("a", x=1, cc=0), row("b", x=1, cc=0), row("c", x=2, cc=3)])
    assert names(whole.rows) == ["a", "b", "c"]
    assert (whole.regions, whole.unmeasured) == (("x",), ("cc",))


def test_nobody_is_nobody():
    assert whole_rows([]).rows == ()
