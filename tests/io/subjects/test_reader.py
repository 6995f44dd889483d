import inspect

import numpy as np
import pandas as pd
import pytest

from sgbn.core.exceptions import DataWarning, InputError
from sgbn.read.subjects import collect_subjects, participants_by_visit, read_subjects
from sgbn.read.table import read_freesurfer, read_table

from .written import REGIONS, SIDES, nuclei, write, write_cat12, write_freesurfer, write_seg_only

OWN = {"parcellation", "measure", "aseg", "segmentations", "stream", "on_error"}


@pytest.fixture
def folder(tmp_path):
    for k in range(6):
        write_freesurfer(tmp_path / "subjects", f"sub-{k}")
    return tmp_path / "subjects"


@pytest.fixture
def people(tmp_path):
    table = pd.DataFrame({"participant_id": [f"sub-{k}" for k in range(7)]})
    table["diagnosis"] = ["AD", "CTR"] * 3 + ["AD"]
    table["age"] = 60.0 + np.arange(7)
    path = tmp_path / "participants.tsv"
    table.to_csv(path, sep="\t", index=False)
    return path


def keywords(function):
    return {
        one.name
        for one in inspect.signature(function).parameters.values()
        if one.kind is one.KEYWORD_ONLY
    }


def test_options_are_those_of_tables_but_for_text():
    of_text = {"delimiter", "decimal"}
    assert keywords(read_subjects) == (keywords(read_freesurfer) | OWN) - of_text
    assert keywords(collect_subjects) == OWN


def test_a_cohort_with_groups_and_covariates(folder, people):
    cohort = read_subjects(
        folder, participants=people, group="diagnosis", covariates=["age", "eTIV", "SurfaceHoles"]
    )
    assert list(cohort.ids) == [f"sub-{k}" for k in range(6)]
    assert list(cohort.group) == ["AD", "CTR"] * 3
    assert set(cohort.covariates) == {"age", "eTIV", "SurfaceHoles"}
    assert cohort.atlas.name == "desikan_killiany"
    assert "lh_insula_thickness" in cohort.regions
    assert "Left-Thalamus" in cohort.regions
    assert not {"eTIV", "Left-vessel"} & set(cohort.regions)
    assert cohort.provenance["parcellation"] == "aparc"


def test_the_same_cohort_as_from_the_tables_of_freesurfer(folder, tmp_path):
    table = collect_subjects(folder).table
    left, rest = tmp_path / "lh.csv", tmp_path / "rest.csv"
    first = [name for name in table if name.startswith("lh_")]
    table[["subject_id", *first]].to_csv(left, index=False)
    table.drop(columns=first).to_csv(rest, index=False)
    direct = read_subjects(folder)
    joined = read_freesurfer(left, rest)
    assert set(direct.regions) == set(joined.regions)
    order = [joined.regions.index(name) for name in direct.regions]
    np.testing.assert_array_equal(direct.values, joined.values[:, order])


def test_the_table_is_read_back_as_the_same_cohort(folder, tmp_path):
    path = tmp_path / "regions.csv"
    collect_subjects(folder).table.to_csv(path, index=False)
    direct, again = read_subjects(folder), read_table(path)
    assert (direct.regions, direct.ids) == (again.regions, again.ids)
    np.testing.assert_array_equal(direct.values, again.values)


def test_dkt_and_destrieux_are_known_by_their_atlases(tmp_path):
    names = ["G_and_S_frontomargin", "G_cuneus", "S_calcarine"]
    for k in range(3):
        write_freesurfer(tmp_path / "a", f"s{k}", "aparc.a2009s", names)
        write_freesurfer(tmp_path / "b", f"s{k}", "aparc.DKTatlas.mapped")
        write_seg_only(tmp_path / "c", f"s{k}")
    assert read_subjects(tmp_path / "a").atlas.name == "destrieux"
    assert "lh_insula_thickness" in read_subjects(tmp_path / "b").regions
    seg_only = read_subjects(tmp_path / "c")
    assert "lh_insula_volume" in seg_only.regions
    assert seg_only.atlas is not None


DKT = [name for name in REGIONS if name not in ("bankssts", "frontalpole", "temporalpole")]


def test_the_atlas_is_that_of_the_parcellation_whatever_is_excluded(tmp_path):
    for k in range(3):
        write_freesurfer(tmp_path / "dkt", f"s{k}", "aparc.DKTatlas.mapped", DKT)
        write_freesurfer(tmp_path / "dk", f"s{k}")
        write_seg_only(tmp_path / "voxels", f"s{k}")
    few = ["lh_entorhinal_*", "lh_insula_*"]
    assert read_subjects(tmp_path / "dkt", exclude=few).atlas.name == "dkt"
    assert read_subjects(tmp_path / "voxels", exclude=few).atlas.name == "dkt"
    poles = ["*_bankssts_*", "*_frontalpole_*", "*_temporalpole_*"]
    without = read_subjects(tmp_path / "dk", exclude=poles)
    assert without.atlas.name == "desikan_killiany"
    assert not [name for name in without.regions if "pole" in name]
    assert read_subjects(tmp_path / "dkt", atlas="dk").atlas.name == "desikan_killiany"


