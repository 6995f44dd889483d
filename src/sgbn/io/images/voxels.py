"""The voxels of an image in the regions of an atlas: placed once per grid, summed per volume.

nilearn's ``NiftiLabelsMasker`` gives the same means in 2.8 times the CPU time, or 4.2 times where
the atlas is resampled (benchmarks/extract.py). It tells no coverage.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import affine_transform  # type: ignore[attr-defined]

from sgbn.exceptions import InputError
from sgbn.io.images.label_atlas import LabelAtlas
from sgbn.io.images.nifti import Grid, grid_of, has_orientation, open_image, spatial_shape, volumes
from sgbn.types import Array, Indices, Mask

GRID_EPS = 1e-3  # mm: headers store affines as 32-bit numbers
EDGE_EPS = 1e-6  # voxels: a centre on the very edge of the field of view is inside
# A modulated tissue map may exceed 1 where the brain was shrunk to fit, and splines may ring below
# 0; beyond these it is not a tissue map.
TISSUE_RANGE = (-0.1, 3.0)
MEASURES = ("volume", "mean")


class Placed(NamedTuple):
    """An atlas on the grid of an image."""

    where: Indices  # voxels that belong to a region, numbered in Fortran order
    region: Indices  # the region of each
    n_voxels: Indices  # of each region in the image
    in_view: Array  # share of each region's voxels in the atlas that lie in the image
    resampled: bool


@lru_cache(maxsize=2)  # a study has one grid, seldom two: resampling again would cost more
def place(atlas: LabelAtlas, grid: Grid) -> Placed:
    """Return an atlas on a grid: as it is if it has that grid, else by nearest neighbour."""
    # Headers round, so that equal grids differ by a few micrometres.
    same = grid.shape == atlas.grid.shape and np.allclose(
        grid.affine, atlas.grid.affine, rtol=0, atol=GRID_EPS
    )
    m = len(atlas.regions)
    if same:
        index, in_view = atlas.index, np.ones(m)
    else:
        # From voxels of the image to voxels of the atlas, by way of mm.
        from_grid = np.linalg.solve(atlas.grid.affine, grid.affine)
        index = affine_transform(
            atlas.index,
            from_grid[:3, :3],
            from_grid[:3, 3],
            grid.shape,
            order=0,
            # Outside the atlas there is no region; other modes would repeat its edge.
            mode="grid-constant",
        )
        in_view = _share_in_view(atlas, grid)
    # NIfTI stores voxels in Fortran order, and `volumes` yields them so.
    flat = index.ravel(order="F")
    where = np.flatnonzero(flat)
    region = flat[where].astype(np.intp) - 1
    return Placed(where, region, np.bincount(region, minlength=m), in_view, not same)


def _share_in_view(atlas: LabelAtlas, grid: Grid) -> Array:
    """Return the share of each region's voxels whose centre lies in the view of a grid."""
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
    """Return the sum of the known values of each of `m` regions, and their number.

    `np.bincount` adds in double precision, whatever the type of the values.
    """
    if not known.all():
        values, region = values[known], region[known]
    sums = np.asarray(np.bincount(region, values, m), dtype=np.float64)
    return sums, np.bincount(region, minlength=m)


def measure_image(
    path: Path, atlas: LabelAtlas, measure: str, min_coverage: float
) -> dict[str, Any]:
    """Measure the regions in one image, with what the quality sheet says of it.

    Returns
    -------
    dict
        ``values`` and ``coverage`` per region, and single entries on the image. A region without a
        voxel in the image, or in a mean without one that has a value, is NaN.
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
    # 0 is a probability like any other, but no value of PET outside the mask.
    known = finite if measure == "volume" else finite & nonzero
    sums, counts = region_sums(inside, known, placed.region, len(atlas.regions))
    coverage = check_coverage(path, atlas, placed, counts, min_coverage)
    minimum, maximum = inside[known].min(), inside[known].max()
    # Sums become cubic mm or means.
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
    """Raise InputError if no voxel in the atlas is finite, or if all of them are 0."""
    if finite.size and not finite.any():
        raise InputError(
            f"{path} has no values: all its voxels in the atlas are NaN or infinite. Make it again."
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
    """Return the share of each region that has values; raise InputError if the total is low."""
    # A region that lies half outside the image is covered by half at most.
    coverage = placed.in_view * counts / np.maximum(placed.n_voxels, 1)
    weights = atlas.n_voxels / atlas.n_voxels.sum()
    total, in_view = float(coverage @ weights), float(placed.in_view @ weights)
    if total < min_coverage or not total:
        seen = in_view > 0 and in_view >= min_coverage
        remedy = (
            "Check its mask (NaN is not a value, nor is 0 in a mean or a series)"
            if seen
            else f"Normalise it to the space of {atlas.name}"
        )
        less = f", less than {min_coverage:.0%}" if min_coverage else ""
        raise InputError(
            f"{path} has values in {total:.0%} of the atlas's voxels only ({in_view:.0%} lie in "
            f"its field of view){less}. {remedy}, or allow less coverage (min_coverage)."
        )
    return coverage


def _note(image: Any, measure: str, minimum: float, maximum: float) -> str:
    """Return what looks wrong about an image, for the quality sheet."""
    notes = []
    low, high = TISSUE_RANGE
    if measure == "volume" and not low <= minimum <= maximum <= high:
        notes.append(f"values from {minimum:.3g} to {maximum:.3g}: not tissue probabilities")
    if not has_orientation(image):
        notes.append("the header says nothing of orientation")
    return "; ".join(notes)
