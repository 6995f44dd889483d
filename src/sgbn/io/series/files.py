"""The cells of one series: a text file with or without a header, or an array."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgbn.exceptions import InputError, counted
from sgbn.io.tables import raw
from sgbn.io.tables.files import read_bytes, unzipped
from sgbn.io.tables.text import BLANKS, parse_text

ARRAY = ".npy"
TEXT = (".tsv", ".csv", ".txt", ".1d")
GZIP = ".gz"
# Delimiters of numbers without a header, in the order in which they are tried. The comma comes
# late, since it may separate decimals, and blanks last, since they stand beside all others.
DELIMITERS = ("\t", ";", "|", ",", BLANKS)
# Names of columns that say when a volume was taken, in lower case, letters and digits only.
TIME_NAMES = (
    *("time", "timepoint", "timepoints", "timestamp", "timeindex", "t", "seconds"),
    *("volume", "volumes", "vol", "volumeindex", "frame", "tr", "index"),
)
VOLUME = "volume {}"
# Whether the first row of a text file holds names or a volume.
NAMES, NAMES_UNSURE, VOLUME_ROW, VOLUME_UNSURE = "names", "names?", "volume", "volume?"
DOUBTS = {
    NAMES_UNSURE: "was taken for the names of the regions. If it is a volume, write the names of "
    "the regions (r1, r2, ...) above it",
    VOLUME_UNSURE: "was read as a volume. If it holds the names of the regions, write a letter "
    "before each number",
}
MAX_GROWING_BY_CHANCE = 3  # so few whole numbers may grow by chance
# Facts of a table that was read from a file.
DOUBT = "first_row"  # a key of DOUBTS, or ""
CENSORED = "censored"  # number of lines without any value, which the reader of text skips
PLACES = "places"  # place of each row among all lines that are not blank


@dataclass(frozen=True)
class Marks:
    """What separates cells, and decimals; None if it is to be found."""

    delimiter: str | None = None
    decimal: str | None = None


def ending(path: Path) -> str:
    """Return the ending of a file that may be gzipped, in lower case."""
    name = path.name.lower().removesuffix(GZIP)
    return Path(name).suffix


def label_of(path: Path) -> str:
    """Return the name of a file without its ending."""
    name = path.name[: -len(GZIP)] if path.name.lower().endswith(GZIP) else path.name
    return Path(name).stem


def load_series(path: Path, marks: Marks) -> raw.RawTable:
    """Return the cells of a file, one row per volume; columns without names are r1, r2, ..."""
    name = repr(str(path))
    if ending(path) == ARRAY:
        return from_array(_load_array(path, name), name)
    # Bytes as they are in the file, so that errors count its lines.
    content = _without_comments(unzipped(read_bytes(path, name), name))
    first, second = _first_lines(content)
    delimiter, doubt = _delimiter_of_numbers(first, second, marks)
    if delimiter is None:
        table = _named(parse_text(content, name, lambda _: set(), marks.delimiter, marks.decimal))
    else:
        table = _without_header(content, name, delimiter, len(_cells(first, delimiter)), marks)
    facts = {**_skipped(content, table, delimiter is None), DOUBT: doubt}
    return replace(table, facts={**table.facts, **facts})


def _skipped(content: bytes, table: raw.RawTable, has_header: bool) -> dict[str, Any]:
    """Return how many lines without any value were skipped, and the place of each row."""
    # Tabs alone are a censored volume of empty cells, not a blank line.
    filled = [bool(line.strip(b" \r")) for line in content.split(b"\n")]
    places = np.searchsorted(1 + np.flatnonzero(filled), table.origin.numbers)
    return {CENSORED: max(0, sum(filled) - has_header - len(table.frame)), PLACES: places}


def from_array(
    array: NDArray[Any], name: str, regions: Sequence[str] | None = None
) -> raw.RawTable:
    """Return the cells of an array of shape (volumes, regions)."""
    if array.ndim != 2:
        raise InputError(
            f"{name} has {counted(array.ndim, 'dimension')} (shape {array.shape}). Give one array "
            "per subject, with one row per volume and one column per region."
        )
    # Objects could be anything, and complex numbers are not signals.
    if array.dtype.kind not in "fiu":
        raise InputError(f"{name} holds {array.dtype}, not real numbers. Write it with numbers.")
    names = region_names(array.shape[1]) if regions is None else list(regions)
    if len(names) != array.shape[1]:
        raise InputError(
            f"{name} has {counted(array.shape[1], 'column')}, but {len(names)} regions are named. "
            "Give one name per column."
        )
    frame = pd.DataFrame(array, columns=names)
    return raw.RawTable(frame, raw.Origin(name, 1 + np.arange(len(array)), VOLUME))


def region_names(n: int) -> list[str]:
    """Return names for regions that have none: r1, r2, ..., with as many digits each."""
    return [f"r{k:0{len(str(n))}}" for k in range(1, n + 1)]


def time_columns(table: raw.RawTable) -> list[str]:
    """Return the columns that are called like time or volume, and grow from row to row."""
    return [name for name in table.columns if is_time_name(name) and _grows(table.frame[name])]


def is_time_name(name: str) -> bool:
    """Whether a name says that a column counts volumes or holds times."""
    return raw.plain_name(name) in TIME_NAMES


def _grows(cells: pd.Series) -> bool:
    numbers = pd.to_numeric(cells, errors="coerce").to_numpy(np.float64)
    return bool((np.diff(numbers) > 0).all())  # False where one is missing


def _load_array(path: Path, name: str) -> NDArray[Any]:
    try:
        return np.asarray(np.load(path, allow_pickle=False))
    except (OSError, ValueError, EOFError) as error:
        raise InputError(
            f"{name} cannot be read as an array of numpy ({error}). Write it with numpy.save."
        ) from error


def _without_comments(content: bytes) -> bytes:
    """Return text without comments at its beginning.

    AFNI writes comments above the numbers. C-PAC writes the names of the columns: ``#1 #2 ...``.
    """
    lines = content.split(b"\n")
    first = next((k for k, line in enumerate(lines) if not line.startswith(b"#")), 0)
    # The last comment has as many words as there are columns.
    if first and len(lines[first - 1].split()) == len(lines[first].split()):
        first -= 1
    return b"\n" * first + b"\n".join(lines[first:])  # rows keep their numbers


def _first_lines(content: bytes) -> tuple[str, str]:
    # A file of one line has no second.
    lines = [*content.lstrip().split(b"\n", 2), b""]
    first, second = (
        line.decode("utf-8-sig", errors="replace").strip("\r\n ") for line in lines[:2]
    )
    return first, second


def _delimiter_of_numbers(line: str, second: str, marks: Marks) -> tuple[str | None, str]:
    """Return the delimiter of a first line of numbers, None for a header; and a key of DOUBTS."""
    for delimiter in (marks.delimiter,) if marks.delimiter else DELIMITERS:
        cells = _cells(line, delimiter)
        numbers = [cell for cell in cells if raw.ANY_NUMBER.fullmatch(cell)]
        # A first volume may be censored in some cells, which does not make it a header.
        known = len(numbers) + sum(cell in raw.MISSING for cell in cells) == len(cells)
        if len(cells) < 2 or not numbers or not known:
            continue
        kind = first_row_kind(cells, _cells(second, delimiter))
        return (None if kind.startswith(NAMES) else delimiter), kind if kind in DOUBTS else ""
    return None, ""


def first_row_kind(cells: Sequence[str], below: Sequence[str]) -> str:
    """Whether a first row of numbers holds names of regions, and whether that is sure.

    Names are 0, 1, ... or 1, 2, ..., or numbers of an atlas, which grow. They are sure where the
    values below are not whole numbers and, for an atlas, lie elsewhere.

    Returns
    -------
    {"names", "names?", "volume", "volume?"}
    """
    whole = all(map(str.isdigit, below))  # then values below look like labels, too
    if _counts(cells):
        return NAMES_UNSURE if whole else NAMES
    # Names are whole and differ. All else is a volume.
    if not all(map(str.isdigit, cells)) or len(set(cells)) < len(cells):
        return VOLUME_ROW
    labels = [int(cell) for cell in cells]
    # Labels of an atlas are listed in their order.
    grow = labels == sorted(labels)
    if whole:
        return VOLUME_UNSURE if grow and len(labels) > MAX_GROWING_BY_CHANCE else VOLUME_ROW
    if not grow:
        return VOLUME_UNSURE
    return NAMES_UNSURE if _lie_among(labels, below) else NAMES


def _lie_among(labels: Sequence[int], below: Sequence[str]) -> bool:
    """Whether numbers are about as large as the values below, so that they may be values too."""
    cells = [cell.replace(",", ".") for cell in below if raw.ANY_NUMBER.fullmatch(cell)]
    values = np.array(cells, dtype=np.float64)
    if not len(values):
        return False
    # Within one range of the values below, a number may be a value.
    low, high, span = values.min(), values.max(), np.ptp(values)
    return bool(low - span <= labels[0] and labels[-1] <= high + span)


def _cells(line: str, delimiter: str) -> list[str]:
    """Return the cells of a line of numbers, which may be in quotes."""
    cells = line.split(None if delimiter == BLANKS else delimiter)
    return [cell.strip().strip('"') for cell in cells]


def _counts(cells: Sequence[str]) -> bool:
    """Whether names of columns count from 0 or 1, as pandas writes them."""
    # pandas leaves the name above the row names empty.
    names = list(cells[1:] if cells and not cells[0] else cells)
    return any(names == [str(k + start) for k in range(len(names))] for start in (0, 1))


def _without_header(
    content: bytes, name: str, delimiter: str, n_columns: int, marks: Marks
) -> raw.RawTable:
    """Return a table of numbers alone: columns get names, and rows keep their numbers."""
    mark = " " if delimiter == BLANKS else delimiter
    # A header of our own lets one reader do both kinds of files.
    header = mark.join(region_names(n_columns)).encode() + b"\n"
    body = content.removeprefix(codecs.BOM_UTF8)
    table = parse_text(header + body, name, lambda _: set(), delimiter, marks.decimal)
    return replace(table, origin=replace(table.origin, numbers=table.origin.numbers - 1))


def _named(table: raw.RawTable) -> raw.RawTable:
    """Return the table with names for columns that are only numbered: r1, r2, ..."""
    # Row names of R or pandas number the volumes.
    frame = table.frame.drop(columns=[c for c in table.columns if c == raw.ROW_NAMES])
    names = raw.clean_names(frame.columns)
    if _counts(names):
        names = region_names(len(names))
    return replace(table, frame=frame.set_axis(names, axis=1))
