"""Tables as they were read, and their cells as numbers or as labels.

A `RawTable` knows the place of each of its rows in the file. If a cell cannot be read, the error
names the cell.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgbn.core.problems import PEOPLE, InputError, Problem
from sgbn.core.types import Array, Indices, Mask

# Markers of a missing cell, the same for all columns.
MISSING = frozenset(
    ("", "NA", "N/A", "n/a", "#N/A", "#NV", "<NA>", "NaN", "nan", "NULL", "null", "None", ".", "-")
)
TEXT = "(text)"  # what a message shows in place of a cell that may name a person
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

    source: Problem  # the beginning of messages: "'data.csv':"
    numbers: Indices  # the number of each row in the file
    unit: str = "row"  # what is counted
    decimal: str = "."  # the decimal mark in cells that are text
    unsure: bool = False  # whether a point in a cell of text may separate thousands


def of_file(path: object) -> Problem:
    """Return how messages about a file begin: "'data.csv':"."""
    return Problem("file", file=path).says("{file}:")


def of_subject(path: object, folder: Path | None = None) -> Problem:
    """Return how messages about a file of one subject begin. Its name is withheld like an id.

    `folder` is the folder of all subjects that holds the file.
    """
    if folder is None:
        return Problem("file", subject_file=str(path)).says("{subject_file}:")
    within = str(Path(str(path)).relative_to(folder))
    place = Problem("file", folder=folder, subject_file=within)
    return place.says("{folder}: the file of {subject_file}:")


def tells_subject(value: object) -> bool:
    """Return whether a message, or one of the messages in it, says which subject it is about."""
    return isinstance(value, Problem) and any(
        name.startswith(PEOPLE) or tells_subject(part) for name, part in value.values.items()
    )


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
    def source(self) -> Problem:
        """Return how messages about the table begin."""
        return self.origin.source

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns."""
        return list(self.frame.columns)

    def where(self, row: int, column: str) -> Problem:
        """Return how messages about a cell begin: the file, the row in it, subject and column."""
        origin = self.origin_of(column)
        place = {"where": origin.source, "unit": origin.unit, "row": origin.numbers[row]}
        if not self.ids or tells_subject(origin.source):
            cell = Problem("cell", **place, column=column)
            return cell.says("{where} {unit:s} {row}, column {column}:")
        cell = Problem("cell", **place, column=column, subject=self.ids[row])
        return cell.says("{where} {unit:s} {row} ({subject}), column {column}:")

    def origin_of(self, column: str) -> Origin:
        """Return the origin of the cells of a column."""
        return self.others.get(column, self.origin)

    def source_of(self, column: str) -> Problem:
        """Return how messages about a column begin."""
        column_of = self.origin_of(column).source
        return Problem("column", where=column_of, column=column).says("{where} column {column}:")

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
    return ["" if _NO_NAME.fullmatch(name) else name for name in map(cell_text, header)]


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
        # In a transposed table, repeated labels are below names of subjects, not below a title.
        repeats = len(set(names)) < len(names)
        if repeats and not rows[0][0].strip() and len(filled[0]) == len(names) - 1:
            continue
        plain = not any(ANY_NUMBER.fullmatch(cell) or cell in MISSING for cell in names)
        if longer and plain and any(map(ANY_NUMBER.fullmatch, below)):
            return k
    return 0


def title_above(source: Problem, row: int) -> InputError:
    """Return the error about rows above the header."""
    return InputError("header.below", where=source, row=row).says(
        "{where} the header seems to be in row {row}", "Remove the rows above it."
    )


def name_columns(frame: pd.DataFrame, names: Sequence[str], source: Problem) -> pd.DataFrame:
    """Return a table with these names. Columns that have neither a name nor cells are dropped."""
    names = list(names)
    if names and not names[0]:  # R and pandas write no name above their row names
        names[0] = ROW_NAMES
    # Spreadsheets may export empty columns beside the table.
    nameless = [k for k, name in enumerate(names) if not name]
    for k in nameless:
        if not is_missing(frame.iloc[:, k]).all():
            raise InputError("header.gap", where=source, k=k + 1).says(
                "{where} column {k} has cells but no name", "Name it, or remove it."
            )
    check_unique(names, source)
    if nameless:
        frame = frame.iloc[:, [k for k, name in enumerate(names) if name]]
    return frame.set_axis([name for name in names if name], axis=1)


