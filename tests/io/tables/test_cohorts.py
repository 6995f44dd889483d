"""Tables of people: mangled in many ways, each gives the right cohort or an error that helps."""

import gzip
import json
from functools import cache

import numpy as np
import pandas as pd
import pytest

from sgbn.cohort.atlas import load_atlas
from sgbn.cohort.cohort import Cohort
from sgbn.core.exceptions import InputError
from sgbn.paper.experiments.experiment import data_folder
from sgbn.prepare.pipeline import cohort_table, make_preparation
from sgbn.read.table import read_table, write_table

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


def quoted_names():
    return csv(quoting=1)


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


def pandas_index():
    return make().to_csv().encode()


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
    "quoted names": quoted_names,
    "blanks around names and labels": blanks_around,
    "blanks around cells": padded,
    "R row names": r_row_names,
    "pandas index": pandas_index,
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


def ragged(row, cut):
    def content():
        lines = csv().decode().splitlines()
        cells = lines[row - 1].split(",")
        lines[row - 1] = ",".join(cells[:-1] if cut else [*cells, "7"])
        return "\n".join(lines).encode()

    return content


def twice_named():
    return csv().replace(b"lh_cuneus_thickness", b"lh_bankssts_thickness", 1)


def many_missing():
    table = make()
    table.loc[:4, REGIONS] = np.nan
    return csv(table, na_rep="n/a")


