"""Where the regions of a label image lie: a table that pictures of what was extracted need."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd

from sgbn.atlases import UNKNOWN_LOBE, Atlas, AtlasFile, Region, match_columns
from sgbn.atlases.sides import side_of
from sgbn.atlases.tables import table_rows
from sgbn.exceptions import counted, listed, warn
from sgbn.io.images.label_atlas import LabelAtlas
from sgbn.runs import write_atomically
from sgbn.types import Array, Indices

DECIMALS = 2  # of mm, which is far below the size of a voxel
SCHAEFER = re.compile(r"(?:\d+Networks_)?[LR]H_([A-Za-z]+)_.*\d+")  # 7Networks_LH_Vis_1


def places_of(atlas: LabelAtlas) -> Atlas:
    """Return the regions of a label image, each with its hemisphere, lobe, centre and volume.

    The centre is the mean of the region's voxels, in mm of the space of the image; of a region that
    does not hold its own mean, such as a curved one, it is the voxel nearest to the mean.
    Hemispheres are as the names say, else as the coordinates do, if the whole region is on one
    side; all others are on the midline. Lobes are those of the labels' file, of Schaefer's names
    (the network), or of the atlas of the package that knows the name; else "unknown".
    """
    volumes = np.round(atlas.n_voxels * atlas.grid.voxel_volume, DECIMALS).tolist()
    x, y, z = (np.round(_centres(atlas), DECIMALS) + 0.0).T.tolist()  # no -0.0
    columns = (atlas.regions, _sides(atlas), _lobes(atlas), x, y, z, volumes)
    regions = tuple(Region(*cells) for cells in zip(*columns, strict=True))
    image = Path(atlas.name).name
    return Atlas(image, image, regions, AtlasFile("", "", image))


def write_places(atlas: Atlas, path: Path) -> None:
    """Write the table of an extracted atlas, which `read_atlas` reads."""
    table = pd.DataFrame(table_rows(atlas))
    write_atomically(path, lambda stream: table.to_csv(stream, index=False, lineterminator="\n"))


def _coordinates(atlas: LabelAtlas) -> tuple[Array, Indices]:
    """Return the centres of all voxels that belong to a region, in mm, and the region of each."""
    voxels = np.nonzero(atlas.index)
    affine = atlas.grid.affine
    return np.stack(voxels, axis=1) @ affine[:3, :3].T + affine[:3, 3], atlas.index[voxels].astype(
        np.intp
    ) - 1


def _centres(atlas: LabelAtlas) -> Array:
    """Return the mean of each region's voxels, or the voxel nearest to a mean that is outside."""
    places, region = _coordinates(atlas)
    # Sums of the coordinates of each region along x, y and z.
    sums = [np.bincount(region, axis, len(atlas.regions)) for axis in places.T]
    means = np.stack(sums, axis=1) / atlas.n_voxels[:, None]
    to_voxel = np.linalg.inv(atlas.grid.affine)
    # The voxel that holds the mean, and whether it belongs to the region.
    nearest = np.rint(means @ to_voxel[:3, :3].T + to_voxel[:3, 3]).astype(np.intp)
    held = atlas.index[tuple(nearest.T)] == 1 + np.arange(len(means))
    for k in np.flatnonzero(~held):
        voxels = places[region == k]
        means[k] = voxels[np.argmin(((voxels - means[k]) ** 2).sum(axis=1))]
    return means


def _sides(atlas: LabelAtlas) -> list[str]:
    """Return hemispheres as the names say, else the side on which all voxels of a region lie."""
    places, region = _coordinates(atlas)
    left = np.bincount(region, places[:, 0] < 0, len(atlas.regions)) == atlas.n_voxels
    right = np.bincount(region, places[:, 0] > 0, len(atlas.regions)) == atlas.n_voxels
    lying = np.where(left, "L", np.where(right, "R", "")).tolist()
    named = [side_of(name) for name in atlas.regions]
    pairs = zip(atlas.regions, named, lying, strict=True)
    # Names that are exchanged would put the picture of each result on the wrong side.
    crossed = [name for name, by_name, by_place in pairs if {by_name, by_place} == {"L", "R"}]
    if crossed:
        warn(
            f"the atlas {atlas.name}: {counted(len(crossed), 'region lies', 'regions lie')} on the "
            f"other side than the name says: {listed(crossed)}. Check that the names belong to "
            "this image, and that its header has left and right as they are."
        )
    return [by_name or by_place for by_name, by_place in zip(named, lying, strict=True)]


def _lobes(atlas: LabelAtlas) -> list[str]:
    """Return the lobe or network of each region, as far as it is known."""
    packaged = match_columns(atlas.regions)
    # Lobes of the atlas of the package that knows these names.
    known = {match.column: match.region.lobe for match in packaged.columns}
    return [
        atlas.lobes.get(name) or _network(name) or known.get(name) or UNKNOWN_LOBE
        for name in atlas.regions
    ]


def _network(name: str) -> str:
    """Return the network in a name of Schaefer's atlas, "" for any other name."""
    match = SCHAEFER.fullmatch(name)
    return match[1] if match else ""
