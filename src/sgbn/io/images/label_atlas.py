"""Atlases that give each voxel one label: from a file, an image, or nilearn."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from sgbn.atlases import UNKNOWN_LOBE, read_atlas
from sgbn.exceptions import InputError, counted, listed, warn
from sgbn.io.images.label_names import Names, find_label_file, read_label_names
from sgbn.io.images.nifti import Grid, grid_of, nibabel, open_image, reading, spatial_shape
from sgbn.parameters import is_number
from sgbn.types import Indices

LABEL_EPS = 1e-3  # labels stored as floats may be off by round-off of their scaling
LARGEST_LABEL = 2.0**53  # beyond it floats skip whole numbers
SCHAEFER_SIZES = range(100, 1001, 100)

Labels = str | Path | Mapping[int, str] | Sequence[str] | None


@dataclass(frozen=True, eq=False)
class LabelAtlas:
    """Regions as labels of voxels.

    Attributes
    ----------
    name : str
        File, or name of the atlas.
    regions : tuple of str
        Names, by rising label value.
    index : ndarray of int32, three-dimensional
        0 where there is no region, k in the k-th region (counted from 1).
    n_voxels : ndarray of int
        Voxels of each region.
    grid : Grid
        Where the voxels lie.
    absent : tuple of str
        Regions that are listed with the atlas, but have no voxel in it.
    fingerprint : str
        SHA-256 of all that decides what is extracted.
    lobes : dict
        Region -> lobe or network, where the file of labels says it.
    """

    name: str
    regions: tuple[str, ...]
    index: NDArray[np.int32]
    n_voxels: Indices
    grid: Grid
    absent: tuple[str, ...]
    fingerprint: str
    lobes: Mapping[str, str] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LabelAtlas) and self.fingerprint == other.fingerprint


class LabelImage(Protocol):
    """An image in memory, such as one of nibabel."""

    @property
    def dataobj(self) -> Any:
        """Voxels."""

    @property
    def affine(self) -> Any:
        """Where they lie."""


AtlasSource = str | os.PathLike[str] | LabelImage | Bunch | LabelAtlas


def load_label_atlas(
    atlas: AtlasSource,
    labels: Labels = None,
    *,
    background: int | Collection[int] = 0,
    download: bool = False,
) -> LabelAtlas:
    """Read a label atlas and name its regions.

    Parameters
    ----------
    atlas : path, image, nilearn atlas, str or LabelAtlas
        An image file with one whole number a voxel; such an image in memory; what a fetcher of
        nilearn returns (``maps`` and ``labels``); or the name of one: "aal", "destrieux",
        "harvard_oxford", "schaefer" (100 regions), "schaefer200", ...
    labels : path, mapping, sequence of str, optional
        Names: a file (see `read_label_names`), value -> name, or a list for the values 1, 2, ...
        (0, 1, ... if it begins with "Background"). By default what comes with the atlas, or a
        file beside the image of the same name. A label without a name is called ``label_12``.
    background : int or collection of int
        Values that are no region.
    download : bool
        Let nilearn fetch an atlas that was given by name. Without it nothing is downloaded.

    Returns
    -------
    LabelAtlas
    """
    if isinstance(atlas, LabelAtlas):
        return atlas
    if isinstance(atlas, str) and not Path(atlas).exists() and atlas.lower() in _fetchers():
        atlas = _fetch(atlas.lower(), download)
    name, image, own_labels = _image_and_labels(atlas)
    values, data = _label_values(image, name)
    skipped = _background(background)
    values = values[~np.isin(values, skipped)]
    if not values.size:
        raise InputError(
            f"the atlas {name} has no label but the background ({background}). Give a label image."
        )
    labels = own_labels if labels is None else labels
    names = _names(labels, values, name)
    regions = tuple(names.get(int(value), f"label_{value}") for value in values)
    _check_unique(regions, values, name)
    known = {v: n for v, n in names.items() if v not in skipped}
    absent = _absent(known, values, name)
    index = np.where(np.isin(data, values), np.searchsorted(values, data) + 1, 0).astype(np.int32)
    index.flags.writeable = False
    n_voxels = np.bincount(index.ravel(order="K"))[1:]
    grid = grid_of(image, name)
    digest = _fingerprint(index, grid, regions)
    return LabelAtlas(name, regions, index, n_voxels, grid, absent, digest, _lobes(labels))


def _image_and_labels(atlas: Any) -> tuple[str, Any, Labels]:
    """Name, image and names of the labels of whatever stands for an atlas."""
    if hasattr(atlas, "maps"):
        maps, labels = atlas.maps, _bunch_labels(atlas)
        name, image, _ = _image_and_labels(maps)
        return name, image, labels
    if isinstance(atlas, str | os.PathLike):
        path = Path(atlas)
        if path.is_dir():
            raise InputError(f"the atlas {path} is a folder. Give a label image (.nii, .nii.gz).")
        if not path.is_file():
            raise InputError(
                f"the atlas {path} does not exist. Give a label image (.nii, .nii.gz), or one of "
                f"the names that nilearn can fetch: aal, destrieux, harvard_oxford, schaefer."
            )
        return str(path), open_image(path), find_label_file(path)
    if hasattr(atlas, "dataobj") and hasattr(atlas, "affine"):
        return str(atlas.get_filename() or "given as an image"), atlas, None
    raise InputError(
        f"a {type(atlas).__name__} is no atlas. Give the path of a label image, or what a fetcher "
        "of nilearn returns."
    )


def _bunch_labels(atlas: Any) -> Labels:
    """Names in an atlas of nilearn, whose form differs by atlas and version."""
    table = getattr(atlas, "lut", None)
    if table is not None:
        pairs = zip(table["index"], table["name"], strict=True)
        return {int(value): _text(name) for value, name in pairs}
    labels = list(getattr(atlas, "labels", []))
    if getattr(atlas, "indices", None) is not None:
        pairs = zip(atlas.indices, labels, strict=True)
        return {int(value): _text(name) for value, name in pairs}
    if labels and not isinstance(labels[0], str | bytes):  # Destrieux: pairs
        return {int(value): _text(name) for value, name in labels}
    return [_text(name) for name in labels] or None


def _text(name: object) -> str:
    return name.decode() if isinstance(name, bytes) else str(name)


def _label_values(image: Any, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Values that occur, and the volume, as whole numbers."""
    shape, n_volumes = spatial_shape(image, name)
    if n_volumes > 1:
        raise InputError(
            f"the atlas {name} has {n_volumes} volumes: it seems to be probabilistic. Give its "
            "label image (one whole number a voxel), often called maxprob or dseg."
        )
    with reading(name):
        data = np.asanyarray(image.dataobj).reshape(shape)
    data = np.nan_to_num(data, nan=0, posinf=0.5, neginf=0.5)  # infinity is no whole number
    whole = np.rint(data)
    off = (np.abs(data - whole) > LABEL_EPS) | (np.abs(whole) > LARGEST_LABEL)
    if off.any():
        raise InputError(
            f"the atlas {name} has voxels such as {data[off][0]:.3g}, which is no whole number. "
            "Give a label image; resample it by nearest neighbour only."
        )
    labels = whole.astype(np.int64)
    return np.unique(labels), labels