# What is done to the file, arguments besides ROLES, and what the error must say.
REFUSED = {
    "wrong delimiter": (csv, {"delimiter": ";"}, "one column.*tried: semicolon"),
    "one column": (lambda: b"a\n1\n2\n", {}, "one column.*first line is 'a'.*delimiter="),
    "empty": (lambda: b"", {}, "table.csv' is empty"),
    "only blanks": (lambda: b" \n\n", {}, "is empty"),
    "header only": (lambda: csv(make().iloc[:0]), {}, "has a header but no rows"),
    "binary": (lambda: bytes(range(256)) * 9, {}, "binary data.*\\.xlsx"),
    "duplicated id": (
        file(changed(9, "subject_id", "0051402")),
        {},
        "id '0051402' is in row 4 and row 9 of column 'subject_id'.*one row per subject",
    ),
    "missing id": (file(changed(5, "subject_id", "")), {}, "row 5.*the id is missing"),
    "a long name of a region": (
        lambda: csv(renamed(lh_cuneus_thickness="r" * 300)),
        {"regions": "all"},
        "name of a region that begins with 'r{40}' has 300 characters, more than 100. Give it",
    ),
    "a long name of a group": (
        lambda: csv(make().replace({"group": {"SCZ": "g" * 101}})),
        {},
        "label of the group that begins with 'g{40}' has 101 characters",
    ),
    "a long id": (
        file(changed(5, "subject_id", "s" * 300)),
        {},
        "name of a subject that begins with 's{40}' has 300 characters",
    ),
    "duplicated column": (twice_named, {}, "columns 7 and 8 are both called 'lh_bankssts_thick"),
    "two spellings": (
        file(changed(4, "group", "ctr")),
        {},
        r"row 4 \(subject '0051402'\), column 'group': 'ctr' \(1 time\) and 'CTR' \(5 times\)",
    ),
    "two spellings of a site": (file(changed(3, "site", "nyu")), {}, "column 'site'.*spelling"),
    "missing group": (
        file(changed(6, "group", "")),
        {},
        r"row 6 \(subject '0051404'\), column 'group': the group is missing.*groups=",
    ),
    "missing site": (file(changed(6, "site", "NA")), {}, "row 6.*the site is missing"),
    "text in a region": (
        file(changed(7, "lh_cuneus_thickness", "fail")),
        {},
        r"table.csv', row 7 \(subject '0051405'\), column 'lh_cuneus_thickness'.*'fail'.*missing=",
    ),
    "infinite": (
        file(changed(8, "lh_cuneus_thickness", "inf")),
        {},
        "row 8.*column 'lh_cuneus_thickness': the value is infinite.*Correct",
    ),
    "-999": (
        file(changed(10, "lh_cuneus_thickness", -999)),
        {},
        r"row 10.*-999 lies far from all other.*missing=\[-999\]",
    ),
    "9999": (file(changed(10, "rh_insula_thickness", 9999)), {}, r"row 10.*missing=\[9999\]"),
    "-9 as an age": (file(changed(2, "age", -9)), {}, "row 2.*column 'age'.*-9"),
    "thousands": (
        lambda: csv(changed(5, "Left-Hippocampus", "4.123,5"), sep=";", decimal=","),
        {},
        "row 5.*'4.123,5'.*Thousands separators are not guessed",
    ),
    "thousands in quotes": (
        file(changed(5, "Left-Hippocampus", "4,123")),
        {},
        "row 5.*'4,123'.*decimal=','",
    ),
    "short row": (ragged(9, cut=True), {}, "row 9 has 9 cells, but the header has 10.*Correct"),
    "long row": (ragged(9, cut=False), {}, "row 9 has 11 cells, but the header has 10"),
    "open quote": (
        lambda: csv().replace(b"0051409", b'"0051409'),
        {},
        "row 11 has 1 cell,.*each quote must be closed",
    ),
    "unnamed column with cells": (
        lambda: csv(renamed(age="")),
        {"covariates": "sex"},
        "column 3 has cells.*no name",
    ),
    "unknown group column": (csv, {"group": "Group"}, "no column 'Group'.*Did you mean 'group'"),
    "unknown covariate": (csv, {"covariates": ["agee"]}, "'agee' to be the cov.*mean 'age'"),
    "unknown id": (csv, {"id": "subjectid"}, "no column 'subjectid'.*'subject_id'"),
    "a column twice": (csv, {"site": "group"}, "'group' is named as group and as site"),
    "age as group": (csv, {"group": "age", "covariates": ()}, "12 different labels in 12 rows"),
    "unnamed numbers": (
        csv,
        {"covariates": "sex"},
        "hold numbers.*'age'.*covariates=.*exclude=, --exclude.*--regions all",
    ),
    "a covariate with units": (
        file(changed(3, "age", "45y")),
        {},
        "row 3.*column 'age': the covariate holds '45y'",
    ),
    "a total as region": (
        csv,
        {"regions": ["eTIV", *REGIONS], "covariates": "age"},
        "regions=.*totals.*'eTIV'.*covariates=",
    ),
    "one region": (csv, {"regions": REGIONS[:1]}, "1 column is left as regions"),
    "no region": (
        file(make().drop(columns=REGIONS).assign(x=1.5, y=2.5)),
        {},
        "0 columns match an atlas.*regions='all'.*'x', 'y'",
    ),
    "unknown region": (csv, {"regions": ["lh_bankst_thickness", "lh_*"]}, "'lh_bankst.*mean 'lh_b"),
    "unknown exclusion": (csv, {"exclude": "eulr*"}, "no column 'eulr\\*'.*exclude="),
    "excluded covariate": (csv, {"exclude": "age"}, "'age' is named in exclude=.* role"),
    "two measures": (
        file(make().assign(lh_cuneus_area=1200.5)),
        {},
        "'lh_cuneus_thickness', 'lh_cuneus_area'.*'area', 'thickness', 'volume'.*measure='area'",
    ),
    "a region twice": (
        file(make().assign(L_cuneus_thickavg=2.5)),
        {},
        "the region .*: 'lh_cuneus_thickness', 'L_cuneus_thickavg'.*exclude=",
    ),
    "unknown measure": (csv, {"measure": "area"}, "no measure 'area'.*'thickness', 'volume'"),
    "unknown group": (csv, {"groups": ["CTR", "SZ"]}, "no group 'SZ'.*'SCZ'"),
    "groups without group": (csv, {"group": None, "groups": ["CTR"]}, "groups=.*group=, --group"),
    "unknown atlas": (csv, {"atlas": "brodman"}, "no atlas is called 'brodman'"),
    "sheet of a CSV": (csv, {"sheet": "A"}, "has no sheets"),
    "odd decimal": (csv, {"decimal": "'"}, "Give '.' or ','"),
    "odd delimiter": (csv, {"delimiter": "::"}, "Give one character"),
}


@pytest.mark.parametrize(("content", "options", "message"), REFUSED.values(), ids=REFUSED)
def test_an_error_names_the_place_and_the_remedy(put, content, options, message):
    path = put(content())
    with pytest.raises(InputError, match=f"(?s){message}"):
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


def test_subjects_without_participants_are_named(put):
    image = make()[["subject_id", "eTIV", *REGIONS]]
    people = put(csv(participants().iloc[2:], sep="\t"), "participants.tsv")
    with pytest.raises(
        InputError, match=r"(?s)participants.tsv' has no row for 2 of 12.*'0051410'"
    ):
        read_table(image, participants=people, **ROLES)
    cohort = read_table(image, participants=people, groups=["CTR", "SCZ"], **ROLES)
    assert len(cohort) == N - 2


def test_an_error_in_participants_is_placed_there(put):
    people = participants().reset_index(drop=True)
    people.loc[3, "group"] = ""
    path = put(csv(people, sep="\t"), "participants.tsv")
    with pytest.raises(InputError, match=r"participants.tsv', row 5 \(subject '0051408'\)"):
        read_table(make()[["subject_id", "eTIV", *REGIONS]], participants=path, **ROLES)
    with pytest.raises(InputError, match=r"in common: ('age', .*|.*'group' and 1 more)"):
        read_table(make(), participants=path, **ROLES)


