import warnings

import numpy as np
import pytest

from sgbn.core.exceptions import DataWarning, InputError
from sgbn.read.subjects import collect_subjects, is_subjects_folder

from .written import REGIONS, aparc, aseg, write, write_cat12, write_freesurfer, write_seg_only


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
    with pytest.warns(DataWarning, match="2 subjects left out of 5: sub-1 .*; sub-3 "):
        found = collect_subjects(folder)
    assert list(found.table["subject_id"]) == ["sub-0", "sub-2", "sub-4"]
    assert list(found.failed["subject_id"]) == ["sub-1", "sub-3"]
    assert "lh_insula_thickness" in found.failed["reason"][1]
    with pytest.raises(InputError, match=r"2 subjects cannot be read: sub-1 .*--on-error skip"):
        collect_subjects(folder, on_error="raise")
    with pytest.raises(InputError, match="on_error is 'stop'"):
        collect_subjects(folder, on_error="stop")


def test_thickness_of_zero_or_nan_is_a_failure(folder):
    for name, bad in (("sub-1", "0.000"), ("sub-2", "nan")):
        path = folder / name / "stats" / "lh.aparc.stats"
        lines = path.read_text().splitlines()
        cells = lines[-1].split()
        cells[4] = bad
        write(path, "\n".join([*lines[:-1], " ".join(cells)]) + "\n")
    with pytest.warns(DataWarning, match="2 subjects left out"):
        found = collect_subjects(folder)
    assert found.failed["reason"][0] == "1 region is 0 or not a number: 'lh_insula_thickness'"


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
    with pytest.warns(DataWarning, match=r"FreeSurfer 6\.0\.0: 1, FreeSurfer 7\.4\.1: 4"):
        collect_subjects(folder)


def test_parcellations_are_not_mixed(folder):
    write_seg_only(folder, "sub-8")
    with pytest.warns(DataWarning, match=r"sub-8 \(missing: stats/lh.aparc.stats, "):
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
    with pytest.warns(DataWarning, match="sub-9"):
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
    with pytest.warns(DataWarning, match="1 region .* in most subjects, .*: .3rd Ventricle"):
        found = collect_subjects(tmp_path, measure="volume")
    assert found.regions == ("Right Hippocampus", "Left Hippocampus", "Left AIns anterior insula")
    assert list(found.table["TIV"]) == list(found.quality["TIV"])


def test_the_average_of_a_longitudinal_run_of_cat12_is_no_subject(tmp_path):
    for name in ("rsub-01_ses-1_T1w", "rsub-01_ses-2_T1w", "avg_sub-01_ses-1_T1w", "avg_sub-02"):
        write_cat12(tmp_path, name, surfaces=False)
    with pytest.warns(DataWarning, match="3rd Ventricle"):
        found = collect_subjects(tmp_path)
    assert list(found.table["subject_id"]) == ["sub-01_ses-1", "sub-01_ses-2"]
    assert found.facts["averages"] == ["catROI_avg_sub-01_ses-1_T1w.xml", "catROI_avg_sub-02.xml"]
    assert found.provenance["averages"] == 2
    for path in (tmp_path / "label").glob("catROI_rsub*"):
        path.unlink()
    with pytest.raises(InputError, match="holds only averages of longitudinal runs"):
        collect_subjects(tmp_path)


def test_options_of_freesurfer_are_not_for_cat12(tmp_path):
    write_cat12(tmp_path, "a")
    for option in ({"aseg": False}, {"segmentations": "thalamus"}, {"stream": "long"}):
        with pytest.raises(InputError, match=f"{next(iter(option))}= is for FreeSurfer"):
            collect_subjects(tmp_path, **option)


def test_folders_without_subjects_are_errors(tmp_path):
    with pytest.raises(InputError, match=r"holds no subjects.*Check the path"):
        collect_subjects(tmp_path)
    write_freesurfer(tmp_path / "sourcedata" / "freesurfer", "sub-1")
    with pytest.raises(InputError, match=r"Did you mean .*sourcedata/freesurfer"):
        collect_subjects(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        collect_subjects(tmp_path / "nothing")
    with pytest.raises(InputError, match="is a file"):
        collect_subjects(write(tmp_path / "table.csv", ""))
    with pytest.raises(InputError, match="not int"):
        collect_subjects(3)


def test_nobody_left_is_an_error_in_any_case(tmp_path):
    for name in ("sub-1", "sub-2"):
        write(write_freesurfer(tmp_path, name) / "scripts" / "recon-all.error", "")
    with pytest.raises(InputError, match=r"2 subjects cannot be read.*Nobody is left"):
        collect_subjects(tmp_path)
    write(tmp_path / "cat" / "label" / "catROI_a.xml", "")
    with pytest.raises(InputError, match="no file of CAT12 can be read"):
        collect_subjects(tmp_path / "cat")


def test_a_subjects_folder_is_known(folder):
    assert is_subjects_folder(folder)
    assert not is_subjects_folder(folder / "sub-0" / "stats")
    assert not is_subjects_folder(folder / "nothing")
