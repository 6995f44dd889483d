"""Functions that place an atlas on the grid of an image, and sum the voxels of each region.

nilearn's ``NiftiLabelsMasker`` gives the same means, but needs 2.8 times the CPU time, or 4.2 times
if the atlas is resampled (benchmarks/extract.py). It does not report the coverage.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import affine_transform  # type: ignore[attr-defined]

from sgbn.core.exceptions import InputError
from sgbn.core.types import Array, Indices, Mask
from sgbn.io.images.label_atlas import LabelAtlas
from sgbn.io.images.nifti import Grid, grid_of, has_orientation, open_image, spatial_shape, volumes

GRID_EPS = 1e-3  # mm; headers store affines as 32-bit numbers, so equal grids differ by round-off
EDGE_EPS = 1e-6  # voxels; a centre on the edge of the field of view counts as inside
# Smallest and largest value of a tissue map. A modulated map may exceed 1 where the brain was
# shrunk, and interpolation by splines may give values slightly below 0.
TISSUE_RANGE = (-0.1, 3.0)
MEASURES = ("volume", "mean")


class Placed(NamedTuple):
    """An atlas on the grid of an image.

    Attributes
    ----------
    where : ndarray of int
        Voxels of the image that belong to a region, numbered in Fortran order.
    region : ndarray of int
        Region of each of these voxels, counted from 0.
    n_voxels : ndarray of int
        Number of voxels of each region in the image.
    in_view : ndarray of float
        Share of each region's voxels in the atlas that lie inside the image.
    resampled : bool
        Whether the atlas was on another grid.
    """

    where: Indices
    region: Indices
    n_voxels: Indices
    in_view: Array
    resampled: bool


@lru_cache(maxsize=2)  # most studies have one grid, and resampling for each image would be slow
def place(atlas: LabelAtlas, grid: Grid) -> Placed:
    """Return an atlas on a grid. If it is on another grid, it is resampled by nearest neighbour."""
    same = grid.shape == atlas.grid.shape and np.allclose(
        grid.affine, atlas.grid.affine, rtol=0, atol=GRID_EPS
    )
    m = len(atlas.regions)
    if same:
        index, in_view = atlas.index, np.ones(m)
    else:
        # The matrix from voxels of the image to voxels of the atlas, by way of mm.
        from_grid = np.linalg.solve(atlas.grid.affine, grid.affine)
        index = affine_transform(
            atlas.index,
            from_grid[:3, :3],
            from_grid[:3, 3],
            grid.shape,
            order=0,
            # Outside the atlas there is no region. Other modes would repeat its edge.
            mode="grid-constant",
        )
        in_view = _share_in_view(atlas, grid)
    # `volumes` yields voxels in Fortran order, as NIfTI stores them.
    flat = index.ravel(order="F")
    where = np.flatnonzero(flat)
    region = flat[where].astype(np.intp) - 1
    return Placed(where, region, np.bincount(region, minlength=m), in_view, not same)


def _share_in_view(atlas: LabelAtlas, grid: Grid) -> Array:
    """Return the share of each region's voxels whose centre lies inside a grid."""
    voxels = np.nonzero(atlas.index)
    to_grid = np.linalg.solve(grid.affine, atlas.grid.affine)
    places = np.stack(voxels, axis=1) @ to_grid[:3, :3].T + to_grid[:3, 3]
    low, high = -0.5 - EDGE_EPS, np.array(grid.shape) - 0.5 + EDGE_EPS
    inside = ((places >= low) & (places <= high)).all(axis=1)
    region = atlas.index[voxels] - 1
    return np.bincount(region, inside, len(atlas.regions)) / atlas.n_voxels


def region_sums(
    values: NDArray[Any], known: Mask, region: Indices, m: int
) -> tuple[Array, Indices]:
    """Return the sum and the number of the known values of each of `m` regions."""
    if not known.all():
        values, region = values[known], region[known]
    # np.bincount adds in double precision, whatever the type of the values.
    sums = np.asarray(np.bincount(region, values, m), dtype=np.float64)
    return sums, np.bincount(region, minlength=m)