def check_unique(names: Sequence[str], source: Problem) -> None:
    """Raise InputError if two columns have the same name."""
    # Columns without a name do not count.
    if twice := repeated(name or k for k, name in enumerate(names)):
        k, last = twice
        raise InputError("header.twice", where=source, name=names[k], k=k + 1, l=last + 1).says(
            "{where} columns {k} and {l} are both called {name}", "Rename or remove one."
        )


def repeated(values: Iterable[Hashable]) -> tuple[int, int] | None:
    """Return the places of the first value that comes a second time, or None if all differ."""
    first: dict[Hashable, int] = {}
    for place, value in enumerate(values):
        if first.setdefault(value, place) != place:
            return first[value], place
    return None


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
    texts = ["" if text in markers else text for text in map(cell_text, cells.to_numpy(object))]
    # Other programs turn whole numbers into floats if a cell is blank, so 1.0 means the label 1.
    if any("." in text for text in texts) and all(_WHOLE.fullmatch(t) for t in texts if t):
        return [text.split(".")[0] for text in texts]
    return texts


# A function that takes the names in a header, and returns the columns to be read as text.
NamedText = Callable[[list[str]], set[str]]


MIN_SHARE_OF_NUMBERS = 0.8  # from this share upwards, text among numbers is a mistake, not a label
# Numbers that people write for "missing": -9, and 77, -88, 999, -9999, ... of either sign.
SENTINELS = (-9.0, *(float(sign + d * k) for sign in "-+" for d in "789" for k in (2, 3, 4, 5)))
COLUMNS_PER_BLOCK = 32  # columns that are transposed at once, so that they fit into the cache
MAX_RANGES_AWAY = 3.0  # in ranges of the other values; a sentinel further away is not a value
MIN_USUAL_VALUES = 3  # with fewer other values, a sentinel cannot be told from a value
MIN_ROWS_FOR_LABELS = 10  # in fewer rows, all labels may differ by chance
MAX_DISTINCT_LABELS = 0.5  # distinct labels per row; if there are more, they are ids or dates

# A number has at least one digit: "." and "-" are not numbers. Inf and NaN have their own rules.
_NUMBER = r"[+-]?(\d+{0}?\d*|{0}\d+)([eE][+-]?\d+)?"
NUMBERS = {".": re.compile(_NUMBER.format(r"\.")), ",": re.compile(_NUMBER.format(","))}
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
# Thousands separators, as in 1.234.567, 1,234.5 and 1'234, are never guessed. The error names them.
GROUPED = re.compile(r"[+-]?\d{1,3}([.,'\s]\d{3})+([.,]\d+)?")
# What 2.449 may be beside 938. A number such as 0.449 cannot be grouped.
_ONE_POINT = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}", re.ASCII)
_NO_POINT = re.compile(r"[+-]?[1-9]\d*", re.ASCII)  # without 0, which is 0 in both readings
EXCEL_ERROR = re.compile(r"#[^\W_\d][^\s!?]*[!?]")  # #DIV/0!, #REF!, #BEZUG!, #NAME?

Markers = str | float | Iterable[str | float] | None


@dataclass(frozen=True)
class Missing:
    """The markers of a missing cell: the usual ones in `MISSING`, and the caller's own.

    Attributes
    ----------
    texts : frozenset of str
        All markers, as text.
    numbers : tuple of float
        The caller's markers that are numbers. With them, -999.0 is recognized as -999.
    unguarded : bool
        Whether numbers such as -999 are kept as values. The caller asks for this with ``[]``.
    """

    texts: frozenset[str] = MISSING
    numbers: tuple[float, ...] = ()
    unguarded: bool = False

    @classmethod
    def of(cls, markers: object) -> Missing:
        """Return the markers in a reader's argument, which is None, one marker, or several."""
        if markers is None:
            return cls()
        if isinstance(markers, Mapping):
            raise InputError("missing.mapping").says(
                "{missing=} is a mapping", "Give one list of markers for all columns."
            )
        single = isinstance(markers, str | Real) or not isinstance(markers, Iterable)
        several: Sequence[object] = [markers] if single else list(markers)  # type: ignore[call-overload]
        texts = frozenset(cell_text(marker) for marker in several)
        numbers = tuple(float(text) for text in sorted(texts) if NUMBERS["."].fullmatch(text))
        return cls(MISSING | texts, numbers, unguarded=not texts)


