"""Atlases that give each voxel one label: from a file, an image, or nilearn."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
MAX_LABEL = 2.0**53  # floats beyond it skip whole numbers
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


# Any: an image in memory, of nibabel or of another library with `dataobj` and `affine`.
AtlasSource = str | os.PathLike[str] | Bunch | LabelAtlas | Any


def load_label_atlas(
    atlas: AtlasSource,
    labels: Labels = None,
    *,
    background: int | Collection[int] = 0,
    download: bool = False,
) -> LabelAtlas:
    """Return a label atlas with names for its regions.

    Parameters
    ----------
    atlas : path, image, nilearn atlas, str or LabelAtlas
        An image file with one whole number per voxel; such an image in memory; what a fetcher of
        nilearn returns (``maps`` and ``labels``); or the name of one: "aal", "destrieux",
        "harvard_oxford", "schaefer" (100 regions), "schaefer200", ...
    labels : path, mapping, sequence of str, optional
        Names: a file (see `read_label_names`), value -> name, or a list for the values 1, 2, ...
        (0, 1, ... if it begins with "Background"). By default what comes with the atlas, or a
        file beside the image of the same name. A label without a name is called ``label_12``.
    background : int or collection of int
        Values that are not regions.
    download : bool
        Let nilearn fetch an atlas that was given by name. Without it nothing is downloaded.

    Returns
    -------
    LabelAtlas
    """
    if isinstance(atlas, LabelAtlas):
        return atlas
    # A file called aal in the folder is meant, not the atlas of nilearn.
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
    # A region without a name is measured all the same.
    regions = tuple(names.get(int(value), f"label_{value}") for value in values)
    _check_unique(regions, values, name)
    known = {v: n for v, n in names.items() if v not in skipped}
    absent = _absent(known, values, name)
    # Sorted values as 1, 2, ...: sums over regions are then one np.bincount.
    index = np.where(np.isin(data, values), np.searchsorted(values, data) + 1, 0).astype(np.int32)
    # The array is shared by all images, and by the cache of placed atlases.
    index.flags.writeable = False
    # Order K reads the voxels as they lie in memory, without a copy.
    n_voxels = np.bincount(index.ravel(order="K"))[1:]
    grid = grid_of(image, name)
    digest = _fingerprint(index, grid, regions)
    return LabelAtlas(name, regions, index, n_voxels, grid, absent, digest, _lobes(labels))


def _image_and_labels(atlas: Any) -> tuple[str, Any, Labels]:
    """Return name, image and names of the labels of whatever stands for an atlas."""
    if hasattr(atlas, "maps"):
        name, image, _ = _image_and_labels(atlas.maps)
        return name, image, _bunch_labels(atlas)
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
        f"a {type(atlas).__name__} cannot be an atlas. Give the path of a label image, or what a "
        "fetcher of nilearn returns."
    )


def _bunch_labels(atlas: Any) -> Labels:
    """Return the names in an atlas of nilearn, whose form differs by atlas and version."""
    labels = list(getattr(atlas, "labels", []))
    pairs: Iterable[Any]
    if getattr(atlas, "lut", None) is not None:  # the latest form: a table
        pairs = zip(atlas.lut["index"], atlas.lut["name"], strict=True)
    elif getattr(atlas, "indices", None) is not None:  # AAL
        pairs = zip(atlas.indices, labels, strict=True)
    elif labels and not isinstance(labels[0], str | bytes):  # Destrieux
        pairs = labels
    else:
        return [_text(name) for name in labels] or None
    return {int(value): _text(name) for value, name in pairs}


def _text(name: object) -> str:
    return name.decode() if isinstance(name, bytes) else str(name)


def _label_values(image: Any, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the values that occur, and the volume, as whole numbers."""
    shape, n_volumes = spatial_shape(image, name)
    if n_volumes > 1:
        raise InputError(
            f"the atlas {name} has {n_volumes} volumes: it seems to be probabilistic. Give its "
            "label image (one whole number per voxel), often called maxprob or dseg."
        )
    with reading(name):
        data = np.asanyarray(image.dataobj).reshape(shape)
    # NaN outside the brain is background.
    data = np.nan_to_num(data, nan=0, posinf=0.5, neginf=0.5)  # infinity is not a whole number
    whole = np.rint(data)
    # Fractions come from an atlas that was interpolated, or is a map of probabilities.
    off = (np.abs(data - whole) > LABEL_EPS) | (np.abs(whole) > MAX_LABEL)
    if off.any():
        raise InputError(
            f"the atlas {name} has voxels such as {data[off][0]:.3g}, which is not a whole number. "
            "Give a label image; resample it by nearest neighbour only."
        )
    labels = whole.astype(np.int64)
    return np.unique(labels), labels


