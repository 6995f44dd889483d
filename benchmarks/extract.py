"""Compare the CPU time of measuring regions in images with a plain load and with nilearn.

    python benchmarks/extract.py     # writes benchmarks/results/extract.json and .md

There are 100 images of 2 mm MNI size (91 x 109 x 91, float32, compressed). One atlas of 116 regions
is on the same grid, and another one is on a 1.5 mm grid and is resampled. All runs have one process
and one thread. Peak memory is measured in separate processes (Linux).
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path

import nibabel as nib
import numpy as np
from output import main, number, peak_memory, select, table, timed, values_of
from scipy.ndimage import gaussian_filter

from sgbn.read.extract import extract_regions, place

# The 2 mm grid of MNI152, with x from right to left as in FSL's files.
SHAPE, AFFINE = (
    (91, 109, 91),
    np.array([[-2.0, 0, 0, 90], [0, 2, 0, -126], [0, 0, 2, -72], [0, 0, 0, 1]]),
)
# Few images are distinct, but each copy is a file that is read and unpacked.
N_IMAGES, N_DISTINCT, N_REGIONS = 100, 5, 116
REPEATS = 3
PEAKS = (0, 1, 10, 100)  # numbers of images; with 0, the process only imports


def brain(shape, affine):
    """Return the voxels of an ellipsoid of the size of a brain, and their places in mm."""
    places = np.stack(np.indices(shape), axis=-1) @ affine[:3, :3].T + affine[:3, 3]
    return ((places - [0, -18, 10]) ** 2 / np.square([70, 90, 65])).sum(axis=-1) < 1, places


def make_atlas(path, shape, affine, rng):
    """Write an atlas: each region has the points that are nearest to a random centre."""
    from scipy.spatial import cKDTree

    inside, places = brain(shape, affine)
    # Centres are in mm, so that they are the same for both grids.
    centres = rng.uniform([-65, -100, -50], [65, 65, 70], (N_REGIONS, 3))
    labels = np.zeros(shape, np.int16)
    labels[inside] = 1 + cKDTree(centres).query(places[inside])[1]
    nib.save(nib.Nifti1Image(labels, affine), path)


def make_study(folder, seed):
    """Write images and two atlases. Return the paths of the images."""
    for name, scale in (("atlas.nii.gz", 1.0), ("atlas15.nii.gz", 0.75)):
        shape = tuple(int(n / scale) for n in SHAPE)
        affine = AFFINE @ np.diag([scale, scale, scale, 1])
        make_atlas(folder / name, shape, affine, np.random.default_rng(seed))
    rng = np.random.default_rng([seed, 1])
    for k in range(N_DISTINCT):
        field = gaussian_filter(rng.standard_normal(SHAPE), 2)
        # No voxel is 0: nilearn includes a 0 in a mean, but sgbn treats it as a masked voxel.
        data = (1 / (1 + np.exp(-20 * field))).astype(np.float32)
        nib.save(nib.Nifti1Image(data, AFFINE), folder / f"sub-{k:03d}.nii.gz")
    for k in range(N_DISTINCT, N_IMAGES):
        shutil.copy(folder / f"sub-{k % N_DISTINCT:03d}.nii.gz", folder / f"sub-{k:03d}.nii.gz")
    return sorted(folder.glob("sub-*.nii.gz"))


def plain_load(images):
    for path in images:
        np.asanyarray(nib.load(path).dataobj)


def sgbn_mean(images, atlas):
    # Without this, later repetitions would not include the cost of placing the atlas.
    place.cache_clear()
    return extract_regions(images, atlas, measure="mean", progress=False).values


def nilearn_mean(images, atlas):
    from nilearn.maskers import NiftiLabelsMasker

    # standardize=None leaves the values as they are, so that they can be compared.
    masker = NiftiLabelsMasker(atlas, resampling_target="data", standardize=None).fit()
    return np.array([masker.transform(path).ravel() for path in images])


def times(folder, images):
    """Yield one record per method and repetition. Methods run in turns in the same process."""
    atlases = {"same grid": folder / "atlas.nii.gz", "resampled": folder / "atlas15.nii.gz"}
    nilearn_mean(images[:1], atlases["same grid"])  # imports

    def record(repeat, method, seconds, **more):
        cpu = round(seconds / len(images), 5)
        return {"method": method, "repeat": repeat, "cpu": cpu, "images": len(images)} | more

    for repeat in range(REPEATS):
        yield record(repeat, "plain load", timed(plain_load, images)[1])
        for grid, atlas in atlases.items():
            ours, seconds = timed(sgbn_mean, images, atlas)
            yield record(repeat, f"sgbn, {grid}", seconds)
            theirs, seconds = timed(nilearn_mean, images, atlas)
            gap = float(np.max(np.abs(ours / theirs - 1)))
            yield record(repeat, f"nilearn, {grid}", seconds, gap=gap)


def peak(folder, n):
    """Return the peak memory in MB of a process that extracts from `n` images."""
    # Each number has a new process, because a peak never goes down.
    done = subprocess.run(
        [sys.executable, __file__, "--peak", str(n), "--images", str(folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def print_peak(folder, n):
    images = sorted(folder.glob("sub-*.nii.gz"))[:n]
    if images:
        extract_regions(images, folder / "atlas.nii.gz", progress=False)
    print(peak_memory() / 2**20)


def slots(results):
    runs, peaks = results["runs"], results["peak_mb"]
    cpu = {
        method: np.median([run["cpu"] for run in select(runs, method=method)])
        for method in values_of(runs, "method")
    }
    beside = {}
    for slot, grid in (("same", "same grid"), ("resampled", "resampled")):
        beside[f"{slot}_ratio"] = cpu[f"nilearn, {grid}"] / cpu[f"sgbn, {grid}"]
        theirs = select(runs, method=f"nilearn, {grid}")
        beside[f"{slot}_gap"] = max(run["gap"] for run in theirs)
    return beside | {
        "cpu": [(name, 1000 * cpu[name], cpu[name] / cpu["plain load"]) for name in cpu],
        "peaks": table(["images", *peaks], [["MB", *(f"{mb:.0f}" for mb in peaks.values())]]),
        "nibabel": version("nibabel"),
        "nilearn": version("nilearn"),
    }


def measure(given):
    warnings.simplefilter("ignore")
    if given.peak is not None:  # a process of its own
        print_peak(given.images, given.peak)
        raise SystemExit
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs = list(times(folder, make_study(folder, given.seed)))
        return {"runs": runs, "peak_mb": {n: round(peak(folder, n), 1) for n in PEAKS}}


if __name__ == "__main__":
    main(
        measure,
        slots,
        seed=number(0),
        peak=number(None, argparse.SUPPRESS),
        images={"type": Path, "help": argparse.SUPPRESS},
    )
