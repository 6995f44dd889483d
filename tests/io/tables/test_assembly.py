import pandas as pd
import pytest

from sgbn import InputError
from sgbn.io.tables.assembly import assemble, find_id, read_as_text
from sgbn.io.tables.columns import Options
from sgbn.io.tables.files import from_frame


def options(**given):
    return Options.of(**{"groups": None, "group": None} | given)


def table(n=4, **columns):
    base = {"id": [f"s{k}" for k in range(n)], "lh_insula": range(n), "rh_insula": range(1, n + 1)}
    return from_frame(pd.DataFrame(base | columns), "t")


def test_columns_of_labels_are_read_as_text():
    columns = ["id", "dx", "IntraCranialVol", "lh_insula"]
    asked = options(group="dx", covariates="eTIV")
    assert read_as_text(asked, columns) == {"id", "dx", "IntraCranialVol"}


def test_the_id_is_found_or_named():
    assert find_id(table(), options()) == "id"
    assert find_id(table(code=list("wxyz")), options(id="code")) == "code"
    with pytest.raises(InputError, match="t has no column 'cod' to be the id"):
        find_id(table(code=list("wxyz")), options(id="cod"))


def test_labels_of_their_own_are_no_group_from_ten_rows_on():
    assert len(assemble(table(4, dx=list("abcd")), options(group="dx")).groups) == 4
    with pytest.raises(InputError, match="20 different labels in 20 rows"):
        assemble(table(20, dx=[k / 7 for k in range(20)]), options(group="dx"))


def test_duplicates_among_rows_that_are_left_out_do_not_matter():
    made = table(4, dx=["a", "a", "b", None], id=["s", "r", "s", "s"])
    assert assemble(made, options(group="dx", groups=["a"])).ids == ("s", "r")
    with pytest.raises(InputError, match="'s' is in"):
        assemble(made, options(group="dx", groups=["a", "b"]))


def test_participants_need_ids():
    people = pd.DataFrame({"dx": ["a"] * 4, "age": [1] * 4})
    with pytest.raises(InputError, match=r"no column of ids.*participant_id"):
        assemble(table(), options(group="dx"), people)


def test_a_column_that_no_table_has_is_missed_in_the_first():
    people = pd.DataFrame({"id": [f"s{k}" for k in range(4)], "dx": ["a"] * 4})
    with pytest.raises(InputError, match="has no column 'diagnosis' to be the group"):
        assemble(table(), options(group="diagnosis"), people)
