import gzip
import sys
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
from tests.codes import refused

from sgbn.read.volumes import (
    find_images,
    grid_of,
    has_orientation,
    images_by_subject,
    nibabel,
    open_image,
    spatial_shape,
    stem,
    subject_id,
    volumes,
)

AFFINE = np.diag([2.0, 2, 2, 1])


def save(path, data, affine=AFFINE):
    nib.save(nib.Nifti1Image(data, affine), path)
    return path


@pytest.mark.parametrize("name", ["image.nii", "image.nii.gz"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, ">i2", np.int32, np.float32, np.float64])
def test_volumes_are_those_that_nibabel_reads(tmp_path, name, dtype):
    data = np.random.default_rng(0).integers(0, 200, (3, 4, 5, 6)).astype(dtype)
    path = save(tmp_path / name, data)
    read = list(volumes(open_image(path), path))
    expected = np.asanyarray(nib.load(path).dataobj)
    assert len(read) == 6
    for t, volume in enumerate(read):
        assert volume.dtype.kind == "f"
        assert np.array_equal(volume, expected[..., t].ravel(order="F"))


def test_scaled_integers_are_scaled(tmp_path):
    image = nib.Nifti1Image(np.random.default_rng(0).random((4, 4, 4)), AFFINE)
    image.set_data_dtype(np.uint8)
    nib.save(image, tmp_path / "image.nii.gz")
    image = open_image(tmp_path / "image.nii.gz")
    assert (image.dataobj.slope, image.dataobj.inter) != (1, 0)
    (volume,) = volumes(image, "image")
    np.testing.assert_allclose(volume, image.get_fdata().ravel(order="F"), rtol=1e-5)


def test_other_formats_and_images_in_memory_are_read(tmp_path):
    data = np.random.default_rng(0).random((3, 4, 5)).astype(np.float32)
    nib.save(nib.MGHImage(data, AFFINE), tmp_path / "image.mgz")
    for image in (open_image(tmp_path / "image.mgz"), nib.Nifti1Image(data, AFFINE)):
        (volume,) = volumes(image, "image")
        assert np.array_equal(volume, data.ravel(order="F"))


DAMAGE = {
    "cut": lambda content: content[: len(content) // 2],
    "bytes": lambda content: content[:-3000] + bytes(40) + content[-2960:],
    "checksum": lambda content: content[:-8] + b"\1\2\3\4" + content[-4:],
    "no gzip": lambda content: b"hello" * 200,
    "empty file": lambda content: b"",
    "header only": lambda content: gzip.compress(gzip.decompress(content)[:352]),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_named(tmp_path, damage):
    path = save(tmp_path / "image.nii.gz", np.random.default_rng(0).random((9, 9, 9)))
    path.write_bytes(damage(path.read_bytes()))
    with refused("image.unreadable"):
        list(volumes(open_image(path), path))


def test_axes_of_length_one_are_no_axes():
    assert spatial_shape(nib.Nifti1Image(np.zeros((3, 4, 5, 1, 1)), AFFINE), "x") == ((3, 4, 5), 1)


FLAT = np.array([[2.0, 2, 0, 0], [0, 0, 0, 0], [0, 0, 2, 0], [0, 0, 0, 1]])


@pytest.mark.parametrize(
    ("data", "affine", "code"),
    [
        (np.zeros((3, 4)), AFFINE, "image.shape"),
        (np.zeros((3, 4, 5, 2, 2)), AFFINE, "image.shape"),
        (np.zeros((2, 2, 2), np.complex64), AFFINE, "image.type"),
        (np.zeros((2, 2, 2)), FLAT, "image.affine"),
    ],
)
def test_shapes_that_cannot_be_used_are_named(data, affine, code):
    with refused(code):
        grid_of(nib.Nifti1Image(data, affine), "x")


def test_a_surface_is_no_volume(tmp_path):
    nib.save(nib.GiftiImage(), tmp_path / "left.gii")
    with refused("image.kind"):
        open_image(tmp_path / "left.gii")


def test_voxel_volume_is_that_of_oblique_and_flipped_voxels():
    turn = np.array([[np.cos(0.3), -np.sin(0.3), 0], [np.sin(0.3), np.cos(0.3), 0], [0, 0, 1]])
    affine = np.eye(4)
    affine[:3, :3] = turn @ np.diag([-2.0, 3, 1.5])
    grid = grid_of(nib.Nifti1Image(np.zeros((2, 2, 2)), affine), "x")
    assert grid.voxel_volume == pytest.approx(9)
    assert str(grid) == "2 x 2 x 2 voxels of 2 x 3 x 1.5 mm"


def test_a_header_without_orientation_is_told_apart():
    image = nib.Nifti1Image(np.zeros((2, 2, 2)), AFFINE)
    assert has_orientation(image)
    image.set_sform(None, 0)
    image.set_qform(None, 0)
    assert not has_orientation(image)


def test_without_nibabel_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "nibabel", None)
    with refused("library.images"):
        nibabel()


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


def test_ids_of_ones_own(folder):
    assert images_by_subject({"007": "a.nii"}) == {"007": Path("a.nii")}
    assert list(images_by_subject(folder)) == ["a", "atlas", "b", "c"]
    runs = ["a/sub-1_run-1.nii", "a/sub-1_run-2.nii"]
    assert list(images_by_subject(runs, ["r1", "r2"])) == ["r1", "r2"]
    assert len(images_by_subject([f"{'a' * 100}.nii"])) == 1


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda folder: find_images([folder / "none"]), "images.folder"),
        (lambda folder: find_images([folder / "x*.nii"]), "images.pattern"),
        (lambda folder: find_images([]), "images.none"),
        (lambda folder: images_by_subject([]), "images.none"),
        (lambda folder: images_by_subject({}), "images.none"),
        (lambda folder: images_by_subject("a\0.nii"), "file.unreadable"),
        (lambda folder: images_by_subject(["a/sub-1_x.nii", "a/sub-1_y.nii"]), "images.same-id"),
        (lambda folder: images_by_subject(["a.nii", "b.nii"], ["x"]), "ids.number"),
        (lambda folder: images_by_subject(["a.nii"], "x"), "ids.number"),
        (lambda folder: images_by_subject({"a": "a.nii"}, ["x"]), "ids.both"),
        (lambda folder: images_by_subject([f"{'a' * 101}.nii"]), "names.long"),
    ],
)
def test_images_that_cannot_be_found_or_told_apart_are_refused(folder, call, code):
    (folder / "none").mkdir()
    with refused(code):
        call(folder)
