"""Tables as they were read: the cells, and their places in the file, which errors name."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from sgbn.core.exceptions import InputError
from sgbn.core.types import Indices, Mask

# Markers of a missing cell, the same for all columns.
MISSING = frozenset(
    ("", "NA", "N/A", "n/a", "#N/A", "#NV", "<NA>", "NaN", "nan", "NULL", "null", "None", ".", "-")
)
ROW_NAMES = "(row names)"  # what a first column without a name is called in this package
MAX_EXACT_INTEGER = 2**53  # above it, a float cannot hold every integer
MAX_TITLES = 5  # rows of titles that are skipped in the search for the header

# A number in a cell of text, with a point or a comma as the decimal mark.
ANY_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?", re.ASCII)

_WHOLE = re.compile(r"-?\d+(\.0+)?")
# What pandas calls columns without a name.
_NO_NAME = re.compile(r"Unnamed: \d+(_level_\d+)?")


@dataclass(frozen=True)
class Origin:
    """The file that rows come from, and their places in it."""

    name: str  # the name of the file in errors
    numbers: Indices  # the number of each row in the file
    unit: str = "row {}"  # how errors write such a number
    decimal: str = "."  # the decimal mark in cells that are text

    def where(self, row: int) -> str:
        """Return the place of a row."""
        return f"{self.name}, {self.unit.format(self.numbers[row])}"


@dataclass(frozen=True)
class RawTable:
    """The cells of a table with unique column names. A row is a subject, or a volume of a series.

    Attributes
    ----------
    frame : DataFrame
        The cells. They are never changed in place, because the table may belong to the caller.
    origin : Origin
        The file that the rows come from.
    others : mapping
        The origin of each column that was joined from another table.
    facts : mapping
        Facts for the provenance, such as how the table was read.
    ids : tuple of str
        The id of each row. Empty until the ids are known.
    """

    frame: pd.DataFrame
    origin: Origin
    others: Mapping[str, Origin] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    ids: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return the name of the table in errors."""
        return self.origin.name

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns."""
        return list(self.frame.columns)

    def where(self, row: int, column: str | None = None) -> str:
        """Return the place of a cell or row: the file, the row number in it, subject and column."""
        place = self.origin_of(column or "").where(row)
        subject = f" (subject {self.ids[row]!r})" if self.ids else ""
        return place + subject + (f", column {column!r}" if column is not None else "")

    def origin_of(self, column: str) -> Origin:
        """Return the origin of the cells of a column."""
        return self.others.get(column, self.origin)

    def source_of(self, column: str) -> str:
        """Return the name of the file that a column comes from."""
        return self.origin_of(column).name

    def keep(self, rows: Mask) -> RawTable:
        """Return a table of the chosen rows. Each row keeps its place in the file."""
        if rows.all():
            return self
        return replace(
            self,
            frame=self.frame.loc[rows].reset_index(drop=True),
            origin=_kept(self.origin, rows),
            others={name: _kept(origin, rows) for name, origin in self.others.items()},
            ids=tuple(name for name, kept in zip(self.ids, rows, strict=bool(self.ids)) if kept),
        )


def _kept(origin: Origin, rows: Mask) -> Origin:
    return replace(origin, numbers=origin.numbers[rows])


def clean_names(header: Iterable[object]) -> list[str]:
    """Return the names as text without surrounding blanks, or "" for a column without a name."""
    names = [cell_text(cell) for cell in header]
    return ["" if _NO_NAME.fullmatch(name) else name for name in names]


def plain_name(name: str) -> str:
    """Return a name in lower case with only letters and digits: "Subject_ID" is "subjectid"."""
    return re.sub(r"[\W_]+", "", name).lower()


def later_header(rows: Sequence[Sequence[str]]) -> int:
    """Return the index of the row that looks like the header: 0 unless there are titles above it.

    A header has more filled cells than the rows above it, and no number or missing cell. The row
    below the header has a number.
    """
    filled = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    for k in range(1, min(MAX_TITLES + 1, len(filled) - 1)):
        names, below = filled[k], filled[k + 1]
        longer = len(names) > max(1, *map(len, filled[:k]))
        plain = not any(ANY_NUMBER.fullmatch(cell) or cell in MISSING for cell in names)
        if longer and plain and any(map(ANY_NUMBER.fullmatch, below)):
            return k
    return 0


def title_above(source: str, row: int) -> InputError:
    """Return the error about rows above the header."""
    return InputError(
        f"{source}: the header seems to be in row {row}. Remove the rows above it, so that the "
        "names of the columns come first."
    )


def name_columns(frame: pd.DataFrame, names: Sequence[str], source: str) -> pd.DataFrame:
    """Return a table with these names. Columns that have neither a name nor cells are dropped."""
    names = list(names)
    if names and not names[0]:  # R and pandas write no name above their row names
        names[0] = ROW_NAMES
    # Spreadsheets may export empty columns beside the table.
    nameless = [k for k, name in enumerate(names) if not name]
    for k in nameless:
        filled = np.flatnonzero(~is_missing(frame.iloc[:, k]))
        if filled.size:
            raise InputError(
                f"{source}: column {k + 1} has cells ({cell_text(frame.iloc[filled[0], k])!r}) but "
                "no name in the header. Name it, or remove it."
            )
    check_unique(names, source)
    if nameless:
        frame = frame.iloc[:, [k for k, name in enumerate(names) if name]]
    return frame.set_axis([name for name in names if name], axis=1)


def check_unique(names: Sequence[str], source: str) -> None:
    """Raise InputError if two columns have the same name."""
    first: dict[str, int] = {}
    for k, name in enumerate(names, start=1):
        if name and first.setdefault(name, k) != k:
            raise InputError(
                f"{source}: columns {first[name]} and {k} are both called {name!r}. Rename or "
                "remove one of them."
            )


def is_missing(cells: pd.Series) -> Mask:
    """Return whether each cell is empty or holds one of the markers in `MISSING`."""
    missing = cells.isna().to_numpy(bool, copy=True)
    if not is_number_type(cells.dtype):
        filled = np.flatnonzero(~missing)  # pandas recognizes only None, NaN, NA and NaT
        missing[filled] = [cell_text(cell) in MISSING for cell in cells.to_numpy(object)[filled]]
    return missing


def filled_rows(frame: pd.DataFrame) -> Mask:
    """Return a mask of the rows that have at least one filled cell."""
    filled = np.zeros(len(frame), bool)
    for k in range(frame.shape[1]):
        if filled.all():  # usually true after the first columns, which saves time
            break
        filled |= ~is_missing(frame.iloc[:, k])
    return filled


def is_number_type(dtype: Any) -> bool:
    """Return whether cells of this type are real numbers. True and False are not numbers here."""
    return getattr(dtype, "kind", "O") in "fiu"


def cell_text(cell: object) -> str:
    """Return a cell as text without surrounding blanks.

    An empty cell is "", and the number 51456.0 is "51456".
    """
    if isinstance(cell, str):
        return cell.strip()
    if cell is None or cell is pd.NaT or cell is pd.NA:
        return ""
    # pandas turns whole numbers, such as ids, into floats if a cell of the column is blank.
    if isinstance(cell, float | np.floating):
        number = float(cell)
        if math.isnan(number):
            return ""
        if abs(number) < MAX_EXACT_INTEGER and number.is_integer():
            return str(int(number))
    return str(cell).strip()


def labels(cells: pd.Series, markers: frozenset[str] = MISSING) -> list[str]:
    """Return each cell as text, or "" if it is missing.

    If all cells are whole numbers, a ".0" at the end of a cell is removed.
    """
    texts = [cell_text(cell) for cell in cells.to_numpy(object)]
    texts = ["" if text in markers else text for text in texts]
    # Other programs turn whole numbers into floats if a cell is blank, so 1.0 means the label 1.
    if any("." in text for text in texts) and all(_WHOLE.fullmatch(t) for t in texts if t):
        return [text.split(".")[0] for text in texts]
    return texts


# A function that takes the names in a header, and returns the columns to be read as text.
NamedText = Callable[[list[str]], set[str]]
