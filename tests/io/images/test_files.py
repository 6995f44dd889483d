from pathlib import Path

import pytest

from sgbn.core.exceptions import InputError
from sgbn.read.volumes import find_images, images_by_subject, stem, subject_id


@pytest.mark.parametrize(
    ("path", "subject"),
    [
        ("sub-01_space-MNI_label-GM_probseg.nii.gz", "sub-01"),
        ("x/sub-01/ses-2/anat/sub-01_ses-2_T1w.nii", "sub-01_ses-2"),
        ("mwp1sub-07_T1w.nii", "sub-07"),
        ("study/sub-03/mri/mwp1T1.nii", "sub-03"),
        ("sub-01/ses-2/anat/gm.nii", "sub-01_ses-2"),
        ("ses-1/sub-01/ses-2/gm.nii", "sub-01_ses-2"),
        ("sub-01/ses-2/sub-01_gm.nii", "sub-01_ses-2"),
        ("sub-01/ses-2/sub-02_gm.nii", "sub-02"),
        ("sub-01_ses-2/gm.nii", "sub-01_ses-2"),
        ("sub-01/anat/ses-2/gm.nii", "sub-01"),
        ("ses-2/sub-01_gm.nii", "sub-01"),
        ("wc2001.nii", "wc2001"),  # wc2 of 001, or a subject of that name
        ("mwp10012.nii", "mwp10012"),
        ("mwp1patient7.nii", "patient7"),
        ("s8mwp1patient7.nii.gz", "patient7"),
        ("m0wp1_0012.nii", "0012"),
        ("smwc1IXI002.nii", "IXI002"),
        ("wc2IXI002.nii", "IXI002"),
        ("c1023.nii", "c1023"),  # may be a control's number
        ("wp1.nii", "wp1"),
        ("scan.v2.NII.GZ", "scan.v2"),
        ("norm.mgz", "norm"),
    ],
)
def test_ids_come_from_file_names(path, subject):
    assert subject_id(path) == subject


def test_the_stem_loses_both_endings():
    assert stem("a/b.c.nii.gz") == "b.c"
    assert stem("a/table.tsv") == "table"


@pytest.fixture
def folder(tmp_path):
    for name in ("b.nii", "a.nii.gz", "notes.txt", "deep/c.nii.gz", "atlas.nii"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    return tmp_path


def names(paths):
    return [path.name for path in paths]


def test_folders_patterns_and_files_are_found_once(folder):
    assert names(find_images([folder])) == ["a.nii.gz", "atlas.nii", "b.nii", "c.nii.gz"]
    found = find_images([folder / "b.nii", folder / "*.nii*", folder / "deep"])
    assert names(found) == ["b.nii", "a.nii.gz", "atlas.nii", "c.nii.gz"]
    assert names(find_images([f"{folder}/**/c*"])) == ["c.nii.gz"]


def test_the_atlas_is_no_subject(folder):
    found = find_images([folder], exclude=[folder / "deep" / ".." / "atlas.nii"])
    assert "atlas.nii" not in names(found)


def test_a_missing_file_is_kept_to_be_reported_with_the_bad_ones(folder):
    assert names(find_images([folder / "gone.nii"])) == ["gone.nii"]


def test_nothing_found_is_an_error(folder):
    (folder / "none").mkdir()
    with pytest.raises(InputError, match=r"none contains no \.nii"):
        find_images([folder / "none"])
    with pytest.raises(InputError, match=r"no file matches '.*x\*\.nii'"):
        find_images([folder / "x*.nii"])
    with pytest.raises(InputError, match="no image was given"):
        find_images([])


def test_two_images_of_a_subject_are_both_named():
    with pytest.raises(InputError, match=r"'sub-1': a/sub-1_run-1\.nii and a/sub-1_run-2\.nii"):
        images_by_subject(["a/sub-1_run-1.nii", "a/sub-1_run-2.nii"])
    assert list(images_by_subject(["a/sub-1_run-1.nii", "a/sub-1_run-2.nii"], ["r1", "r2"])) == [
        "r1",
        "r2",
    ]


def test_ids_of_ones_own(folder):
    assert images_by_subject({"007": "a.nii"}) == {"007": Path("a.nii")}
    assert list(images_by_subject(folder)) == ["a", "atlas", "b", "c"]
    with pytest.raises(InputError, match="1 id for 2 images"):
        images_by_subject(["a.nii", "b.nii"], ["x"])
    for no_list in (5, "x"):
        with pytest.raises(InputError, match=f"ids is {no_list!r}, not a list"):
            images_by_subject(["a.nii"], no_list)
    with pytest.raises(InputError, match="given twice"):
        images_by_subject({"a": "a.nii"}, ["x"])
    for nothing in ([], {}):
        with pytest.raises(InputError, match="no image"):
            images_by_subject(nothing)


def test_an_id_that_is_too_long_for_the_name_of_a_file_is_refused():
    assert len(images_by_subject([f"{'a' * 100}.nii"])) == 1
    with pytest.raises(
        InputError, match=r"the id of a subject that begins with 'a{40}' has 101 cha"
    ):
        images_by_subject([f"{'a' * 101}.nii"])
    with pytest.raises(InputError, match="Give it a shorter name"):
        images_by_subject({"b" * 300: "a.nii"})