def _background(background: Any) -> list[int]:
    """Return the values that are not regions, as a list of whole numbers."""
    values = background if isinstance(background, Collection) else [background]
    if not all(is_number(value) and float(value).is_integer() for value in values):
        raise InputError(
            f"background is {background!r}. Give the label of the voxels outside all regions, as a "
            "whole number, or a list of such labels."
        )
    return [int(value) for value in values]


def _names(labels: Labels, values: NDArray[np.int64], atlas: str) -> Names:
    """Return label value -> name, in whatever form the names were given."""
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
    # nilearn lists the background first for some atlases and not for others.
    first = 0 if names and names[0].lower() in ("background", "unknown") else 1
    if values.min() < first or values.max() >= first + len(names):
        raise InputError(
            f"a list of {len(names)} names stands for the labels {first} to "
            f"{first + len(names) - 1}, but the atlas {atlas} has {values.min()} to "
            f"{values.max()}. Give a mapping of label to name."
        )
    return dict(enumerate(names, start=first))


def _lobes(labels: Labels) -> dict[str, str]:
    """Return region -> lobe, if the labels are a table that has such a column."""
    if not isinstance(labels, str | Path):
        return {}
    try:
        atlas = read_atlas(labels)
    except InputError:  # a colour table, FSL's XML, or a table without lobes
        return {}
    return {region.name: region.lobe for region in atlas.regions if region.lobe != UNKNOWN_LOBE}


def _label_value(value: Any) -> int:
    """Return a key of a mapping of labels as a whole number."""
    try:
        # Keys of JSON are text: "12" is a label too.
        whole = int(value)
        fits = whole == float(value)
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        raise InputError(
            f"labels has the key {value!r}, which is not a label value. Give a mapping of label (a "
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
    """Return the regions that are listed and have no voxel, with a warning."""
    present = set(values.tolist())
    absent = tuple(name for value, name in known.items() if value not in present)
    if len(absent) > len(present):  # a table of all that a program knows, as FreeSurfer's
        return ()
    if absent:
        warn(
            f"the list names {counted(len(absent), 'region')} without any voxel in the atlas "
            f"{atlas}: {listed(absent)}. They get no column."
        )
    return absent


def _fingerprint(index: NDArray[np.int32], grid: Grid, regions: Sequence[str]) -> str:
    """Return a checksum that is the same however the voxels lie in memory."""
    # The values of the labels play no part: only voxels, places and names do.
    text = repr((grid.shape, grid.rows, regions)).encode()
    return hashlib.sha256(text + np.asfortranarray(index).tobytes(order="F")).hexdigest()


def _fetchers() -> dict[str, tuple[str, dict[str, Any]]]:
    """Return name -> function of nilearn.datasets, and arguments that fix the version."""
    schaefer = "fetch_atlas_schaefer_2018"
    # The label image at 25 %, with left and right as regions of their own.
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
            f"the atlas {name!r} is not a file. nilearn can download it, if you allow it: "
            "download=True, or --download at the command line."
        )
    nibabel()  # says how to install both
    from nilearn import datasets

    function, arguments = _fetchers()[name]
    try:
        return getattr(datasets, function)(**arguments, verbose=0)
    except Exception as error:  # of the network, of the server, of the archive
        raise InputError(
            f"nilearn could not fetch the atlas {name!r} ({error}). Check the connection, or give "
            "the label image as a file."
        ) from error