@dataclass(frozen=True)
class Parsed:
    """A column as numbers. A value is NaN if the cell is missing, or is not a number (`bad`)."""

    values: Array
    bad: Mask
    missing: Mask

    @property
    def kind(self) -> str:
        """Return ``number``, ``mixed`` (numbers with some text), ``text`` or ``empty``."""
        present = int((~self.missing).sum())
        if not present:
            return "empty"
        bad = int(self.bad.sum())
        if not bad:
            return "number"
        return "mixed" if present - bad >= MIN_SHARE_OF_NUMBERS * present else "text"


def parse(table: RawTable, column: str, missing: Missing) -> Parsed:
    """Return a column as numbers. Its cells that are not numbers are marked as bad."""
    cells = table.frame[column]
    if is_number_type(cells.dtype):
        values = cells.to_numpy(np.float64, na_value=np.nan)
        if missing.numbers:
            values = np.where(np.isin(values, missing.numbers), np.nan, values)
        return Parsed(values, np.zeros(len(values), bool), np.isnan(values))
    # Numbers may come as text, for example if one cell of the column is a label.
    origin, objects = table.origin_of(column), cells.to_numpy(object)
    read = [_number(cell, origin.decimal, missing) for cell in objects]
    values = np.array([math.nan if number is None else number for number in read], np.float64)
    # None stands for a cell that is not a number, NaN for a missing cell. Both become NaN.
    bad = np.array([number is None for number in read], bool)
    if origin.unsure:
        check_point(objects[~np.isnan(values)], table.source_of(column))
    return Parsed(values, bad, np.isnan(values) & ~bad)


def unclear_point(cells: Iterable[object]) -> tuple[str, str] | None:
    """Return a number such as 2.449 and one such as 938 if the point may separate thousands.

    All numbers with a point must look like thousands. This alone is no reason, because thickness in
    mm with three decimals looks so too, and if it holds for a whole column, the column only has
    another unit. But one column cannot hold numbers with three decimals and numbers with none.
    """
    texts = [cell.strip() for cell in cells if isinstance(cell, str) and "." in cell]
    points = [text for text in texts if NUMBERS["."].fullmatch(text)]
    if not points or not all(map(_ONE_POINT.fullmatch, points)):
        return None
    whole = next(filter(_NO_POINT.fullmatch, map(cell_text, cells)), None)
    return None if whole is None else (points[0], whole)


def check_point(cells: Iterable[object], where: Problem) -> None:
    """Raise InputError if a point in a column may separate thousands."""
    if found := unclear_point(cells):
        raise InputError("marks.point", where=where, cell=found[0], whole=found[1]).says(
            "{where} beside {whole:s}, the point in {cell:s} may separate decimals or thousands",
            "If decimals, give {decimal='.'} or write {whole:s}.000. If thousands, remove it.",
        )


def _number(cell: object, decimal: str, missing: Missing) -> float | None:
    """Return the value of a cell, NaN if it is missing, None if it is not a number."""
    # Python counts True as a number. In a table it is a label.
    if isinstance(cell, Real) and not isinstance(cell, bool | np.bool_):
        try:
            value = float(cell)
        except OverflowError:  # a whole number that is too large for a float
            value = math.inf
    else:
        text = cell_text(cell)
        if text in missing.texts:
            return math.nan
        if NUMBERS[decimal].fullmatch(text):
            value = float(text.replace(",", "."))
        elif _INFINITE.fullmatch(text):
            value = math.inf
        else:
            return None
    return math.nan if value in missing.numbers else value


