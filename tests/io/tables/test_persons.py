import pandas as pd
import pytest

from sgbn.read.cells import Missing
from sgbn.read.files import from_frame
from sgbn.read.roles import id_column, like_ids, repeated_persons


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["age", "ID"], "ID"),
        (["id", "Participant_ID"], "Participant_ID"),
        (["lh.aparc.thickness", "lh_insula_thickness"], "lh.aparc.thickness"),
        (["Measure:volume", "CSF"], "Measure:volume"),
        (["a", "Measure:volume"], None),
        (["(row names)", "a"], "(row names)"),
        (["(row names)", "subject"], "subject"),
        (["(row names)", "lh.aparc.thickness"], "lh.aparc.thickness"),
        (["age", "Subject ID"], "Subject ID"),
        (["Participant-Id", "age"], "Participant-Id"),
        (["Probanden-ID", "age"], None),
    ],
)
def test_ids_by_name(columns, expected):
    assert id_column(columns) == expected


def test_a_column_with_a_role_is_no_id():
    assert id_column(["id", "subject"], taken=["subject"]) == "id"


def test_the_option_follows_from_the_groups_of_a_persons_rows():
    frame = {
        "patient": list("aabbccdd"),  # all rows in one group
        "person": list("abcdabcd"),  # one row in each group
        "family": list("abcaaaaa"),  # anywhere
        "lh_insula": range(8),
    }
    table = from_frame(pd.DataFrame(frame), "t")
    options = repeated_persons(table, ["lh_insula"], list("xxxxyyyy"))["persons"]
    assert options == {"patient": "--subject", "person": "--pair", "family": "--block"}
    assert set(repeated_persons(table, [], None)["persons"].values()) == {"--subject"}


def test_many_labels_in_one_group_each_may_be_persons():
    code = [f"k{row // 2}" for row in range(16)]
    table = from_frame(pd.DataFrame({"code": code, "half": ["a", "b"] * 8}), "t")
    assert repeated_persons(table, [], ["x"] * 8 + ["y"] * 8) == {"nested": {"code": "--subject"}}
    assert repeated_persons(table, ["code"], None) == {}


def test_ids_are_whole_and_distinct_numbers_in_a_column_called_so():
    cells = {"scan_id": [4, 5, 6], "half_id": [4.5, 5, 6], "twin_id": [4, 4, 5], "x": [7, 8, 9]}
    table = from_frame(pd.DataFrame(cells), "t")
    assert like_ids(table, table.columns, Missing()) == ["scan_id"]
