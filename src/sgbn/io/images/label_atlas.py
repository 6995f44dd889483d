"""The loader of atlases that give each voxel one label, from files, images in memory or nilearn."""

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

from sgbn.cohort.atlas import UNKNOWN_LOBE, read_atlas
from sgbn.core.exceptions import InputError, counted, listed, warn
from sgbn.core.types import Indices
from sgbn.core.validation import is_number
from sgbn.io.images.label_names import Names, find_label_file, read_label_names
from sgbn.io.images.nifti import Grid, grid_of, nibabel, open_image, reading, spatial_shape

LABEL_EPS = 1e-3  # labels stored as scaled floats differ from integers by round-off
MAX_LABEL = 2.0**53  # above this, floats cannot represent all integers
SCHAEFER_SIZES = range(100, 1001, 100)

Labels = str | Path | Mapping[int, str] | Sequence[str] | None


@dataclass(frozen=True, eq=False)
class LabelAtlas:
    """An atlas that gives each voxel the label of a region.

    Attributes
    ----------
    name : str
        File name or name of the atlas.
    regions : tuple of str
        Names of the regions, by increasing label value.
    index : ndarray of int32, three-dimensional
        Number of the region of each voxel: 0 outside all regions, k in the k-th region, counted
        from 1.
    n_voxels : ndarray of int
        Number of voxels of each region.
    grid : Grid
        Shape of the image, and position of its voxels in mm.
    absent : tuple of str
        Names that are listed with the atlas, but have no voxel in it.
    fingerprint : str
        SHA-256 of everything that affects the extracted values.
    lobes : dict
        Region -> lobe or network, for the regions for which the file of labels gives it.
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


# Any stands for an image in memory, from nibabel or another library with `dataobj` and `affine`.
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
        An image file with one integer per voxel, or such an image in memory. It may also be an
        atlas that a fetcher of nilearn returned (with ``maps`` and ``labels``), or the name of an
        atlas that nilearn can fetch: "aal", "destrieux", "harvard_oxford", "schaefer" (100
        regions), "schaefer200", ...
    labels : path, mapping, sequence of str, optional
        Names of the regions: a file (see `read_label_names`), a mapping of label to name, or a
        list of names for the labels 1, 2, ... (0, 1, ... if the list begins with "Background"
        or "Unknown"). By default, these are the names that come with the atlas, or the names in a
        file beside the image that has the same name and another ending. A region without a name is
        called by its label, such as ``label_12``.
    background : int or collection of int
        Labels of voxels that belong to no region.
    download : bool
        Whether nilearn may download an atlas that was given by name.

    Returns
    -------
    LabelAtlas
        The regions, and the region of each voxel.
    """
    if isinstance(atlas, LabelAtlas):
        return atlas
    # A file called aal takes precedence over nilearn's atlas of that name.
    if isinstance(atlas, str) and not Path(atlas).exists() and atlas.lower() in _fetchers():
        atlas = _fetch(atlas.lower(), download)
    name, image, own_labels = _image_and_labels(atlas)
    values, data = _label_values(image, name)
    skipped = _background(background)
    values = values[~np.isin(values, skipped)]
    if not values.size:
        raise InputError(
            f"the atlas {name} has no label except the background ({background}). Give an image "
            "with one label per region."
        )
    labels = own_labels if labels is None else labels
    names = _names(labels, values, name)
    # A region without a name is measured too.
    regions = tuple(names.get(int(value), f"label_{value}") for value in values)
    _check_unique(regions, values, name)
    known = {v: n for v, n in names.items() if v not in skipped}
    absent = _absent(known, values, name)
    # Labels become 1, 2, ..., so that one np.bincount gives the sums of all regions.
    index = np.where(np.isin(data, values), np.searchsorted(values, data) + 1, 0).astype(np.int32)
    # Read-only, because all images and the cache of placed atlases share the array.
    index.flags.writeable = False
    # Order K visits the voxels as they lie in memory, and needs no copy.
    n_voxels = np.bincount(index.ravel(order="K"))[1:]
    grid = grid_of(image, name)
    digest = _fingerprint(index, grid, regions)
    return LabelAtlas(name, regions, index, n_voxels, grid, absent, digest, _lobes(labels))


def _image_and_labels(atlas: Any) -> tuple[str, Any, Labels]:
    """Return the name, the image and the region names of an atlas in any accepted form."""
    if hasattr(atlas, "maps"):
        name, image, _ = _image_and_labels(atlas.maps)
        return name, image, _bunch_labels(atlas)
    if isinstance(atlas, str | os.PathLike):
        path = Path(atlas)
        if path.is_dir():
            raise InputError(f"the atlas {path} is a folder. Give a label image (.nii, .nii.gz).")
        if not path.is_file():
            raise InputError(
                f"the atlas {path} does not exist. Give a label image (.nii, .nii.gz), or the name "
                "of an atlas that nilearn can fetch: aal, destrieux, harvard_oxford, schaefer."
            )
        return str(path), open_image(path), find_label_file(path)
    if hasattr(atlas, "dataobj") and hasattr(atlas, "affine"):
        return str(atlas.get_filename() or "given as an image"), atlas, None
    raise InputError(
        f"a {type(atlas).__name__} cannot be an atlas. Give the path of a label image, or an atlas "
        "that a fetcher of nilearn returned."
    )


