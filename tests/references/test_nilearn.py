"""Region means, precision and partial correlations against nilearn."""

import numpy as np
import pytest
from sklearn.covariance import EmpiricalCovariance

from sgbn.core.gaussian import GaussianNetwork
from sgbn.learn.base import fit_weights
from sgbn.paper.markov import partial_correlations
from sgbn.read.extract import extract_regions, extract_time_series

nib = pytest.importorskip("nibabel", reason="images come with the brain extra")
pytest.importorskip("nilearn", reason="images come with the brain extra")

AFFINE = np.diag([3.0, 3, 3, 1])
RTOL = 1e-8


@pytest.fixture
def atlas():
    data = np.zeros((8, 8, 8), np.int16)
    data[:2], data[2:5, 1:], data[5:, :, :3] = 1, 2, 7
    return nib.Nifti1Image(data, AFFINE)


def save(path, shape, seed):
    """Image in double precision: single precision would hide what is compared."""
    data = 100 + 10 * np.random.default_rng(seed).standard_normal(shape)
    nib.save(nib.Nifti1Image(data, AFFINE), path)
    return path


def masked(atlas, path):
    from nilearn.maskers import NiftiLabelsMasker

    masker = NiftiLabelsMasker(atlas, resampling_target=None, standardize=None, dtype=np.float64)
    return masker.fit_transform(path)


def test_means_of_regions_are_those_of_the_labels_masker(tmp_path, atlas):
    paths = [save(tmp_path / f"sub-{k}.nii.gz", (8, 8, 8), k) for k in range(3)]
    found = extract_regions(paths, atlas, measure="mean")
    expected = [np.ravel(masked(atlas, path)) for path in paths]
    np.testing.assert_allclose(found.values, expected, rtol=RTOL)


def test_volumes_of_regions_are_sums_of_the_labels_masker(tmp_path, atlas):
    """A volume is the mean of a map of tissue times the size of the region."""
    path = save(tmp_path / "sub-0.nii.gz", (8, 8, 8), 0)
    labels = np.asanyarray(atlas.dataobj)
    mm3 = np.array([np.count_nonzero(labels == k) for k in (1, 2, 7)]) * 27
    found = extract_regions([path], atlas, measure="volume")
    np.testing.assert_allclose(found.values[0], np.ravel(masked(atlas, path)) * mm3, rtol=RTOL)


def test_time_series_are_those_of_the_labels_masker(tmp_path, atlas):
    path = save(tmp_path / "run.nii.gz", (8, 8, 8, 6), 0)
    found = extract_time_series(path, atlas)
    np.testing.assert_allclose(found.values, masked(atlas, path), rtol=RTOL)


@pytest.fixture
def signals(simulate):
    return simulate(7, 120, 3)[0] * np.geomspace(0.1, 10, 7)


def connectivity(X, kind):
    from nilearn.connectome import ConnectivityMeasure

    measure = ConnectivityMeasure(EmpiricalCovariance(), kind=kind, standardize=False)
    return measure.fit_transform([X])[0]


def saturated(X):
    """Network in which every pair is joined, with the variances of maximum likelihood."""
    n, m = X.shape
    network = fit_weights(X, np.triu(np.ones((m, m)), 1))
    variances = network.noise_variance * (n - np.arange(1, m + 1)) / n
    return GaussianNetwork(network.coef, network.intercept, variances)


def test_a_full_network_implies_the_sample_covariance_and_precision(signals):
    network = saturated(signals)
    covariance, precision = (connectivity(signals, kind) for kind in ("covariance", "precision"))
    np.testing.assert_allclose(network.covariance, covariance, rtol=RTOL)
    np.testing.assert_allclose(np.linalg.inv(network.covariance), precision, rtol=RTOL)
    D = np.eye(7) - network.coef  # precision straight from the weights
    np.testing.assert_allclose(D / network.noise_variance @ D.T, precision, rtol=RTOL)


def test_partial_correlations_given_all_others(signals):
    expected = connectivity(signals, "partial correlation")
    R = np.corrcoef(signals.T)
    for i in range(7):
        for j in range(i):
            rest = [k for k in range(7) if k not in (i, j)]
            (r,) = partial_correlations(R, i, [j], rest)
            np.testing.assert_allclose(r, expected[i, j], rtol=RTOL)
