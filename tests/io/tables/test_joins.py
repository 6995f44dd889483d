import numpy as np
import pandas as pd
import pytest

from sgbn.core.exceptions import DataWarning, InputError
from sgbn.read.files import from_frame
from sgbn.read.table import (
    absent_ids,
    add_columns,
    check_ids,
    join_participants,
    name_visits,
    with_ids,
)


def table(ids, name="t", **columns):
    return with_ids(from_frame(pd.DataFrame({"id": ids} | columns), name), "id")


def test_ids_are_needed_and_unique():
    with pytest.raises(InputError, match=r"row 1 .*the id is missing"):
        table(["a", None], a=[1, 2])
    with pytest.raises(InputError, match=r"'a' is in row 0 \(counted from 0\) and row 2"):
        check_ids(table(["a", "b", "a"], a=[1, 2, 3]), "id")
    assert with_ids(from_frame(pd.DataFrame({"a": [1], "b": [2]}), "t"), None).ids == ("row 0",)


def test_participants_are_found_with_or_without_prefix():
    image = table(["sub-1", "2"], a=[1.0, 2.0])
    people = table(["3", "sub-2", "1"], "p", sex=["F", "M", "X"])
    joined = join_participants(image, people, ["sex"], may_lack=False)
    assert joined.frame["sex"].tolist() == ["X", "M"]
    assert joined.where(0, "sex") == "p, row 2 (counted from 0) (subject 'sub-1'), column 'sex'"
    assert joined.facts["participants"]["not_in_table"] == 1
    assert "sex" not in image.columns


def test_subjects_without_participant():
    image, people = table(["1", "2"], a=[1, 2]), table(["2"], "p", sex=["M"])
    with pytest.raises(InputError, match="p has no row for 1 of 2 subjects in t: '1'"):
        join_participants(image, people, ["sex"], may_lack=False)
    people = table(["2"], "p", sex=["M"], age=[30])
    joined = join_participants(image, people, ["sex", "age"], may_lack=True)
    assert joined.frame[["sex", "age"]].isna().to_numpy().tolist() == [[True] * 2, [False] * 2]
    assert joined.frame["age"].tolist()[1] == 30
    with pytest.raises(InputError, match="no row for 2 of 2"):
        join_participants(table(["8", "9"], a=[1, 2]), people, ["sex"], may_lack=True)


def test_subjects_without_participant_are_dropped_by_name_if_asked():
    image, people = table(["1", "2", "3"], a=[1, 2, 3]), table(["sub-2"], "p", sex=["M"])
    with pytest.warns(DataWarning, match="no row for 2 subjects in t: '1', '3'.*left out"):
        joined = join_participants(image, people, ["sex"], may_lack=False, drop=True)
    assert joined.ids == ("2",)
    assert joined.frame["a"].tolist() == [2]
    assert joined.facts["participants"]["subjects_without_row"] == 2
    with pytest.raises(InputError, match="no row for 2 of 2"):
        join_participants(table(["8", "9"], a=[1, 2]), people, ["sex"], False, drop=True)
    with pytest.raises(InputError, match="--participants-missing drop"):
        join_participants(image, people, ["sex"], may_lack=False)


def test_one_id_in_two_spellings():
    people = table(["sub-1", "1"], "p", sex=["M", "F"])
    with pytest.raises(InputError, match="'sub-1' and '1' are the same id"):
        join_participants(table(["1"], a=[1]), people, ["sex"], may_lack=False)


def test_columns_follow_their_rows():
    joined = add_columns(
        table(["a", "b"], x=[1, 2]), table(["b", "a"], "u", y=[5, 6]), ["y"], np.array([1, 0])
    )
    assert joined.frame["y"].tolist() == [6, 5]
    assert joined.source_of("y") == "u"


def test_two_ids_that_are_one_participant():
    people = table(["1", "2"], "p", sex=["M", "F"])
    with pytest.raises(
        InputError, match="t: the ids '1' and 'sub-1' are the same subject, '1' in p"
    ):
        join_participants(table(["1", "sub-1"], a=[1, 2]), people, ["sex"], may_lack=False)


@pytest.mark.parametrize("name", ["sub-001", "001", "sub-1_ses-02", "sub-01_ses-pre"])
def test_zeros_and_sessions_are_named_as_the_cause(name):
    people = table([name, "7"], "p", sex=["M", "F"])
    with pytest.raises(InputError, match=f"zeros.* differ in 1 of these.*'1' and '{name}'"):
        join_participants(table(["1"], a=[1]), people, ["sex"], may_lack=False)


def test_other_ids_have_no_likely_cause():
    with pytest.raises(InputError) as error:
        join_participants(
            table(["10"], a=[1]), table(["1"], "p", sex=["M"]), ["sex"], may_lack=False
        )
    assert "leading zeros" not in str(error.value)


def test_each_column_keeps_the_decimal_mark_of_its_file():
    people = with_ids(from_frame(pd.DataFrame({"id": ["1"], "age": ["34,5"]}), "p", ","), "id")
    joined = join_participants(table(["1"], a=["2.5"]), people, ["age"], may_lack=False)
    assert (joined.origin_of("a").decimal, joined.origin_of("age").decimal) == (".", ",")


def test_visits_are_named_by_their_groups_where_that_tells_them_apart():
    made = table(["1", "2", "1"], a=[1, 2, 3])
    assert name_visits(made, ["x", "x", "y"]).ids == ("1 (x)", "2 (x)", "1 (y)")
    assert name_visits(made, ["x", "x", "x"]) is made
    unique = table(["1", "2", "3"], a=[1, 2, 3])
    assert name_visits(unique, ["x", "x", "y"]) is unique


def test_ids_that_repeat_many_times_look_like_time_series():
    with pytest.raises(InputError, match=r"24 rows of 2 subjects look like volumes .*'volume'"):
        check_ids(table(["s1"] * 12 + ["s2"] * 12, a=range(24)), "id")
    with pytest.raises(InputError, match=r"rows repeat an id\)\. Keep one row per subject"):
        check_ids(table(["s1"] * 2 + ["s2"] * 2, a=range(4)), "id")


def test_ids_are_compared_with_or_without_the_prefix():
    assert absent_ids(["sub-1", "2", "sub-3"], ["1", "sub-2"]) == ["sub-3"]


def test_ids_that_are_longer_than_those_of_participants_are_pointed_out():
    people = table(["50952", "50954"], dx=["A", "B"])
    with pytest.raises(InputError, match=r"In 2 of these ids, .*\('50952' in 'NYU_0050952'\)"):
        join_participants(table(["NYU_0050952", "NYU_0050954"], a=[1, 2]), people, ["dx"], False)
