"""Tables as they came: cells, and the place of each in its file, so that errors can name it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from sgbn.exceptions import InputError
from sgbn.types import Indices, Mask

# Cells that say that there is nothing. One list for all columns.
MISSING = frozenset(
    ("", "NA", "N/A", "n/a", "#N/A", "#NV", "<NA>", "NaN", "nan", "NULL", "null", "None", ".", "-")
)
ROW_NAMES = "(row names)"  # what a first column without a name is called in this package
MAX_EXACT_INTEGER = 2**53  # floats beyond it skip integers
MAX_TITLES = 5  # rows above a header that are searched for it

# A number with either decimal mark, as in a cell of text.
ANY_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?", re.ASCII)

_WHOLE = re.compile(r"-?\d+(\.0+)?")
# What pandas calls columns without a name.
_NO_NAME = re.compile(r"Unnamed: \d+(_level_\d+)?")


@dataclass(frozen=True)
class Origin:
    """Where rows come from."""

    name: str  # what errors call the file
    numbers: Indices  # number of each row in the file
    unit: str = "row {}"  # how a number is written in errors
    decimal: str = "."  # what separates decimals in cells that are text

    def where(self, row: int) -> str:
        """Return the place of a row."""
        return f"{self.name}, {self.unit.format(self.numbers[row])}"


@dataclass(frozen=True)
class RawTable:
    """Cells under unique names, one row per subject.

    Attributes
    ----------
    frame : DataFrame
        Never changed in place: it may be the caller's own.
    origin : Origin
        Where the rows come from.
    others : mapping
        Column -> origin, for the columns that were joined from another table.
    facts : mapping
        How it was read, for the provenance.
    ids : tuple of str
        Subjects, once they are known.
    """

    frame: pd.DataFrame
    origin: Origin
    others: Mapping[str, Origin] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    ids: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return what errors call the table."""
        return self.origin.name

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns."""
        return list(self.frame.columns)

    def where(self, row: int, column: str | None = None) -> str:
        """Return the place of a cell or row: file, row as counted there, subject, column."""
        place = self.origin_of(column or "").where(row)
        subject = f" (subject {self.ids[row]!r})" if self.ids else ""
        return place + subject + (f", column {column!r}" if column is not None else "")

    def origin_of(self, column: str) -> Origin:
        """Return where the cells of a column come from."""
        return self.others.get(column, self.origin)

    def source_of(self, column: str) -> str:
        """Return the name of the file that a column comes from."""
        return self.origin_of(column).name

    def keep(self, rows: Mask) -> RawTable:
        """Return a table of those rows only, each with its old place."""
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
    """Return names as text without surrounding blanks; "" where there is none."""
    names = [as_text(cell) for cell in header]
    return ["" if _NO_NAME.fullmatch(name) else name for name in names]


def plain_name(name: str) -> str:
    """Return a name in lower case, letters and digits only: "Subject_ID" is "subjectid"."""
    return re.sub(r"[\W_]+", "", name).lower()


def later_header(rows: Sequence[Sequence[str]]) -> int:
    """Return which of the first rows looks like the header: 0 unless titles stand above it.

    It names more columns than the rows above, holds no number, and the row below holds some.
    """
    filled = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    for k in range(1, min(MAX_TITLES + 1, len(filled) - 1)):
        names, below = filled[k], filled[k + 1]
        # A header names more columns than any title fills.
        longer = len(names) > max(1, *map(len, filled[:k]))
        # Numbers are cells, and a row with a missing cell is not a header.
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
    """Return a table with these names; columns that have neither name nor cells are dropped."""
    names = list(names)
    if names and not names[0]:  # R and pandas write row names below no name
        names[0] = ROW_NAMES
    # Spreadsheets export empty columns beside the table.
    nameless = [k for k, name in enumerate(names) if not name]
    for k in nameless:
        filled = np.flatnonzero(~is_missing(frame.iloc[:, k]))
        if filled.size:
            raise InputError(
                f"{source}: column {k + 1} has cells ({as_text(frame.iloc[filled[0], k])!r}) but "
                "no name in the header. Name it, or remove it."
            )
    check_unique(names, source)
    if nameless:
        frame = frame.iloc[:, [k for k, name in enumerate(names) if name]]
    return frame.set_axis([name for name in names if name], axis=1)


def check_unique(names: Sequence[str], source: str) -> None:
    """Raise InputError if two columns have one name."""
    first: dict[str, int] = {}
    for k, name in enumerate(names, start=1):
        if name and first.setdefault(name, k) != k:
            raise InputError(
                f"{source}: columns {first[name]} and {k} are both called {name!r}. Rename or "
                "remove one of them."
            )


def is_missing(cells: pd.Series) -> Mask:
    """Whether each cell is empty or says so."""
    missing = cells.isna().to_numpy(bool, copy=True)
    if not is_number_type(cells.dtype):
        filled = np.flatnonzero(~missing)  # pandas knows only None, NaN and NaT
        missing[filled] = [as_text(cell) in MISSING for cell in cells.to_numpy(object)[filled]]
    return missing


def filled_rows(frame: pd.DataFrame) -> Mask:
    """Return the rows that hold anything but missing cells."""
    filled = np.zeros(len(frame), bool)
    for k in range(frame.shape[1]):
        if filled.all():  # after the first columns, as a rule: the others need no look
            break
        filled |= ~is_missing(frame.iloc[:, k])
    return filled


def is_number_type(dtype: Any) -> bool:
    """Whether cells of this type are real numbers, True and False not counted."""
    return getattr(dtype, "kind", "O") in "fiu"


def as_text(cell: object) -> str:
    """Return a cell as text without surrounding blanks: "" if empty, and 51456.0 is "51456"."""
    if isinstance(cell, str):
        return cell.strip()
    if cell is None or cell is pd.NaT or cell is pd.NA:
        return ""
    # Whole numbers in a column with blanks are floats, and ids without a fraction.
    if isinstance(cell, float | np.floating):
        number = float(cell)
        if math.isnan(number):
            return ""
        if abs(number) < MAX_EXACT_INTEGER and number.is_integer():
            return str(int(number))
    return str(cell).strip()


def labels(cells: pd.Series, markers: frozenset[str] = MISSING) -> list[str]:
    """Return each cell as text, "" if missing; whole numbers lose a ".0" that all have."""
    texts = [as_text(cell) for cell in cells.to_numpy(object)]
    texts = ["" if text in markers else text for text in texts]
    # A column of whole numbers with a blank becomes one of floats: 1.0 is the label 1.
    if any("." in text for text in texts) and all(_WHOLE.fullmatch(t) for t in texts if t):
        return [text.split(".")[0] for text in texts]
    return texts


# Takes the names in a header and returns those whose cells are read as text.
NamedText = Callable[[list[str]], set[str]]
