import gzip
import sys

import nibabel as nib
import numpy as np
import pytest

from sgbn.core.exceptions import InputError
from sgbn.read.volumes import grid_of, has_orientation, nibabel, open_image, spatial_shape, volumes

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


def damaged(kind, tmp_path):
    path = save(tmp_path / "image.nii.gz", np.random.default_rng(0).random((9, 9, 9)))
    content = path.read_bytes()
    if kind == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif kind == "bytes":
        path.write_bytes(content[:-3000] + bytes(40) + content[-2960:])
    elif kind == "checksum":
        path.write_bytes(content[:-8] + b"\1\2\3\4" + content[-4:])
    elif kind == "no gzip":
        path.write_bytes(b"hello" * 200)
    elif kind == "empty file":
        path.write_bytes(b"")
    elif kind == "header only":
        path.write_bytes(gzip.compress(gzip.decompress(content)[:352]))
    return path


@pytest.mark.parametrize(
    "kind", ["cut", "bytes", "checksum", "no gzip", "empty file", "header only"]
)
def test_a_damaged_file_is_named(tmp_path, kind):
    path = damaged(kind, tmp_path)
    with pytest.raises(InputError, match=r"image\.nii\.gz cannot be read as an image \("):
        list(volumes(open_image(path), path))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"gone\.nii does not exist"):
        open_image(tmp_path / "gone.nii")


def test_a_surface_is_no_volume(tmp_path):
    nib.save(nib.GiftiImage(), tmp_path / "left.gii")
    with pytest.raises(InputError, match=r"left\.gii contains a GiftiImage"):
        open_image(tmp_path / "left.gii")


def test_shapes_that_cannot_be_used_are_named(tmp_path):
    assert spatial_shape(nib.Nifti1Image(np.zeros((3, 4, 5, 1, 1)), AFFINE), "x") == ((3, 4, 5), 1)
    for shape in ((3, 4), (3, 4, 5, 2, 2)):
        image = nib.Nifti1Image(np.zeros(shape), AFFINE)
        with pytest.raises(InputError, match="x has the shape"):
            spatial_shape(image, "x")
    with pytest.raises(InputError, match="complex"):
        spatial_shape(nib.Nifti1Image(np.zeros((2, 2, 2), np.complex64), AFFINE), "x")


def test_an_affine_that_cannot_be_inverted_is_named():
    flat = np.array([[2.0, 2, 0, 0], [0, 0, 0, 0], [0, 0, 2, 0], [0, 0, 0, 1]])
    with pytest.raises(InputError, match="x does not say where its voxels are"):
        grid_of(nib.Nifti1Image(np.zeros((2, 2, 2)), flat), "x")


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
    with pytest.raises(InputError, match=r'pip install "sgbn\[brain\]"'):
        nibabel()
