"""Tables of regions: those of the package and a user's own."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from sgbn.atlases.atlas import Atlas, Region
from sgbn.atlases.names import SIDES
from sgbn.exceptions import InputError

REQUIRED = ("region", "hemisphere", "lobe", "x", "y", "z")
VOLUME = "volume_mm3"  # may be absent
OTHER_NAMES = "other_names"  # may be absent; several are separated by |
DELIMITERS = (",", "\t", ";")
HEMISPHERES = {
    **{side: hemisphere for hemisphere, sides in SIDES.items() for side in sides},
    **dict.fromkeys(("", "b", "m", "midline", "both", "bilateral"), ""),
}


def read_atlas(path: str | Path) -> Atlas:
    """Read a user's own atlas: a CSV or TSV table, one row per region.

    Parameters
    ----------
    path : path
        With the columns region, hemisphere (L, R, or empty on the midline), lobe, x, y, z (MNI,
        in mm) and, if known, volume_mm3 and other_names (names that columns may have instead,
        separated by ``|``). The file's name without its ending names the atlas.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(
            f"cannot read the atlas {str(path)!r}: {error.strerror}. Check the path."
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"the atlas {str(path)!r} is no text in UTF-8. Save it as a CSV file in UTF-8."
        ) from error
    return Atlas(path.stem, path.stem, parse_regions(text, str(path)))


def parse_regions(text: str, source: str) -> tuple[Region, ...]:
    """Regions of a table given as text; `source` is what errors call it."""
    header, rows = _header_and_rows(text.splitlines(), source)
    regions: dict[tuple[str, str], Region] = {}
    for number, cells in enumerate(rows, start=2):
        if not any(cell.strip() for cell in cells):
            continue
        place = f"{source!r}, row {number}"
        if len(cells) != len(header):
            raise InputError(
                f"{place}: {len(cells)} cells under {len(header)} columns. Give a cell per column; "
                "one that holds the delimiter needs quotes."
            )
        region = _region(dict(zip(header, map(str.strip, cells), strict=True)), place)
        if (region.name, region.hemisphere) in regions:
            raise InputError(
                f"{place}, column 'region': {region.name!r} is listed before. Keep one of them."
            )
        regions[region.name, region.hemisphere] = region
    if not regions:
        raise InputError(f"{source!r} lists no region: give one row per region under its header.")
    return tuple(regions.values())


def _header_and_rows(lines: list[str], source: str) -> tuple[list[str], list[list[str]]]:
    try:
        header, delimiter = _header(lines[0] if lines else "", source)
        return header, list(csv.reader(lines[1:], delimiter=delimiter))
    except csv.Error as error:
        raise InputError(
            f"{source!r} cannot be read as a table ({error}). Close its quotes."
        ) from error


def _header(line: str, source: str) -> tuple[list[str], str]:
    """Column names in lower case, and the delimiter that finds most of the required ones."""
    tried = [(next(csv.reader([line], delimiter=mark), []), mark) for mark in DELIMITERS]
    named = [([name.strip().lower() for name in names], mark) for names, mark in tried]
    header, delimiter = max(named, key=lambda found: len(set(found[0]) & set(REQUIRED)))
    missing = [name for name in REQUIRED if name not in header]
    if missing:
        raise InputError(
            f"{source!r} has no column {', '.join(map(repr, missing))}. An atlas has the columns "
            f"{', '.join(REQUIRED)} and, if known, {VOLUME} and {OTHER_NAMES}; the first line "
            "names them."
        )
    return header, delimiter


def _region(row: dict[str, str], place: str) -> Region:
    if not row["region"]:
        raise InputError(f"{place}, column 'region': it is empty. Name the region.")
    side = row["hemisphere"].lower()
    if side not in HEMISPHERES:
        raise InputError(
            f"{place}, column 'hemisphere': {row['hemisphere']!r} is none. Write L, R, or nothing "
            "on the midline."
        )
    x, y, z = (_number(row, axis, place) for axis in ("x", "y", "z"))
    volume = _number(row, VOLUME, place) if row.get(VOLUME) else math.nan
    others = tuple(filter(None, map(str.strip, row.get(OTHER_NAMES, "").split("|"))))
    return Region(row["region"], HEMISPHERES[side], row["lobe"], x, y, z, volume, others)


def _number(row: dict[str, str], column: str, place: str) -> float:
    try:
        value = float(row[column])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(
            f"{place}, column {column!r}: {row[column]!r} is no number. Write millimetres with a "
            "decimal point."
        )
    return value
