"""Atlases: those of the package, and tables of a user. They find the region that a column means.

Columns have many spellings. A name is changed to lower case, and split into words at every
character that is not a letter or a digit. Words at its ends that name a measure are removed. The
other words together are the *key*: ``lh_G&S_frontomargin_thickness`` becomes the key
``lhgsfrontomargin`` and the measure "thickness". A region is found only by a whole key, never by a
part of it.
"""

from __future__ import annotations

import csv
import hashlib
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from sgbn.core.problems import InputError, Problem

UNKNOWN_LOBE = "unknown"


class Region(NamedTuple):
    """A region of an atlas.

    Attributes
    ----------
    name : str
        Name in the atlas.
    hemisphere : str
        "L", "R", or "" on the midline.
    lobe : str
        Lobe, or network if the atlas has networks. "unknown" if the table does not contain it.
    x, y, z : float
        Centre in MNI space, in mm. NaN if unknown.
    volume_mm3 : float
        Volume. NaN if unknown.
    other_names : tuple of str
        Other names that columns may have, such as the abbreviations of CAT12.
    """

    name: str
    hemisphere: str
    lobe: str
    x: float
    y: float
    z: float
    volume_mm3: float
    other_names: tuple[str, ...] = ()


class AtlasFile(NamedTuple):
    """The table of a user's own atlas.

    Attributes
    ----------
    path, sha256 : str
        Path of the file, and the checksum of its content.
    label_image : str
        Name of the label image, if ``sgbn extract`` wrote the table. Otherwise "".
    """

    path: str
    sha256: str
    label_image: str


@dataclass(frozen=True)
class Atlas:
    """An atlas and its regions.

    Attributes
    ----------
    name, title : str
        Name in options and files, and title for readers.
    regions : tuple of Region
        All regions, in the order of the table.
    file : AtlasFile or None
        Table from which a user's own atlas was read. None for an atlas of the package.
    """

    name: str
    title: str
    regions: tuple[Region, ...]
    file: AtlasFile | None = None

    def find(self, column: str) -> Region | None:
        """Return the region that a column name means, or None. Many spellings are known."""
        reading = self.read(column)
        return reading[0] if reading else None

    def read(self, column: str) -> tuple[Region, str] | None:
        """Return the region and the measure that a column name means, or None."""
        if column in self._by_name:
            return self._by_name[column], ""
        for key, measure in readings(column):
            if key in self._by_key:
                return self._by_key[key], measure
        return None

    @cached_property
    def _by_name(self) -> dict[str, Region]:
        """Return the regions by their exact name."""
        # Exact names are needed because some differ only in a sign, such as T1+ and T1-.
        count = Counter(region.name for region in self.regions)
        # A name that both hemispheres share is left out, because it does not contain the side.
        return {region.name: region for region in self.regions if count[region.name] == 1}

    @cached_property
    def _by_key(self) -> dict[str, Region]:
        """Return the regions by key (see `sgbn.cohort.atlas.key`)."""
        # The right side of | wins: a name in the atlas counts before an alias of another region.
        return _unambiguous(self.regions, other_keys) | _unambiguous(self.regions, own_keys)


def own_keys(region: Region) -> frozenset[str]:
    """Return the keys of a region's name in the atlas."""
    return name_keys(region.name, region.hemisphere)


def other_keys(region: Region) -> frozenset[str]:
    """Return the keys of a region's other names: general aliases, and other names in the atlas."""
    side = region.hemisphere
    aliases = ALIASES.get(stem(region.name, side), ())
    # The spelling of ENIGMA is Lput.
    joined = frozenset(key([side.lower() + alias]) for alias in aliases)
    sided = (with_side([alias], side) for alias in aliases)
    return joined.union(*sided, *(name_keys(name, side) for name in region.other_names))


def _unambiguous(
    regions: Iterable[Region], keys_of: Callable[[Region], frozenset[str]]
) -> dict[str, Region]:
    """Return the regions by key, without keys that several regions share."""
    # Choosing one of several regions would be a guess.
    keys = [(key, region) for region in regions for key in keys_of(region)]
    count = Counter(key for key, _ in keys)
    return {key: region for key, region in keys if count[key] == 1}


