"""Atlases that give each voxel one label, from files, images in memory or nilearn.

The names of the labels come from the files beside the images. These formats are known: tables with
a header (BIDS ``dseg.tsv`` with index and name, CAT12's ``ROIid;ROIname``), two columns without a
header, colour tables of FreeSurfer and ITK-SNAP, AAL's ``1 Precentral_L 2001``,
``1 = Precentral_L``, and FSL's XML. A comment begins with ``#`` and goes to the end of the line.
Within a line, ``#`` begins a comment only if it has a blank on both sides and the line has no
quotes.

For figures, `places_of` gives the hemisphere, lobe, centre and volume of each region.
"""

from __future__ import annotations

import csv
import hashlib
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import Bunch

from sgbn.cohort.atlas import (
    UNKNOWN_LOBE,
    Atlas,
    AtlasFile,
    Region,
    read_atlas,
    side_of,
    table_rows,
)
from sgbn.cohort.region_names import match_columns
from sgbn.core.problems import InputError, Problem
from sgbn.core.types import Array, Indices
from sgbn.core.validation import is_number
from sgbn.read.cells import of_file, repeated
from sgbn.read.files import decoded, read_bytes
from sgbn.read.text import CLOSE, QUOTES, xml_tree
from sgbn.read.volumes import Grid, grid_of, nibabel, open_image, reading, spatial_shape, stem
from sgbn.runs.files import write_atomically

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
    source = of_file(name)
    values, data = _label_values(image, source)
    skipped = _background(background)
    values = values[~np.isin(values, skipped)]
    if not values.size:
        raise InputError("atlas.no-label", where=source).says(
            "{where} the atlas has no label except the background",
            "Give an image with one label per region.",
        )
    labels = own_labels if labels is None else labels
    names = _names(labels, values, source)
    # A region without a name is measured too.
    regions = tuple(names.get(int(value), f"label_{value}") for value in values)
    if same := repeated(regions):
        first, second = values[list(same)].tolist()
        two = {"region": regions[same[0]], "first": first, "second": second}
        raise InputError("atlas.same-name", where=source, **two).says(
            "{where} labels {first} and {second} are both called {region}",
            "Give each label its own name.",
        )
    known = {v: n for v, n in names.items() if v not in skipped}
    absent = _absent(known, values, source)
    # Labels become 1, 2, ..., so that one np.bincount gives the sums of all regions.
    index = np.where(np.isin(data, values), np.searchsorted(values, data) + 1, 0).astype(np.int32)
    # Read-only, because all images and the cache of placed atlases share the array.
    index.flags.writeable = False
    # Order K visits the voxels as they lie in memory, and needs no copy.
    n_voxels = np.bincount(index.ravel(order="K"))[1:]
    grid = grid_of(image, source)
    # The label values do not affect what is extracted, so they are not part of the checksum. Order
    # F makes it independent of the order of the voxels in memory.
    text = repr((grid.shape, grid.rows, regions)).encode()
    digest = hashlib.sha256(text + np.asfortranarray(index).tobytes(order="F")).hexdigest()
    return LabelAtlas(name, regions, index, n_voxels, grid, absent, digest, _lobes_of_file(labels))


