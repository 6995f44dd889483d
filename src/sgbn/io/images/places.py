"""The hemisphere, lobe, centre and volume of the regions of a label image, for figures."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd

from sgbn.cohort.atlas import UNKNOWN_LOBE, Atlas, AtlasFile, Region, side_of, table_rows
from sgbn.cohort.region_names import match_columns
from sgbn.core.exceptions import counted, listed, warn
from sgbn.core.types import Array, Indices
from sgbn.io.images.label_atlas import LabelAtlas
from sgbn.runs.files import write_atomically

DECIMALS = 2  # of mm and cubic mm; 0.01 mm is far below the size of a voxel
SCHAEFER = re.compile(r"(?:\d+Networks_)?[LR]H_([A-Za-z]+)_.*\d+")  # 7Networks_LH_Vis_1


def places_of(atlas: LabelAtlas) -> Atlas:
    """Return the regions of a label image, each with its hemisphere, lobe, centre and volume.

    The centre is the mean of the region's voxels, in mm of the space of the image. If the mean lies
    outside the region, as in a curved region, the centre is the region's voxel nearest to it.

    The hemisphere is taken from the name of the region. If the name does not give it, the
    coordinates do, provided that all voxels are on one side. All other regions are on the midline.

    The lobe is taken from the file of labels, from a name of Schaefer's atlas (which contains the
    network), or from an atlas of sgbn that has this name. If none of them gives it, the lobe is
    "unknown".
    """
    volumes = np.round(atlas.n_voxels * atlas.grid.voxel_volume, DECIMALS).tolist()
    x, y, z = (np.round(_centres(atlas), DECIMALS) + 0.0).T.tolist()  # + 0.0 turns -0.0 into 0.0
    columns = (atlas.regions, _sides(atlas), _lobes(atlas), x, y, z, volumes)
    regions = tuple(Region(*cells) for cells in zip(*columns, strict=True))
    image = Path(atlas.name).name
    return Atlas(image, image, regions, AtlasFile("", "", image))


def write_places(atlas: Atlas, path: Path) -> None:
    """Write the regions of an atlas as a table that `read_atlas` can read."""
    table = pd.DataFrame(table_rows(atlas))
    write_atomically(path, lambda stream: table.to_csv(stream, index=False, lineterminator="\n"))


def _coordinates(atlas: LabelAtlas) -> tuple[Array, Indices]:
    """Return the centres in mm of all voxels that belong to a region, and the region of each."""
    voxels = np.nonzero(atlas.index)
    affine = atlas.grid.affine
    centres = np.stack(voxels, axis=1) @ affine[:3, :3].T + affine[:3, 3]
    return centres, atlas.index[voxels].astype(np.intp) - 1


def _centres(atlas: LabelAtlas) -> Array:
    """Return the mean of each region's voxels, or the nearest voxel if the mean is outside."""
    places, region = _coordinates(atlas)
    sums = [np.bincount(region, axis, len(atlas.regions)) for axis in places.T]
    means = np.stack(sums, axis=1) / atlas.n_voxels[:, None]
    to_voxel = np.linalg.inv(atlas.grid.affine)
    # The voxel that contains the mean, and whether this voxel belongs to the region.
    nearest = np.rint(means @ to_voxel[:3, :3].T + to_voxel[:3, 3]).astype(np.intp)
    inside = atlas.index[tuple(nearest.T)] == 1 + np.arange(len(means))
    for k in np.flatnonzero(~inside):
        voxels = places[region == k]
        means[k] = voxels[np.argmin(((voxels - means[k]) ** 2).sum(axis=1))]
    return means


def _sides(atlas: LabelAtlas) -> list[str]:
    """Return the hemisphere of each region, from its name or from the side of all its voxels."""
    places, region = _coordinates(atlas)
    left = np.bincount(region, places[:, 0] < 0, len(atlas.regions)) == atlas.n_voxels
    right = np.bincount(region, places[:, 0] > 0, len(atlas.regions)) == atlas.n_voxels
    sides_by_place = np.where(left, "L", np.where(right, "R", "")).tolist()
    sides_by_name = [side_of(name) for name in atlas.regions]
    pairs = zip(atlas.regions, sides_by_name, sides_by_place, strict=True)
    # If the names of left and right are exchanged, figures show results on the wrong side.
    crossed = [name for name, by_name, by_place in pairs if {by_name, by_place} == {"L", "R"}]
    if crossed:
        warn(
            f"in the atlas {atlas.name}, {counted(len(crossed), 'region is', 'regions are')} not "
            f"on the side that the name says: {listed(crossed)}. Check that the names belong to "
            "this image, and that its header does not exchange left and right."
        )
    by_region = zip(sides_by_name, sides_by_place, strict=True)
    return [by_name or by_place for by_name, by_place in by_region]


def _lobes(atlas: LabelAtlas) -> list[str]:
    """Return the lobe or network of each region, or "unknown"."""
    # The atlases of sgbn may contain some of these names.
    known = {match.column: match.region.lobe for match in match_columns(atlas.regions).columns}
    return [
        atlas.lobes.get(name) or _network(name) or known.get(name) or UNKNOWN_LOBE
        for name in atlas.regions
    ]


def _network(name: str) -> str:
    """Return the network that a name of Schaefer's atlas contains, or "" for any other name."""
    match = SCHAEFER.fullmatch(name)
    return match[1] if match else ""
