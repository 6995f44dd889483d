import pandas as pd
import pytest

from sgbn.core.exceptions import InputError
from sgbn.read.files import from_frame
from sgbn.read.roles import Options
from sgbn.read.table import assemble, find_id, read_as_text


def cohort_of(*arguments):
    return assemble(*arguments)[0]


def table(n=4, **columns):
    base = {"id": [f"s{k}" for k in range(n)], "lh_insula": range(n), "rh_insula": range(1, n + 1)}
    return from_frame(pd.DataFrame(base | columns), "t")


def test_columns_of_labels_are_read_as_text():
    columns = ["id", "dx", "IntraCranialVol", "lh_insula"]
    asked = Options.of(group="dx", covariates="eTIV")
    assert read_as_text(asked, columns) == {"id", "dx", "IntraCranialVol"}


def test_the_id_is_found_or_named():
    assert find_id(table(), Options.of()) == "id"
    assert find_id(table(code=list("wxyz")), Options.of(id="code")) == "code"
    with pytest.raises(InputError, match="t has no column 'cod' to be the id"):
        find_id(table(code=list("wxyz")), Options.of(id="cod"))


def test_labels_of_their_own_are_no_group_from_ten_rows_on():
    assert len(cohort_of(table(4, dx=list("abcd")), Options.of(group="dx")).groups) == 4
    with pytest.raises(InputError, match="20 different labels in 20 rows"):
        cohort_of(table(20, dx=[k / 7 for k in range(20)]), Options.of(group="dx"))


def test_duplicates_among_rows_that_are_left_out_do_not_matter():
    made = table(4, dx=["a", "a", "b", None], id=["s", "r", "s", "s"])
    assert cohort_of(made, Options.of(group="dx", groups=["a"])).ids == ("s", "r")
    with pytest.raises(InputError, match="'s' is in"):
        cohort_of(made, Options.of(group="dx", groups=["a", "b"]))


def test_participants_need_ids():
    people = pd.DataFrame({"dx": ["a"] * 4, "age": [1] * 4})
    with pytest.raises(InputError, match=r"no column of ids.*participant_id"):
        cohort_of(table(), Options.of(group="dx"), people)


def test_a_column_that_no_table_has_is_missed_in_the_first():
    people = pd.DataFrame({"id": [f"s{k}" for k in range(4)], "dx": ["a"] * 4})
    with pytest.raises(InputError, match="has no column 'diagnosis' to be the group"):
        cohort_of(table(), Options.of(group="diagnosis"), people)


def test_a_column_in_neither_table_is_looked_for_in_both():
    people = pd.DataFrame({"id": [f"s{k}" for k in range(4)], "diagnosis": ["a"] * 4})
    with pytest.raises(InputError, match=r"t has .* and the DataFrame does not .*'diagnosis'"):
        cohort_of(table(), Options.of(group="diagnosi"), people)


def test_the_named_id_is_that_of_participants_too_and_the_rest_is_said():
    made = table(code=list("wxyz"))
    people = pd.DataFrame({"id": [1, 1, 1, 1], "code": list("zyxw"), "dx": list("aabb"), "iq": 1})
    cohort = cohort_of(made, Options.of(id="code", group="dx"), people)
    assert cohort.group.tolist() == ["b", "b", "a", "a"]
    assert cohort.provenance["participants"]["ignored"] == ["id", "iq"]


def test_two_names_of_one_column():
    with pytest.raises(InputError, match="'eTIV' and 'ICV' both mean the column 'ICV' of t"):
        cohort_of(table(ICV=[1.5] * 4), Options.of(covariates=["eTIV", "ICV"]))
    people = pd.DataFrame({"id": [f"s{k}" for k in range(4)], "TIV": 1, "eTIV": 1.5})
    with pytest.raises(InputError, match="both mean the column 'eTIV'"):
        cohort_of(table(), Options.of(covariates=["eTIV", "ICV"]), people)


@pytest.mark.parametrize("role", ["group", "site", "covariates"])
def test_marks_for_missing_labels_are_refused_in_every_role(role):
    made = table(4, dx=["a", "b", "-999", "a"])
    with pytest.raises(InputError, match=r"row 2 .*column 'dx': -999 is not a label"):
        cohort_of(made, Options.of(**{role: "dx"}))


def test_the_column_of_the_sites_is_in_the_provenance():
    made = table(4, scanner=["a", "b", "b", "a"])
    assert cohort_of(made, Options.of(site="scanner")).provenance["site_column"] == "scanner"
    assert "site_column" not in cohort_of(made, Options.of(covariates="scanner")).provenance


def test_groups_may_leave_out_what_looks_like_missing():
    made = table(4, dx=["a", "b", "-999", "a"])
    assert cohort_of(made, Options.of(group="dx", groups=["a", "b"])).provenance["left_out"] == {
        "-999": 1
    }


def visits(**columns):
    """Two persons before and after, a number each."""
    base = {
        "id": ["01", "02", "01", "02"],
        "visit": ["pre", "pre", "post", "post"],
        "lh_insula": range(4),
        "rh_insula": range(1, 5),
    }
    return from_frame(pd.DataFrame(base | columns), "t")


