import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
from tests.codes import refused, warned

from sgbn.core.problems import speaking
from sgbn.read.subjects import (
    collect_subjects,
    is_subjects_folder,
    participants_by_visit,
    read_subjects,
)
from sgbn.read.table import read_freesurfer, read_table

from .written import (
    REGIONS,
    SIDES,
    aparc,
    aseg,
    nuclei,
    write,
    write_cat12,
    write_freesurfer,
    write_seg_only,
)


@pytest.fixture
def folder(tmp_path):
    for k in range(5):
        write_freesurfer(tmp_path, f"sub-{k}")
    return tmp_path


def quiet(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return collect_subjects(*arguments, **options)


def test_one_row_per_subject_and_nobody_failed(folder):
    found = quiet(folder)
    assert list(found.table["subject_id"]) == [f"sub-{k}" for k in range(5)]
    assert list(found.quality["subject_id"]) == list(found.table["subject_id"])
    assert found.failed.empty
    assert len([name for name in found.regions if name.endswith("thickness")]) == 2 * len(REGIONS)
    assert found.table["eTIV"].between(1e6, 2e6).all()
    assert found.facts["parcellation"] == "aparc"
    assert found.facts["versions"] == {"FreeSurfer 7.4.1": 5}
    assert "person" not in found.table


def test_failed_subjects_are_left_out_by_name_or_refused(folder):
    (folder / "sub-1" / "stats" / "rh.aparc.stats").unlink()
    write(folder / "sub-3" / "stats" / "lh.aparc.stats", aparc("sub-3", "lh", REGIONS[:-1]))
    with warned("subjects.left-out") as caught:
        found = collect_subjects(folder)
    assert "'sub-1', 'sub-3'" in str(caught[0].message)
    with speaking(people=False):
        assert "sub-" not in str(caught[0].message)
    assert list(found.table["subject_id"]) == ["sub-0", "sub-2", "sub-4"]
    assert list(found.failed["subject_id"]) == ["sub-1", "sub-3"]
    assert "lh_insula_thickness" in found.failed["reason"][1]
    with refused("subjects.unread"):
        collect_subjects(folder, on_error="raise")


def test_thickness_of_zero_or_nan_is_a_failure(folder):
    for name, bad in (("sub-1", "0.000"), ("sub-2", "nan")):
        path = folder / name / "stats" / "lh.aparc.stats"
        lines = path.read_text().splitlines()
        cells = lines[-1].split()
        cells[4] = bad
        write(path, "\n".join([*lines[:-1], " ".join(cells)]) + "\n")
    with warned("subjects.left-out"):
        found = collect_subjects(folder)
    assert found.failed["subject_id"].tolist() == ["sub-1", "sub-2"]


def test_a_subcortical_volume_of_zero_is_kept_and_listed(folder):
    text = aseg("sub-1").splitlines()
    row = next(k for k, line in enumerate(text) if "Left-Caudate" in line)
    cells = text[row].split()
    cells[3] = "0.0"
    text[row] = " ".join(cells)
    write(folder / "sub-1" / "stats" / "aseg.stats", "\n".join(text) + "\n")
    found = quiet(folder)
    assert found.quality["zero_volumes"][1] == "Left-Caudate"
    assert found.table["Left-Caudate"][1] == 0


def test_a_label_that_is_no_region_may_be_missing(folder):
    names = ["Left-Thalamus", "Right-Thalamus", "5th-Ventricle"]
    for k in range(5):
        of_subject = names[:2] if k == 2 else names
        write(folder / f"sub-{k}" / "stats" / "aseg.stats", aseg(f"sub-{k}", of_subject))
    found = quiet(folder)
    assert np.isnan(found.table["5th-Ventricle"][2])
    assert len(found.table) == 5


def test_versions_are_counted_where_they_differ(folder):
    stamp = "freesurfer-Linux-centos6_x86_64-stable-pub-v6.0.0-2beb96c"
    write(folder / "sub-0" / "scripts" / "build-stamp.txt", stamp)
    with warned("subjects.software"):
        collect_subjects(folder)


def test_parcellations_are_not_mixed(folder):
    write_seg_only(folder, "sub-8")
    with warned("subjects.left-out"):
        found = collect_subjects(folder)
    assert len(found.table) == 5
    assert found.facts["other_parcellations"] == ["aseg+DKT.VINN"]


def test_visits_have_a_column_of_persons(folder):
    for session in (1, 2):
        write_freesurfer(folder, f"sub-7/ses-{session}")
    found = quiet(folder)
    assert list(found.table["subject_id"])[-2:] == ["sub-7_ses-1", "sub-7_ses-2"]
    assert list(found.table["person"])[-2:] == ["sub-7", "sub-7"]


def test_names_of_folders_are_no_part_of_the_provenance(folder):
    (folder / "fsaverage" / "stats").mkdir(parents=True)
    (folder / "sub-9").mkdir()
    with warned("subjects.left-out"):
        found = collect_subjects(folder)
    assert found.provenance["templates"] == 1
    assert found.provenance["subjects_left_out"] == 1
    assert "sub-" not in str(found.provenance).replace(str(folder), "")


def test_cat12_leaves_out_regions_without_a_value(tmp_path):
    for name in ("a", "b", "c"):
        write_cat12(tmp_path, name)
    found = quiet(tmp_path)
    assert found.regions == ("lbankssts", "rbankssts", "linsula", "rinsula")
    assert found.facts["versions"] == {"CAT12 12.8.2 r2170": 3}
    with warned("regions.unmeasured"):
        found = collect_subjects(tmp_path, measure="volume")
    assert found.regions == ("Right Hippocampus", "Left Hippocampus", "Left AIns anterior insula")
    assert list(found.table["TIV"]) == list(found.quality["TIV"])


def test_the_average_of_a_longitudinal_run_of_cat12_is_no_subject(tmp_path):
    for name in ("rsub-01_ses-1_T1w", "rsub-01_ses-2_T1w", "avg_sub-01_ses-1_T1w", "avg_sub-02"):
        write_cat12(tmp_path, name, surfaces=False)
    with warned("regions.unmeasured"):
        found = collect_subjects(tmp_path)
    assert list(found.table["subject_id"]) == ["sub-01_ses-1", "sub-01_ses-2"]
    assert found.facts["averages"] == ["catROI_avg_sub-01_ses-1_T1w.xml", "catROI_avg_sub-02.xml"]
    assert found.provenance["averages"] == 2
    for path in (tmp_path / "label").glob("catROI_rsub*"):
        path.unlink()
    with refused("folder.averages"):
        collect_subjects(tmp_path)


@pytest.mark.parametrize(
    ("name", "options", "code"),
    [
        ("", {}, "folder.no-subjects"),
        ("nothing", {}, "folder.absent"),
        ("cat12", {"aseg": False}, "subjects.cat12"),
        ("cat12", {"segmentations": "thalamus"}, "subjects.cat12"),
        ("cat12", {"stream": "long"}, "subjects.cat12"),
        ("damaged", {}, "folder.damaged"),
        (3, {}, "folder.type"),
    ],
)
def test_folders_without_subjects_are_errors(tmp_path, name, options, code):
    if name == "cat12":
        write_cat12(tmp_path / name, "a")
    elif name == "damaged":
        write(tmp_path / name / "label" / "catROI_a.xml", "")
    with refused(code):
        collect_subjects(name if name == 3 else tmp_path / name, **options)


def test_nobody_left_is_an_error_in_any_case(tmp_path):
    for name in ("sub-1", "sub-2"):
        write(write_freesurfer(tmp_path, name) / "scripts" / "recon-all.error", "")
    with refused("subjects.nobody") as caught:
        collect_subjects(tmp_path)
    assert "subject 'sub-1'" in str(caught.value)


def test_a_subjects_folder_is_known(folder):
    assert is_subjects_folder(folder)
    assert not is_subjects_folder(folder / "sub-0" / "stats")
    assert not is_subjects_folder(folder / "nothing")


OWN = {"parcellation", "measure", "aseg", "segmentations", "stream", "on_error"}


@pytest.fixture
def reader_folder(tmp_path):
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


def test_a_cohort_with_groups_and_covariates(reader_folder, people):
    named = {"group": "diagnosis", "covariates": ["age", "eTIV", "SurfaceHoles"]}
    cohort = read_subjects(reader_folder, participants=people, **named)
    assert list(cohort.ids) == [f"sub-{k}" for k in range(6)]
    assert list(cohort.group) == ["AD", "CTR"] * 3
    assert set(cohort.covariates) == {"age", "eTIV", "SurfaceHoles"}
    assert cohort.atlas.name == "desikan_killiany"
    assert "lh_insula_thickness" in cohort.regions
    assert "Left-Thalamus" in cohort.regions
    assert not {"eTIV", "Left-vessel"} & set(cohort.regions)
    assert cohort.provenance["parcellation"] == "aparc"


def test_the_same_cohort_as_from_the_tables_of_freesurfer(reader_folder, tmp_path):
    table = collect_subjects(reader_folder).table
    left, rest = tmp_path / "lh.csv", tmp_path / "rest.csv"
    first = [name for name in table if name.startswith("lh_")]
    table[["subject_id", *first]].to_csv(left, index=False)
    table.drop(columns=first).to_csv(rest, index=False)
    direct = read_subjects(reader_folder)
    joined = read_freesurfer(left, rest)
    assert set(direct.regions) == set(joined.regions)
    order = [joined.regions.index(name) for name in direct.regions]
    np.testing.assert_array_equal(direct.values, joined.values[:, order])


def test_the_table_is_read_back_as_the_same_cohort(reader_folder, tmp_path):
    path = tmp_path / "regions.csv"
    collect_subjects(reader_folder).table.to_csv(path, index=False)
    direct, again = read_subjects(reader_folder), read_table(path)
    assert (direct.regions, direct.ids) == (again.regions, again.ids)
    np.testing.assert_array_equal(direct.values, again.values)


DKT = [name for name in REGIONS if name not in ("bankssts", "frontalpole", "temporalpole")]


def test_the_atlas_is_that_of_the_parcellation_whatever_is_excluded(tmp_path):
    for k in range(3):
        write_freesurfer(tmp_path / "dkt", f"s{k}", "aparc.DKTatlas.mapped", DKT)
        write_freesurfer(tmp_path / "dk", f"s{k}")
        write_seg_only(tmp_path / "voxels", f"s{k}")
        names = ["G_and_S_frontomargin", "G_cuneus", "S_calcarine"]
        write_freesurfer(tmp_path / "destrieux", f"s{k}", "aparc.a2009s", names)
    assert read_subjects(tmp_path / "destrieux").atlas.name == "destrieux"
    assert "lh_insula_thickness" in read_subjects(tmp_path / "dkt").regions
    assert "lh_insula_volume" in read_subjects(tmp_path / "voxels").regions
    few = ["lh_entorhinal_*", "lh_insula_*"]
    assert read_subjects(tmp_path / "dkt", exclude=few).atlas.name == "dkt"
    assert read_subjects(tmp_path / "voxels", exclude=few).atlas.name == "dkt"
    poles = ["*_bankssts_*", "*_frontalpole_*", "*_temporalpole_*"]
    without = read_subjects(tmp_path / "dk", exclude=poles)
    assert without.atlas.name == "desikan_killiany"
    assert not [name for name in without.regions if "pole" in name]
    assert read_subjects(tmp_path / "dkt", atlas="dk").atlas.name == "desikan_killiany"


def test_regions_that_no_atlas_knows_are_named_by_the_files(reader_folder):
    for k in range(6):
        for side in SIDES:
            text = nuclei(f"sub-{k} {side}", ["AV", "LGN"], "Thalamic nuclei")
            name = f"thalamic-nuclei.{side}.v13.T1.stats"
            write(reader_folder / f"sub-{k}" / "stats" / name, text)
    cohort = read_subjects(reader_folder, segmentations="thalamus")
    assert {"thalamus_Left-LGN", "lh_insula_thickness", "Left-Thalamus"} < set(cohort.regions)
    assert cohort.provenance["regions"] == "given"
    few = read_subjects(reader_folder, segmentations=["thalamus"], regions="thalamus_*")
    assert len(few.regions) == 4


def test_an_atlas_of_cat12_is_not_taken_for_another(tmp_path):
    for name in ("a", "b", "c"):
        write_cat12(tmp_path, name)
    with warned("regions.unmeasured"):
        cohort = read_subjects(tmp_path, parcellation="neuromorphometrics", covariates="TIV")
    assert cohort.regions[0] == "Right Hippocampus"
    assert len(cohort.regions) == 3
    assert cohort.atlas.name == "neuromorphometrics"
    surfaces = read_subjects(tmp_path)
    assert surfaces.atlas.name == "desikan_killiany"


def test_visits_need_their_person(reader_folder):
    for session in (1, 2):
        write_freesurfer(reader_folder, f"sub-7/ses-{session}")
    assert read_subjects(reader_folder).provenance["repeated"] == {"persons": {"person": "subject"}}
    cohort = read_subjects(reader_folder, subject="person")
    assert list(cohort.person[-2:]) == ["sub-7", "sub-7"]


def test_subjects_without_a_participant_are_dropped_if_asked(reader_folder, people):
    table = pd.read_csv(people, sep="\t").iloc[1:]
    options = {"participants": table, "group": "diagnosis", "participants_missing": "drop"}
    with warned("ids.dropped"):
        assert len(read_subjects(reader_folder, **options).ids) == 5


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
    persons = {"ID": ["1", "sub-0", "7"], "dx": ["AD", "CTR", "AD"], "eTIV": [1, 2, 3]}
    persons = pd.DataFrame(persons)
    people, visits = participants_by_visit(collected, persons)
    assert people.ids == ("1", "sub-0", "7")
    assert list(visits) == ["participant_id", "dx", "eTIV"]
    assert list(visits["participant_id"]) == [f"sub-{k // 2}_ses-{k % 2}" for k in range(4)]
    assert list(visits["dx"]) == ["CTR", "CTR", "AD", "AD"]
    by_visit = pd.DataFrame({"ID": collected.table["subject_id"][1:], "dx": "AD"})
    assert participants_by_visit(collected, by_visit)[1] is None


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