_TITLES = {
    "desikan_killiany": "Desikan-Killiany cortex and FreeSurfer's aseg",
    "destrieux": "Destrieux cortex (aparc.a2009s) and FreeSurfer's aseg",
    "aal": "Automated Anatomical Labeling (AAL)",
    "aal2": "Automated Anatomical Labeling 2 (AAL2)",
    "aal3": "Automated Anatomical Labeling 3 (AAL3)",
    "dkt": "Desikan-Killiany-Tourville cortex (aparc.DKTatlas) and FreeSurfer's aseg",
    "harvard_oxford": "Harvard-Oxford cortex, left and right, and subcortical structures",
    "brainnetome": "Human Brainnetome Atlas",
    "glasser": "HCP multi-modal parcellation (HCP-MMP1, Glasser)",
    "neuromorphometrics": "Neuromorphometrics, as CAT12 and SPM have it",
    "lpba40": "LONI Probabilistic Brain Atlas (LPBA40)",
}
_SCHAEFER = {
    f"schaefer_{size}_{networks}": f"Schaefer 2018, {size} parcels of {networks} networks"
    for networks in (7, 17)
    for size in (100, 200, 300, 400)
}
ATLASES: tuple[str, ...] = (*_TITLES, *_SCHAEFER)
ATLAS_NAMES = (
    f"{', '.join(_TITLES)}, schaefer_N_7 and schaefer_N_17, where N is 100, 200, 300 or 400"
)

_WITH_ASEG = ("desikan_killiany", "destrieux", "dkt")

# Other names of the atlases, in lower case, with letters and digits only
_OTHER_NAMES = {
    "desikan_killiany": "dk dk40 dk68 desikan aparc aparcaseg aparcdk40 desikankillianyaseg",
    "destrieux": "aparca2009s aparca2009saseg a2009s",
    "aal": "aal1 aal116",
    "aal2": "aal120",
    "aal3": "aal3v1 aal166",
    "dkt": (
        "dkt31 dkt40 dkt62 dktatlas aparcdkt aparcdkt40 aparcdktaseg aparcdktatlas aparcdktatlas40 "
        "aparcdktatlasaseg aparcdktatlasmapped desikankillianytourville"
    ),
    "harvard_oxford": "ho hoa hoa111 harvardoxfordlateralized",
    "brainnetome": "bna bna246 bn246 bnatlas bnatlas246 brainnetome246 brainnetomeatlas",
    "glasser": "hcpmmp hcpmmp1 hcpmmp10 hcpmmp360 mmp mmp1 mmp10 glasser360 glasser2016",
    "neuromorphometrics": "neuromorpho nmm",
    "lpba40": "lpba lpba56",
}
_BY_NAME = {
    other.replace("_", ""): name
    for name in _TITLES
    for other in (name, *_OTHER_NAMES[name].split())
}
# schaefer200, Schaefer2018_200Parcels_7Networks_order, schaefer_200_17, schaefer400x7
_SCHAEFER_NAME = re.compile(
    r"schaefer(2018)?(desc)?(?P<size>[1-4]00)(parcels?|parcellation|regions|rois)?x?"
    r"(?P<networks>7|17)?(networks?|nets?|n)?(order)?"
)
# Networks in the names of Schaefer's parcels. If no column contains one of them, Schaefer's eight
# tables are not loaded.
_OF_SCHAEFER = re.compile("vis|sommot|attn|limbic|cont|default|temppar", re.IGNORECASE)


def load_atlas(name: str) -> Atlas:
    """Return an atlas of the package by its name, in many spellings.

    ``"desikan_killiany"``, ``"destrieux"`` and ``"dkt"`` also contain FreeSurfer's aseg structures,
    because one table may have both. ``"aal3"`` has 166 regions, because its four labels without
    voxels are left out. ``"schaefer200"`` is Schaefer's atlas with 200 parcels and 7 networks, and
    ``"schaefer_200_17"`` with 17 networks. ``sgbn.cohort.ATLASES`` lists all names.

    Parameters
    ----------
    name : str
        Name of the atlas, such as "dk", "aparc.a2009s" or "AAL116".
    """
    known = _known_name(name)
    if known is None:
        raise _unknown(name)
    return _load(known)