def _background(background: Any) -> list[int]:
    """Values that are no region."""
    many = background if isinstance(background, Collection) else [background]
    if not all(is_number(one) and float(one).is_integer() for one in many):
        raise InputError(
            f"background is {background!r}: give the label value that is no region, as a whole "
            "number, or a list of such values."
        )
    return [int(one) for one in many]


def _names(labels: Labels, values: NDArray[np.int64], atlas: str) -> Names:
    if labels is None:
        return {}
    if isinstance(labels, str | Path):
        return read_label_names(labels)
    if isinstance(labels, Mapping):
        return {_label_value(value): str(name) for value, name in labels.items()}
    if not isinstance(labels, Iterable):
        raise InputError(
            f"labels is {labels!r}. Give a file of names, a mapping of label to name, or a list of "
            "names."
        )
    names = [str(name) for name in labels]
    first = 0 if names and names[0].lower() in ("background", "unknown") else 1
    if values.min() < first or values.max() >= first + len(names):
        raise InputError(
            f"a list of {len(names)} names stands for the labels {first} to "
            f"{first + len(names) - 1}, but the atlas {atlas} has {values.min()} to "
            f"{values.max()}. Give a mapping of label to name."
        )
    return dict(enumerate(names, start=first))


def _lobes(labels: Labels) -> dict[str, str]:
    """Region -> lobe of a file of labels that is a table with such a column."""
    if not isinstance(labels, str | Path):
        return {}
    try:
        atlas = read_atlas(labels)
    except InputError:  # a colour table, FSL's XML, or a table without lobes
        return {}
    return {one.name: one.lobe for one in atlas.regions if one.lobe != UNKNOWN_LOBE}


