"""The atlas that `sgbn extract` wrote is found beside a table, and no other is."""

import warnings

import numpy as np
import pandas as pd
import pytest
from tests.codes import refused, warned

from sgbn.cohort.atlas import ATLASES, load_atlas
from sgbn.core.problems import problem_of
from sgbn.prepare.review import review
from sgbn.read.cells import Missing
from sgbn.read.files import from_frame
from sgbn.read.roles import (
    Options,
    choose_regions,
    extracted_atlas,
    find_column,
    id_column,
    like_ids,
    repeated_persons,
    site_columns,
    unknown_column,
    unnamed_sites,
)
from sgbn.read.series import read_series
from sgbn.read.table import read_freesurfer, read_table


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"group": "a", "id": "a"}, "roles.two"),
        ({"subject": "a", "pair": "a"}, "roles.two"),
        ({"block": "a", "site": "a"}, "roles.two"),
        ({"covariates": ["a", "a"]}, "roles.two"),
        ({"group": 3}, "argument"),
        ({"groups": ["x"]}, "groups.argument"),
        ({"group": "a", "groups": []}, "groups.argument"),
        ({"covariates": "sex", "smooth": "age"}, "smooth.unknown"),
        ({"atlas": 5}, "atlas.unknown"),
        ({"missing": {"age": -9}}, "missing.mapping"),
    ],
)
def test_roles_must_be_names_and_distinct(given, code):
    with refused(code):
        Options.of(**given)


def test_one_name_is_a_list_of_one_and_none_is_none():
    options = Options.of(group="dx", groups=[1.0, "b"], covariates="age", measure=None)
    assert options.groups == ("1", "b")
    assert (options.covariates, options.measure, options.regions) == (("age",), (), None)
    assert options.named == {"age": "covariate", "dx": "group"}
    assert Options.of(id="s", pair="s").named == {"s": "id"}
    assert Options.of(id="s", pair="p").named == {"s": "id", "p": "pair"}


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
    assert choose_regions(made, ["id"], Options.of(regions="all")).regions[2:] == ("later",)


@pytest.mark.parametrize("cells", [[None, 2.5, 3.5], [*range(8), "?"]])
def test_numbers_with_gaps_or_some_text_are_asked_about(cells):
    made = from_frame(pd.DataFrame({"IQ": cells}).assign(lh_insula=2.5, rh_insula=2.5), "t")
    with refused("columns.numbers"):
        choose_regions(made, [], Options.of())


def test_a_column_that_looks_like_ids_is_pointed_out():
    made = table(**{"Probanden-ID": [12, 14, 17], "age": [20, 21, 22]})
    cases = ((None, False, "columns.numbers"), ("all", False, "columns.like-ids"))
    for regions, has_ids, code in (*cases, ("all", True, "regions.odd")):
        with refused(code):
            choose_regions(made, ["id"], Options.of(regions=regions), has_ids)
    excluded = Options.of(regions="all", exclude=["*-ID", "age"])
    assert len(choose_regions(made, ["id"], excluded, has_ids=False).regions) == 2


@pytest.mark.parametrize("cells", [[1.5, 2.5, 3.5], [1, 1, 2]])
def test_ids_are_whole_and_distinct(cells):
    made = table(carotid=cells)
    assert "carotid" in choose_regions(made, ["id"], Options.of(regions="all"), False).regions


def test_a_missing_header_and_a_transposed_table_are_recognised():
    numbers = from_frame(pd.DataFrame({"1.5": [1], "2.5": [2], "AD": ["CTR"]}), "t")
    turned = from_frame(pd.DataFrame({"name": ["dx", "lh_insula"], "s1": ["AD", 2.5]}), "t")
    errors = [unknown_column(made, "dx", "group") for made in (numbers, turned, table())]
    codes = ["columns.no-header", "columns.transposed", "columns.unknown"]
    assert [error.problem.code for error in errors] == codes