def test_a_data_frame_is_not_changed(clean):
    table = make().set_index("subject_id")
    before = table.copy(deep=True)
    same(read_table(table, **ROLES), clean)
    pd.testing.assert_frame_equal(table, before)


def test_rows_of_a_data_frame_are_counted_from_zero():
    with pytest.raises(InputError, match=r"the DataFrame, row 5 \(counted from 0\)"):
        read_table(changed(7, REGIONS[0], "x"), **ROLES)


@pytest.mark.parametrize("cells", [True, 1j, pd.Timestamp("2020-01-01")])
def test_what_is_no_number_is_no_region(cells):
    with pytest.raises(InputError, match="not a number"):
        read_table(make().assign(lh_insula_thickness=cells), **ROLES)


@pytest.mark.parametrize("source", [None, 3, [1], b"table.csv", "a\0b"])
def test_only_paths_and_data_frames_are_sources(source):
    with pytest.raises(InputError, match="path"):
        read_table(source)


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.txt", "t.parquet", "t.xlsx"])
def test_what_is_written_is_read_back(tmp_path, clean, name):
    write_table(clean, tmp_path / name)
    same(read_table(tmp_path / name, **ROLES), clean)


def test_what_could_not_be_read_back_is_not_written(tmp_path, clean):
    path = tmp_path / "t.csv"
    for covariate in (["NA"] * N, [" a"] * N, ["a\nb"] * N):
        with pytest.raises(InputError, match="column 'drug'"):
            write_table(
                Cohort(clean.values, REGIONS, clean.ids, covariates={"drug": covariate}), path
            )
    with pytest.raises(InputError, match="name 'group'"):
        write_table(
            Cohort(
                clean.values, REGIONS, clean.ids, group=clean.group, covariates={"group": range(N)}
            ),
            path,
        )
    with pytest.raises(InputError, match="Choose one"):
        write_table(clean, tmp_path / "t.doc")
    with pytest.raises(InputError, match="cannot be written"):
        write_table(clean, tmp_path / "absent" / "t.csv")
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


def test_pairs_are_written_and_read_back_but_are_no_column_of_x(tmp_path, clean):
    paired = Cohort(**{**fields(clean), "pair": [f"0{k // 2}" for k in range(N)]})
    for name in ("t.csv", "t.parquet", "t.xlsx"):
        write_table(paired, tmp_path / name)
        again = read_table(tmp_path / name, **ROLES, pair="pair")
        same(again, clean)
        assert again.pair.tolist() == paired.pair.tolist()
    pd.testing.assert_frame_equal(cohort_table(paired), cohort_table(clean))
    prepared = make_preparation(paired).fit_transform(cohort_table(paired), paired.group)
    assert prepared.columns.tolist() == REGIONS
    named = Cohort(**{**fields(clean), "pair": paired.pair, "covariates": {"pair": range(N)}})
    with pytest.raises(InputError, match="name 'pair'"):
        write_table(named, tmp_path / "t.csv")


def test_persons_and_blocks_are_written_and_read_back(tmp_path, clean):
    group = np.asarray(clean.group)
    labels = {"person": [f"{one}{k // 4}" for k, one in enumerate(group)], "block": ["f"] * N}
    several = Cohort(**{**fields(clean), **labels})
    write_table(several, tmp_path / "t.csv")
    again = read_table(tmp_path / "t.csv", **ROLES, subject="person", block="block")
    same(again, clean)
    assert again.person.tolist() == labels["person"]
    assert again.block.tolist() == labels["block"]
    pd.testing.assert_frame_equal(cohort_table(several), cohort_table(clean))


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
    unnamed = ", ".join(map(repr, UNNAMED[name]))
    with pytest.raises(InputError, match=f"{name}.csv.*not named: {unnamed}. Name the role"):
        read_table(path, group="group")
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


def test_excel_errors_are_refused_where_they_are_used(tmp_path):
    path = tmp_path / "t.xlsx"
    changed(5, REGIONS[1], "#DIV/0!").assign(note="#REF!").to_excel(path, index=False)
    with pytest.raises(InputError, match=r"row 5 \(subject '0051403'\).*'#DIV/0!'.*formula"):
        read_table(path, **ROLES)
    changed(5, REGIONS[1], "#NV").assign(note="#REF!").to_excel(path, index=False)
    assert np.argwhere(np.isnan(read_table(path, **ROLES).values)).tolist() == [[3, 1]]