def test_regions_that_no_atlas_knows_are_named_by_the_files(folder):
    for k in range(6):
        for side in SIDES:
            text = nuclei(f"sub-{k} {side}", ["AV", "LGN"], "Thalamic nuclei")
            name = f"thalamic-nuclei.{side}.v13.T1.stats"
            write(folder / f"sub-{k}" / "stats" / name, text)
    cohort = read_subjects(folder, segmentations="thalamus")
    assert {"thalamus_Left-LGN", "lh_insula_thickness", "Left-Thalamus"} < set(cohort.regions)
    assert cohort.provenance["regions"] == "given"
    few = read_subjects(folder, segmentations=["thalamus"], regions="thalamus_*")
    assert len(few.regions) == 4


def test_an_atlas_of_cat12_is_not_taken_for_another(tmp_path):
    for name in ("a", "b", "c"):
        write_cat12(tmp_path, name)
    with pytest.warns(DataWarning, match="3rd Ventricle"):
        cohort = read_subjects(tmp_path, parcellation="neuromorphometrics", covariates="TIV")
    assert cohort.regions[0] == "Right Hippocampus"
    assert len(cohort.regions) == 3
    assert cohort.atlas.name == "neuromorphometrics"
    surfaces = read_subjects(tmp_path)
    assert surfaces.atlas.name == "desikan_killiany"


def test_visits_need_their_person(folder):
    for session in (1, 2):
        write_freesurfer(folder, f"sub-7/ses-{session}")
    assert read_subjects(folder).provenance["repeated"] == {"persons": {"person": "--subject"}}
    cohort = read_subjects(folder, subject="person")
    assert list(cohort.person[-2:]) == ["sub-7", "sub-7"]


def test_participants_without_a_subject_or_the_reverse(folder, people):
    table = pd.read_csv(people, sep="\t").iloc[1:]
    with pytest.raises(InputError, match="no row for 1 of 6 subjects"):
        read_subjects(folder, participants=table, group="diagnosis")
    with pytest.warns(DataWarning, match="sub-0"):
        cohort = read_subjects(
            folder, participants=table, group="diagnosis", participants_missing="drop"
        )
    assert len(cohort.ids) == 5


def test_participants_may_be_listed_by_person_or_by_visit(tmp_path):
    for k in range(4):
        write_freesurfer(tmp_path, f"sub-{k // 2}_ses-{k % 2}")
    persons = pd.DataFrame({"participant_id": ["sub-1", "sub-0"], "dx": ["AD", "CTR"]})
    options = {"group": "dx", "subject": "person"}
    cohort = read_subjects(tmp_path, participants=persons, **options)
    assert list(cohort.group) == ["CTR", "CTR", "AD", "AD"]
    assert list(cohort.person) == ["sub-0", "sub-0", "sub-1", "sub-1"]
    assert len(set(cohort.ids)) == 4
    visits = pd.DataFrame({"participant_id": cohort.ids, "dx": list("abba")})
    paired = read_subjects(tmp_path, participants=visits, group="dx", pair="person")
    assert list(paired.group) == list("abba")


def test_rows_of_persons_are_repeated_for_each_visit(tmp_path):
    for k in range(6):
        write_freesurfer(tmp_path, f"sub-{k // 2}_ses-{k % 2}")
    collected = collect_subjects(tmp_path)
    persons = pd.DataFrame(
        {"ID": ["1", "sub-0", "7"], "dx": ["AD", "CTR", "AD"], "eTIV": [1, 2, 3]}
    )
    people, visits = participants_by_visit(collected, persons)
    assert people.ids == ("1", "sub-0", "7")
    assert list(visits) == ["participant_id", "dx", "eTIV"]
    assert list(visits["participant_id"]) == [f"sub-{k // 2}_ses-{k % 2}" for k in range(4)]
    assert list(visits["dx"]) == ["CTR", "CTR", "AD", "AD"]
    by_visit = pd.DataFrame({"ID": collected.table["subject_id"][1:], "dx": "AD"})
    assert participants_by_visit(collected, by_visit)[1] is None
    twice = pd.DataFrame({"ID": ["0", "sub-0", "1"], "dx": ["AD", "CTR", "AD"]})
    with pytest.raises(InputError, match="'sub-0' and '0' are the same id"):
        participants_by_visit(collected, twice)


def test_tables_that_cat12_exports_have_the_same_names_and_values(tmp_path):
    for name in ("a", "b", "c"):
        write_cat12(tmp_path / "data", name)
    direct = read_subjects(tmp_path / "data", parcellation="aparc_DK40")
    lines = [",".join(["names", "lunknown", *direct.regions])]
    lines += [
        ",".join([name, "NaN", *map(repr, map(float, row))])
        for name, row in zip(direct.ids, direct.values, strict=True)
    ]
    exported = write(tmp_path / "ROI_catROIs_aparc_DK40_thickness.csv", "\n".join(lines) + "\n")
    table = read_table(exported)
    assert (table.regions, table.ids) == (direct.regions, direct.ids)
    np.testing.assert_array_equal(table.values, direct.values)
