"""One series: its cells, from a text file or an array, and its numbers.

A text file need not have a header. Censored volumes are left out, and empty regions are marked. Any
other missing value is an error. Columns that are named like confounds of fMRIPrep and XCP-D are not
regions.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgbn.cohort.series import FEWEST_VOLUMES, spread_of
from sgbn.core.problems import InputError, Problem
from sgbn.core.types import Array, Indices, Mask
from sgbn.core.validation import LARGEST
from sgbn.read.cells import (
    ANY_NUMBER,
    MISSING,
    ROW_NAMES,
    Missing,
    Origin,
    RawTable,
    cell_error,
    clean_names,
    is_number_type,
    of_subject,
    parse,
    plain_name,
    tells_subject,
)
from sgbn.read.files import read_bytes, unzipped
from sgbn.read.text import BLANKS, parse_text

ARRAY = ".npy"
TEXT = (".tsv", ".csv", ".txt", ".1d")
GZIP = ".gz"
# Delimiters of numbers without a header, in the order in which they are tried. The comma comes
# late, because it may separate decimals. Blanks come last, because they may follow any delimiter.
DELIMITERS = ("\t", ";", "|", ",", BLANKS)
# Names of columns that hold the time of a volume, in lower case, with letters and digits only.
TIME_NAMES = (
    *("time", "timepoint", "timepoints", "timestamp", "timeindex", "t", "seconds"),
    *("volume", "volumes", "vol", "volumeindex", "frame", "tr", "index"),
)
VOLUME = "volume"
# What the first row of a text file holds: names or a volume.
NAMES, NAMES_UNSURE, VOLUME_ROW, VOLUME_UNSURE = "names", "names?", "volume", "volume?"
DOUBTS = (NAMES_UNSURE, VOLUME_UNSURE)
MAX_GROWING_BY_CHANCE = 3  # up to this many whole numbers may be in growing order by chance
# Keys of the facts about a table that was read from a file.
DOUBT = "first_row"  # a key of DOUBTS, or ""
CENSORED = "censored"  # number of lines without any value, which the reader of text files skips
PLACES = "places"  # place of each row among all lines that are not blank


@dataclass(frozen=True)
class Marks:
    """The delimiter and the decimal mark of text files. A mark that is None is detected."""

    delimiter: str | None = None
    decimal: str | None = None


def ending(path: Path) -> str:
    """Return the ending of a file in lower case, without ".gz"."""
    return Path(path.name.lower().removesuffix(GZIP)).suffix


def label_of(path: Path) -> str:
    """Return the name of a file without its ending, and without ".gz"."""
    name = path.name[: -len(GZIP)] if path.name.lower().endswith(GZIP) else path.name
    return Path(name).stem


def load_series(path: Path, marks: Marks, folder: Path | None = None) -> RawTable:
    """Return the cells of a file, one row per volume. `folder` holds the files of all subjects.

    Columns without names get the names r1, r2, ...
    """
    name = of_subject(path, folder)
    if ending(path) == ARRAY:
        try:
            array = np.asarray(np.load(path, allow_pickle=False))
        except (OSError, ValueError, EOFError) as error:
            raise InputError("series.npy", where=name, cause=error).says(
                "{where} the file is not a numpy array ({cause})", "Write it with numpy.save."
            ) from error
        return from_array(array, name)
    content = _without_comments(unzipped(read_bytes(path, source=name), name))
    # If a file has only one line, the second is empty.
    lines = [*content.lstrip().split(b"\n", 2), b""]
    first, second = (line.decode("utf-8-sig", "replace").strip("\r\n ") for line in lines[:2])
    delimiter, doubt = _delimiter_of_numbers(first, second, marks)
    if delimiter is None:
        table = _named(parse_text(content, name, lambda _: set(), marks.delimiter, marks.decimal))
    else:
        table = _without_header(content, name, delimiter, len(_cells(first, delimiter)), marks)
    # A line of tabs is a censored volume with empty cells, not a blank line.
    filled = [bool(line.strip(b" \r")) for line in content.split(b"\n")]
    places = np.searchsorted(1 + np.flatnonzero(filled), table.origin.numbers)
    has_header = delimiter is None
    skipped = max(0, sum(filled) - has_header - len(table.frame))
    facts = {CENSORED: skipped, PLACES: places, DOUBT: doubt}
    return replace(table, facts={**table.facts, **facts})


def from_array(
    array: NDArray[Any], name: Problem, regions: Sequence[str] | None = None
) -> RawTable:
    """Return the cells of an array of shape (volumes, regions)."""
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        raise InputError("series.array", where=name, dtype=array.dtype, shape=array.shape).says(
            "{where} an array of {dtype:s} with the shape ({shape:s}) is not a series",
            "Write real numbers, one row per volume and one column per region.",
        )
    names = region_names(array.shape[1]) if regions is None else list(regions)
    if len(names) != array.shape[1]:
        raise InputError("series.count", where=name, n=array.shape[1], names=names).says(
            "{where} there are {n:column} and {names:name} of regions", "Give one name per column."
        )
    frame = pd.DataFrame(array, columns=names)
    return RawTable(frame, Origin(name, 1 + np.arange(len(array)), VOLUME))


def region_names(n: int) -> list[str]:
    """Return names for n regions: r1, r2, ... All names have the same number of digits."""
    return [f"r{k:0{len(str(n))}}" for k in range(1, n + 1)]


def time_columns(table: RawTable) -> list[str]:
    """Return the columns that are named like time or volume, and grow from row to row."""
    return [name for name in table.columns if is_time_name(name) and _grows(table.frame[name])]


def is_time_name(name: str) -> bool:
    """Return whether a name says that a column counts volumes or holds times."""
    return plain_name(name) in TIME_NAMES


def _grows(cells: pd.Series) -> bool:
    numbers = pd.to_numeric(cells, errors="coerce").to_numpy(np.float64)
    return bool((np.diff(numbers) > 0).all())  # False if a number is missing


def _without_comments(content: bytes) -> bytes:
    """Return the text without the comments at its beginning.

    AFNI writes comments above the numbers. C-PAC writes the names of the columns: ``#1 #2 ...``.
    """
    lines = content.split(b"\n")
    first = next((k for k, line in enumerate(lines) if not line.startswith(b"#")), 0)
    # If the last comment has one word per column, it holds the names, and is kept.
    if first and len(lines[first - 1].split()) == len(lines[first].split()):
        first -= 1
    # Blank lines replace the comments, so that errors count the lines as in the file.
    return b"\n" * first + b"\n".join(lines[first:])


def _delimiter_of_numbers(line: str, second: str, marks: Marks) -> tuple[str | None, str]:
    """Return the delimiter if the first line is a volume, or None if it is a header.

    The second value is a key of DOUBTS, or "" if there is no doubt.
    """
    for delimiter in (marks.delimiter,) if marks.delimiter else DELIMITERS:
        cells = _cells(line, delimiter)
        numbers = [cell for cell in cells if ANY_NUMBER.fullmatch(cell)]
        # Some cells of the first volume may be missing. This does not make it a header.
        known = len(numbers) + sum(cell in MISSING for cell in cells) == len(cells)
        if len(cells) < 2 or not numbers or not known:
            continue
        kind = first_row_kind(cells, _cells(second, delimiter))
        return (None if kind.startswith(NAMES) else delimiter), kind if kind in DOUBTS else ""
    return None, ""


def first_row_kind(cells: Sequence[str], below: Sequence[str]) -> str:
    """Return whether a first row of numbers holds names of regions or a volume.

    Names are the numbers 0, 1, ... or 1, 2, ..., or the labels of an atlas in growing order. They
    are certainly names if some values below are not whole numbers. For labels of an atlas, there is
    a second condition: they must not be about as large as the values below.

    Parameters
    ----------
    cells, below : sequence of str
        The cells of the first row, and of the row below it.

    Returns
    -------
    {"names", "names?", "volume", "volume?"}
        A question mark means that it is not certain.
    """
    whole_below = all(map(str.isdigit, below))  # then the values below look like labels too
    if _counts(cells):
        return NAMES_UNSURE if whole_below else NAMES
    # Names are whole numbers, and all differ. Any other row is a volume.
    if not all(map(str.isdigit, cells)) or len(set(cells)) < len(cells):
        return VOLUME_ROW
    labels = [int(cell) for cell in cells]
    grow = labels == sorted(labels)
    if whole_below:
        return VOLUME_UNSURE if grow and len(labels) > MAX_GROWING_BY_CHANCE else VOLUME_ROW
    if not grow:
        return VOLUME_UNSURE
    return NAMES_UNSURE if _lie_among(labels, below) else NAMES


def _lie_among(labels: Sequence[int], below: Sequence[str]) -> bool:
    """Return whether labels are about as large as the values below, so that they may be values."""
    cells = [cell.replace(",", ".") for cell in below if ANY_NUMBER.fullmatch(cell)]
    values = np.array(cells, dtype=np.float64)
    if not len(values):
        return False
    # A value may lie outside the values below, but by no more than their range.
    low, high, span = values.min(), values.max(), np.ptp(values)
    return bool(low - span <= labels[0] and labels[-1] <= high + span)


def _cells(line: str, delimiter: str) -> list[str]:
    """Return the cells of a line without the quotes around them."""
    cells = line.split(None if delimiter == BLANKS else delimiter)
    return [cell.strip().strip('"') for cell in cells]


def _counts(cells: Sequence[str]) -> bool:
    """Return whether the names of columns count from 0 or 1, as pandas writes them."""
    # pandas writes no name above the row names.
    names = list(cells[1:] if cells and not cells[0] else cells)
    return any(names == [str(k + start) for k in range(len(names))] for start in (0, 1))


def _without_header(
    content: bytes, name: Problem, delimiter: str, n_columns: int, marks: Marks
) -> RawTable:
    """Return a table from a file without a header. Errors count its rows as in the file."""
    mark = " " if delimiter == BLANKS else delimiter
    # With an added header, `parse_text` can read this file too.
    header = mark.join(region_names(n_columns)).encode() + b"\n"
    body = content.removeprefix(codecs.BOM_UTF8)
    table = parse_text(header + body, name, lambda _: set(), delimiter, marks.decimal)
    return replace(table, origin=replace(table.origin, numbers=table.origin.numbers - 1))


def _named(table: RawTable) -> RawTable:
    """Return the table with the names r1, r2, ... if its columns are only numbered."""
    # The row names of R or pandas only count the volumes.
    frame = table.frame.drop(columns=[c for c in table.columns if c == ROW_NAMES])
    names = clean_names(frame.columns)
    if _counts(names):
        names = region_names(len(names))
    return replace(table, frame=frame.set_axis(names, axis=1))


SAME_REGIONS = (
    "All series need the same regions, in columns. Choose regions that all have ({regions=}), or "
    "choose the files ({files=})."
)


class Volumes(NamedTuple):
    """The numbers of one run.

    Attributes
    ----------
    values : ndarray of shape (volumes, m)
        The values of the m regions. Empty regions have the value 0. There are no volumes if
        censoring left no piece that is long enough.
    lengths : tuple of int
        The number of volumes in each piece. Censored volumes cut a run into pieces.
    empty : ndarray of bool of shape (m,)
        Whether each region is empty: it has no value in any volume, or never changes.
    censored : int
        The number of volumes without any value. They are left out.
    short : int
        The number of volumes in pieces that are too short. They are left out.
    """

    values: Array
    lengths: tuple[int, ...]
    empty: Mask
    censored: int = 0
    short: int = 0


def read_volumes(table: RawTable, regions: Sequence[str], missing: Missing) -> Volumes:
    """Return the numbers in the columns of the regions. Errors name the subject by the table's ids.

    The volumes before and after a censored volume are not neighbours in time. Therefore the run is
    cut there, and pieces of fewer than 10 volumes are left out.
    """
    columns = set(table.columns)
    if lacking := [name for name in regions if name not in columns]:
        raise _other_regions(table, lacking)
    values = _all_numbers(table, regions, missing)
    absent = np.isnan(values)
    kept = np.flatnonzero(~absent.all(axis=1))
    # Rows of n/a, and lines without a value, which the reader of text files skipped.
    censored = len(values) - len(kept) + table.facts.get(CENSORED, 0)
    # If volumes are censored, `_check_enough_left` in series.py raises the error.
    if not censored and len(values) < FEWEST_VOLUMES:
        about = {"where": _series(table), "n": len(values), "least": FEWEST_VOLUMES}
        raise InputError("series.short", **about).says(
            "{where} {n:volume is/volumes are} fewer than {least}",
            "Leave this file out, or check whether rows and columns are exchanged.",
        )
    pieces = _pieces(table, kept)
    rows = np.array([row for piece in pieces for row in piece], dtype=np.intp)
    values, absent = values[rows], absent[rows]
    # A region without any value lies outside the field of view of this run.
    empty: Mask = np.asarray(absent.all(axis=0))
    # Any other missing value belongs neither to a censored volume nor to an empty region.
    holes = absent & ~empty
    if holes.any():
        row, column = (int(k) for k in np.argwhere(holes)[0])
        where = table.where(int(rows[row]), regions[column])
        raise InputError("series.hole", where=where, n=int(holes.sum())).says(
            "{where} the value is missing, but not in all of this volume or region ({n:such cell})",
            "Write n/a in all regions of a censored volume, or leave the region out ({exclude=}).",
        )
    # 0 keeps sums finite. `empty` says that it is not a value.
    values[:, empty] = 0.0
    if len(values):  # a region that never changes is as useless as a region without values
        empty = np.isnan(spread_of(values))
    return Volumes(values, tuple(map(len, pieces)), empty, censored, len(kept) - len(rows))


def _pieces(table: RawTable, rows: Indices) -> list[Indices]:
    """Return the rows with values, cut at censored volumes. Pieces that are too short are left out.

    The reader of text files skips lines without any value. The places of the other lines show
    these gaps.
    """
    places = np.asarray(table.facts.get(PLACES, np.arange(len(table.frame))))[rows]
    # A step of more than 1 means that volumes in between were left out.
    cut = np.split(rows, np.flatnonzero(np.diff(places) > 1) + 1)
    return [piece for piece in cut if len(piece) >= FEWEST_VOLUMES]


def _other_regions(table: RawTable, names: Sequence[str]) -> InputError:
    return InputError("series.regions", where=_series(table), names=names).says(
        "{where} the columns differ from those of other series in {names}", SAME_REGIONS
    )


def _all_numbers(table: RawTable, regions: Sequence[str], missing: Missing) -> Array:
    """Return the numbers of all columns. They are read in one step if all cells are numbers."""
    part = table.frame[list(regions)]
    if all(map(is_number_type, part.dtypes)) and not missing.numbers:
        values = part.to_numpy(np.float64, na_value=np.nan, copy=True)
        # If a value is infinite, columns are read one by one, so that the error names the cell.
        if not (np.abs(values) > LARGEST).any():
            return values
    return np.column_stack([_numbers(table, name, missing) for name in regions])


def _numbers(table: RawTable, name: str, missing: Missing) -> Array:
    """Return the numbers of one column. A cell that is not a finite number is an error."""
    parsed = parse(table, name, missing)
    wrong = parsed.bad | (np.abs(parsed.values) > LARGEST)
    if wrong.any():
        raise cell_error("cells.text", table, name, wrong).says(
            "{where} {cell} is not a finite number ({n:such cell})",
            "Correct it, write n/a in all regions of a censored volume, or leave the column out "
            "({exclude=}).",
        )
    return parsed.values


def _series(table: RawTable) -> Problem:
    """Return how messages about a series begin."""
    if not table.ids or tells_subject(table.source):
        return table.source
    return Problem("series", where=table.source, subject=table.ids[0]).says("{where} {subject}:")


def check_same_columns(first: RawTable, table: RawTable, never: Sequence[str]) -> None:
    """Raise InputError if two series have different columns. Columns in `never` do not count."""
    columns, first_columns = ({*series.columns} - {*never} for series in (table, first))
    if columns == first_columns:
        return
    odd = [name for name in (*table.columns, *first.columns) if name in columns ^ first_columns]
    raise _other_regions(table, odd)


# Names in the tables of fMRIPrep and XCP-D. Some users write these columns beside the regions.
CONFOUND = re.compile(
    r"(framewise_displacement|fd|rmsd|(std_)?dvars|"
    r"(global_signal|csf|white_matter|csf_wm|(trans|rot)_[xyz])(_derivative1)?(_power2)?|"
    r"[acewt]_comp_cor_\d+|(edge|crown)_comp_\d+|dropped_\d+|cosine_?\d+|"
    r"(motion|non_steady_state)_?outlier_?\d*|aroma_motion_\d+|linear_trend|intercept)"
    r"(_filtered)?",
    re.IGNORECASE,
)


def confounds_among(columns: Iterable[str]) -> list[str]:
    """Return the columns that are named like confounds."""
    return [name for name in columns if CONFOUND.fullmatch(name.strip())]