def _image_and_labels(atlas: Any) -> tuple[str, Any, Labels]:
    """Return the name, the image and the region names of an atlas in any accepted form."""
    if hasattr(atlas, "maps"):
        name, image, _ = _image_and_labels(atlas.maps)
        return name, image, _bunch_labels(atlas)
    if isinstance(atlas, str | os.PathLike):
        path = Path(atlas)
        if not path.is_file():
            raise InputError("atlas.no-file", file=path).says(
                "the atlas {file} is not a file",
                "Give a label image (.nii), or aal, destrieux, harvard_oxford or schaefer.",
            )
        return str(path), open_image(path), find_label_file(path)
    if hasattr(atlas, "dataobj") and hasattr(atlas, "affine"):
        return str(atlas.get_filename() or "given as an image"), atlas, None
    raise InputError("atlas.type", kind=type(atlas).__name__).says(
        "a {kind:s} cannot be an atlas", "Give a label image, or an atlas that nilearn fetched."
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


def _label_values(image: Any, source: Problem) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the labels that occur, and the label of each voxel, as integers."""
    shape, n_volumes = spatial_shape(image, source)
    if n_volumes > 1:
        raise InputError("atlas.volumes", where=source, n=n_volumes).says(
            "{where} the atlas has {n} volumes, as if it were probabilistic",
            "Give its label image, which is often called maxprob or dseg.",
        )
    with reading(source):
        data = np.asanyarray(image.dataobj).reshape(shape)
    # NaN outside the brain is background.
    data = np.nan_to_num(data, nan=0, posinf=np.inf, neginf=-np.inf)
    whole = np.rint(data)
    # There are fractions if an atlas was interpolated, or if it is a map of probabilities.
    with np.errstate(invalid="ignore"):  # the difference of infinities is NaN
        off = (np.abs(data - whole) > LABEL_EPS) | (np.abs(whole) > MAX_LABEL)
    if off.any():
        raise InputError("atlas.fraction", where=source, value=data[off][0]).says(
            "{where} the atlas has a voxel of {value:.3g}, which is not a label (a whole number)",
            "Give a label image. Resample it only by nearest neighbour.",
        )
    labels = whole.astype(np.int64)
    return np.unique(labels), labels


def _background(background: Any) -> list[int]:
    """Return the labels that are not regions as a list of integers."""
    values = background if isinstance(background, Collection) else [background]
    if not all(is_number(value) and float(value).is_integer() for value in values):
        raise InputError("atlas.background").says(
            "{background=} is not a whole number or a list of these",
            "Give the label of the voxels outside all regions.",
        )
    return [int(value) for value in values]


def _names(labels: Labels, values: NDArray[np.int64], source: Problem) -> Names:
    """Return label -> name, from names in any accepted form."""
    if labels is None:
        return {}
    if isinstance(labels, str | Path):
        return read_label_names(labels)
    if not isinstance(labels, Iterable):
        raise InputError("atlas.labels", kind=type(labels).__name__).says(
            "labels is a {kind:s}, not names", "Give a file, a list, or a mapping of label to name."
        )
    if isinstance(labels, Mapping):
        return {_label_value(value): str(name) for value, name in labels.items()}
    names = [str(name) for name in labels]
    # nilearn lists the background first for some atlases and not for others.
    first = 0 if names and names[0].lower() in ("background", "unknown") else 1
    last = first + len(names) - 1
    if values.min() < first or values.max() > last:
        given = {"first": first, "last": last, "low": values.min(), "high": values.max()}
        raise InputError("atlas.names", where=source, **given).says(
            "{where} names are listed for the labels {first} to {last}, but the labels are {low} "
            "to {high}",
            "Give a mapping of label to name.",
        )
    return dict(enumerate(names, start=first))


def _lobes_of_file(labels: Labels) -> dict[str, str]:
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
        raise InputError("atlas.key", value=value).says(
            "labels has the key {value}, not a whole number", "Give a mapping of label to name."
        )
    return whole


def _absent(known: Names, values: NDArray[np.int64], source: Problem) -> tuple[str, ...]:
    """Return the regions that are listed but have no voxel, and warn about them."""
    present = set(values.tolist())
    absent = tuple(name for value, name in known.items() if value not in present)
    # A table such as FreeSurfer's lists the regions of all atlases, and most of them are absent.
    if len(absent) > len(present):
        return ()
    if absent:
        Problem("atlas.absent", where=source, regions=absent).warn(
            "{where} no voxel of the atlas belongs to {regions}",
            "They get no columns. Check that the names belong to this atlas.",
        )
    return absent


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
        raise InputError("atlas.download", name=name).says(
            "the atlas {name} is not a file", "Let nilearn download it by {download=True}."
        )
    nibabel()  # raises an error that says how to install nibabel and nilearn
    from nilearn import datasets

    function, arguments = _fetchers()[name]
    try:
        return getattr(datasets, function)(**arguments, verbose=0)
    except Exception as error:  # the network, the server and the archive fail in many ways
        raise InputError("atlas.fetch", name=name, cause=error).says(
            "nilearn could not fetch the atlas {name} ({cause})",
            "Check the connection, or give the label image as a file.",
        ) from error


# In order of preference, in lower case. A column "label" may hold numbers or names.
INDEX_COLUMNS = ("index", "roiid", "id", "value", "key", "label", "number", "intensity")
NAME_COLUMNS = ("name", "roiname", "region", "label_name", "structure", "labelname", "label")
SIDECARS = (".tsv", ".csv", ".txt", ".lut", ".xml")  # tried in this order
COMMENT = re.compile(r"\s#(?:\s.*)?$")
INDEX_AND_NAME = re.compile(r"([+-]?\d{1,15}(?:\.0*)?)(?:\s*[=:]\s*|\s+)([^\s=:].*)")
N_COLOURS = 4  # red, green, blue and alpha at the end of a line of a colour table

Names = dict[int, str]
NAMES_TABLE = "Give a table with the columns index and name."


def find_label_file(image: str | Path) -> Path | None:
    """Return the file of names beside an atlas's image, or None if there is none.

    It has the name of the image with another ending, such as ``aal.txt`` or ``aal.nii.txt``.
    """
    image = Path(image)
    beside = [image.with_name(base + e) for e in SIDECARS for base in (stem(image), image.name)]
    return next((path for path in beside if path.is_file()), None)


def read_label_names(path: str | Path) -> Names:
    """Return label -> name of the region, from a file.

    Parameters
    ----------
    path : path
        A table, a colour table or an XML file, in a format that this module lists.

    Returns
    -------
    dict of int to str
        Label -> name as it is written in the file. Spaces and marks such as ``&`` are kept.
    """
    path, source = Path(path), of_file(path)
    content = read_bytes(path)
    if path.suffix.lower() == ".xml" or content.lstrip().startswith(b"<"):
        pairs = _from_xml(content, source)
    else:
        pairs = _from_text(decoded(content), source)
    return _unique(pairs, source)


def _from_xml(content: bytes, source: Problem) -> list[tuple[int, str]]:
    root = xml_tree(content, source)
    try:
        kind = (root.findtext("header/type") or "").strip().lower()
        # FSL numbers the maps of a probabilistic atlas from 0, but its label image begins with 1.
        shift = 1 if kind.startswith("prob") else 0
        return [
            (int(label.attrib["index"]) + shift, "".join(label.itertext()).strip())
            for label in root.iter("label")
        ]
    except (LookupError, ValueError) as error:
        raise InputError("names.xml", where=source, cause=error).says(
            "{where} the names cannot be read as FSL's XML ({cause})", NAMES_TABLE
        ) from error


def _from_text(text: str, source: Problem) -> list[tuple[int, str]]:
    """Return pairs of label and name from a table, or from lines of words."""
    filled = (line for line in text.splitlines() if line.split("#")[0].strip())
    lines = [line if '"' in line else COMMENT.sub("", line) for line in filled]
    if not lines:
        raise InputError("file.empty", where=source).says("{where} the file is empty", NAMES_TABLE)
    delimiter = next((mark for mark in "\t;," if mark in lines[0]), None)
    # "1 Precentral, left" is a line of words, although it contains a comma.
    if delimiter is None or re.match(r"\s*\d+(?: *[=:] *| +)[^\s;,]", lines[0]):
        return _from_words(lines, source)
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=delimiter)]
    except csv.Error as error:
        raise InputError("text.quotes", where=source, cause=error).says(QUOTES, CLOSE) from error
    index, name = _columns(rows[0], source)
    # If there is no header, the first line is a label too.
    body = rows if _is_whole(rows[0][index]) else rows[1:]
    pairs = []
    for row in body:
        if len(row) <= max(index, name) or not _is_whole(row[index]):
            raise _no_name(source, row)
        pairs.append((int(float(row[index])), row[name]))
    return pairs


def _no_name(source: Problem, line: object) -> InputError:
    return InputError("names.line", where=source, line=line).says(
        "{where} a line has no index and name: {line}", NAMES_TABLE
    )


def _columns(header: list[str], source: Problem) -> tuple[int, int]:
    """Return the positions of the columns of labels and names: 0 and 1 if there is no header."""
    if _is_whole(header[0]):
        return 0, 1
    lower = [cell.lower() for cell in header]
    index = next((lower.index(column) for column in INDEX_COLUMNS if column in lower), None)
    names = (lower.index(column) for column in NAME_COLUMNS if column in lower)
    name = next((place for place in names if place != index), None)
    if index is None or name is None:
        raise InputError("names.columns", where=source, columns=header).says(
            "{where} the columns are {columns}", "Call the labels 'index' and the names 'name'."
        )
    return index, name


def _from_words(lines: Sequence[str], source: Problem) -> list[tuple[int, str]]:
    """Return pairs of label and name from lines that may have numbers after the name."""
    values, words = [], []
    for line in lines[1:] if _is_header(lines[0].lower().split()) else lines:
        entry = INDEX_AND_NAME.fullmatch(line.strip())
        if not entry:
            raise _no_name(source, line)
        quoted = re.search(r'"(.*)"', entry[2])  # ITK-SNAP
        values.append(int(float(entry[1])))
        words.append([quoted[1]] if quoted else entry[2].split())
    if not values:
        raise InputError("file.empty", where=source).says(
            "{where} there is only a header", "Add one line per label."
        )
    # Numbers are codes only if all lines have them, because a name may end with a number.
    n_numbers = min(_n_last_numbers(name_words) for name_words in words)
    if n_numbers in (1, 2):
        # The last number is AAL's code if the names still differ without it. In "Lobule 1", the
        # number is part of the name.
        n_cut = int(len({" ".join(name_words[:-1]) for name_words in words}) == len(words))
    else:
        n_cut = min(n_numbers, N_COLOURS)
    names = [" ".join(name_words[: len(name_words) - n_cut]) for name_words in words]
    return list(zip(values, names, strict=True))


def _is_header(words: Sequence[str]) -> bool:
    return len(words) > 1 and words[0] in INDEX_COLUMNS and words[1] in NAME_COLUMNS


def _n_last_numbers(words: list[str]) -> int:
    """Return how many words at the end are integers. The first word is always part of the name."""
    return len(list(takewhile(str.isdigit, reversed(words[1:]))))


def _is_whole(text: str) -> bool:
    return bool(re.fullmatch(r"[+-]?\d{1,15}(\.0*)?", text.strip()))


def _unique(pairs: Iterable[tuple[int, str]], source: Problem) -> Names:
    """Return the pairs as a mapping. A label with two names, or without a name, is an error."""
    names: Names = {}
    for value, name in pairs:
        if not name or names.setdefault(value, name) != name:
            raise InputError("names.label", where=source, label=value).says(
                "{where} label {label} has two names, or none", "Correct its line."
            )
    return names


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
        Problem("atlas.crossed", where=of_file(atlas.name), regions=crossed).warn(
            "{where} regions not on the side that their names say: {regions}",
            "Check that the names belong to this image, and that it does not exchange left and "
            "right.",
        )
    return [name or place for name, place in zip(sides_by_name, sides_by_place, strict=True)]


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
