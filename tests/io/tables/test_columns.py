import pandas as pd
import pytest

from sgbn.cohort.atlas import load_atlas
from sgbn.core.exceptions import InputError
from sgbn.read.files import from_frame
from sgbn.read.roles import Options, choose_regions, find_column, unknown_column


def test_the_volume_inside_the_skull_has_several_names():
    assert find_column(["a", "EstimatedTotalIntraCranialVol"], "eTIV") is not None
    assert find_column(["eTIV", "ICV"], "ICV") == "ICV"
    assert find_column(["a"], "eTIV") is None


def table(**columns):
    base = {"id": list("abc"), "lh_insula": [1.0, 2, 3], "rh_insula": [2.0, 3, 4]}
    return from_frame(pd.DataFrame(base | columns), "t")


def test_every_column_is_accounted_for():
    made = table(eTIV=1.5, note="x", age=[20, 30, 40], euler=2)
    choice = choose_regions(made, ["id", "age"], Options.of(exclude=["eul*"]))
    facts = choice.facts
    places = [*choice.regions, *facts["totals"], *facts["excluded"], *facts["ignored"]]
    assert sorted([*places, "id", "age"]) == sorted(made.columns)


@pytest.mark.parametrize("regions", [(), ("lh_*", "rh_*")])
def test_excluded_columns_do_not_change_the_atlas(regions):
    names = [r.name for r in load_atlas("dkt").regions if r.name.startswith(("lh_", "rh_"))]
    made = from_frame(pd.DataFrame({name: [1.0, 2.0, 3.0] for name in names}), "t")
    options = Options.of(exclude=["*_entorhinal"], **({"regions": regions} if regions else {}))
    choice = choose_regions(made, [], options)
    assert (choice.atlas.name, len(choice.regions)) == ("dkt", len(names) - 2)


def test_a_name_with_pattern_characters_is_taken_as_it_is():
    made = table(**{"a[1]": [1.0, 2, 3], "a1": [1.0, 2, 3]})
    assert choose_regions(made, ["id"], Options.of(regions=["a[1]", "a1"])).regions == (
        "a[1]",
        "a1",
    )


def test_patterns_pass_over_totals_and_roles():
    made = table(lh_MeanThickness_thickness=2.5, lh_age=[1, 2, 3])
    chosen = choose_regions(made, ["id", "lh_age"], Options.of(regions=["?h_*"]))
    assert chosen.regions == ("lh_insula", "rh_insula")


def test_columns_without_cells_are_passed_over():
    made = table(note=[None, None, None], empty=[float("nan")] * 3, later=[None, 2.5, 3.5])
    with pytest.raises(InputError, match=r"not named: 'later'\. Name"):
        choose_regions(made, ["id"], Options.of())
    assert choose_regions(made, ["id"], Options.of(regions="all")).regions[2:] == ("later",)


def test_numbers_with_some_text_are_no_text():
    made = from_frame(
        pd.DataFrame({"lh_insula": range(9), "rh_insula": range(9), "IQ": [*range(8), "?"]}), "t"
    )
    with pytest.raises(InputError, match="not named: 'IQ'"):
        choose_regions(made, [], Options.of())


def without_ids(**columns):
    base = {"lh_insula": [1.0, 2, 3], "rh_insula": [2.0, 3, 4]}
    return from_frame(pd.DataFrame(base | columns), "t")


def test_a_column_that_looks_like_ids_is_pointed_out():
    made = without_ids(**{"Probanden-ID": [12, 14, 17], "age": [20, 21, 22]})
    offer = r"'Probanden-ID' looks like the column of ids.*id='Probanden-ID', --id"
    for regions in (None, "all"):
        with pytest.raises(InputError, match=offer):
            choose_regions(made, [], Options.of(regions=regions), has_ids=False)
    with pytest.raises(InputError, match=r"'Probanden-ID' \(by its name\).*--exclude Probanden-ID"):
        choose_regions(made, [], Options.of(regions="all"), has_ids=True)
    excluded = Options.of(regions="all", exclude=["*-ID", "age"])
    assert len(choose_regions(made, [], excluded, has_ids=False).regions) == 2


@pytest.mark.parametrize("cells", [[1.5, 2.5, 3.5], [1, 1, 2]])
def test_ids_are_whole_and_distinct(cells):
    made = without_ids(carotid=cells)
    assert "carotid" in choose_regions(made, [], Options.of(regions="all"), False).regions


def test_a_missing_header_and_a_transposed_table_are_recognised():
    numbers = from_frame(pd.DataFrame({"1.5": [1], "2.5": [2], "AD": ["CTR"]}), "t")
    assert "The first row seems to hold data" in str(unknown_column(numbers, "dx", "group"))
    turned = from_frame(pd.DataFrame({"name": ["dx", "lh_insula"], "s1": ["AD", 2.5]}), "t")
    assert "'dx' is the name of a row" in str(unknown_column(turned, "dx", "group"))
    assert "row" not in str(unknown_column(table(), "dx", "group"))


def test_every_role_is_offered_to_an_unnamed_number():
    with pytest.raises(
        InputError,
        match=r"--id, --group, --site, --pair, --subject, --block, --covariates.*--exclude",
    ):
        choose_regions(table(age=[20, 30, 40]), ["id"], Options.of())


def test_a_better_atlas_is_named_with_both_counts():
    names = ["lh_bankssts", "rh_bankssts", "lh_parsorbitalis", "rh_parsorbitalis"]
    made = table(**{name: [1.0, 2, 3] for name in names})
    said = "aal .*matches 2 columns, but desikan_killiany matches 6"
    with pytest.raises(InputError, match=said):
        choose_regions(made, ["id"], Options.of(atlas="aal"))
    both = table(**{"Left-Caudate": [1.0, 2, 3], "Right-Caudate": 1.5} | dict.fromkeys(names, 2.5))
    with pytest.raises(InputError, match=r"destrieux .* 2 columns, but desikan_killiany matches 8"):
        choose_regions(both, ["id"], Options.of(atlas="destrieux"))
    with pytest.raises(InputError) as error:
        choose_regions(table(age=[1, 2, 3]), ["id"], Options.of(atlas="dk"))
    assert "right atlas" not in str(error.value)


@pytest.mark.parametrize("regions", [None, "all"])
def test_an_atlas_that_the_names_leave_open_is_asked_for(regions):
    names = ["LH_Vis_1", "LH_Vis_2", "RH_SomMot_1"]
    made = from_frame(pd.DataFrame({"id": list("abc")} | dict.fromkeys(names, 1.5)), "t")
    with pytest.raises(InputError, match=r"'LH_Vis_1', are regions of schaefer_100_7, but .*400"):
        choose_regions(made, ["id"], Options.of(regions=regions))
    choice = choose_regions(made, ["id"], Options.of(regions=regions, atlas="schaefer200"))
    assert choice.atlas.name == "schaefer_200_7"
    assert choice.regions == tuple(names)


def test_a_measure_is_asked_for_by_its_option():
    with pytest.raises(InputError, match="--measure area"):
        choose_regions(table(lh_insula_area=[1, 2, 3]), ["id"], Options.of())