def _known_name(name: object) -> str | None:
    """Return the name in `ATLASES` that a text in any spelling means, or None."""
    # "AAL 3", "aal-3" and "AAL3" are the same name.
    plain = "".join(letter for letter in str(name).lower() if letter.isalnum())
    if schaefer := _SCHAEFER_NAME.fullmatch(plain):
        return f"schaefer_{schaefer['size']}_{schaefer['networks'] or 7}"
    return _BY_NAME.get(plain)


def _unknown(atlas: object) -> InputError:
    # A name may also be the path of a table that does not exist.
    return InputError("atlas.unknown", file=atlas, known=ATLAS_NAMES, columns=COLUMNS).says(
        "there is no atlas {file}",
        "Use one of {known:s}, or your own table with the columns {columns:s}.",
    )


def atlases_for(columns: Iterable[str]) -> list[str]:
    """Return the names of the atlases that may match some columns, in the order of `ATLASES`."""
    # Some networks have ordinary names, such as "default". Then tables may be loaded needlessly.
    schaefer = any(map(_OF_SCHAEFER.search, columns))
    return [name for name in ATLASES if schaefer or name not in _SCHAEFER]


def is_schaefer(atlas: Atlas) -> bool:
    """Return whether an atlas is one of Schaefer's atlases, which share names of parcels."""
    return atlas.name in _SCHAEFER


@cache
def is_aseg(region: Region) -> bool:
    """Return whether a region is a structure of FreeSurfer's aseg, which is measured by volume."""
    return region in _packaged("aseg")


@cache  # atlases cannot be changed, so that all callers can share them
def _load(name: str) -> Atlas:
    tables = (name, "aseg") if name in _WITH_ASEG else (name,)
    title = _TITLES.get(name) or _SCHAEFER[name]
    return Atlas(name, title, tuple(r for table in tables for r in _packaged(table)))


@cache
def _packaged(table: str) -> tuple[Region, ...]:
    file = files("sgbn.cohort") / "atlases" / f"{table}.csv"
    path = Path(file.name)
    return _regions(_rows(file.read_text(encoding="utf-8"), path), path)


TABLE_ENDINGS = (".csv", ".tsv", ".txt")
IMAGE_ENDINGS = (".nii", ".nii.gz", ".mgz", ".mgh", ".img", ".hdr")

AtlasLike = str | os.PathLike[str] | Atlas


def as_atlas(atlas: AtlasLike) -> Atlas:
    """Return the atlas that a name or a path means. An Atlas is returned as it is.

    Parameters
    ----------
    atlas : str, path or Atlas
        Name of an atlas of the package (see `load_atlas`), path of a table (see `read_atlas`), or
        an Atlas. `names_table` decides whether a text is a name or a path.
    """
    if isinstance(atlas, Atlas):
        return atlas
    if not isinstance(atlas, str | os.PathLike):
        raise _unknown(type(atlas).__name__)
    # Without this check, an image would be taken for the name of an atlas, or read as a table.
    if os.fspath(atlas).lower().endswith(IMAGE_ENDINGS):
        raise InputError("atlas.image", file=atlas).says(
            "the atlas {file} is an image",
            "Give a table of its regions, such as the atlas.csv that `sgbn extract` writes.",
        )
    # Only text can be the name of an atlas. A path object is always a file.
    if not isinstance(atlas, str) or names_table(atlas):
        path = Path(atlas)
        if not path.exists():
            raise _unknown(path)
        return read_atlas(path)
    return load_atlas(atlas)


def names_table(atlas: str, folder: str | Path = ".") -> bool:
    """Return whether a text names a table, instead of an atlas of the package.

    The name of a table ends in .csv, .tsv or .txt, or is an existing file. If a file has the same
    name as an atlas of the package, the atlas is meant, so that a stray file changes nothing.

    Parameters
    ----------
    atlas : str
        Text that names an atlas or a file.
    folder : path
        Folder to which a path is relative.
    """
    if atlas.lower().endswith(TABLE_ENDINGS):
        return True
    return not is_packaged(atlas) and Path(folder, atlas).is_file()


def is_packaged(name: str) -> bool:
    """Return whether an atlas of the package has this name."""
    return _known_name(name) is not None


