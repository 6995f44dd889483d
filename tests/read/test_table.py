"""Tables of people: mangled in many ways, each gives the right cohort or an error that helps."""

import gzip
import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
from tests.codes import refused, warned

from sgbn.cohort.atlas import load_atlas
from sgbn.cohort.cohort import Cohort
from sgbn.paper.experiments.experiment import data_folder
from sgbn.prepare.pipeline import cohort_table, make_preparation
from sgbn.read.files import from_frame
from sgbn.read.roles import Options
from sgbn.read.table import (
    absent_ids,
    assemble,
    check_ids,
    find_id,
    join_participants,
    name_visits,
    read_as_text,
    read_freesurfer,
    read_table,
    with_ids,
    write_table,
)

ROLES = {"group": "group", "site": "site", "covariates": ["age", "sex", "eTIV"]}
REGIONS = [
    "lh_bankssts_thickness",
    "lh_cuneus_thickness",
    "rh_insula_thickness",
    "Left-Hippocampus",
]
N = 12


def make():
    return _made().copy()


@cache
def _made():
    rng = np.random.default_rng(3)
    columns = {
        "subject_id": [f"00514{k:02d}" for k in range(N)],
        "group": ["CTR", "SCZ"] * (N // 2),
        "age": (20 + 3.5 * np.arange(N)).round(2),
        "sex": ["M", "F", "F"] * (N // 3),
        "site": ["Köln", "NYU"] * (N // 2),
        "eTIV": rng.normal(1.5e6, 1e5, N).round(1),
    }
    thickness = {name: rng.normal(2.5, 0.2, N).round(4) for name in REGIONS[:3]}
    volume = {REGIONS[3]: rng.normal(4000, 300, N).round(2)}
    return pd.DataFrame({**columns, **thickness, **volume})


def csv(table=None, **options):
    return (make() if table is None else table).to_csv(index=False, **options).encode()


def changed(row, column, cell):
    """The table with another cell in row `row` of the file, whose header is row 1."""
    table = make().astype(object)
    table.loc[row - 2, column] = cell
    return table


def renamed(**names):
    return make().rename(columns=names)


def same(first, second):
    """Whether two cohorts hold the same."""
    assert first.ids == second.ids
    assert first.regions == second.regions
    np.testing.assert_array_equal(first.values, second.values)
    for name in ("group", "site"):
        ours, theirs = getattr(first, name), getattr(second, name)
        assert (ours is None) == (theirs is None)
        assert ours is None or ours.tolist() == theirs.tolist()
    assert list(first.covariates) == list(second.covariates)
    for name, column in first.covariates.items():
        assert column.dtype.kind == second.covariates[name].dtype.kind
        np.testing.assert_array_equal(column, second.covariates[name])
    assert first.atlas == second.atlas


@pytest.fixture
def put(tmp_path):
    def write(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


@pytest.fixture(scope="module")
def clean():
    return read_table(make(), **ROLES)


def blanks_around():
    table = make()
    table["group"] = [f" {label}  " for label in table["group"]]
    return csv(table.rename(columns=lambda name: f"  {name} "))


def r_row_names():
    text = csv(make().set_axis(range(1, N + 1), axis=0)).decode().splitlines()
    lines = [f'"{k}",{line}' for k, line in enumerate(text)]
    return "\n".join(['"",' + text[0], *lines[1:]]).encode()


def r_write_table():
    text = csv(sep=" ").decode().splitlines()
    return "\n".join([text[0], *(f'"{k}" {line}' for k, line in enumerate(text[1:]))]).encode()


def trailing_empties():
    lines = csv().decode().splitlines()
    return "\n".join([*(line + ",,," for line in lines), ",,,,", "", ",,,,,,,,,,,,"]).encode()


def trailing_only_in_rows():
    head, *lines = csv().decode().splitlines()
    return "\n".join([head, *(line + "," for line in lines)]).encode()


def blank_lines():
    lines = csv().decode().splitlines()
    return ("\n\n" + "\n\n".join(lines) + "\n\n \n").encode()


def padded():
    return csv().decode().replace(",", " , ").encode()


def float_ids():
    table = make()
    table["subject_id"] = [51400.0 + k for k in range(N)]
    return csv(table)


READABLE = {
    "plain": csv,
    "semicolons": lambda: csv(sep=";"),
    "tabs": lambda: csv(sep="\t"),
    "bars": lambda: csv(sep="|"),
    "blanks": lambda: csv(sep=" "),
    "semicolons and decimal commas": lambda: csv(sep=";", decimal=","),
    "tabs and decimal commas": lambda: csv(sep="\t", decimal=","),
    "decimal commas in quotes": lambda: csv(sep=";", decimal=",", quoting=1),
    "BOM": lambda: b"\xef\xbb\xbf" + csv(),
    "UTF-16": lambda: csv().decode().encode("utf-16"),
    "UTF-16, semicolons": lambda: csv(sep=";", decimal=",").decode().encode("utf-16"),
    "latin-1": lambda: csv().decode().encode("latin-1"),
    "CRLF": lambda: csv().replace(b"\n", b"\r\n"),
    "CR": lambda: csv().replace(b"\n", b"\r"),
    "no newline at the end": lambda: csv().rstrip(b"\n"),
    "quoted names": lambda: csv(quoting=1),
    "blanks around names and labels": blanks_around,
    "blanks around cells": padded,
    "R row names": r_row_names,
    "pandas index": lambda: make().to_csv().encode(),
    "write.table of R": r_write_table,
    "empty columns and rows at the end": trailing_empties,
    "a delimiter at the end of rows": trailing_only_in_rows,
    "blank lines": blank_lines,
    "Excel's sep line": lambda: b"sep=;\n" + csv(sep=";"),
    "gzip": lambda: gzip.compress(csv()),
    "labels as a text with newline in another column": lambda: csv(
        make().assign(note=['said "no",\nthen "yes"'] * N)
    ),
}


@pytest.mark.parametrize("content", READABLE.values(), ids=READABLE)
def test_a_mangled_file_gives_the_same_cohort(put, clean, content):
    same(read_table(put(content()), **ROLES), clean)


def test_float_ids_lose_their_fraction_and_text_ids_keep_their_zeros(put, clean):
    assert clean.ids[0] == "0051400"
    assert read_table(put(float_ids()), **ROLES).ids == tuple(str(51400 + k) for k in range(N))


def file(table):
    return lambda: csv(table)


def many_missing():
    table = make()
    table.loc[:4, REGIONS] = np.nan
    return csv(table, na_rep="n/a")


# What is done to the file, arguments besides ROLES, and the code of the error.
REFUSED = {
    "empty": (lambda: b"", {}, "file.empty"),
    "header only": (lambda: csv(make().iloc[:0]), {}, "table.empty"),
    "binary": (lambda: bytes(range(256)) * 9, {}, "text.binary"),
    "a long id": (file(changed(5, "subject_id", "s" * 300)), {}, "names.long"),
    "two spellings": (file(changed(4, "group", "ctr")), {}, "labels.spelling"),
    "missing group": (file(changed(6, "group", "")), {}, "labels.missing"),
    "text in a region": (file(changed(7, "lh_cuneus_thickness", "fail")), {}, "cells.text"),
    "-999": (file(changed(10, "lh_cuneus_thickness", -999)), {}, "cells.sentinel"),
    "a total as region": (csv, {"regions": ["eTIV"], "covariates": "age"}, "regions.totals"),
    "one region": (csv, {"regions": REGIONS[:1]}, "regions.few"),
    "unknown region": (csv, {"regions": ["lh_bankst_thickness", "lh_*"]}, "columns.pattern"),
    "excluded covariate": (csv, {"exclude": "age"}, "roles.taken"),
    "two measures": (file(make().assign(lh_cuneus_area=1200.5)), {}, "regions.columns"),
    "unknown measure": (csv, {"measure": "area"}, "measures.unknown"),
    "unknown group": (csv, {"groups": ["CTR", "SZ"]}, "groups.unknown"),
    "unknown atlas": (csv, {"atlas": "brodman"}, "atlas.unknown"),
    "sheet of a CSV": (csv, {"sheet": "A"}, "sheets.none"),
    "odd decimal": (csv, {"decimal": "'"}, "marks.decimal"),
    "odd delimiter": (csv, {"delimiter": "::"}, "marks.delimiter"),
}


@pytest.mark.parametrize(("content", "options", "code"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_used_is_refused(put, content, options, code):
    path = put(content())
    with refused(code):
        read_table(path, **ROLES | options)


def test_missing_cells_stay_missing(put, clean):
    cohort = read_table(put(many_missing()), **ROLES)
    assert np.isnan(cohort.values[:5]).all()
    np.testing.assert_array_equal(cohort.values[5:], clean.values[5:])


@pytest.mark.parametrize("marker", ["", "NA", "N/A", "n/a", "NaN", "nan", "null", "None", ".", "-"])
def test_usual_markers_are_missing_in_every_role(put, marker):
    table = changed(3, "age", marker)
    table.loc[1, ["sex", "lh_cuneus_thickness"]] = marker
    cohort = read_table(put(csv(table)), **ROLES)
    assert np.isnan(cohort.covariates["age"][1])
    assert cohort.covariates["sex"][1] == ""
    assert np.argwhere(np.isnan(cohort.values)).tolist() == [[1, 1]]


@pytest.mark.parametrize(("cell", "missing"), [(-999, -999), (-999, ["-999"]), ("bad", "bad")])
def test_markers_can_be_added(put, cell, missing):
    cohort = read_table(put(csv(changed(4, REGIONS[1], cell))), missing=missing, **ROLES)
    assert np.argwhere(np.isnan(cohort.values)).tolist() == [[2, 1]]


def test_an_empty_list_of_markers_takes_numbers_as_they_are(put):
    cohort = read_table(put(csv(changed(4, REGIONS[1], -999))), missing=[], **ROLES)
    assert cohort.values[2, 1] == -999


def test_regions_all_zero_or_all_missing_are_left_to_later_checks(put):
    table = make().assign(**{REGIONS[0]: 0, REGIONS[1]: np.nan})
    cohort = read_table(put(csv(table)), **ROLES)
    assert (cohort.values[:, 0] == 0).all()
    assert np.isnan(cohort.values[:, 1]).all()


def test_a_covariate_that_equals_the_group_reads(put):
    table = make().assign(diagnosis=make()["group"])
    cohort = read_table(put(csv(table)), **ROLES | {"covariates": ["diagnosis", "age"]})
    assert cohort.covariates["diagnosis"].tolist() == cohort.group.tolist()


@pytest.mark.parametrize("labels", [[0, 1], [0.0, 1.0]])
def test_numbers_can_be_groups(put, labels):
    table = make().assign(group=labels * (N // 2))
    for source in (table, put(csv(table))):
        assert read_table(source, **ROLES).sizes == {"0": 6, "1": 6}


def test_groups_chooses_rows_and_the_rest_is_counted(put):
    table = changed(6, "group", "")
    table.loc[[0, 2], "group"] = "MCI"
    table.loc[2, REGIONS[0]] = "not looked at"
    cohort = read_table(put(csv(table)), groups=["CTR", "SCZ"], **ROLES)
    assert cohort.sizes == {"CTR": 3, "SCZ": 6}
    assert cohort.provenance["left_out"] == {"MCI": 2, "": 1}
    assert "0051404" not in cohort.ids


def test_totals_and_text_are_left_out_and_said(put):
    table = make().assign(lh_MeanThickness_thickness=2.5, BrainSegVol=1.1e6, note="x")
    cohort = read_table(put(csv(table)), **ROLES | {"covariates": ["age"]})
    assert list(cohort.regions) == REGIONS
    assert cohort.provenance["totals"] == ["eTIV", "lh_MeanThickness_thickness", "BrainSegVol"]
    assert cohort.provenance["ignored"] == ["sex", "note"]
    assert json.loads(json.dumps(dict(cohort.provenance)))["delimiter"] == ","


@pytest.mark.parametrize(
    ("regions", "expected"),
    [
        (REGIONS[::-1], REGIONS[::-1]),
        ("lh_*", REGIONS[:2]),
        (["rh_*", "lh_cuneus*"], [REGIONS[2], REGIONS[1]]),
        ("all", REGIONS),
        (["all"], REGIONS),
        (["IQ", REGIONS[0]], ["IQ", REGIONS[0]]),
    ],
)
def test_regions_by_list_pattern_or_all(regions, expected):
    table = make().assign(lh_MeanThickness_thickness=2.5)
    table.insert(3, "IQ", np.arange(N) + 90)
    out = "IQ" if "all" in regions else ()
    cohort = read_table(table, regions=regions, exclude=out, **ROLES)
    assert list(cohort.regions) == expected
    assert cohort.atlas == load_atlas("desikan_killiany")


def test_exclude_settles_unnamed_numbers():
    table = make().assign(IQ=100, euler_lh=2, euler_rh=4)
    cohort = read_table(table, exclude=["IQ", "euler_*"], **ROLES)
    assert cohort.provenance["excluded"] == ["IQ", "euler_lh", "euler_rh"]


def test_a_measure_is_chosen():
    table = make().assign(lh_cuneus_area=1200.5, rh_insula_area=np.arange(N) + 900)
    thick = read_table(table, measure="thickness", **ROLES)
    assert list(thick.regions) == REGIONS[:3]
    both = read_table(table, measure=["area", "volume"], **ROLES)
    assert list(both.regions) == ["Left-Hippocampus", "lh_cuneus_area", "rh_insula_area"]
    assert both.provenance["other_measures"] == REGIONS[:3]


@pytest.mark.parametrize(
    ("names", "atlas"),
    [
        (["L_bankssts_thickavg", "R_insula_thickavg", "Lhippo", "Rthal"], "desikan_killiany"),
        (["lh_G&S_frontomargin_thickness", "rh_S_central_thickness"], "destrieux"),
        (["lh.G.S_frontomargin.thickness", "rh G&S frontomargin thickness"], "destrieux"),
        (["Vgm_Precentral_L", "Vgm_Precentral_R", "Hippocampus_L"], "aal"),
    ],
)
def test_names_of_other_tools_are_known(put, names, atlas):
    table = make()[["subject_id", "group"]].assign(**{n: np.arange(N) / 7 + 2 for n in names})
    cohort = read_table(put(csv(table)), group="group")
    assert list(cohort.regions) == names
    assert cohort.atlas.name == atlas


def test_ids_by_other_names_or_by_row_number(put):
    for name in ("ID", "SubjID", "Measure:volume", "lh.aparc.thickness"):
        assert read_table(put(csv(renamed(subject_id=name))), **ROLES).ids[1] == "0051401"
    cohort = read_table(put(csv(make().drop(columns="subject_id"))), **ROLES)
    assert cohort.ids[:2] == ("row 2", "row 3")
    assert cohort.provenance["ids"] == "row numbers"


def participants(prefix="sub-"):
    table = make()[["subject_id", "group", "age", "sex", "site"]]
    table["subject_id"] = prefix + table["subject_id"]
    return table.rename(columns={"subject_id": "participant_id"}).iloc[::-1]


@pytest.mark.parametrize("prefix", ["", "sub-"])
def test_participants_are_joined_by_id(put, clean, prefix):
    image = make()[["subject_id", "eTIV", *REGIONS]]
    extra = pd.concat([participants(prefix), participants("other").iloc[:3]])
    people = put(csv(extra, sep="\t"), "participants.tsv")
    cohort = read_table(put(csv(image)), participants=people, **ROLES)
    same(cohort, clean)
    assert cohort.provenance["participants"]["not_in_table"] == 3


def test_subjects_of_other_groups_need_no_participants(put):
    image = make()[["subject_id", "eTIV", *REGIONS]]
    people = put(csv(participants().iloc[2:], sep="\t"), "participants.tsv")
    cohort = read_table(image, participants=people, groups=["CTR", "SCZ"], **ROLES)
    assert len(cohort) == N - 2


def test_a_data_frame_is_not_changed(clean):
    table = make().set_index("subject_id")
    before = table.copy(deep=True)
    same(read_table(table, **ROLES), clean)
    pd.testing.assert_frame_equal(table, before)


@pytest.mark.parametrize("source", [None, 3, [1], b"table.csv"])
def test_only_paths_and_data_frames_are_sources(source):
    with refused("table.type"):
        read_table(source)


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.txt", "t.parquet", "t.xlsx"])
def test_what_is_written_is_read_back(tmp_path, clean, name):
    write_table(clean, tmp_path / name)
    same(read_table(tmp_path / name, **ROLES), clean)


@pytest.mark.parametrize(
    ("change", "name", "code"),
    [
        ({"covariates": {"drug": ["NA"] * N}}, "t.csv", "cells.unwritable"),
        ({"covariates": {"drug": [" a"] * N}}, "t.csv", "cells.unwritable"),
        ({"covariates": {"drug": ["a\nb"] * N}}, "t.csv", "cells.unwritable"),
        ({"covariates": {"group": range(N)}}, "t.csv", "names.reserved"),
        ({"covariates": {"pair": range(N)}, "pair": range(N)}, "t.csv", "names.reserved"),
        ({}, "t.doc", "table.ending"),
        ({}, "absent/t.csv", "file.unwritable"),
        ({}, "a\0.csv", "file.unwritable"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(tmp_path, clean, change, name, code):
    with refused(code):
        write_table(Cohort(**fields(clean) | change), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_the_table_of_a_cohort_is_x_without_the_group(clean):
    X = cohort_table(clean)
    assert X.columns.tolist() == ["age", "sex", "eTIV", "site", *REGIONS]
    assert X.index.tolist() == list(clean.ids)
    np.testing.assert_array_equal(X[REGIONS].to_numpy(), clean.values)
    again = read_table(X, site="site", covariates=["age", "sex", "eTIV"])
    same(again, Cohort(**{**fields(clean), "group": None}))
    X.loc[:, REGIONS[0]] = 0.0  # a copy: the cohort cannot be changed through it
    assert clean.values[0, 0] != 0


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.xlsx"])
def test_labels_of_rows_are_written_and_read_back_but_are_no_columns_of_x(tmp_path, clean, name):
    person = [f"{one}{k // 4}" for k, one in enumerate(clean.group)]
    pair, block = [f"0{k // 2}" for k in range(N)], ["f"] * N
    for labels in ({"pair": pair}, {"person": person, "block": block}):
        labelled = Cohort(**fields(clean) | labels)
        write_table(labelled, tmp_path / name)
        roles = {{"person": "subject"}.get(role, role): role for role in labels}
        again = read_table(tmp_path / name, **ROLES, **roles)
        same(again, clean)
        assert {role: getattr(again, role).tolist() for role in labels} == labels
        pd.testing.assert_frame_equal(cohort_table(labelled), cohort_table(clean))
    paired = Cohort(**fields(clean) | {"pair": pair})
    prepared = make_preparation(paired).fit_transform(cohort_table(paired), paired.group)
    assert prepared.columns.tolist() == REGIONS


def test_visits_of_one_id_survive_a_file(tmp_path):
    visits = make().assign(subject_id=[f"s{k // 2}" for k in range(N)])
    cohort = read_table(visits, **ROLES, id="subject_id", pair="subject_id")
    assert cohort.ids[:2] == ("s0 (CTR)", "s0 (SCZ)")
    write_table(cohort, tmp_path / "t.csv")
    again = read_table(tmp_path / "t.csv", **ROLES, pair="pair")
    same(again, cohort)
    assert again.pair.tolist() == cohort.pair.tolist()


def fields(cohort):
    names = ("values", "regions", "ids", "group", "covariates", "site", "atlas")
    return {name: getattr(cohort, name) for name in names}


TABLES = {
    "ixi_age": ((558, 68), {"YOUNG": 198, "MID": 187, "OLD": 173}, "desikan_killiany"),
    "cobre_scz": ((124, 173), {"SCZ": 61, "CTR": 63}, "destrieux"),
    "abide1_asd": ((1035, 93), {"ASD": 505, "CTR": 530}, "desikan_killiany"),
}
UNNAMED = {
    "ixi_age": ["age", "euler_mean"],
    "cobre_scz": ["age", "sex"],
    "abide1_asd": ["age", "fiq"],
}


@pytest.mark.parametrize("name", TABLES)
def test_real_tables(name):
    folder = data_folder()
    if folder is None:
        pytest.skip("needs the tables of SGBN_DATA or ../shared/data")
    path = folder / "neuro" / f"{name}.csv"
    shape, sizes, atlas = TABLES[name]
    with refused("columns.numbers") as error:
        read_table(path, group="group")
    assert error.value.problem.values["columns"] == UNNAMED[name]
    covariates = {*UNNAMED[name], "age", "sex", "eTIV"}
    cohort = read_table(path, group="group", site="site", covariates=sorted(covariates))
    assert (cohort.values.shape, cohort.sizes, cohort.atlas.name) == (shape, sizes, atlas)
    assert None not in cohort.places
    table = pd.read_csv(path)
    np.testing.assert_array_equal(cohort.values, table[list(cohort.regions)].to_numpy())
    assert cohort.ids == tuple(table["subject_id"])


def test_the_index_of_a_data_frame_holds_the_ids_if_nothing_else_does():
    table = make().drop(columns="subject_id").set_axis(range(1000, 1000 + N), axis=0)
    assert read_table(table, **ROLES).ids[:2] == ("1000", "1001")
    assert read_table(table.assign(ID=[f"p{k}" for k in range(N)]), **ROLES).ids[0] == "p0"


LETTERS = list("abcd")


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


def test_labels_of_their_own_are_no_group_from_ten_rows_on():
    assert len(cohort_of(table(4, dx=list("abcd")), Options.of(group="dx")).groups) == 4


def test_duplicates_and_markers_among_rows_that_are_left_out_do_not_matter():
    made = table(4, dx=["a", "a", "b", None], id=["s", "r", "s", "s"])
    assert cohort_of(made, Options.of(group="dx", groups=["a"])).ids == ("s", "r")
    some = cohort_of(table(dx=MARKED), Options.of(group="dx", groups=["a", "b"]))
    assert some.provenance["left_out"] == {"-999": 1}


def test_the_named_id_is_that_of_participants_too_and_the_rest_is_said():
    made = table(code=list("wxyz"))
    people = pd.DataFrame({"id": [1, 1, 1, 1], "code": list("zyxw"), "dx": list("aabb"), "iq": 1})
    cohort = cohort_of(made, Options.of(id="code", group="dx"), people)
    assert cohort.group.tolist() == ["b", "b", "a", "a"]
    assert cohort.provenance["participants"]["ignored"] == ["id", "iq"]


def test_the_column_of_the_sites_is_in_the_provenance():
    made = table(4, scanner=["a", "b", "b", "a"])
    assert cohort_of(made, Options.of(site="scanner")).provenance["site_column"] == "scanner"
    assert "site_column" not in cohort_of(made, Options.of(covariates="scanner")).provenance


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
    assert cohort.design.complete.all()


@pytest.mark.parametrize("regions", [None, "all"])
@pytest.mark.parametrize("name", ["person", "subject_id"])
def test_a_pair_of_its_own_leaves_ids_as_they_are_and_is_no_region(name, regions):
    made = visits(id=LETTERS, **{name: [7, 8, 7, 8]})
    cohort = cohort_of(made, Options.of(group="visit", pair=name, regions=regions))
    assert cohort.ids == ("a", "b", "c", "d")
    assert cohort.pair.tolist() == ["7", "8", "7", "8"]
    assert cohort.regions == ("lh_insula", "rh_insula")


def test_the_named_id_is_the_id_beside_a_pair():
    repeated = visits(subject_id=["p", "q", "p", "q"])
    cohort = cohort_of(repeated, Options.of(group="visit", id="id", pair="subject_id"))
    assert cohort.ids[0] == "01 (pre)"


def test_groups_are_chosen_before_visits_are_told_apart():
    options = Options.of(group="visit", groups=["pre"], pair="id")
    assert cohort_of(visits(), options).ids == ("01", "02")


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


def people_of(**columns):
    return pd.DataFrame({"id": [f"s{k}" for k in range(4)]} | columns)


GAP = ["a", "b", None, "a"]
MARKED = ["a", "b", "-999", "a"]


@pytest.mark.parametrize(
    ("made", "asked", "people", "code"),
    [
        (table(code=LETTERS), {"id": "cod"}, None, "columns.unknown"),
        (table(20, dx=[k / 7 for k in range(20)]), {"group": "dx"}, None, "labels.many"),
        (table(dx=LETTERS, id=["s", "r", "s", "s"]), {"group": "dx"}, None, "ids.repeat"),
        (table(), {"group": "dx"}, pd.DataFrame({"dx": LETTERS, "age": 1}), "ids.no-column"),
        (table(), {"group": "diagnosis"}, people_of(dx="a"), "columns.unknown"),
        (table(dx=LETTERS), {"group": "dx"}, people_of(dx="a"), "columns.both"),
        (table(ICV=1.5), {"covariates": ["eTIV", "ICV"]}, None, "columns.aliases"),
        (table(), {"covariates": ["eTIV", "ICV"]}, people_of(TIV=1, eTIV=2), "columns.aliases"),
        (table(dx=MARKED), {"group": "dx"}, None, "labels.sentinel"),
        (table(dx=MARKED), {"site": "dx"}, None, "labels.sentinel"),
        (table(dx=MARKED), {"covariates": "dx"}, None, "labels.sentinel"),
        (visits(), {"group": "visit"}, None, "ids.repeat"),
        (visits(id=["01", "01", "01", "02"]), {"group": "visit", "pair": "id"}, None, "ids.repeat"),
        (visits(id=LETTERS), {"group": "visit", "pair": "persn"}, None, "columns.unknown"),
        (sessions(), {"group": "dx", "regions": "all"}, None, "ids.repeat"),
        (sessions(id=GAP), {"id": "id"}, None, "labels.missing"),
        (visits(id=LETTERS, person=GAP), {"pair": "person"}, None, "labels.missing"),
        (sessions(id=LETTERS, family=GAP), {"id": "id", "block": "family"}, None, "labels.missing"),
    ],
)
def test_roles_that_the_tables_cannot_fill_are_refused(made, asked, people, code):
    with refused(code):
        assemble(made, Options.of(**asked), people)


def test_participants_are_joined_by_person_where_rows_have_no_ids():
    people = pd.DataFrame({"participant_id": ["sub-q", "sub-p", "sub-r"], "sex": ["F", "M", "F"]})
    options = Options.of(group="dx", subject="subject_id", covariates="sex", exclude="family")
    cohort = cohort_of(sessions(), options, people)
    assert cohort.covariates["sex"].tolist() == ["M", "M", "F", "F"]
    assert cohort.ids[0] == "row 0"


def joins_table(ids, name="t", **columns):
    return with_ids(from_frame(pd.DataFrame({"id": ids} | columns), name), "id")


def test_ids_are_needed_and_unique():
    for times, code in ((2, "ids.repeat"), (12, "ids.volumes")):
        with refused(code):
            check_ids(joins_table(["s1"] * times + ["s2"] * times, a=1), "id", Options())
    assert with_ids(from_frame(pd.DataFrame({"a": [1], "b": [2]}), "t"), None).ids == ("row 0",)


@pytest.mark.parametrize(
    ("options", "advised"),
    [({}, False), ({"group": "dx"}, True), ({"group": "dx", "pair": "id"}, False)],
)
def test_a_pair_is_advised_only_if_groups_are_and_it_is_not(options, advised):
    with refused("ids.repeat") as caught:
        check_ids(joins_table(["s1", "s1"], a=1), "id", Options(**options))
    assert ("pair=" in str(caught.value)) == advised


def test_participants_are_found_with_or_without_prefix():
    image = joins_table(["sub-1", "2"], a=[1.0, 2.0])
    people = joins_table(["3", "sub-2", "1"], "p", sex=["F", "M", "X"])
    joined = join_participants(image, people, ["sex"], may_lack=False)
    assert joined.frame["sex"].tolist() == ["X", "M"]
    assert joined.where(0, "sex").values["row"] == 2
    assert joined.facts["participants"]["not_in_table"] == 1
    assert "sex" not in image.columns
    assert absent_ids(["sub-1", "2", "sub-3"], ["1", "sub-2"]) == ["sub-3"]


def test_subjects_without_participant():
    image = joins_table(["1", "2"], a=[1, 2])
    people = joins_table(["2"], "p", sex=["M"], age=[30])
    joined = join_participants(image, people, ["sex", "age"], may_lack=True)
    assert joined.frame[["sex", "age"]].isna().to_numpy().tolist() == [[True] * 2, [False] * 2]
    assert joined.frame["age"].tolist()[1] == 30


def test_subjects_without_participant_are_dropped_by_name_if_asked():
    image = joins_table(["1", "2", "3"], a=[1, 2, 3])
    people = joins_table(["sub-2"], "p", sex=["M"])
    with warned("ids.dropped"):
        joined = join_participants(image, people, ["sex"], may_lack=False, drop=True)
    assert joined.ids == ("2",)
    assert joined.frame["a"].tolist() == [2]
    assert joined.facts["participants"]["subjects_without_row"] == 2


@pytest.mark.parametrize(
    ("ids", "people", "options", "code"),
    [
        (["1", "2"], ["2"], {}, "ids.absent"),
        (["8", "9"], ["2"], {"may_lack": True}, "ids.absent"),  # nobody would be left
        (["8", "9"], ["2"], {"drop": True}, "ids.absent"),
        (["1"], ["sub-1", "1"], {}, "ids.prefix"),
        (["1", "sub-1"], ["1", "2"], {}, "ids.prefix"),
    ],
)
def test_ids_that_cannot_be_joined_are_refused(ids, people, options, code):
    listed = joins_table(people, "p", sex=["M"] * len(people))
    with refused(code):
        join_participants(joins_table(ids, a=1), listed, ["sex"], **{"may_lack": False} | options)


@pytest.mark.parametrize(
    ("name", "listed"),
    [
        ("1", "sub-001"),
        ("1", "001"),
        ("1", "sub-1_ses-02"),
        ("1", "sub-01_ses-pre"),
        ("NYU_0050952", "50952"),
    ],
)
def test_an_id_in_another_spelling_is_pointed_out_first(name, listed):
    people = joins_table(["6", "7", "8", listed], "p", sex=["M"] * 4)
    with refused("ids.absent") as error:
        join_participants(joins_table([name], a=[1]), people, ["sex"], may_lack=False)
    assert error.value.problem.values["subjects_near"] == [listed, "6", "7", "8"]


def test_visits_are_named_by_their_groups_where_that_tells_them_apart():
    made = joins_table(["1", "2", "1"], a=[1, 2, 3])
    assert name_visits(made, ["x", "x", "y"]).ids == ("1 (x)", "2 (x)", "1 (y)")
    assert name_visits(made, ["x", "x", "x"]) is made
    unique = joins_table(["1", "2", "3"], a=[1, 2, 3])
    assert name_visits(unique, ["x", "x", "y"]) is unique


IDS = ["sub-01", "sub-02", "sub-10", "sub-03"]
NAMES = ("bankssts", "cuneus", "insula")


def aparc(hemi, measure="thickness", ids=IDS):
    """A table as aparcstats2table writes it."""
    rng = np.random.default_rng([ord(hemi[0]), len(measure)])
    columns = {f"{hemi}.aparc.{measure}": list(ids)}
    columns |= {f"{hemi}_{name}_{measure}": rng.uniform(2, 3, len(ids)).round(3) for name in NAMES}
    columns[f"{hemi}_MeanThickness_thickness"] = 2.5
    columns["BrainSegVolNotVent"] = 1.1e6
    columns["eTIV"] = 1.5e6 + np.arange(len(ids))
    return pd.DataFrame(columns)


def aseg(ids=IDS, **extra):
    """A table as asegstats2table writes it."""
    rng = np.random.default_rng(5)
    columns = {"Measure:volume": list(ids)}
    names = ("Left-Hippocampus", "Right-Hippocampus", "3rd-Ventricle")
    columns |= {name: rng.uniform(1000, 5000, len(ids)).round(1) for name in names}
    return pd.DataFrame(columns | {"EstimatedTotalIntraCranialVol": 1.5e6, **extra})


@pytest.fixture
def freesurfer_put(tmp_path):
    def write(name, table, sep="\t"):
        table.to_csv(tmp_path / name, sep=sep, index=False)
        return tmp_path / name

    return write


@pytest.fixture
def people(freesurfer_put):
    table = pd.DataFrame({"participant_id": IDS[::-1], "group": list("aabb"), "age": range(40, 44)})
    return freesurfer_put("participants.tsv", table)


def test_hemispheres_and_structures_are_joined_by_subject(freesurfer_put, people):
    files = [
        freesurfer_put("lh.txt", aparc("lh")),
        freesurfer_put("rh.txt", aparc("rh").iloc[::-1]),
        freesurfer_put("aseg.txt", aseg().iloc[[2, 0, 1, 3]]),
    ]
    cohort = read_freesurfer(*files, participants=people, group="group", covariates=["age", "eTIV"])
    assert cohort.ids == tuple(IDS)
    assert len(cohort.regions) == 9
    assert cohort.atlas.name == "desikan_killiany"
    for table, hemi in ((aparc("lh"), "lh"), (aparc("rh"), "rh")):
        column = f"{hemi}_insula_thickness"
        assert cohort.values[:, cohort.regions.index(column)].tolist() == table[column].tolist()
    column = cohort.regions.index("Left-Hippocampus")
    assert cohort.values[:, column].tolist() == aseg()["Left-Hippocampus"].tolist()
    assert cohort.covariates["eTIV"].tolist() == [1.5e6, 1.5e6 + 1, 1.5e6 + 2, 1.5e6 + 3]
    assert cohort.covariates["age"].tolist() == [43, 42, 41, 40]
    assert [table["source"] for table in cohort.provenance["tables"]] == list(map(str, files))


@pytest.mark.parametrize("sep", ["\t", " ", ",", ";"])
@pytest.mark.parametrize("turned", [False, True])
def test_delimiters_and_transposed_tables(freesurfer_put, sep, turned):
    table = aparc("lh")
    if turned:
        first = table.columns[0]
        table = table.set_index(first).T.rename_axis(first).reset_index()
    cohort = read_freesurfer(freesurfer_put("lh.txt", table, sep))
    assert cohort.ids == tuple(IDS)
    assert cohort.regions == tuple(f"lh_{name}_thickness" for name in NAMES)
    np.testing.assert_array_equal(cohort.values, aparc("lh").iloc[:, 1:4].to_numpy())


def test_totals_by_either_name_can_be_covariates():
    cohort = read_freesurfer(aseg(), covariates=["eTIV"])
    assert cohort.covariates["eTIV"].tolist() == [1.5e6] * 4
    cohort = read_freesurfer(aparc("lh"), covariates=["lh_MeanThickness_thickness"])
    assert cohort.covariates["lh_MeanThickness_thickness"].tolist() == [2.5] * 4


def test_of_a_path_the_last_part_is_the_id():
    paths = [f"/data/subjects/{name}/" for name in IDS]
    assert read_freesurfer(aparc("lh", ids=paths), aparc("rh")).ids == tuple(IDS)


def test_tables_are_of_the_same_subjects_and_measures_come_once():
    with refused("columns.both"):
        read_freesurfer(aparc("lh"), aparc("lh"))
    with refused("tables.none"):
        read_freesurfer()
    with refused("ids.absent"):
        read_freesurfer(aparc("lh"), aparc("rh", ids=[*IDS[:3], "sub-99"]))
    cohort = read_freesurfer(aparc("lh"), aparc("lh", "area"), measure="area")
    assert cohort.regions[0] == "lh_bankssts_area"


def test_unknown_structures_are_listed_and_left_out():
    with warned("columns.left-out"):
        cohort = read_freesurfer(aseg(**{"Left-Unheard-Of": 3.0}))
    assert len(cohort.regions) == 3
    assert cohort.provenance["ignored"] == ["Left-Unheard-Of"]


def test_points_are_asked_for_in_a_transposed_table_too(tmp_path):
    rows = [["lh.aparc.area", *IDS], *(["lh_" + name, *"1357"] for name in NAMES)]
    rows[1][1], rows[2][1] = "1.875", "909"
    path = tmp_path / "turned.txt"
    path.write_text("\n".join("\t".join(row) for row in rows))
    with refused("marks.point"):
        read_freesurfer(path)
    assert read_freesurfer(path, decimal=".").values[0, :2].tolist() == [1.875, 909]


def test_totals_are_compared_by_subject_and_may_differ_by_rounding_only():
    eTIV = 1e6 * (1 + np.arange(len(IDS)))
    left = aparc("lh").assign(eTIV=eTIV)
    right = aparc("rh").assign(eTIV=eTIV * (1 + 5e-6)).iloc[::-1]
    cohort = read_freesurfer(left, right, covariates="eTIV")
    assert cohort.covariates["eTIV"].tolist() == [1e6, 2e6, 3e6, 4e6]
    with refused("totals.differ"):
        read_freesurfer(left, aparc("rh").assign(eTIV=eTIV * (1 + 5e-5)))


def test_the_named_id_may_be_that_of_the_participants():
    people = pd.DataFrame({"id": list("abcd"), "code": IDS, "dx": list("xxyy")})
    options = {"participants": people, "group": "dx"}
    assert read_freesurfer(aparc("lh"), id="code", **options).group.tolist() == list("xxyy")
    for wrong in ({"id": "cod", **options}, {"id": "code"}):
        with refused("columns.unknown"):
            read_freesurfer(aparc("lh"), **wrong)


def test_each_table_has_its_own_decimal_mark(tmp_path):
    aparc("lh").to_csv(tmp_path / "lh.txt", sep="\t", index=False)
    aparc("rh").to_csv(tmp_path / "rh.txt", sep=";", decimal=",", index=False)
    cohort = read_freesurfer(tmp_path / "lh.txt", tmp_path / "rh.txt", covariates="eTIV")
    same = read_freesurfer(aparc("lh"), aparc("rh"), covariates="eTIV")
    np.testing.assert_array_equal(cohort.values, same.values)
    people = pd.DataFrame({"id": IDS, "age": [20.5, 31.25, 40.5, 50.0]})
    people.to_csv(tmp_path / "people.csv", sep=";", decimal=",", index=False)
    options = {"participants": tmp_path / "people.csv", "covariates": "age"}
    for first in ("lh.txt", "rh.txt"):
        read = read_freesurfer(tmp_path / first, **options)
        assert read.covariates["age"].tolist() == [20.5, 31.25, 40.5, 50.0]


def test_the_index_of_a_data_frame_is_no_measure():
    tables = [aparc(hemi).iloc[::-1] for hemi in ("lh", "rh")]
    cohort = read_freesurfer(*tables)
    assert cohort.ids == tuple(IDS[::-1])
    assert len(cohort.regions) == 6


def test_pairs_are_those_of_the_participants():
    people = pd.DataFrame({"scan": IDS[::-1], "group": list("abab"), "person": list("ppqq")})
    named = {"participants": people, "id": "scan", "group": "group", "pair": "person"}
    cohort = read_freesurfer(aparc("lh"), aparc("rh"), **named)
    assert cohort.ids == tuple(IDS)
    assert cohort.pair.tolist() == list("qqpp")
    assert cohort.design.complete.all()