@pytest.mark.parametrize("named", [{"id": "id"}, {}])
def test_visits_of_one_id_are_told_apart_by_the_group(named):
    cohort = cohort_of(visits(), Options.of(group="visit", pair="id", **named))
    assert cohort.ids == ("01 (pre)", "02 (pre)", "01 (post)", "02 (post)")
    assert cohort.pair.tolist() == ["01", "02", "01", "02"]
    assert cohort.regions == ("lh_insula", "rh_insula")
    assert cohort.complete.all()


def test_ids_that_repeat_in_a_group_or_without_pairs_are_refused():
    with pytest.raises(InputError, match=r"'01' is in row 0 .*\(pair=, --pair\)"):
        cohort_of(visits(), Options.of(group="visit"))
    twice = visits(id=["01", "01", "01", "02"])
    with pytest.raises(InputError, match=r"'01' is in row 0 .*one row per person and group"):
        cohort_of(twice, Options.of(group="visit", pair="id"))
    with pytest.raises(InputError, match="'01' is in row 0"):
        cohort_of(visits(), Options.of(pair="id"))


def test_a_pair_of_its_own_leaves_ids_as_they_are_and_is_no_region():
    made = visits(id=["a", "b", "c", "d"], person=[7, 8, 7, 8])
    for regions in (None, "all"):
        cohort = cohort_of(made, Options.of(group="visit", pair="person", regions=regions))
        assert cohort.ids == ("a", "b", "c", "d")
        assert cohort.pair.tolist() == ["7", "8", "7", "8"]
        assert cohort.regions == ("lh_insula", "rh_insula")


def test_the_pair_is_the_id_only_if_nothing_else_is():
    made = visits(id=["a", "b", "c", "d"], subject_id=["p", "q", "p", "q"])
    cohort = cohort_of(made, Options.of(group="visit", pair="subject_id"))
    assert cohort.ids == ("a", "b", "c", "d")
    assert cohort.pair.tolist() == ["p", "q", "p", "q"]
    repeated = visits(subject_id=["p", "q", "p", "q"])
    cohort = cohort_of(repeated, Options.of(group="visit", id="id", pair="subject_id"))
    assert cohort.ids[0] == "01 (pre)"


def test_groups_are_chosen_before_visits_are_told_apart():
    options = Options.of(group="visit", groups=["pre"], pair="id")
    assert cohort_of(visits(), options).ids == ("01", "02")


def test_a_person_who_is_not_named_is_an_error():
    made = visits(id=["a", "b", "c", "d"], person=["p", "q", "p", None])
    with pytest.raises(InputError, match=r"row 3 .*column 'person': the pair is missing"):
        cohort_of(made, Options.of(group="visit", pair="person"))
    with pytest.raises(InputError, match=r"no column 'persn' to be the pair.*'person'"):
        cohort_of(made, Options.of(group="visit", pair="persn"))


def test_participants_have_one_row_for_all_visits_of_a_person():
    people = pd.DataFrame({"id": ["02", "01"], "sex": ["F", "M"], "family": ["x", "y"]})
    for pair, persons in (("id", ["01", "02"]), ("family", ["y", "x"])):
        cohort = cohort_of(visits(), Options.of(group="visit", pair=pair, covariates="sex"), people)
        assert cohort.covariates["sex"].tolist() == ["M", "F", "M", "F"]
        assert cohort.pair.tolist() == persons * 2
        assert cohort.ids[0] == "01 (pre)"


def sessions(**columns):
    """Three persons of two families, the first with two rows."""
    base = {
        "subject_id": ["p", "p", "q", "r"],
        "family": ["x", "x", "y", "x"],
        "dx": ["A", "A", "B", "B"],
        "lh_insula": range(4),
        "rh_insula": range(1, 5),
    }
    return from_frame(pd.DataFrame(base | columns), "t")


def test_rows_of_a_person_are_numbered_where_they_have_no_ids():
    options = Options.of(group="dx", subject="subject_id", block="family", regions="all")
    cohort = cohort_of(sessions(), options)
    assert cohort.ids == ("row 0", "row 1", "row 2", "row 3")
    assert cohort.person.tolist() == ["p", "p", "q", "r"]
    assert cohort.block.tolist() == ["x", "x", "y", "x"]
    assert cohort.regions == ("lh_insula", "rh_insula")
    cohort = cohort_of(sessions(id=list("abcd")), options)
    assert cohort.ids == ("a", "b", "c", "d")


def test_ids_that_repeat_lead_to_the_column_of_persons():
    with pytest.raises(InputError, match=r"'p' is in row 0 .*\(subject=, --subject\)"):
        cohort_of(sessions(), Options.of(group="dx", regions="all", exclude="family"))


@pytest.mark.parametrize(("role", "column"), [("subject", "subject_id"), ("block", "family")])
def test_a_blank_person_or_block_is_an_error(role, column):
    made = sessions(id=list("abcd"), **{column: ["p", "p", None, "r"]})
    with pytest.raises(InputError, match=rf"row 2 .*'{column}': the {role} is missing.*Fill"):
        cohort_of(made, Options.of(group="dx", id="id", **{role: column}))


def test_participants_are_joined_by_person_where_rows_have_no_ids():
    people = pd.DataFrame({"participant_id": ["sub-q", "sub-p", "sub-r"], "sex": ["F", "M", "F"]})
    options = Options.of(group="dx", subject="subject_id", covariates="sex", exclude="family")
    cohort = cohort_of(sessions(), options, people)
    assert cohort.covariates["sex"].tolist() == ["M", "M", "F", "F"]
    assert cohort.ids[0] == "row 0"
