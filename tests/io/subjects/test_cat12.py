import pytest

from sgbn.core.exceptions import DataWarning, InputError
from sgbn.read.cat12 import cat12_subjects, choose_atlas, read_atlases, read_cat_subject
from sgbn.read.subject_folders import Failure, roi_files
from sgbn.read.subjects import collect_subjects

from .written import cat_roi, write, write_cat12


def read_all(folder, atlas, measure):
    subjects = cat12_subjects(roi_files(folder))
    atlases, _ = read_atlases(subjects)
    return [read_cat_subject(one, atlases[one.id], atlas, measure) for one in subjects]


def chosen(folder, asked=None, measure=None):
    atlases, _ = read_atlases(cat12_subjects(roi_files(folder)))
    return choose_atlas(asked, measure, atlases)


def test_both_files_of_an_image_are_one_subject(tmp_path):
    write_cat12(tmp_path, "sub-01_ses-2_T1w")
    write_cat12(tmp_path, "patient7", surfaces=False)
    subjects = cat12_subjects(roi_files(tmp_path))
    assert [one.id for one in subjects] == ["patient7", "sub-01_ses-2"]
    assert [one.person for one in subjects] == ["patient7", "sub-01"]
    assert [len(one.files) for one in subjects] == [1, 2]


def test_two_images_of_a_subject_are_an_error(tmp_path):
    write_cat12(tmp_path, "sub-01_run-1_T1w")
    write_cat12(tmp_path, "sub-01_run-2_T1w")
    with pytest.raises(InputError, match="two files belong to the subject 'sub-01'"):
        cat12_subjects(roi_files(tmp_path))


def test_atlases_are_chosen_surfaces_first(tmp_path):
    write_cat12(tmp_path, "a")
    assert chosen(tmp_path) == ("aparc_DK40", "thickness")
    assert chosen(tmp_path, measure="volume") == ("neuromorphometrics", "Vgm")
    assert chosen(tmp_path, measure="Vwm") == ("neuromorphometrics", "Vwm")
    assert chosen(tmp_path, "neuromorphometrics") == ("neuromorphometrics", "Vgm")
    with pytest.raises(InputError, match="no subject has the atlas 'neuromorph'"):
        chosen(tmp_path, "neuromorph")
    with pytest.raises(InputError, match="no subject has the measure 'area'"):
        chosen(tmp_path, measure="area")


def test_values_totals_and_quality(tmp_path):
    write_cat12(tmp_path, "a")
    (row,) = read_all(tmp_path, "neuromorphometrics", "Vwm")
    assert list(row.regions)[1:3] == ["Right Hippocampus", "Left Hippocampus"]
    assert list(row.totals) == ["TIV"]
    assert row.quality["IQR"] == 2.25
    assert row.quality["GM"] == 600
    assert row.quality["missing"] == ""
    (row,) = read_all(tmp_path, "aparc_DK40", "thickness")
    assert list(row.regions) == ["lbankssts", "rbankssts", "linsula", "rinsula"]
    assert set(row.totals) == {"TIV", "lunknown"}


def test_a_report_in_the_same_folder_or_none(tmp_path):
    write_cat12(tmp_path, "a", report=False)
    (row,) = read_all(tmp_path, "neuromorphometrics", "Vgm")
    assert (row.totals, row.software, row.quality["missing"]) == ({}, "", "TIV")
    write_cat12(tmp_path, "a")
    (tmp_path / "report" / "cat_a.xml").rename(tmp_path / "label" / "cat_a.xml")
    (row,) = read_all(tmp_path, "neuromorphometrics", "Vgm")
    assert "TIV" in row.totals


def test_a_damaged_file_of_another_atlas_costs_no_subject(tmp_path):
    for name in ("a", "b"):
        write_cat12(tmp_path, name)
    write(tmp_path / "label" / "catROI_b.xml", "<S>")
    thickness = collect_subjects(tmp_path)
    assert thickness.table["subject_id"].tolist() == ["a", "b"]
    with pytest.warns(DataWarning, match=r"catROI_b\.xml is cut off"):
        volumes = collect_subjects(tmp_path, parcellation="neuromorphometrics")
    assert volumes.table["subject_id"].tolist() == ["a"]


def test_failures_name_file_and_reason(tmp_path):
    for name in ("a", "b", "c", "d"):
        write_cat12(tmp_path, name, surfaces=False)
    write(tmp_path / "label" / "catROI_b.xml", "<S>")
    write(tmp_path / "label" / "catROI_c.xml", cat_roi({"cobra": ((1,), ("x",), {"Vgm": [1]})}))
    write(tmp_path / "report" / "cat_d.xml", "")
    subjects = cat12_subjects(roi_files(tmp_path))
    atlases, failures = read_atlases(subjects)
    assert [one.id for one in failures] == ["b"]
    assert "catROI_b.xml is cut off" in failures[0].reason
    there = {one.id: one for one in subjects if one.id in atlases}
    found = {
        name: read_cat_subject(one, atlases[name], "neuromorphometrics", "Vgm")
        for name, one in there.items()
    }
    assert found["c"].reason == "there is no Vgm of neuromorphometrics in catROI_c.xml"
    assert isinstance(found["d"], Failure)
    assert "cat_d.xml" in found["d"].reason