SIDES = {"L": ("l", "lh", "left"), "R": ("r", "rh", "right")}
SIDE_WORDS = frozenset(side for sides in SIDES.values() for side in sides)
# A key of at most this many characters keeps its separators, because LC_R is a region, but LCR may
# mean anything.
MAX_SHORT_KEY = 4
MAX_MEASURE_WORDS = 3  # at either end of a name, as in mean_thickness_mm
# As in ctx-lh-insula, lh.aparc.insula, lh.aparc.DKTatlas.mapped.insula
IGNORED_FIRST = frozenset({"ctx", "aparc", "aseg", "dktatlas", "mapped"})
# G_and_S, G&S, G.S and G_S are the same name; so are 7Networks_LH_Vis_1 and LH_Vis_1
IGNORED = frozenset({"and", "7networks", "17networks"})
SAME = {"cerebelum": "cerebellum", "cingulum": "cingulate"}  # spellings in older and newer AAL

# Other names of structures, without their side. They come from ENIGMA, from later versions of
# FreeSurfer, and from plain English.
ALIASES = {
    "thalamusproper": ("thalamus", "thal"),
    "caudate": ("caud",),
    "putamen": ("put",),
    "pallidum": ("pal",),
    "hippocampus": ("hippo",),
    "amygdala": ("amyg",),
    "accumbensarea": ("accumbens", "accumb"),
    "lateralventricle": ("latvent",),
    "inflatvent": ("inferiorlateralventricle",),
}

# Words of measures at either end of the name of a column. The words under "" are removed too, but
# they do not say which measure it is.
_WORDS = {
    "thickness": "thickness thick thickavg ct",
    "thickness_std": "thicknessstd thickstd",
    "volume": "volume vol grayvol greyvol gmv gmvol gm vgm gray grey mm3 ml",
    "white_matter_volume": "wm wmv vwm",
    "csf_volume": "vcsf",
    "area": "area surfarea surfavg surf sa mm2",
    "curvature": "meancurv curv curvature",
    "gaussian_curvature": "gauscurv",
    "folding_index": "foldind",
    "curvature_index": "curvind",
    "gyrification": "gyrification lgi",
    "depth": "depth sulc sqrtdepth",
    "fractal_dimension": "fractaldimension",
    "vertices": "numvert",
    "voxels": "nvoxels",
    "suvr": "suvr",
    "suv": "suv",
    "intensity": "normmean intensity",
    "": "mean avg average median mm roi",
}
MEASURES = {word: measure for measure, words in _WORDS.items() for word in words.split()}

_SEPARATORS = re.compile(r"[\W_]+")
_NOT_BETWEEN_DIGITS = re.compile(r"(?<!\d)_|_(?!\d)")
_MADE_VALID = re.compile(r"^x(?=\d)")  # R writes 3rd.Ventricle as X3rd.Ventricle


def words(name: str) -> list[str]:
    """Return the words of a name in lower case, in one spelling each."""
    lower = _MADE_VALID.sub("", name.strip().lower())
    # This comes before splitting, because some names have no separators between words.
    for older, newer in SAME.items():
        lower = lower.replace(older, newer)
    parts = [word for word in _SEPARATORS.split(lower) if word and word not in IGNORED]
    first = 1 if parts and parts[0] in SIDE_WORDS else 0  # lh.aparc.insula has its side first
    while len(parts) > first and parts[first] in IGNORED_FIRST:
        del parts[first]
    # FreeSurfer's lh_L_V1_ROI says its side twice.
    if len(parts) > 2 and any(set(parts[:2]) <= set(sides) for sides in SIDES.values()):
        return parts[1:]
    return parts


@lru_cache(maxsize=10_000)  # every column is looked up in every atlas
def readings(column: str) -> tuple[tuple[str, str], ...]:
    """Return each possible key of a column, with the measure that its other words name.

    The longest key is first, so that ``Left-Accumbens-area`` comes before ``Left-Accumbens``. The
    last keys are for names in which a measure is between region and side (``insula_thickness_lh``).
    """
    parts = words(column)
    return tuple(reading for order in _orders(parts) for reading in _readings(order))


def _orders(parts: list[str]) -> Iterator[list[str]]:
    """Yield the words. If a measure is between side and region, yield them with moved side too."""
    yield parts
    if len(parts) > 1 and parts[-1] in SIDE_WORDS and parts[-2] in MEASURES:
        yield [parts[-1], *parts[:-1]]
    if len(parts) > 1 and parts[0] in SIDE_WORDS and parts[1] in MEASURES:
        yield [*parts[1:], parts[0]]


