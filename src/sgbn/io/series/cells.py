"""Numbers of a series: censored volumes cut it, empty regions are marked, all else is an error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sgbn.exceptions import InputError, counted, did_you_mean, listed
from sgbn.io.series.files import CENSORED, PLACES
from sgbn.io.tables.cells import Missing, cell_error, parse
from sgbn.io.tables.raw import RawTable, as_text, is_number_type
from sgbn.series_cohort import FEWEST_VOLUMES, spread_of
from sgbn.types import Array, Indices, Mask
from sgbn.validation import LARGEST


class Volumes(NamedTuple):
    """Numbers of one run.

    Attributes
    ----------
    values : ndarray of shape (volumes, m)
        0 in regions that are empty; none where censoring left no piece that is long enough.
    lengths : tuple of int
        Volumes of the pieces between those that are censored.
    empty : ndarray of bool of shape (m,)
        Regions without a value in any volume.
    censored : int
        Volumes without any value, which were left out.
    short : int
        Volumes that were left out with pieces that are too short.
    """

    values: Array
    lengths: tuple[int, ...]
    empty: Mask
    censored: int = 0
    short: int = 0


def read_volumes(table: RawTable, regions: Sequence[str], missing: Missing) -> Volumes:
    """Return the numbers of these columns, by name; the ids of the table name the subject.

    Volumes before and after a censored one are not neighbours in time. So the run is cut there, and
    pieces of fewer than 10 volumes are left out.
    """
    check_columns(table, regions)
    values = _all_numbers(table, regions, missing)
    absent = np.isnan(values)
    kept = np.flatnonzero(~absent.all(axis=1))
    # Rows of n/a, and blank lines, which never became rows.
    censored = len(values) - len(kept) + table.facts.get(CENSORED, 0)
    # With censored volumes, the error names these: see `_check_left` of the reader.
    if not censored and len(values) < FEWEST_VOLUMES:
        raise InputError(
            f"{table.name}{_of_subject(table)} has {counted(len(values), 'volume')}, and a series "
            f"needs {FEWEST_VOLUMES}. Leave this file out, or see whether rows and columns are "
            "exchanged."
        )
    pieces = _pieces(table, kept)
    rows = np.array([row for piece in pieces for row in piece], dtype=np.intp)
    values, absent = values[rows], absent[rows]
    # No value in any volume: the region lies outside the view of this run.
    empty: Mask = np.asarray(absent.all(axis=0))
    # A single missing value can be neither a censored volume nor an empty region.
    holes = absent & ~empty
    if holes.any():
        row, column = (int(k) for k in np.argwhere(holes)[0])
        where = table.where(int(rows[row]), regions[column])
        raise InputError(
            f"{where}: the value is missing, but others of this volume and of this region are "
            f"there ({counted(int(holes.sum()), 'such cell')} in "
            f"{counted(int(holes.any(axis=0).sum()), 'region')}). Make all regions of a censored "
            "volume n/a, or all volumes of an empty region; or leave the region out (exclude=, "
            "--exclude)."
        )
    # 0 keeps sums finite, and `empty` says that it is not a value.
    values[:, empty] = 0.0
    if len(values):  # a region that never changes tells as little as one without values
        empty = np.isnan(spread_of(values))
    lengths = tuple(map(len, pieces))
    return Volumes(values, lengths, empty, censored, len(kept) - len(rows))


def _pieces(table: RawTable, rows: Indices) -> list[Indices]:
    """Return the rows with values, cut where volumes are censored; only pieces long enough.

    The reader of text files skips lines without any value: their places show it.
    """
    places = np.asarray(table.facts.get(PLACES, np.arange(len(table.frame))))[rows]
    # A step of more than 1 means that volumes between were left out.
    cut = np.split(rows, np.flatnonzero(np.diff(places) > 1) + 1)
    return [piece for piece in cut if len(piece) >= FEWEST_VOLUMES]


def check_columns(table: RawTable, regions: Sequence[str]) -> None:
    """Raise InputError if a series lacks a region."""
    columns = set(table.columns)
    lacking = [name for name in regions if name not in columns]
    if lacking:
        raise InputError(
            f"{table.name}{_of_subject(table)} has no column {lacking[0]!r}, a region of the other "
            f"series ({counted(len(lacking), 'such region')}; it has "
            f"{counted(len(table.columns), 'column')}). "
            f"{did_you_mean(lacking[0], table.columns)} All series need the same regions: extract "
            "them again with one atlas, or name those that all have (regions=, --regions)."
        )


def _all_numbers(table: RawTable, regions: Sequence[str], missing: Missing) -> Array:
    """Return the numbers of all columns; column by column only where a cell may be wrong."""
    part = table.frame[list(regions)]
    if all(map(is_number_type, part.dtypes)) and not missing.numbers:
        values = part.to_numpy(np.float64, na_value=np.nan, copy=True)
        # Infinite values go the slow way too, on which the error names the cell.
        if not (np.abs(values) > LARGEST).any():
            return values
    return np.column_stack([_numbers(table, name, missing) for name in regions])


def _numbers(table: RawTable, name: str, missing: Missing) -> Array:
    """Return the numbers of one column; a cell that is not a finite number is an error."""
    parsed = parse(table, name, missing)
    wrong = parsed.bad | (np.abs(parsed.values) > LARGEST)
    if wrong.any():
        cell = as_text(table.frame[name].iloc[int(np.argmax(wrong))])
        remedy = (
            "Correct it, write n/a for a volume that is censored in all regions, or leave the "
            "column out if it is not a region (exclude=, --exclude)."
        )
        raise cell_error(table, name, wrong, f"{cell[:60]!r} is not a finite number", remedy)
    return parsed.values


def _of_subject(table: RawTable) -> str:
    return f" (subject {table.ids[0]!r})" if table.ids else ""


def check_same_columns(first: RawTable, table: RawTable, never: Sequence[str]) -> None:
    """Raise InputError if a series has other columns than the first; `never` are not regions."""
    columns, first_columns = ({*series.columns} - {*never} for series in (table, first))
    if columns == first_columns:
        return
    # In the order of the files, those of this one first.
    odd = [name for name in (*table.columns, *first.columns) if name in columns ^ first_columns]
    raise InputError(
        f"{table.name}{_of_subject(table)} has {counted(len(table.columns), 'column')}, and "
        f"{first.name}{_of_subject(first)} {len(first.columns)}: {listed(odd, 3)} "
        f"{'is' if len(odd) == 1 else 'are'} not in both. {_exchanged(first, table)}All series "
        "need the same regions: extract them again with one atlas, or name those that all have "
        "(regions=, --regions)."
    )


def _exchanged(first: RawTable, table: RawTable) -> str:
    """Return a sentence if one of two series may have one row per region, else ""."""
    shapes = first.frame.shape, table.frame.shape
    if shapes[0] != shapes[1][::-1] and shapes[0][0] != shapes[1][0]:
        return ""
    return "Rows and columns may be exchanged: write one row per volume. "