def region_values(
    table: RawTable, regions: Sequence[str], missing: Missing, may_leave_out: bool = True
) -> Array:
    """Return the values, subjects x regions. Infinite cells, and cells like -999, are errors.

    `may_leave_out` says that the user did not list the regions, and could leave a column out.
    """
    values = np.empty((len(table.frame), len(regions)))
    for begin in range(0, len(regions), COLUMNS_PER_BLOCK):
        block = regions[begin : begin + COLUMNS_PER_BLOCK]
        rows = np.array([_region(table, region, missing, may_leave_out) for region in block])
        # A sentinel far from the others is the smallest or largest value. fmin and fmax ignore NaN.
        lowest, highest = np.fmin.reduce(rows, axis=1), np.fmax.reduce(rows, axis=1)
        # The checks are slow. Only columns with such an extreme value need them.
        odd = np.isinf(lowest) | np.isinf(highest)
        odd |= np.isin(lowest, SENTINELS) | np.isin(highest, SENTINELS)
        for k in map(int, np.flatnonzero(odd)):
            check_finite(table, block[k], rows[k])
            check_sentinels(table, block[k], rows[k], missing)
        values[:, begin : begin + len(block)] = rows.T
    return values


def _region(table: RawTable, region: str, missing: Missing, may_leave_out: bool) -> Array:
    parsed = parse(table, region, missing)
    if parsed.bad.any():
        raise no_number(table, region, parsed.bad, may_leave_out)
    return parsed.values


def covariate(table: RawTable, column: str, missing: Missing) -> NDArray[Any]:
    """Return numbers if all filled cells are numbers, and labels if none of them is a number."""
    parsed = parse(table, column, missing)
    if parsed.bad.any():
        texts = text_labels(table, column, missing)
        check_label_sentinels(table, column, texts, missing)
        _check_no_numbers(table, column, parsed)
        check_repeated(table, column, texts)
        return np.array(texts, dtype=str)
    check_finite(table, column, parsed.values)
    check_sentinels(table, column, parsed.values, missing)
    return parsed.values


def _check_no_numbers(table: RawTable, column: str, parsed: Parsed) -> None:
    """Raise InputError if there are numbers among labels. Any decimal mark counts."""
    texts = [cell_text(cell) for cell in table.frame[column].to_numpy(object)]
    # Among labels, 1,5 is a number with the wrong decimal mark.
    matches = [ANY_NUMBER.fullmatch(text) or GROUPED.fullmatch(text) for text in texts]
    wrong_marks = parsed.bad & np.array([match is not None for match in matches], bool)
    if wrong_marks.any():
        raise no_number(table, column, wrong_marks)
    if not (parsed.bad | parsed.missing).all():
        raise cell_error("cells.mixed", table, column, parsed.bad).says(
            "{where} {cell} is not a number, but other cells are ({n:such cell})",
            "Correct it, or name it in {missing=}. If the numbers are labels, put a letter before "
            "each.",
        )


NO_NUMBER = "{where} {cell} is not a number ({n:such cell})"
CORRECT = {
    False: "Correct it, or name it in {missing=}.",
    True: "Correct it, name it in {missing=}, or leave the column out ({exclude=}).",
}


def no_number(table: RawTable, column: str, bad: Mask, may_leave_out: bool = True) -> InputError:
    """Return the error about cells that are not numbers."""
    cell = cell_text(table.frame[column].iloc[int(np.argmax(bad))])
    decimal = table.origin_of(column).decimal
    other_mark = NUMBERS["," if decimal == "." else "."].fullmatch(cell)
    if other_mark and decimal == "." and _have_points(table, column):
        return cell_error("cells.marks", table, column, bad).says(
            "{where} {cell} has a comma, but other columns have decimal points",
            "If the comma is a decimal mark, write points in this column, else remove it.",
        )
    if other_mark and decimal == ".":
        return cell_error("cells.comma", table, column, bad).says(
            NO_NUMBER, "If the comma is a decimal mark, name it ({decimal=','}), else remove it."
        )
    if other_mark or GROUPED.fullmatch(cell):
        return cell_error("cells.grouped", table, column, bad).says(
            NO_NUMBER, "Write numbers without thousands separators, or give {decimal=}."
        )
    if EXCEL_ERROR.fullmatch(cell):
        return _excel_error(table, column, bad)
    return cell_error("cells.text", table, column, bad).says(NO_NUMBER, CORRECT[may_leave_out])


