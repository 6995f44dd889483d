"""
From NIfTI images
=================

With a label atlas, images in a common space become a table of regions. Such images are the
grey-matter maps of CAT12, SPM or FSL-VBM. sgbn measures the regions itself. nilearn's maskers give
the same means.
"""

# %%
# Images and an atlas
# -------------------
# We make small images. Twelve blocks of voxels are the regions, and their grey matter follows a
# known network. Use your own images and atlas instead.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import nibabel as nib
import numpy as np
from nilearn.maskers import NiftiLabelsMasker
from nilearn.plotting import plot_roi

import sgbn
from sgbn.write.draw.matrices import plot_matrix

rng = np.random.default_rng(0)
folder = Path(tempfile.mkdtemp())
affine = np.diag([8.0, 8.0, 8.0, 1.0])
affine[:3, 3] = -92, -124, -68

blocks = np.zeros((24, 27, 20), np.int16)
for label in range(12):
    i, j, k = 4 + 8 * (label % 2), 4 + 7 * (label // 2 % 3), 4 + 6 * (label // 6)
    blocks[i : i + 6, j : j + 5, k : k + 5] = label + 1
nib.save(nib.Nifti1Image(blocks, affine), folder / "atlas.nii.gz")
names = {label: f"block {label}" for label in range(1, 13)}

values, network = sgbn.simulate_sem(sgbn.random_dag(12, 2.5, rng), 80, random_state=rng)
for subject, row in enumerate(values):
    grey = np.zeros(blocks.shape, np.float32)
    for label in names:
        inside = blocks == label
        noise = 0.01 * rng.standard_normal(np.count_nonzero(inside))
        grey[inside] = 0.5 + 0.04 * row[label - 1] + noise
    nib.save(nib.Nifti1Image(grey, affine), folder / f"sub-{subject:02d}_gm.nii.gz")

fig = plt.figure(figsize=(8, 3))
plot_roi(
    folder / "atlas.nii.gz", figure=fig, cmap="cividis", colorbar=False, title="The label atlas"
)

# %%
# Measure
# -------
# ``measure="volume"`` sums a modulated map, in cubic mm. ``measure="mean"`` is for all other maps.
# ``coverage`` is the share of a region that has a value in an image. Look at the lowest.

extracted = sgbn.extract_regions(
    str(folder / "sub-*_gm.nii.gz"),
    folder / "atlas.nii.gz",
    labels=names,
    measure="mean",
    progress=False,
)
print(extracted.table().iloc[:3, :5].to_string())
print("lowest coverage:", extracted.coverage.min())

# %%
# nilearn's masker gives the same means for each image.

masker = NiftiLabelsMasker(folder / "atlas.nii.gz", standardize=None).fit()
first = masker.transform(nib.load(folder / "sub-00_gm.nii.gz")).ravel()
print("largest difference:", np.abs(first - extracted.values[0]).max())

# %%
# Learn, and compare with the truth
# ---------------------------------
# Here the true network is known. We compare equivalence classes, because no method can learn
# reversible directions from such data.

learner = sgbn.SGBN().fit(extracted.values)
against = sgbn.compare_graphs(learner.coef_, network.coef)
print(f"precision {against.precision:.2f}, recall {against.recall:.2f}")
print("differences between the equivalence classes:", against.shd_cpdag)

fig, axes = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
labels = list(names.values())
sd = np.sqrt(np.diag(network.covariance))
true = network.coef * sd[:, None] / sd
for ax, weights, title in ((axes[0], true, "true"), (axes[1], learner.coef_std_, "learned")):
    plot_matrix(ax, weights, labels, [""] * 12, title=title, limit=1.0)
plt.show()
