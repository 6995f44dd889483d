import nibabel as nib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sgbn.core.exceptions import InputError
from sgbn.read.extract import measure_image, place, region_sums
from sgbn.read.label_atlas import load_label_atlas
from sgbn.read.volumes import Grid, grid_of

AFFINE = np.array([[-2.0, 0, 0, 20], [0, 2, 0, -20], [0, 0, 2, -20], [0, 0, 0, 1]])


def blocks(n=20):
    """Labels 1, 2, 3 as boxes that keep away from the edge."""
    data = np.zeros((n, n, n), np.int16)
    data[3:9, 3:9, 3:9], data[10:16, 3:9, 3:9], data[3:9, 10:16, 10:16] = 1, 2, 3
    return data


@pytest.fixture
def atlas():
    return load_label_atlas(nib.Nifti1Image(blocks(), AFFINE))


def grid(shape, affine):
    return Grid(shape, tuple(np.asarray(affine, float).ravel().tolist()))


@given(st.data())
@settings(max_examples=settings.default.max_examples // 10)
def test_sums_are_those_of_masked_arrays(data):
    m = data.draw(st.integers(1, 6))
    region = data.draw(hnp.arrays(np.intp, 60, elements=st.integers(0, m - 1)))
    values = data.draw(
        hnp.arrays(np.float32, 60, elements=st.floats(-1e6, 1e6, width=32) | st.just(np.nan))
    )
    before = values.copy()
    sums, counts = region_sums(values, np.isfinite(values), region, m)
    for k in range(m):
        own = values[region == k].astype(np.float64)
        assert counts[k] == np.isfinite(own).sum()
        np.testing.assert_allclose(sums[k], np.nansum(own), rtol=1e-12, atol=1e-6)
    assert np.array_equal(values, before, equal_nan=True)


def test_the_same_grid_is_used_as_it_is(atlas):
    rounded = grid((20, 20, 20), AFFINE.astype(np.float32) + 1e-4)
    placed = place(atlas, rounded)
    assert not placed.resampled
    flat = np.zeros(20**3, int)
    flat[placed.where] = placed.region + 1
    assert np.array_equal(flat.reshape((20, 20, 20), order="F"), blocks())


TURN = np.array([[0.98, -0.2, 0.02, 0], [0.2, 0.98, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])


@pytest.mark.parametrize(
    "affine",
    [
        AFFINE @ np.diag([0.5, 0.5, 0.5, 1]),
        AFFINE @ np.diag([1.5, 1.5, 1.5, 1]),
        np.array([[2.0, 0, 0, -18], [0, 2, 0, -20], [0, 0, 2, -20], [0, 0, 0, 1]]),
        AFFINE @ TURN,
    ],
    ids=["finer", "coarser", "not flipped", "oblique"],
)
def test_another_grid_gets_the_labels_that_nilearn_gives_it(atlas, affine):
    from nilearn.image import resample_img

    shape = (40, 41, 42)
    placed = place(atlas, grid(shape, affine))
    image = nib.Nifti1Image(blocks(), AFFINE)
    expected = resample_img(
        image, target_affine=affine, target_shape=shape, interpolation="nearest"
    ).get_fdata()
    flat = np.zeros(np.prod(shape), int)
    flat[placed.where] = placed.region + 1
    assert placed.resampled
    assert np.mean(flat.reshape(shape, order="F") != expected) < 1e-4
    assert placed.in_view.tolist() == [1, 1, 1]


def test_an_atlas_shifted_by_less_than_a_voxel_is_resampled(atlas):
    """1.2 mm of 2 mm: the centre of each voxel lies in the next one of the atlas."""
    shifted = AFFINE.copy()
    shifted[1, 3] += 1.2
    placed = place(atlas, grid((20, 20, 20), shifted))
    flat = np.zeros(20**3, int)
    flat[placed.where] = placed.region + 1
    assert placed.resampled
    assert np.array_equal(flat.reshape((20, 20, 20), order="F"), np.roll(blocks(), -1, axis=1))


def test_coverage_counts_what_lies_outside_the_field_of_view(tmp_path, atlas):
    path = save(tmp_path / "a.nii.gz", np.ones((20, 20, 13), np.float32))
    for measure in ("volume", "mean"):
        found = measure_image(path, atlas, measure, 0.5)
        np.testing.assert_allclose(found["coverage"], [1, 1, 0.5])


def test_what_lies_outside_the_field_of_view_is_counted(atlas):
    placed = place(atlas, grid((20, 20, 13), AFFINE))
    np.testing.assert_allclose(placed.in_view, [1, 1, 0.5])
    assert placed.n_voxels.tolist() == [216, 216, 108]


def save(path, data, affine=AFFINE):
    nib.save(nib.Nifti1Image(data, affine), path)
    return path


def test_volumes_and_means_are_exact(tmp_path, atlas):
    values = np.random.default_rng(0).random((20, 20, 20)).astype(np.float32)
    path = save(tmp_path / "a.nii.gz", values)
    own = [values[blocks() == k].astype(float) for k in (1, 2, 3)]
    volume = measure_image(path, atlas, "volume", 0.5)
    np.testing.assert_allclose(volume["values"], [8 * v.sum() for v in own], rtol=1e-12)
    mean = measure_image(path, atlas, "mean", 0.5)
    np.testing.assert_allclose(mean["values"], [v.mean() for v in own], rtol=1e-12)
    assert mean["coverage"].tolist() == [1, 1, 1]


def test_nan_counts_as_0_in_volumes_and_not_at_all_in_means(tmp_path, atlas):
    values = np.full((20, 20, 20), 0.5, np.float32)
    values[3:6, 3:9, 3:9] = np.nan  # half of region 1
    path = save(tmp_path / "a.nii.gz", values)
    volume = measure_image(path, atlas, "volume", 0.5)
    assert volume["values"].tolist() == [0.5 * 108 * 8, 0.5 * 216 * 8, 0.5 * 216 * 8]
    assert measure_image(path, atlas, "mean", 0.5)["values"].tolist() == [0.5, 0.5, 0.5]
    assert volume["coverage"].tolist() == [0.5, 1, 1]


def test_zeros_count_in_volumes_and_not_at_all_in_means(tmp_path, atlas):
    values = np.full((20, 20, 20), 0.5, np.float32)
    values[3:6, 3:9, 3:9] = 0  # half of region 1
    values[10:16, 3:9, 3:9] = 0  # all of region 2
    path = save(tmp_path / "a.nii.gz", values)
    volume = measure_image(path, atlas, "volume", 0.5)
    assert volume["values"].tolist() == [0.5 * 108 * 8, 0, 0.5 * 216 * 8]
    assert volume["coverage"].tolist() == [1, 1, 1]
    assert volume["minimum"] == 0
    mean = measure_image(path, atlas, "mean", 0.5)
    np.testing.assert_equal(mean["values"], [0.5, np.nan, 0.5])
    assert mean["coverage"].tolist() == [0.5, 0, 1]
    assert mean["minimum"] == 0.5
    assert mean["zeros"] == volume["zeros"] == pytest.approx(0.5)
    with pytest.raises(InputError, match=r"50% .* \(100% lie in its field of view\).* mask"):
        measure_image(path, atlas, "mean", 0.6)


def test_a_region_that_vanishes_on_a_coarse_grid_is_missing(tmp_path):
    labels = blocks()
    labels[18, 18, 18] = 4
    tiny = load_label_atlas(nib.Nifti1Image(labels, AFFINE))
    coarse = AFFINE @ np.diag([4, 4, 4, 1.0])
    path = save(tmp_path / "a.nii.gz", np.ones((5, 5, 5), np.float32), coarse)
    found = measure_image(path, tiny, "volume", 0.0)
    assert np.isnan(found["values"][3])
    assert found["coverage"][3] == 0
    assert np.isfinite(found["values"][:3]).all()


def test_an_image_in_another_space_is_refused(tmp_path, atlas):
    away = AFFINE.copy()
    away[:3, 3] += 500
    path = save(tmp_path / "a.nii.gz", np.ones((20, 20, 20), np.float32), away)
    with pytest.raises(InputError, match=r"a\.nii\.gz has values in only 0% .* Normalise it"):
        measure_image(path, atlas, "mean", 0.5)
    with pytest.raises(InputError, match=r"a\.nii\.gz has values in only 0% .* Normalise it"):
        measure_image(path, atlas, "mean", 0)


@pytest.mark.parametrize("measure", ["volume", "mean"])
def test_an_image_of_nan_is_refused_as_such(tmp_path, atlas, measure):
    path = save(tmp_path / "a.nii.gz", np.full((20, 20, 20), np.nan, np.float32))
    with pytest.raises(InputError, match=r"a\.nii\.gz .* all its voxels in the atlas are NaN"):
        measure_image(path, atlas, measure, 0.5)


def test_an_empty_image_is_refused(tmp_path, atlas):
    path = save(tmp_path / "a.nii.gz", np.zeros((20, 20, 20), np.float32))
    with pytest.raises(InputError, match=r"a\.nii\.gz is empty"):
        measure_image(path, atlas, "mean", 0.5)


def test_values_that_are_no_tissue_are_noted(tmp_path, atlas):
    path = save(tmp_path / "a.nii.gz", np.full((20, 20, 20), 90, np.int16))
    assert "not tissue" in measure_image(path, atlas, "volume", 0.5)["note"]
    assert measure_image(path, atlas, "mean", 0.5)["note"] == ""


@given(place=st.integers(0, 351), byte=st.integers(0, 255))
@settings(max_examples=settings.default.max_examples // 10)
def test_a_damaged_header_gives_a_result_or_names_the_file(tmp_path_factory, place, byte):
    path = tmp_path_factory.getbasetemp() / "damaged.nii"
    small = load_label_atlas(nib.Nifti1Image(np.ones((3, 3, 3), np.int16), AFFINE))
    save(path, np.ones((3, 3, 3), np.float32))
    content = bytearray(path.read_bytes())
    content[place] = byte
    path.write_bytes(content)
    values, message = np.zeros(1), "damaged.nii"
    try:
        values = measure_image(path, small, "mean", 0.5)["values"]
    except InputError as error:
        message = str(error)
    assert "damaged.nii" in message
    assert values.shape == (1,)


def test_a_header_without_orientation_is_noted(tmp_path):
    image = nib.Nifti1Image(np.ones((20, 20, 20), np.float32), None)
    image.set_sform(None, 0)
    image.set_qform(None, 0)
    nib.save(image, tmp_path / "a.nii")
    read = nib.load(tmp_path / "a.nii")
    own = load_label_atlas(nib.Nifti1Image(blocks(), read.affine))
    assert grid_of(read, "a") == own.grid
    found = measure_image(tmp_path / "a.nii", own, "mean", 0.5)
    assert "orientation" in found["note"]