def _readings(parts: list[str]) -> Iterator[tuple[str, str]]:
    lead = _leading(parts)
    trail = _leading(parts[::-1])
    for taken in range(lead + trail + 1):
        for first in range(min(taken, lead) + 1):
            last = len(parts) - (taken - first)
            if taken - first > trail or first >= last:
                continue
            yield key(parts[first:last]), _measure(parts[:first] + parts[last:])


def key(parts: list[str]) -> str:
    """Return the key of words: the words without separators.

    Separators stay between digits (V1_2 is not V12) and in keys of at most `MAX_SHORT_KEY`
    characters.
    """
    joined = "".join(parts)
    if len(joined) <= MAX_SHORT_KEY:
        return "_".join(parts)
    return joined if joined.isalpha() else _NOT_BETWEEN_DIGITS.sub("", "_".join(parts))


@lru_cache(maxsize=10_000)  # atlases share regions
def name_keys(name: str, hemisphere: str) -> frozenset[str]:
    """Return the keys of a region: of its name, and of its name with every spelling of its side."""
    parts = words(name)
    return frozenset({key(parts)} | with_side(_without_side(parts, hemisphere), hemisphere))


def stem(name: str, hemisphere: str) -> str:
    """Return the words of a region's name without side and separators: the same for L and R."""
    return "".join(_without_side(words(name), hemisphere))


def with_side(parts: list[str], hemisphere: str) -> set[str]:
    """Return the keys of these words with every spelling of the side at either end."""
    sides = SIDES.get(hemisphere)
    if sides is None:
        return {key(parts)}
    return {key([side, *parts]) for side in sides} | {key([*parts, side]) for side in sides}


def _without_side(parts: list[str], hemisphere: str) -> list[str]:
    sides = SIDES.get(hemisphere, ())
    if len(parts) > 1 and parts[0] in sides:
        return parts[1:]
    if len(parts) > 1 and parts[-1] in sides:
        return parts[:-1]
    return parts


def _leading(parts: list[str]) -> int:
    """Return how many of the first words name a measure."""
    known = (word in MEASURES for word in parts[:MAX_MEASURE_WORDS])
    return sum(1 for _ in takewhile(bool, known))


def _measure(parts: list[str]) -> str:
    """Return the measure that these words name, or "" if they name none."""
    return next((MEASURES[word] for word in parts if MEASURES[word]), "")


NAMES = ("region", "name", "label")  # BIDS uses "name", and some of its atlases "label"
LOBES = ("lobe", "network", "network_label")
PLACE = ("x", "y", "z")
VOLUME = "volume_mm3"
OTHER_NAMES = "other_names"  # separated by |
INDEX = "index"  # a column of BIDS tables of labels
LABEL_IMAGE = "label_image"  # a column of tables that `sgbn extract` writes
KNOWN = {*NAMES, *LOBES, *PLACE, "hemisphere"}
COLUMNS = f"region, hemisphere, lobe, x, y, z and, if known, {VOLUME} and {OTHER_NAMES}"
DELIMITERS = (",", "\t", ";")
ABSENT = ("", "n/a", "na", "nan")
HEMISPHERES = {
    **{side: hemisphere for hemisphere, sides in SIDES.items() for side in sides},
    **dict.fromkeys((*ABSENT, "b", "m", "midline", "both", "bilateral"), ""),
}

HEAD_MM = ((-90, 90), (-126, 91), (-72, 109))  # the field of view of MNI152, x, y, z
SIGN = {"L": -1, "R": 1, "": 0}  # sign of x in MNI space
MIDLINE_MM = 5  # the centre of a region may be this far beyond the midline

Row = dict[str, str]