def _label_value(value: Any) -> int:
    try:
        whole = int(value)
        fits = whole == float(value)
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        raise InputError(
            f"labels has the key {value!r}, which is no label value. Give a mapping of label (a "
            "whole number) to name."
        )
    return whole


def _check_unique(regions: Sequence[str], values: NDArray[np.int64], atlas: str) -> None:
    first: dict[str, int] = {}
    for region, value in zip(regions, values.tolist(), strict=True):
        if region in first:
            raise InputError(
                f"the labels {first[region]} and {value} of the atlas {atlas} are both called "
                f"{region!r}. Give each a name of its own."
            )
        first[region] = value


def _absent(known: Names, values: NDArray[np.int64], atlas: str) -> tuple[str, ...]:
    """Regions listed without a voxel; a table of all that a program knows is not such a list."""
    present = set(values.tolist())
    absent = tuple(name for value, name in known.items() if value not in present)
    if len(absent) > len(present):
        return ()
    if absent:
        warn(
            f"{counted(len(absent), 'region')} of the list without a voxel in the atlas {atlas}: "
            f"{listed(absent)}. Such regions get no column."
        )
    return absent


def _fingerprint(index: NDArray[np.int32], grid: Grid, regions: Sequence[str]) -> str:
    text = repr((grid.shape, grid.rows, regions)).encode()
    return hashlib.sha256(text + np.asfortranarray(index).tobytes(order="F")).hexdigest()


def _fetchers() -> dict[str, tuple[str, dict[str, Any]]]:
    """Name -> function of nilearn.datasets, and arguments that fix the version."""
    schaefer = "fetch_atlas_schaefer_2018"
    cortex = {"atlas_name": "cort-maxprob-thr25-2mm", "symmetric_split": True}
    return {
        "aal": ("fetch_atlas_aal", {"version": "SPM12"}),
        "destrieux": ("fetch_atlas_destrieux_2009", {"lateralized": True}),
        "harvard_oxford": ("fetch_atlas_harvard_oxford", cortex),
        "schaefer": (schaefer, {"n_rois": 100, "resolution_mm": 2}),
        **{f"schaefer{n}": (schaefer, {"n_rois": n, "resolution_mm": 2}) for n in SCHAEFER_SIZES},
    }


def _fetch(name: str, download: bool) -> Any:
    if not download:
        raise InputError(
            f"the atlas {name!r} is no file. nilearn can download it, if you allow it: "
            "download=True, or --download at the command line."
        )
    nibabel()  # says how to install both
    from nilearn import datasets

    function, arguments = _fetchers()[name]
    fetch = partial(getattr(datasets, function), **arguments)
    try:
        return fetch(verbose=0)
    except Exception as error:
        raise InputError(
            f"nilearn could not fetch the atlas {name!r} ({error}). Check the connection, or give "
            "the label image as a file."
        ) from error