def _bunch_labels(atlas: Any) -> Labels:
    """Return the region names of an atlas of nilearn."""
    # The names have a different form in each atlas, and in each version of nilearn.
    labels = list(getattr(atlas, "labels", []))
    pairs: Iterable[Any]
    if getattr(atlas, "lut", None) is not None:  # a table, in recent versions
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
    """Return the labels that occur, and the label of each voxel, as integers."""
    shape, n_volumes = spatial_shape(image, name)
    if n_volumes > 1:
        raise InputError(
            f"the atlas {name} has {n_volumes} volumes, so it seems to be probabilistic. Give its "
            "label image (one whole number per voxel), which is often called maxprob or dseg."
        )
    with reading(name):
        data = np.asanyarray(image.dataobj).reshape(shape)
    # NaN outside the brain is background.
    data = np.nan_to_num(data, nan=0, posinf=np.inf, neginf=-np.inf)
    whole = np.rint(data)
    # There are fractions if an atlas was interpolated, or if it is a map of probabilities.
    with np.errstate(invalid="ignore"):  # the difference of infinities is NaN
        off = (np.abs(data - whole) > LABEL_EPS) | (np.abs(whole) > MAX_LABEL)
    if off.any():
        raise InputError(
            f"the atlas {name} has a voxel with the value {data[off][0]:.3g}, which is not a label "
            "(a whole number). Give a label image. Resample it only by nearest neighbour."
        )
    labels = whole.astype(np.int64)
    return np.unique(labels), labels


def _background(background: Any) -> list[int]:
    """Return the labels that are not regions as a list of integers."""
    values = background if isinstance(background, Collection) else [background]
    if not all(is_number(value) and float(value).is_integer() for value in values):
        raise InputError(
            f"background is {background!r}. Give the label of the voxels outside all regions, as a "
            "whole number, or a list of such labels."
        )
    return [int(value) for value in values]


def _names(labels: Labels, values: NDArray[np.int64], atlas: str) -> Names:
    """Return label -> name, from names in any accepted form."""
    if labels is None:
        return {}
    if isinstance(labels, str | Path):
        return read_label_names(labels)
    if isinstance(labels, Mapping):
        return {_label_value(value): str(name) for value, name in labels.items()}
    if not isinstance(labels, Iterable):
        raise InputError(
            f"labels is {labels!r}, not names. Give a file of names, a mapping of label to name, "
            "or a list of names."
        )
    names = [str(name) for name in labels]
    # nilearn lists the background first for some atlases and not for others.
    first = 0 if names and names[0].lower() in ("background", "unknown") else 1
    if values.min() < first or values.max() >= first + len(names):
        raise InputError(
            f"the list of {len(names)} names is for the labels {first} to "
            f"{first + len(names) - 1}, but the atlas {atlas} has labels from {values.min()} to "
            f"{values.max()}. Give a mapping of label to name."
        )
    return dict(enumerate(names, start=first))


def _lobes(labels: Labels) -> dict[str, str]:
    """Return region -> lobe, if the labels are a table in a file with a column of lobes."""
    if not isinstance(labels, str | Path):
        return {}
    try:
        atlas = read_atlas(labels)
    except InputError:  # a colour table, FSL's XML, or a table without lobes
        return {}
    return {region.name: region.lobe for region in atlas.regions if region.lobe != UNKNOWN_LOBE}


def _label_value(value: Any) -> int:
    """Return a label as an integer. Raise InputError if it is not a whole number."""
    try:
        # Keys of JSON are text, so "12" is a label too.
        whole = int(value)
        fits = whole == float(value)
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        raise InputError(
            f"labels has the key {value!r}, which is not a label (a whole number). Give a mapping "
            "of label to name."
        )
    return whole


def _check_unique(regions: Sequence[str], values: NDArray[np.int64], atlas: str) -> None:
    first: dict[str, int] = {}
    for region, value in zip(regions, values.tolist(), strict=True):
        if region in first:
            raise InputError(
                f"the labels {first[region]} and {value} of the atlas {atlas} are both called "
                f"{region!r}. Give each label its own name."
            )
        first[region] = value


def _absent(known: Names, values: NDArray[np.int64], atlas: str) -> tuple[str, ...]:
    """Return the regions that are listed but have no voxel, and warn about them."""
    present = set(values.tolist())
    absent = tuple(name for value, name in known.items() if value not in present)
    # A table such as FreeSurfer's lists the regions of all atlases, and most of them are absent.
    if len(absent) > len(present):
        return ()
    if absent:
        warn(
            f"{counted(len(absent), 'region has', 'regions have')} a name but no voxel in the "
            f"atlas {atlas}: {listed(absent)}. The table will not have columns for them. Check "
            "that the names belong to this atlas."
        )
    return absent


def _fingerprint(index: NDArray[np.int32], grid: Grid, regions: Sequence[str]) -> str:
    """Return a checksum of voxels, grid and names. The order of voxels in memory has no effect."""
    # The label values are not part of the checksum, because they do not affect what is extracted.
    text = repr((grid.shape, grid.rows, regions)).encode()
    return hashlib.sha256(text + np.asfortranarray(index).tobytes(order="F")).hexdigest()


def _fetchers() -> dict[str, tuple[str, dict[str, Any]]]:
    """Return name -> function of nilearn.datasets, and the arguments that fix the version."""
    schaefer = "fetch_atlas_schaefer_2018"
    # Voxels with a probability above 25 %, with separate regions for left and right.
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
            f"the atlas {name!r} is not a file. Allow nilearn to download it with download=True, "
            "or --download at the command line."
        )
    nibabel()  # raises an error that says how to install nibabel and nilearn
    from nilearn import datasets

    function, arguments = _fetchers()[name]
    try:
        return getattr(datasets, function)(**arguments, verbose=0)
    except Exception as error:  # the network, the server and the archive fail in many ways
        raise InputError(
            f"nilearn could not fetch the atlas {name!r} ({error}). Check the connection, or give "
            "the label image as a file."
        ) from error
