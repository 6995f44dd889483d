import pandas as pd
import pytest

from sgbn import InputError
from sgbn.io.tables.columns import Options, choose_regions, find_column, id_column
from sgbn.io.tables.files import from_frame


def options(**given):
    return Options.of(**{"groups": None, "group": None} | given)


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        (["age", "ID"], "ID"),
        (["id", "Participant_ID"], "Participant_ID"),
        (["lh.aparc.thickness", "lh_insula_thickness"], "lh.aparc.thickness"),
        (["Measure:volume", "CSF"], "Measure:volume"),
        (["a", "Measure:volume"], None),
        (["(row names)", "a"], "(row names)"),
        (["(row names)", "subject"], "subject"),
    ],
)
def test_ids_by_name(columns, found):
    assert id_column(columns) == found


def test_a_column_with_a_role_is_no_id():
    assert id_column(["id", "subject"], taken=["subject"]) == "id"


def test_the_volume_inside_the_skull_has_several_names():
    assert find_column(["a", "EstimatedTotalIntraCranialVol"], "eTIV") is not None
    assert find_column(["eTIV", "ICV"], "ICV") == "ICV"
    assert find_column(["a"], "eTIV") is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"group": "a", "id": "a"}, "'a' is named as id and as group"),
        ({"covariates": ["a", "a"]}, "'a' is named as covariate and as covariate"),
        ({"group": 3}, "group is 3. Give the name"),
        ({"covariates": 3}, "covariates is 3"),
        ({"groups": ["x"]}, "give group= too"),
    ],
)
def test_roles_must_be_names_and_distinct(given, message):
    with pytest.raises(InputError, match=message):
        options(**given)


def table(**columns):
    base = {"id": list("abc"), "lh_insula": [1.0, 2, 3], "rh_insula": [2.0, 3, 4]}
    return from_frame(pd.DataFrame(base | columns), "t")


def test_every_column_is_accounted_for():
    made = table(eTIV=1.5, note="x", age=[20, 30, 40], euler=2)
    choice = choose_regions(made, ["id", "age"], options(exclude=["eul*"]))
    facts = choice.facts
    places = [*choice.regions, *facts["totals"], *facts["excluded"], *facts["ignored"]]
    assert sorted([*places, "id", "age"]) == sorted(made.columns)


def test_a_name_with_pattern_characters_is_taken_as_it_is():
    made = table(**{"a[1]": [1.0, 2, 3], "a1": [1.0, 2, 3]})
    assert choose_regions(made, ["id"], options(regions=["a[1]", "a1"])).regions == ("a[1]", "a1")


def test_patterns_pass_over_totals_and_roles():
    made = table(lh_MeanThickness_thickness=2.5, lh_age=[1, 2, 3])
    chosen = choose_regions(made, ["id", "lh_age"], options(regions=["?h_*"]))
    assert chosen.regions == ("lh_insula", "rh_insula")


def test_columns_without_cells_are_passed_over():
    made = table(note=[None, None, None], empty=[float("nan")] * 3, later=[None, 2.5, 3.5])
    with pytest.raises(InputError, match=r"not named: 'later'\. Name"):
        choose_regions(made, ["id"], options())
    assert choose_regions(made, ["id"], options(regions="all")).regions[2:] == ("later",)


def test_numbers_with_some_text_are_no_text():
    made = from_frame(
        pd.DataFrame({"lh_insula": range(9), "rh_insula": range(9), "IQ": [*range(8), "?"]}), "t"
    )
    with pytest.raises(InputError, match="not named: 'IQ'"):
        choose_regions(made, [], options())
