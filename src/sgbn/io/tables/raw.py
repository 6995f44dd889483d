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
ROW_NAMES = "(row names)"  # what a first column without a name is called here
EXACT_INTEGER = 2**53  # floats beyond it skip integers
TITLES = 5  # rows above a header that are looked through for it

# A number with either decimal mark, as in a cell of text.
ANY_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?", re.ASCII)

_WHOLE = re.compile(r"-?\d+(\.0+)?")
_NO_NAME = re.compile(r"Unnamed: \d+(_level_\d+)?")


@dataclass(frozen=True)
class Origin:
    """Where rows come from: the file as errors call it, and the number of each row there.

    `decimal` is what separates decimals in those of its cells that are text.
    """

    name: str
    numbers: Indices
    unit: str = "row {}"
    decimal: str = "."

    def where(self, row: int) -> str:
        """Place of a row."""
        return f"{self.name}, {self.unit.format(self.numbers[row])}"


@dataclass(frozen=True)
class RawTable:
    """Cells under unique names, one row per subject.

    Attributes
    ----------
    frame : DataFrame
        Never changed in place: it may be the caller's own.
    origin : Origin
        Of all columns but those in `others`, which were joined from elsewhere.
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
        """What errors call the table."""
        return self.origin.name

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.frame.columns)

    def where(self, row: int, column: str | None = None) -> str:
        """Place of a cell or row: file, row as counted there, subject, column."""
        place = self.origin_of(column or "").where(row)
        subject = f" (subject {self.ids[row]!r})" if self.ids else ""
        return place + subject + (f", column {column!r}" if column is not None else "")

    def origin_of(self, column: str) -> Origin:
        """Where the cells of a column come from."""
        return self.others.get(column, self.origin)

    def source_of(self, column: str) -> str:
        """Name of the file that a column comes from."""
        return self.origin_of(column).name

    def keep(self, rows: Mask) -> RawTable:
        """Those rows only, each with its old place."""
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
    """Names as text without surrounding blanks; "" where there is none."""
    names = [as_text(cell) for cell in header]
    return ["" if _NO_NAME.fullmatch(name) else name for name in names]


def later_header(rows: Sequence[Sequence[str]]) -> int:
    """Which of the first rows looks like the header: 0 unless titles stand above it.

    It names more columns than the rows above, holds no number, and the row below holds some.
    """
    filled = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    for k in range(1, min(TITLES + 1, len(filled) - 1)):
        names, below = filled[k], filled[k + 1]
        longer = len(names) > max(1, *map(len, filled[:k]))
        plain = not any(ANY_NUMBER.fullmatch(cell) or cell in MISSING for cell in names)
        if longer and plain and any(map(ANY_NUMBER.fullmatch, below)):
            return k
    return 0


def title_above(source: str, row: int) -> InputError:
    """Error about rows above the header."""
    return InputError(
        f"{source}: the header seems to be in row {row}. Remove the rows above it, so that the "
        "names of the columns come first."
    )


def name_columns(
    frame: pd.DataFrame, names: Sequence[str], source: str, row_names: bool = True
) -> pd.DataFrame:
    """Give the columns these names; those that have neither name nor cells are dropped.

    Parameters
    ----------
    row_names : bool
        A first column without a name holds row names, as R and pandas write them.
    """
    names = list(names)
    if row_names and names and not names[0]:
        names[0] = ROW_NAMES
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
    """Refuse a name that two columns have."""
    first: dict[str, int] = {}
    for k, name in enumerate(names, start=1):
        if name and first.setdefault(name, k) != k:
            raise InputError(
                f"{source}: columns {first[name]} and {k} are both called {name!r}. Rename or "
                "remove one of them."
            )


def is_missing(cells: pd.Series, markers: frozenset[str] = MISSING) -> Mask:
    """Whether each cell is empty or says so."""
    missing = cells.isna().to_numpy(bool, copy=True)
    if not is_number_type(cells.dtype):
        filled = np.flatnonzero(~missing)
        missing[filled] = [as_text(cell) in markers for cell in cells.to_numpy(object)[filled]]
    return missing


def filled_rows(frame: pd.DataFrame) -> Mask:
    """Rows that hold anything but missing cells."""
    filled = np.zeros(len(frame), bool)
    for k in range(frame.shape[1]):
        if filled.all():
            break
        filled |= ~is_missing(frame.iloc[:, k])
    return filled


def is_number_type(dtype: Any) -> bool:
    """Whether cells of this type are real numbers, True and False not counted."""
    return getattr(dtype, "kind", "O") in "fiu"


def as_text(cell: object) -> str:
    """Text of a cell without surrounding blanks: "" if empty, and 51456.0 is "51456"."""
    if isinstance(cell, str):
        return cell.strip()
    if cell is None or cell is pd.NaT or cell is pd.NA:
        return ""
    if isinstance(cell, float | np.floating):
        number = float(cell)
        if math.isnan(number):
            return ""
        if abs(number) < EXACT_INTEGER and number.is_integer():
            return str(int(number))
    return str(cell).strip()


def labels(cells: pd.Series, markers: frozenset[str] = MISSING) -> list[str]:
    """Text of each cell, "" where it is missing; whole numbers lose a ".0" that all have."""
    texts = [as_text(cell) for cell in cells.to_numpy(object)]
    texts = ["" if text in markers else text for text in texts]
    if any("." in text for text in texts) and all(_WHOLE.fullmatch(t) for t in texts if t):
        return [text.split(".")[0] for text in texts]
    return texts


NamedText = Callable[[list[str]], set[str]]
"""Of the names in a header, those to be read as text."""
