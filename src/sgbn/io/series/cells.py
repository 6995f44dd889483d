"""The numbers of a series, with censored volumes left out and empty regions marked.

Any other missing value is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sgbn.cohort.series import FEWEST_VOLUMES, spread_of
from sgbn.core.exceptions import InputError, counted, did_you_mean, listed
from sgbn.core.types import Array, Indices, Mask
from sgbn.core.validation import LARGEST
from sgbn.io.series.files import CENSORED, PLACES
from sgbn.io.tables.cells import Missing, cell_error, parse
from sgbn.io.tables.raw import RawTable, cell_text, is_number_type

SAME_REGIONS = (
    "All series need the same regions. Extract them again with one atlas, or name the regions that "
    "all series have (regions=, --regions)."
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
    check_columns(table, regions)
    values = _all_numbers(table, regions, missing)
    absent = np.isnan(values)
    kept = np.flatnonzero(~absent.all(axis=1))
    # Rows of n/a, and lines without a value, which the reader of text files skipped.
    censored = len(values) - len(kept) + table.facts.get(CENSORED, 0)
    # If volumes are censored, `_check_enough_left` in reader.py raises the error.
    if not censored and len(values) < FEWEST_VOLUMES:
        raise InputError(
            f"{table.name}{_of_subject(table)} has {counted(len(values), 'volume')}, but a series "
            f"needs at least {FEWEST_VOLUMES}. Leave this file out, or check whether rows and "
            "columns are exchanged."
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
        raise InputError(
            f"{where}: the value is missing, but this volume and this region have other values "
            f"({counted(int(holes.sum()), 'such cell')} in "
            f"{counted(int(holes.any(axis=0).sum()), 'region')}). Write n/a in all regions of a "
            "censored volume, or in all volumes of an empty region. Or leave the region out "
            "(exclude=, --exclude)."
        )
    # 0 keeps sums finite. `empty` says that it is not a value.
    values[:, empty] = 0.0
    if len(values):  # a region that never changes is as useless as a region without values
        empty = np.isnan(spread_of(values))
    lengths = tuple(map(len, pieces))
    return Volumes(values, lengths, empty, censored, len(kept) - len(rows))


def _pieces(table: RawTable, rows: Indices) -> list[Indices]:
    """Return the rows with values, cut at censored volumes. Pieces that are too short are left out.

    The reader of text files skips lines without any value. The places of the other lines show
    these gaps.
    """
    places = np.asarray(table.facts.get(PLACES, np.arange(len(table.frame))))[rows]
    # A step of more than 1 means that volumes in between were left out.
    cut = np.split(rows, np.flatnonzero(np.diff(places) > 1) + 1)
    return [piece for piece in cut if len(piece) >= FEWEST_VOLUMES]


def check_columns(table: RawTable, regions: Sequence[str]) -> None:
    """Raise InputError if a series lacks a region."""
    columns = set(table.columns)
    lacking = [name for name in regions if name not in columns]
    if lacking:
        raise InputError(
            f"{table.name}{_of_subject(table)} has no column {lacking[0]!r}, which is a region of "
            f"other series. In all, it lacks {counted(len(lacking), 'such region')} and has "
            f"{counted(len(table.columns), 'column')}. {did_you_mean(lacking[0], table.columns)} "
            f"{SAME_REGIONS}"
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
        cell = cell_text(table.frame[name].iloc[int(np.argmax(wrong))])
        remedy = (
            "Correct it. If the volume is censored, write n/a in all its regions. If the column is "
            "not a region, leave it out (exclude=, --exclude)."
        )
        raise cell_error(table, name, wrong, f"{cell[:60]!r} is not a finite number", remedy)
    return parsed.values


def _of_subject(table: RawTable) -> str:
    return f" (subject {table.ids[0]!r})" if table.ids else ""


def check_same_columns(first: RawTable, table: RawTable, never: Sequence[str]) -> None:
    """Raise InputError if two series have different columns. Columns in `never` do not count."""
    columns, first_columns = ({*series.columns} - {*never} for series in (table, first))
    if columns == first_columns:
        return
    odd = [name for name in (*table.columns, *first.columns) if name in columns ^ first_columns]
    raise InputError(
        f"{table.name}{_of_subject(table)} has {counted(len(table.columns), 'column')}, but "
        f"{first.name}{_of_subject(first)} has {len(first.columns)}. Columns of only one of "
        f"them: {listed(odd, 3)}. {_exchanged(first, table)}{SAME_REGIONS}"
    )


def _exchanged(first: RawTable, table: RawTable) -> str:
    """Return a sentence if one of the two series may have one row per region, else ""."""
    shapes = first.frame.shape, table.frame.shape
    if shapes[0] != shapes[1][::-1] and shapes[0][0] != shapes[1][0]:
        return ""
    return "Rows and columns may be exchanged: write one row per volume. "