@pytest.mark.parametrize("asked", [{}, {"group": "dx"}, {"regions": "all"}])
@pytest.mark.parametrize("first", [["dx", *["AD", "CTR"] * 2], ["age", 1.5, 2.5, 3.5, 4.5]])
def test_a_transposed_table_is_refused_before_its_subjects_are_listed(tmp_path, asked, first):
    rows = [["", "maria", "Ann", "Li", "Bo"], first]
    rows += [[name, 1.5, 2.5, 3.5, 4.5] for name in ("lh_insula", "rh_insula", "lh_cuneus")]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(",".join(map(str, row)) for row in rows))
    with refused("columns.transposed") as caught:
        read_table(path, **asked)
    assert "maria" not in str(caught.value)


@pytest.mark.parametrize(("sheets", "code"), [(2, "regions.sheet"), (1, "regions.no-numbers")])
def test_a_sheet_without_regions_is_told_apart(tmp_path, sheets, code):
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        for k in range(sheets):
            pd.DataFrame({"id": ["a", "b"], "note": ["x", "y"]}).to_excel(book, sheet_name=f"s{k}")
    with refused(code):
        read_table(tmp_path / "t.xlsx", exclude="(row names)")


@pytest.mark.parametrize("regions", [None, "all"])
def test_an_atlas_that_the_names_leave_open_is_asked_for(regions):
    names = ["LH_Vis_1", "LH_Vis_2", "RH_SomMot_1"]
    made = from_frame(pd.DataFrame({"id": list("abc")} | dict.fromkeys(names, 1.5)), "t")
    with refused("atlas.several"):
        choose_regions(made, ["id"], Options.of(regions=regions))
    choice = choose_regions(made, ["id"], Options.of(regions=regions, atlas="schaefer200"))
    assert choice.atlas.name == "schaefer_200_7"
    assert choice.regions == tuple(names)


N = 20


def text_columns_table(cells, name="other", of_atlas=False):
    names = ["lh_insula", "rh_insula", "lh_cuneus"] if of_atlas else ["a", "b", "c"]
    values = np.random.default_rng(0).normal(3, 0.2, (N, 3))
    frame = pd.DataFrame(values, columns=names)
    frame.insert(0, "subject_id", [f"s{k:02}" for k in range(N)])
    numbers = [f"{2 + k / 8}" for k in range(N)]
    return frame.assign(**{name: [*cells, *numbers[len(cells) :]]})


@pytest.mark.parametrize(
    "cells",
    [
        ["<LLOD"] * 5,
        ["<0.5"] * N,
        ["39,347"] * N,
        ["1.234.567"] * N,
        ["01.02.2020"] * N,
        ["2020-02-01"] * N,
        [pd.Timestamp("2020-02-01")] * N,
        ["01. Mrz"] * N,
        ["Mar-24"] * N,
        ["no remark"] * (N - 1),
        ["no remark"] * (N - 1) + ["<1"],
        ["#DIV/0!"] * N,
    ],
)
def test_a_column_of_numbers_with_much_text_does_not_go_silently(cells):
    with warned("columns.few-numbers") as caught:
        cohort = read_table(text_columns_table(cells), regions="all")
    place = problem_of(caught[0].message).values["where"].values
    assert (place["row"], place["column"], place["subject"]) == (0, "other", "s00")
    assert cohort.regions == ("a", "b", "c")
    assert cohort.provenance["ignored"] == ["other"]


def test_one_warning_lists_all_columns_and_exclusion_silences_it():
    made = text_columns_table(["<1"] * 8).assign(later=["7,5"] * N)
    with warned("columns.few-numbers"):
        read_table(made, regions="all")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_table(made, regions="all", exclude=["other", "later"])