def read_atlas(path: str | Path) -> Atlas:
    """Read a user's own atlas: a CSV or TSV table, one row per region.

    Parameters
    ----------
    path : path
        Path of the table. Its columns are region, hemisphere (L, R, or empty on the midline), lobe,
        x, y, z (MNI, in mm) and, if known, volume_mm3 and other_names (other names that columns may
        have, separated by ``|``). The name of the atlas is the name of the file without its ending,
        or the name of the label image if ``sgbn extract`` wrote the table.

        A BIDS table of labels (``dseg.tsv``) is accepted too: the column of regions may be called
        name or label, and the column of lobes network or network_label. If there is no
        column of hemispheres, the hemispheres are read from the names (``LH``, ``Left``, ``_L``).
        Either lobes or coordinates may be missing. Both may be missing only if there is the column
        ``index`` of BIDS. Missing lobes become "unknown". Without coordinates, no brain can be
        drawn.

    Returns
    -------
    Atlas
        The atlas, with the path and checksum of its file.
    """
    path = Path(path)
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")  # Excel writes a byte-order mark
    except OSError as error:
        raise InputError("atlas.unreadable", file=path, why=error.strerror).says(
            "cannot read the atlas {file}: {why:s}", "Check the path."
        ) from error
    except UnicodeDecodeError as error:
        raise InputError("atlas.encoding", file=path).says(
            "the atlas {file} is not text in UTF-8", "Save it as a CSV file in UTF-8."
        ) from error
    rows = _rows(text, path)
    label_image = rows[0][1].get(LABEL_IMAGE, "")
    name = label_image or path.stem
    file = AtlasFile(str(path), hashlib.sha256(content).hexdigest(), label_image)
    regions = _regions(rows, path)
    _warn_of_places(regions, path)
    return Atlas(name, name, regions, file)


def _warn_of_places(regions: Sequence[Region], path: Path) -> None:
    """Warn of regions outside the head, and of regions on the wrong side."""
    # The three coordinates of a region are all given or all NaN (see `_region`).
    placed = [region for region in regions if not math.isnan(region.x)]
    outside = [r.name for r in placed if not _is_in_head((r.x, r.y, r.z))]
    if outside:
        Problem("atlas.outside", file=path, regions=outside).warn(
            "{regions:region/regions} of the atlas {file} outside the head in MNI space: {regions}",
            "Check that x, y, z are in mm, and not in voxels.",
        )
    crossed = [r.name for r in placed if SIGN[r.hemisphere] * r.x < -MIDLINE_MM]
    if crossed:
        Problem("atlas.crossed", file=path, regions=crossed).warn(
            "hemisphere and x disagree in {regions:region} of the atlas {file}: {regions}",
            "Check both. In MNI space x is negative on the left.",
        )


def _is_in_head(place: tuple[float, float, float]) -> bool:
    return all(low <= value <= high for value, (low, high) in zip(place, HEAD_MM, strict=True))


def table_rows(atlas: Atlas) -> list[dict[str, str | float]]:
    """Return the rows of a table from which `read_atlas` reads this atlas again."""
    # An atlas that was read from a file keeps the name of its label image.
    marker = {} if atlas.file is None else {LABEL_IMAGE: atlas.file.label_image}
    return [
        {NAMES[0]: cells.pop("name"), **cells, OTHER_NAMES: "|".join(aliases), **marker}
        for cells, aliases in ((region._asdict(), region.other_names) for region in atlas.regions)
    ]


def _regions(rows: Sequence[tuple[int, Row]], path: Path) -> tuple[Region, ...]:
    regions: dict[tuple[str, str], Region] = {}
    for number, row in rows:
        region = _region(row, path, number)
        # The two sides of a region may have the same name if there is a column of hemispheres.
        if (region.name, region.hemisphere) in regions:
            raise InputError("atlas.twice", file=path, row=number, name=region.name).says(
                "{file}, row {row}: {name} is in an earlier row already", "Keep only one of them."
            )
        regions[region.name, region.hemisphere] = region
    return tuple(regions.values())


def _rows(text: str, path: Path) -> list[tuple[int, Row]]:
    """Return the number of each row, for error messages, and its cells by column."""
    first, *more = text.splitlines() or [""]
    try:
        header, delimiter = _header(first)
        _check_header(header, path)
        table = list(csv.reader(more, delimiter=delimiter))
    except csv.Error as error:
        raise InputError("atlas.quotes", file=path, error=error).says(
            "{file} cannot be read as a table ({error})", "Check that all quotes are closed."
        ) from error
    rows = []
    for number, cells in enumerate(table, start=2):  # row numbers of a spreadsheet
        if not any(cell.strip() for cell in cells):  # spreadsheets may leave empty rows at the end
            continue
        if len(cells) != len(header):
            n, m = len(cells), len(header)
            raise InputError("atlas.cells", file=path, row=number, n=n, m=m).says(
                "{file}, row {row}: there are {n:cell} for {m:column}",
                "Give one cell per column, and put cells that contain the delimiter in quotes.",
            )
        rows.append((number, dict(zip(header, map(str.strip, cells), strict=True))))
    if not rows:
        raise InputError("atlas.empty", file=path).says(
            "{file} lists no region", "Give one row per region below the header."
        )
    return rows