def measure_image(
    path: Path, atlas: LabelAtlas, measure: str, min_coverage: float
) -> dict[str, Any]:
    """Measure the regions in one image.

    Returns
    -------
    dict
        Arrays ``values`` and ``coverage`` with one entry per region, and numbers and text about the
        image for the quality sheet. A value is NaN if no voxel of the region has a value.
    """
    image = open_image(path)
    _, n_volumes = spatial_shape(image, path)
    if n_volumes > 1:
        raise InputError(
            f"{path} has {n_volumes} volumes. Use extract_time_series (--time-series at the "
            "command line) for a series, or give one volume per subject."
        )
    grid = grid_of(image, path)
    (volume,) = volumes(image, path)
    placed = place(atlas, grid)
    inside = volume[placed.where]
    finite, nonzero = np.isfinite(inside), inside != 0
    check_content(path, finite, nonzero)
    # 0 is a valid probability. In other maps, 0 means that the voxel is outside the mask.
    known = finite if measure == "volume" else finite & nonzero
    sums, counts = region_sums(inside, known, placed.region, len(atlas.regions))
    coverage = check_coverage(path, atlas, placed, counts, min_coverage)
    minimum, maximum = inside[known].min(), inside[known].max()
    # This factor turns sums into volumes in cubic mm, or into means.
    factor = grid.voxel_volume if measure == "volume" else 1 / np.maximum(counts, 1)
    return {
        "values": np.where(counts > 0, sums * factor, np.nan),
        "coverage": coverage,
        "grid": str(grid),
        "resampled": placed.resampled,
        "minimum": minimum,
        "maximum": maximum,
        "zeros": 1 - np.count_nonzero(finite & nonzero) / np.count_nonzero(finite),
        "note": _note(image, measure, float(minimum), float(maximum)),
    }


def check_content(path: Path, finite: Mask, nonzero: Mask) -> None:
    """Raise InputError if no voxel in the atlas is finite, or if all finite voxels are 0."""
    if finite.size and not finite.any():
        raise InputError(
            f"{path} has no values: all its voxels in the atlas are NaN or infinite. Make the "
            "image again."
        )
    if finite.size and not (finite & nonzero).any():
        raise InputError(f"{path} is empty: all its voxels in the atlas are 0. Make it again.")


def check_coverage(
    path: Path,
    atlas: LabelAtlas,
    placed: Placed,
    counts: Indices,
    min_coverage: float,
) -> Array:
    """Return the coverage of each region. Raise InputError if the total is below `min_coverage`."""
    # If half of a region lies outside the image, its coverage is at most one half.
    coverage = placed.in_view * counts / np.maximum(placed.n_voxels, 1)
    weights = atlas.n_voxels / atlas.n_voxels.sum()
    total, in_view = float(coverage @ weights), float(placed.in_view @ weights)
    if total < min_coverage or not total:
        in_space = in_view > 0 and in_view >= min_coverage
        remedy = (
            "Check its mask (NaN is never a value, and 0 is not a value in a mean or time series)"
            if in_space
            else f"Normalise it to the space of the atlas {atlas.name}"
        )
        less = f", less than the required {min_coverage:.0%}" if min_coverage else ""
        raise InputError(
            f"{path} has values in only {total:.0%} of the atlas's voxels{less} ({in_view:.0%} lie "
            f"in its field of view). {remedy}, or allow less coverage (min_coverage)."
        )
    return coverage


def _note(image: Any, measure: str, minimum: float, maximum: float) -> str:
    """Return a note for the quality sheet on what looks wrong with an image."""
    notes = []
    low, high = TISSUE_RANGE
    if measure == "volume" and not low <= minimum <= maximum <= high:
        notes.append(f"values from {minimum:.3g} to {maximum:.3g}: not tissue probabilities")
    if not has_orientation(image):
        notes.append("the header does not give the orientation")
    return "; ".join(notes)