def _have_points(table: RawTable, column: str) -> bool:
    """Return whether other columns of the file of a column hold numbers with a decimal point."""
    for name in table.columns:
        if name == column or table.origin_of(name) is not table.origin_of(column):
            continue
        cells = table.frame[name]
        if is_number_type(cells.dtype):
            values = cells.to_numpy(np.float64, na_value=np.nan)
            if (values[np.isfinite(values)] % 1 != 0).any():
                return True
        elif any("." in text and NUMBERS["."].fullmatch(text) for text in map(cell_text, cells)):
            return True
    return False


# Spreadsheets make dates of numbers: 01.03.2024, 2024-03-01 00:00:00, 1-Mar, 01. Mrz, Mar 24.
_MONTH = "(jan|feb|mar|mär|mrz|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)"
_DAY = r"(\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d{2})|\d{4}[./-]\d{1,2}[./-]\d{1,2})([T ].*)?"
_DATE = re.compile(rf"{_DAY}|\d{{1,2}}[-. ]+{_MONTH}|{_MONTH}[-. ]+\d\d", re.IGNORECASE)
_BEYOND_LIMIT = re.compile(r"[<>≤≥].*")  # <LLOD, <0.5, > 100
NEARLY = (ANY_NUMBER, GROUPED, EXCEL_ERROR, _BEYOND_LIMIT, _DATE)  # what was meant as a number
# Words for missing, and numbers with a unit or with wrong characters: "12.5 mm", "3,,2", "1O.5".
_PLAIN = re.compile(
    r"\W*|.|missing|unknown|none|nil|void|error|fail(ed)?|bad|n\.? ?[ab]\.?|k\. ?a\.?|"
    r"[+-]?(\d+[.,]\d+ ?|\d+ )[^\W\d]{1,4}[23²³]?|(?=.*\d)[\dOolI.,]+",
    re.IGNORECASE,
)


def shown_cell(table: RawTable, column: str, bad: Mask) -> str:
    """Return the first cell in `bad` for a message, or `TEXT` if it may name a person.

    Words for a missing number are the same in many rows, but names differ from row to row.
    """
    texts = [cell_text(cell) for cell in table.frame[column].to_numpy(object)[bad]]
    known = any(form.fullmatch(texts[0]) for form in (*NEARLY, _INFINITE, _PLAIN))
    if known or 2 * len(set(texts)) <= len(texts):
        return texts[0][:60]
    return TEXT


def cell_error(code: str, table: RawTable, column: str, bad: Mask, **values: Any) -> InputError:
    """Return an error with the first cell in `bad`, its place (`where`), and their number `n`."""
    where, cell = table.where(int(np.argmax(bad)), column), shown_cell(table, column, bad)
    return InputError(code, where=where, cell=cell, n=int(bad.sum()), **values)


def _excel_error(table: RawTable, column: str, bad: Mask) -> InputError:
    return cell_error("cells.excel", table, column, bad).says(
        "{where} {cell} is an error of Excel", "Correct the formula, or leave the cell empty."
    )


def check_finite(table: RawTable, column: str, values: Array) -> None:
    """Raise InputError if a value is infinite."""
    infinite = np.isinf(values)
    if infinite.any():
        raise cell_error("cells.infinite", table, column, infinite).says(
            "{where} the value is infinite ({n:such cell})", "Correct it, or leave it empty."
        )


SENTINEL = (
    "If it stands for a missing cell, name it in {missing=}. An empty {missing=} keeps it as a "
    "value."
)