@pytest.mark.parametrize(
    "cells",
    [
        [f"Mr {k}" for k in range(N)],
        ["good", "motion"] * (N // 2),
        ["T1", "T2, T1"] * (N // 2),
        ["no remark"] * N,
        ["sub-01", "Mark 12"] * (N // 2),
        [True, False] * (N // 2),
        [None] * N,
    ],
)
def test_a_column_without_numbers_makes_no_noise(cells):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_table(text_columns_table(cells), regions="all").regions == ("a", "b", "c")


@pytest.mark.parametrize("cell", ["<LLOD", "39,347", "01.02.2020", "n.b."])
@pytest.mark.parametrize("count", [1, 5, N])
def test_text_in_a_region_of_the_atlas_is_an_error(cell, count):
    made = text_columns_table([cell] * count, "rh_cuneus", of_atlas=True)
    with refused("cells.marks" if "," in cell else "cells.text"):
        read_table(made, regions="all")
    assert len(read_table(made, regions="all", exclude="rh_cuneus").regions) == 3


@pytest.mark.parametrize("cells", [[""] * N, [np.nan] * N, ["-7"] * N])
def test_a_region_of_the_atlas_without_cells_does_not_go_silently(cells):
    made = text_columns_table(cells, "rh_cuneus", of_atlas=True)
    with warned("regions.empty") as caught:
        assert len(read_table(made, regions="all", missing=-7).regions) == 3
    assert problem_of(caught[0].message).values["columns"] == ["rh_cuneus"]


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
    assert options == {"patient": "subject", "person": "pair", "family": "block"}
    assert set(repeated_persons(table, [], None)["persons"].values()) == {"subject"}


def test_many_labels_in_one_group_each_may_be_persons():
    code = [f"k{row // 2}" for row in range(16)]
    table = from_frame(pd.DataFrame({"code": code, "half": ["a", "b"] * 8}), "t")
    assert repeated_persons(table, [], ["x"] * 8 + ["y"] * 8) == {"nested": {"code": "subject"}}
    assert repeated_persons(table, ["code"], None) == {}


def test_ids_are_whole_and_distinct_numbers_in_a_column_called_so():
    cells = {"scan_id": [4, 5, 6], "half_id": [4.5, 5, 6], "twin_id": [4, 4, 5], "x": [7, 8, 9]}
    table = from_frame(pd.DataFrame(cells), "t")
    assert like_ids(table, table.columns, Missing()) == ["scan_id"]


UNNAMED_N = 40
GROUP = ["CTR", "SCZ"] * (UNNAMED_N // 2)


@pytest.fixture
def unnamed_table():
    """Table of four regions that no atlas knows, and two groups."""
    values = np.random.default_rng(0).normal(3, 0.2, (UNNAMED_N, 6))
    frame = pd.DataFrame(values, columns=[f"roi{k}" for k in range(6)])
    frame.insert(0, "dx", GROUP)
    frame.insert(0, "id", [f"s{k:02}" for k in range(UNNAMED_N)])
    return frame


SITES = (
    *("site", "SITE_ID", "siteid", "Scanner", "scanner model", "ScannerModel", "centre", "Center"),
    *("manufacturer", "MRI_site", "acquisition site", "hospital", "study-site", "Vendor"),
    *("scanner_manufacturer", "scanner_type", "site_scanner", "MRI_machine", "data_site"),
    *("centers", "field_strength", "FieldStrength", "batch", "MagneticFieldStrength"),
    "ManufacturersModelName",
)


def test_columns_of_sites_are_known_by_their_names():
    assert site_columns(SITES) == list(SITES)
    none = ["opposite", "centrum", "center of mass", "parasite", "roi1", "onsite", "lesion_site"]
    none += ["site of onset", "machine_learning_score", "CC_Central", "frontal eye field"]
    assert site_columns(none) == []


@pytest.mark.parametrize("atlas", sorted(ATLASES))
def test_no_region_of_an_atlas_is_taken_for_a_site(atlas):
    assert site_columns(region.name for region in load_atlas(atlas).regions) == []


@pytest.mark.parametrize(
    ("sites", "told"),
    [
        (["A", "B"] * 20, 1.0),
        (["A", "A", "B", "B"] * 10, 0.0),
        (["A", "B"] * 18 + ["B", "B", "A", "A"], 0.9),
        ([f"{k % 2}{k % 10}" for k in range(UNNAMED_N)], 1.0),
        (["A"] * UNNAMED_N, None),  # one label is no site
        ([f"x{k}" for k in range(UNNAMED_N)], None),  # nor is one per row
    ],
)
def test_it_is_counted_how_far_a_site_tells_the_group(unnamed_table, sites, told):
    made = from_frame(unnamed_table.assign(site=sites), "t")
    found = unnamed_sites(made, made.columns, GROUP)
    facts = {"sites": len(set(sites)), "told": pytest.approx(told)}
    assert found == ({} if told is None else {"site": facts})


def test_a_site_that_is_the_group_stops_until_it_is_named_or_left_out(unnamed_table):
    unnamed_table["scanner"] = np.where(unnamed_table["dx"] == "CTR", "Siemens", "GE")
    for role, stops in ({}, 1), ({"exclude": "scanner"}, 0), ({"site": "scanner"}, 1):
        cohort = read_table(unnamed_table, group="dx", regions="roi*", **role)
        assert len(review(cohort).stops) == stops
    cohort = read_table(unnamed_table, group="scanner", regions="roi*", exclude="dx")
    assert review(cohort).stops == ()


def test_sites_of_participants_are_asked_about_too(unnamed_table):
    people = unnamed_table[["id", "dx"]].assign(site=[1, 2] * 20, iq=100)
    regions = unnamed_table.drop(columns="dx")
    options = {"group": "dx", "regions": "all", "participants": people}
    assert len(review(read_table(regions, **options)).stops) == 1
    quiet = read_table(regions, **options, exclude="site")
    assert review(quiet).stops == ()
    assert len(quiet.regions) == 6
    assert read_table(regions, **options, site="site").site.tolist() == ["1", "2"] * 20
    lh = regions.set_axis(["id", *(f"lh_{x}_thickness" for x in NAMES)], axis=1)
    assert review(read_freesurfer(lh, group="dx", participants=people)).stops


NAMES = ("insula", "cuneus", "lingual", "precuneus", "fusiform", "bankssts")


def test_all_stops_at_what_looks_like_something_else(unnamed_table):
    unnamed_table["age"] = np.linspace(20.5, 60.5, UNNAMED_N)
    unnamed_table["male"] = [0, 1] * 20
    unnamed_table["code"] = np.arange(UNNAMED_N) + 4711
    unnamed_table["smokes"] = [0.0, 2.5] * 20
    unnamed_table["visits"] = [1, 2, 3, 4] * 10
    unnamed_table["Site"] = [1, 2, 3, 4] * 10
    with refused("regions.odd") as error:
        read_table(unnamed_table, group="dx", regions="all")
    odd = error.value.problem.values["columns"]
    assert odd == ["age", "male", "code", "smokes", "visits", "Site"]
    named = {"covariates": ["age", "male", "smokes", "visits"], "exclude": "code", "site": "Site"}
    assert len(read_table(unnamed_table, group="dx", regions="all", **named).regions) == 6
    listed = read_table(unnamed_table, group="dx", regions=["roi*", "age", "male"], exclude="Site")
    assert listed.regions[-2:] == ("age", "male")


def test_whole_numbers_are_regions_where_most_columns_are(unnamed_table):
    regions = [f"roi{k}" for k in range(6)]
    unnamed_table[regions] = (1000 * unnamed_table[regions]).round().astype(int)
    assert len(read_table(unnamed_table, group="dx", regions="all").regions) == 6


def test_regions_that_an_atlas_knows_are_never_asked_about(unnamed_table):
    frame = unnamed_table.set_axis(["id", "dx", *(f"lh_{x}_thickness" for x in NAMES)], axis=1)
    frame["lh_insula_thickness"] = [2, 3] * 20
    assert len(read_table(frame, group="dx", regions="all").regions) == 6


HEADER = "region,hemisphere,lobe,x,y,z,volume_mm3"
REGIONS = ["Area one", "Area two", "Cortex_L", "Insula_L"]  # one is called like a total
EXTRACTED = f"{HEADER},label_image\n" + "".join(
    f"{name},L,lobe {k % 2},-{k + 1},2,3,8,mine.nii.gz\n" for k, name in enumerate(REGIONS)
)


@pytest.fixture
def folder(tmp_path):
    values = np.random.default_rng(0).normal(size=(12, 4))
    table = pd.DataFrame(values, columns=REGIONS)
    table.insert(0, "subject_id", [f"s{k}" for k in range(12)])
    table.to_csv(tmp_path / "regions.csv", index=False)
    (tmp_path / "atlas.csv").write_text(EXTRACTED)
    return tmp_path


def test_it_says_which_columns_are_regions_and_where_they_lie(folder):
    cohort = read_table(folder / "regions.csv")
    assert cohort.regions == tuple(REGIONS)
    assert cohort.lobes == ("lobe 0", "lobe 1", "lobe 0", "lobe 1")
    assert cohort.provenance["atlas_file"] == str(folder / "atlas.csv")


def test_a_table_of_somebody_elses_is_not_taken(folder):
    lines = [line.rpartition(",")[0] for line in EXTRACTED.splitlines()]
    (folder / "atlas.csv").write_text("\n".join(lines))
    assert extracted_atlas(folder / "regions.csv") is None
    with refused("regions.unknown-atlas"):
        read_table(folder / "regions.csv")
    asked = read_table(folder / "regions.csv", atlas=folder / "atlas.csv")
    assert asked.regions == tuple(REGIONS)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"a" * 100_000])
def test_a_file_that_is_no_atlas_is_nobodys(folder, content):
    (folder / "atlas.csv").write_bytes(content)
    assert extracted_atlas(folder / "regions.csv") is None


def test_one_that_was_damaged_is_named(folder):
    (folder / "atlas.csv").write_text(EXTRACTED.replace("-1,2", "here,2"))
    with refused("atlas.number"):
        read_table(folder / "regions.csv")


def test_an_atlas_of_the_package_goes_before_if_it_knows_as_much(folder):
    names = ["Insula_L", "Precentral_L", "Postcentral_L", "Hippocampus_L"]
    rows = [f"{name},L,mine,-1,2,3,8,aal.nii\n" for name in names]
    (folder / "atlas.csv").write_text(f"{HEADER},label_image\n" + "".join(rows))
    table = pd.read_csv(folder / "regions.csv")
    table.columns = ["subject_id", *names]
    table.to_csv(folder / "regions.csv", index=False)
    assert read_table(folder / "regions.csv").atlas.name == "aal"
    table.rename(columns={"Precentral_L": "Area"}).to_csv(folder / "regions.csv", index=False)
    text = (folder / "atlas.csv").read_text()
    (folder / "atlas.csv").write_text(text.replace("Precentral_L", "Area"))
    assert read_table(folder / "regions.csv").lobes == ("mine",) * 4


def test_one_that_is_named_is_taken(folder):
    (folder / "other.csv").write_text(EXTRACTED.replace("lobe", "network"))
    assert read_table(folder / "regions.csv", atlas=folder / "other.csv").lobes[0] == "network 0"


def test_series_have_it_in_their_folder(folder):
    rng = np.random.default_rng(0)
    series = folder / "series"
    series.mkdir()
    for k in range(4):
        table = pd.DataFrame(rng.normal(size=(40, 4)), columns=REGIONS)
        table.to_csv(series / f"sub-{k}_timeseries.tsv", sep="\t", index=False)
    (series / "atlas.csv").write_text(EXTRACTED)
    cohort = read_series(series)
    assert cohort.regions == tuple(REGIONS)
    assert cohort.lobes == ("lobe 0", "lobe 1", "lobe 0", "lobe 1")
    (series / "atlas.csv").unlink()
    assert read_series(series).regions == ("Area one", "Area two", "Insula_L")