def _header(line: str) -> tuple[list[str], str]:
    """Return the column names in lower case, and the delimiter that gives the most known names."""
    # Counting delimiters would not work, because a name may contain a comma.
    tried = [(next(csv.reader([line], delimiter=mark), []), mark) for mark in DELIMITERS]
    named = [([name.strip().lower() for name in names], mark) for names, mark in tried]
    # If no delimiter gives known names, the first is used, and `_check_header` raises an error.
    return max(named, key=lambda header: len(set(header[0]) & KNOWN))


def _check_header(header: Sequence[str], path: Path) -> None:
    """Raise InputError if columns are missing.

    A table needs names, and lobes or coordinates. A BIDS table of labels needs only names.
    """
    missing = [axis for axis in PLACE if axis not in header]
    if len(missing) == len(PLACE):
        missing = [] if INDEX in header or _first(LOBES, header) else ["lobe"]
    if not _first(NAMES, header):
        missing = ["region", *missing]
    if missing:
        raise InputError("atlas.columns", file=path, missing=missing, columns=COLUMNS).says(
            "{file} has no column {missing}",
            "Give the columns {columns:s}. Either the lobe or all of x, y, z may be missing.",
        )


def _first(names: Sequence[str], columns: Sequence[str] | Row) -> str:
    """Return the first of these names that is a column of a table, or "" if none is."""
    return next((name for name in names if name in columns), "")


def _region(row: Row, path: Path, number: int) -> Region:
    name = row[_first(NAMES, row)]
    if not name:
        raise InputError("atlas.unnamed", file=path, row=number).says(
            "{file}, row {row}: the region has no name", "Name it."
        )
    lobe = row.get(_first(LOBES, row), "")
    lobe = UNKNOWN_LOBE if lobe.lower() in ABSENT else lobe
    side = row["hemisphere"] if "hemisphere" in row else side_of(name)
    if side.lower() not in HEMISPHERES:
        raise InputError("atlas.hemisphere", file=path, row=number, side=side).says(
            "{file}, row {row}: {side} is not a hemisphere",
            "Write L or R, or leave the cell empty for a region on the midline.",
        )
    # The three coordinates are all given or all missing.
    given = [] if all(_is_absent(row, axis) for axis in PLACE) else [*PLACE]
    given += [] if _is_absent(row, VOLUME) else [VOLUME]
    values = {column: _number(row, column, path, number) for column in given}
    x, y, z, volume = (values.get(column, math.nan) for column in (*PLACE, VOLUME))
    aliases = tuple(filter(None, map(str.strip, row.get(OTHER_NAMES, "").split("|"))))
    return Region(name, HEMISPHERES[side.lower()], lobe, x, y, z, volume, aliases)


def _is_absent(row: Row, column: str) -> bool:
    return row.get(column, "").lower() in ABSENT


def _number(row: Row, column: str, path: Path, number: int) -> float:
    try:
        value = float(row[column])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        cell = row[column]
        raise InputError("atlas.number", file=path, row=number, column=column, cell=cell).says(
            "{file}, row {row}, column {column}: {cell} is not a number",
            "Write a number in mm (volumes in mm^3) with a decimal point.",
        )
    return value


# Whole words only. A single letter must be in upper case, because l and r occur in other names.
SIDE_WORD = re.compile(r"(?<![A-Za-z0-9])((?i:lh|rh|left|right)|L|R)(?![A-Za-z0-9])")


def side_of(name: str) -> str:
    """Return the hemisphere in a name, "L" or "R", or "" if the name contains none or both.

    Examples
    --------
    >>> [side_of(name) for name in ("7Networks_LH_Vis_1", "Insula_R", "Vermis_3")]
    ['L', 'R', '']
    """
    sides = {word[0].upper() for word in SIDE_WORD.findall(name.replace("_", " "))}
    return sides.pop() if len(sides) == 1 else ""