def check_sentinels(table: RawTable, column: str, values: Array, missing: Missing) -> None:
    """Raise InputError if a number such as -999 lies far from all other values.

    Such a number looks like a mark for a missing cell. The user must say whether it is one.
    """
    present = values[~np.isnan(values)]
    usual = present[~np.isin(present, SENTINELS)]
    if missing.unguarded or len(usual) < MIN_USUAL_VALUES:
        return
    # These are Python floats. If a range is too large for them, it becomes inf without a warning.
    low, high = float(usual.min()), float(usual.max())
    reach = MAX_RANGES_AWAY * (high - low)
    for sentinel in sorted(set(present.tolist()) & set(SENTINELS)):
        # If no other value is negative, as in volumes, any negative sentinel is odd.
        below = sentinel < 0 and (low >= 0 or sentinel < low - reach)
        if below or sentinel > high + reach:
            odd = values == sentinel
            raise cell_error("cells.sentinel", table, column, odd, low=low, high=high).says(
                "{where} {cell:s} lies far from all other values ({low:g} to {high:g})", SENTINEL
            )


def check_label_sentinels(
    table: RawTable, column: str, texts: Sequence[str], missing: Missing
) -> None:
    """Raise InputError for a label such as -999.

    If all labels are numbers, it is an error only if it lies far from the others.
    """
    values = np.array([_value(label) for label in texts])
    words = [text for text, value in zip(texts, values, strict=True) if text and np.isnan(value)]
    if not words:
        check_sentinels(table, column, values, missing)
    elif np.isin(values, SENTINELS).any() and not missing.unguarded:
        first = values[np.isin(values, SENTINELS)][0]
        raise cell_error("labels.sentinel", table, column, values == first).says(
            "{where} {cell:s} is a number among labels ({n:such cell})", SENTINEL
        )


def _value(label: str) -> float:
    """Return a label as a finite number, or NaN if it is not a finite number."""
    value = float(label) if NUMBERS["."].fullmatch(label) else math.nan
    return value if math.isfinite(value) else math.nan


def text_labels(table: RawTable, column: str, missing: Missing) -> list[str]:
    """Return the labels, with "" for a missing cell. Two spellings of a label are an error."""
    texts = labels(table.frame[column], missing.texts)
    if missing.numbers:
        texts = ["" if _value(label) in missing.numbers else label for label in texts]
    # Without this check, the error of a formula would become a group of its own.
    errors = np.array([EXCEL_ERROR.fullmatch(label) is not None for label in texts])
    if errors.any():
        raise _excel_error(table, column, errors)
    check_spelling(table, column, texts)
    return texts


def check_repeated(table: RawTable, column: str, texts: Sequence[str]) -> None:
    """Raise InputError if most rows have a label of their own, such as an id or a date."""
    present = [label for label in texts if label]
    distinct = set(present)
    if len(present) >= MIN_ROWS_FOR_LABELS and len(distinct) > MAX_DISTINCT_LABELS * len(present):
        source = table.source_of(column)
        raise InputError("labels.many", where=source, n=len(distinct), rows=len(present)).says(
            "{where} {n:label} in {rows:row}, as in ids or dates, are too many for categories",
            "Name another column.",
        )


def check_spelling(table: RawTable, column: str, texts: Sequence[str]) -> None:
    """Raise InputError if two labels differ only in upper and lower case, or in inner blanks."""
    # Without this check, "AD" and "ad" would be two groups.
    spellings = list(dict.fromkeys(texts))
    if twice := repeated(" ".join(label.casefold().split()) for label in spellings):
        first, row = (texts.index(spellings[k]) for k in twice)
        # The rows are named, not the labels, because these may be names of persons.
        places = {"where": table.where(row, column), "row": table.origin.numbers[first]}
        raise InputError("labels.spelling", **places).says(
            "{where} the label differs only in spelling from the label in row {row}",
            "Write both in the same way.",
        )


FILL = {
    False: "Fill it in, or remove the row.",
    True: "Fill it in, remove the row, or choose groups by {groups=}.",
}


def check_filled(
    table: RawTable, column: str, texts: Sequence[str], *, of_groups: bool = False
) -> None:
    """Raise InputError if a label is missing ("")."""
    if "" in texts:
        blank = np.array([not text for text in texts])
        raise cell_error("labels.missing", table, column, blank).says(
            "{where} the label is missing ({n:such cell})", FILL[of_groups]
        )
