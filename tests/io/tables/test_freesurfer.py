import numpy as np
import pandas as pd
import pytest

from sgbn.core.exceptions import DataWarning, InputError
from sgbn.read.table import read_freesurfer

IDS = ["sub-01", "sub-02", "sub-10", "sub-03"]
NAMES = ("bankssts", "cuneus", "insula")


def aparc(hemi, measure="thickness", ids=IDS, etiv=1.5e6):
    """A table as aparcstats2table writes it."""
    rng = np.random.default_rng([ord(hemi[0]), len(measure)])
    columns = {f"{hemi}.aparc.{measure}": list(ids)}
    columns |= {f"{hemi}_{name}_{measure}": rng.uniform(2, 3, len(ids)).round(3) for name in NAMES}
    columns[f"{hemi}_MeanThickness_thickness"] = 2.5
    columns["BrainSegVolNotVent"] = 1.1e6
    columns["eTIV"] = etiv + np.arange(len(ids))
    return pd.DataFrame(columns)


def aseg(ids=IDS, **extra):
    """A table as asegstats2table writes it."""
    rng = np.random.default_rng(5)
    columns = {"Measure:volume": list(ids)}
    names = ("Left-Hippocampus", "Right-Hippocampus", "3rd-Ventricle")
    columns |= {name: rng.uniform(1000, 5000, len(ids)).round(1) for name in names}
    return pd.DataFrame(columns | {"EstimatedTotalIntraCranialVol": 1.5e6, **extra})


@pytest.fixture
def put(tmp_path):
    def write(name, table, sep="\t"):
        table.to_csv(tmp_path / name, sep=sep, index=False)
        return tmp_path / name

    return write


@pytest.fixture
def people(put):
    table = pd.DataFrame({"participant_id": IDS[::-1], "group": list("aabb"), "age": range(40, 44)})
    return put("participants.tsv", table)


def test_hemispheres_and_structures_are_joined_by_subject(put, people):
    files = [
        put("lh.txt", aparc("lh")),
        put("rh.txt", aparc("rh").iloc[::-1]),
        put("aseg.txt", aseg().iloc[[2, 0, 1, 3]]),
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
def test_delimiters_and_transposed_tables(put, sep, turned):
    table = aparc("lh")
    if turned:
        first = table.columns[0]
        table = table.set_index(first).T.rename_axis(first).reset_index()
    cohort = read_freesurfer(put("lh.txt", table, sep))
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


def test_subjects_of_one_table_only_are_named(put):
    left, right = put("lh.txt", aparc("lh")), put("rh.txt", aparc("rh", ids=[*IDS[:3], "sub-99"]))
    with pytest.raises(InputError, match=r"1 subject is in '.*lh.txt', .*rh.txt': 'sub-03'"):
        read_freesurfer(left, right)


def test_totals_must_agree_and_measures_come_once():
    with pytest.raises(InputError, match=r"'eTIV': .*1.5e\+06, but .*1.4e\+06"):
        read_freesurfer(aparc("lh"), aparc("rh", etiv=1.4e6))
    with pytest.raises(InputError, match=r"'lh_bankssts_thickness' is in .* and in"):
        read_freesurfer(aparc("lh"), aparc("lh"))
    with pytest.raises(InputError, match=r"(?s)'area', 'thickness'.*measure="):
        read_freesurfer(aparc("lh"), aparc("lh", "area"))
    cohort = read_freesurfer(aparc("lh"), aparc("lh", "area"), measure="area")
    assert cohort.regions[0] == "lh_bankssts_area"


def test_unknown_structures_are_listed_and_left_out():
    with pytest.warns(DataWarning, match="1 column is unknown.*'Left-Unheard-Of'"):
        cohort = read_freesurfer(aseg(**{"Left-Unheard-Of": 3.0}))
    assert len(cohort.regions) == 3
    assert cohort.provenance["ignored"] == ["Left-Unheard-Of"]


def test_errors_name_the_file_of_the_column(put):
    table = aparc("rh").astype(object)
    table.loc[1, "rh_cuneus_thickness"] = "oops"
    files = put("lh.txt", aparc("lh")), put("rh.txt", table.iloc[::-1])
    with pytest.raises(InputError, match=r"rh.txt', row 4 \(subject 'sub-02'\).*'oops'"):
        read_freesurfer(*files)


def test_a_table_is_needed():
    with pytest.raises(InputError, match="at least one table"):
        read_freesurfer()


def spread(hemi, factor=1.0):
    """A table whose totals differ clearly between subjects."""
    return aparc(hemi).assign(eTIV=1e6 * (1 + np.arange(len(IDS))) * factor)


def test_totals_are_compared_subject_by_subject():
    cohort = read_freesurfer(spread("lh"), spread("rh").iloc[::-1], covariates="eTIV")
    assert cohort.covariates["eTIV"].tolist() == [1e6, 2e6, 3e6, 4e6]


def test_totals_may_differ_by_rounding_only():
    read_freesurfer(spread("lh"), spread("rh", 1 + 5e-6))
    with pytest.raises(InputError, match="4 subjects differ"):
        read_freesurfer(spread("lh"), spread("rh", 1 + 5e-5))


def test_the_named_id_may_be_that_of_the_participants():
    people = pd.DataFrame({"id": list("abcd"), "code": IDS, "dx": list("xxyy")})
    options = {"participants": people, "group": "dx"}
    assert read_freesurfer(aparc("lh"), id="code", **options).group.tolist() == list("xxyy")
    with pytest.raises(InputError, match=r"no column 'cod' to be the id, and .*'code'"):
        read_freesurfer(aparc("lh"), id="cod", **options)
    with pytest.raises(InputError, match="no column 'code' to be the id"):
        read_freesurfer(aparc("lh"), id="code")


def test_each_table_has_its_own_decimal_mark(tmp_path):
    aparc("lh").to_csv(tmp_path / "lh.txt", sep="\t", index=False)
    aparc("rh").to_csv(tmp_path / "rh.txt", sep=";", decimal=",", index=False)
    cohort = read_freesurfer(tmp_path / "lh.txt", tmp_path / "rh.txt", covariates="eTIV")
    same = read_freesurfer(aparc("lh"), aparc("rh"), covariates="eTIV")
    np.testing.assert_array_equal(cohort.values, same.values)
    people = pd.DataFrame({"id": IDS, "age": [20.5, 31.25, 40.5, 50.0]})
    people.to_csv(tmp_path / "people.csv", sep=";", decimal=",", index=False)
    for first in ("lh.txt", "rh.txt"):
        read = read_freesurfer(
            tmp_path / first, participants=tmp_path / "people.csv", covariates="age"
        )
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
    assert cohort.complete.all()
