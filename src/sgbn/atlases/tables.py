"""Read tables of regions, from the package or from a user."""

from __future__ import annotations

import csv
import hashlib
import math
from collections.abc import Sequence
from pathlib import Path

from sgbn.atlases.atlas import UNKNOWN_LOBE, Atlas, AtlasFile, Region
from sgbn.atlases.names import SIDES
from sgbn.atlases.sides import side_of
from sgbn.core.exceptions import InputError, counted, listed, warn

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
        raise InputError(
            f"cannot read the atlas {str(path)!r}: {error.strerror}. Check the path."
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"the atlas {str(path)!r} is not text in UTF-8. Save it as a CSV file in UTF-8."
        ) from error
    rows = _rows(text, str(path))
    label_image = rows[0][1].get(LABEL_IMAGE, "")
    name = label_image or path.stem
    file = AtlasFile(str(path), hashlib.sha256(content).hexdigest(), label_image)
    regions = _regions(rows)
    _warn_of_places(regions, str(path))
    return Atlas(name, name, regions, file)


def _warn_of_places(regions: Sequence[Region], source: str) -> None:
    """Warn of regions outside the head, and of regions on the wrong side."""
    # The three coordinates of a region are all given or all NaN (see `_centre`).
    placed = [region for region in regions if not math.isnan(region.x)]
    outside = [r.name for r in placed if not _is_in_head((r.x, r.y, r.z))]
    if outside:
        warn(
            f"in the atlas {source!r}, {counted(len(outside), 'region is', 'regions are')} outside "
            f"the head in MNI space: {listed(outside)}. Check that x, y, z are in mm, and not in "
            "voxels."
        )
    crossed = [r.name for r in placed if SIGN[r.hemisphere] * r.x < -MIDLINE_MM]
    if crossed:
        warn(
            f"in the atlas {source!r}, the hemisphere and x of "
            f"{counted(len(crossed), 'region', 'regions')} disagree: {listed(crossed)}. Check "
            "both. In MNI space x is negative on the left."
        )


def _is_in_head(place: tuple[float, float, float]) -> bool:
    return all(low <= value <= high for value, (low, high) in zip(place, HEAD_MM, strict=True))


def parse_regions(text: str, source: str) -> tuple[Region, ...]:
    """Return the regions of a table given as text. Errors name the table `source`."""
    return _regions(_rows(text, source))


def table_rows(atlas: Atlas) -> list[dict[str, str | float]]:
    """Return the rows of a table from which `read_atlas` reads this atlas again."""
    # An atlas that was read from a file keeps the name of its label image.
    marker = {} if atlas.file is None else {LABEL_IMAGE: atlas.file.label_image}
    return [
        {NAMES[0]: cells.pop("name"), **cells, OTHER_NAMES: "|".join(aliases), **marker}
        for cells, aliases in ((region._asdict(), region.other_names) for region in atlas.regions)
    ]


def _regions(rows: Sequence[tuple[str, Row]]) -> tuple[Region, ...]:
    regions: dict[tuple[str, str], Region] = {}
    for place, row in rows:
        region = _region(row, place)
        # The two sides of a region may have the same name if there is a column of hemispheres.
        if (region.name, region.hemisphere) in regions:
            raise InputError(
                f"{place}, column {_first(NAMES, row)!r}: {region.name!r} is in an earlier row "
                "already. Keep only one of these rows."
            )
        regions[region.name, region.hemisphere] = region
    return tuple(regions.values())


def _rows(text: str, source: str) -> list[tuple[str, Row]]:
    """Return the place of each row, for error messages, and its cells by column."""
    header, lines = _header_and_rows(text.splitlines(), source)
    rows = []
    for number, cells in enumerate(lines, start=2):  # row numbers of a spreadsheet
        if not any(cell.strip() for cell in cells):  # spreadsheets may leave empty rows at the end
            continue
        place = f"{source!r}, row {number}"
        if len(cells) != len(header):
            raise InputError(
                f"{place}: there are {len(cells)} cells for {len(header)} columns. Give one cell "
                "per column, and put cells that contain the delimiter in quotes."
            )
        rows.append((place, dict(zip(header, map(str.strip, cells), strict=True))))
    if not rows:
        raise InputError(f"{source!r} lists no region. Give one row per region below the header.")
    return rows


def _header_and_rows(lines: list[str], source: str) -> tuple[list[str], list[list[str]]]:
    try:
        header, delimiter = _header(lines[0] if lines else "")
        _check_header(header, source)
        return header, list(csv.reader(lines[1:], delimiter=delimiter))
    except csv.Error as error:
        raise InputError(
            f"{source!r} cannot be read as a table ({error}). Check that all quotes are closed."
        ) from error


def _header(line: str) -> tuple[list[str], str]:
    """Return the column names in lower case, and the delimiter that gives the most known names."""
    # Counting delimiters would not work, because a name may contain a comma.
    tried = [(next(csv.reader([line], delimiter=mark), []), mark) for mark in DELIMITERS]
    named = [([name.strip().lower() for name in names], mark) for names, mark in tried]
    # If no delimiter gives known names, the first is used, and `_check_header` raises an error.
    return max(named, key=lambda header: len(set(header[0]) & KNOWN))


def _check_header(header: Sequence[str], source: str) -> None:
    """Raise InputError if columns are missing.

    A table needs names, and lobes or coordinates. A BIDS table of labels needs only names.
    """
    missing = [axis for axis in PLACE if axis not in header]
    if len(missing) == len(PLACE):
        missing = [] if INDEX in header or _first(LOBES, header) else ["lobe"]
    if not _first(NAMES, header):
        missing = ["region", *missing]
    if missing:
        raise InputError(
            f"{source!r} has no column {', '.join(map(repr, missing))}. Give the columns {COLUMNS} "
            "in the first line. Either the lobe or all of x, y, z may be missing."
        )


def _first(names: Sequence[str], columns: Sequence[str] | Row) -> str:
    """Return the first of these names that is a column of a table, or "" if none is."""
    return next((name for name in names if name in columns), "")


def _region(row: Row, place: str) -> Region:
    column = _first(NAMES, row)
    name = row[column]
    if not name:
        raise InputError(f"{place}, column {column!r}: the cell is empty. Name the region.")
    lobe = row.get(_first(LOBES, row), "")
    lobe = UNKNOWN_LOBE if lobe.lower() in ABSENT else lobe
    side = row["hemisphere"] if "hemisphere" in row else side_of(name)
    if side.lower() not in HEMISPHERES:
        raise InputError(
            f"{place}, column 'hemisphere': {side!r} is not a hemisphere. Write L or R, or "
            "leave the cell empty for a region on the midline."
        )
    volume = math.nan if _is_absent(row, VOLUME) else _number(row, VOLUME, place)
    aliases = tuple(filter(None, map(str.strip, row.get(OTHER_NAMES, "").split("|"))))
    return Region(name, HEMISPHERES[side.lower()], lobe, *_centre(row, place), volume, aliases)


def _centre(row: Row, place: str) -> tuple[float, float, float]:
    """Return the coordinates of a row, or three NaN if all are empty."""
    if all(_is_absent(row, axis) for axis in PLACE):
        return math.nan, math.nan, math.nan
    x, y, z = (_number(row, axis, place) for axis in PLACE)
    return x, y, z


def _is_absent(row: Row, column: str) -> bool:
    return row.get(column, "").lower() in ABSENT


def _number(row: Row, column: str, place: str) -> float:
    try:
        value = float(row[column])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(
            f"{place}, column {column!r}: {row[column]!r} is not a number. Write a number in mm "
            "(volumes in mm^3) with a decimal point."
        )
    return value
