"""Tables as they were read, and their cells as numbers or as labels.

A `RawTable` knows the place of each of its rows in the file. If a cell cannot be read, the error
names the cell.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgbn.core.problems import InputError, counted, listed
from sgbn.core.types import Array, Indices, Mask

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

OPTIONS = {"group": "group=, --group", "covariate": "covariates=, --covariates"}

# A number has at least one digit: "." and "-" are not numbers. Inf and NaN have their own rules.
_NUMBER = r"[+-]?(\d+{0}?\d*|{0}\d+)([eE][+-]?\d+)?"
NUMBERS = {".": re.compile(_NUMBER.format(r"\.")), ",": re.compile(_NUMBER.format(","))}
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
# Thousands separators, as in 1.234.567, 1,234.5 and 1'234, are never guessed. The error names them.
GROUPED = re.compile(r"[+-]?\d{1,3}([.,'\s]\d{3})+([.,]\d+)?")
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
            raise InputError(
                "missing= is a mapping. Give one list of markers for all columns, such as "
                "missing=['unknown', -999]."
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
    decimal = table.origin_of(column).decimal
    read = [_number(cell, decimal, missing) for cell in cells.to_numpy(object)]
    values = np.array([math.nan if number is None else number for number in read], np.float64)
    # None stands for a cell that is not a number, NaN for a missing cell. Both become NaN.
    bad = np.array([number is None for number in read], bool)
    return Parsed(values, bad, np.isnan(values) & ~bad)


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


def region_values(table: RawTable, regions: Sequence[str], missing: Missing) -> Array:
    """Return the values, subjects x regions. Infinite cells, and cells like -999, are errors."""
    values = np.empty((len(table.frame), len(regions)))
    for begin in range(0, len(regions), COLUMNS_PER_BLOCK):
        block = regions[begin : begin + COLUMNS_PER_BLOCK]
        rows = np.array([_region(table, region, missing) for region in block])
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


def _region(table: RawTable, region: str, missing: Missing) -> Array:
    parsed = parse(table, region, missing)
    if parsed.bad.any():
        error = no_number(table, region, parsed.bad, "region")
        if parsed.kind == "text":
            raise InputError(
                f"{error} If the column is not a region, exclude it (exclude=, --exclude)."
            )
        raise error
    return parsed.values


def covariate(table: RawTable, column: str, missing: Missing) -> NDArray[Any]:
    """Return numbers if all filled cells are numbers, and labels if none of them is a number."""
    parsed = parse(table, column, missing)
    if parsed.bad.any():
        texts = text_labels(table, column, missing)
        check_label_sentinels(table, column, texts, missing)
        _check_no_numbers(table, column, parsed)
        check_repeated(table, column, texts, "covariate")
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
        raise no_number(table, column, wrong_marks, "covariate")
    if not (parsed.bad | parsed.missing).all():
        error = no_number(table, column, parsed.bad, "covariate")
        raise InputError(f"{error} If the numbers are labels, put a letter before each.")


def no_number(table: RawTable, column: str, bad: Mask, role: str) -> InputError:
    """Return the error about cells that are not numbers."""
    cell = cell_text(table.frame[column].iloc[int(np.argmax(bad))])
    what = f"the {role} holds {cell[:60]!r}, which is not a number"
    return cell_error(table, column, bad, what, _remedy(cell, table.origin_of(column).decimal))


def cell_error(table: RawTable, column: str, bad: Mask, what: str, remedy: str) -> InputError:
    """Return the error about the cells in `bad`: the first place, their number, the remedy."""
    return InputError(
        f"{table.where(int(np.argmax(bad)), column)}: {what} "
        f"({counted(bad.sum(), 'such cell')} in this column). {remedy}"
    )


def _remedy(cell: str, decimal: str) -> str:
    """Return what to do about a cell that is not a number."""
    other = "," if decimal == "." else "."
    if NUMBERS[other].fullmatch(cell) and decimal == ".":
        return (
            "If the comma is a decimal mark, give decimal=',' (--decimal ,) or write a point. "
            "Otherwise remove the comma."
        )
    if GROUPED.fullmatch(cell) or NUMBERS[other].fullmatch(cell):
        return (
            "Thousands separators are not guessed. Write the number without them, or give the "
            "decimal mark (decimal=, --decimal)."
        )
    if EXCEL_ERROR.fullmatch(cell):
        return "This is an error of Excel. Correct the formula, or leave the cell empty."
    return (
        "Correct the cell, or leave it empty. If it stands for a missing value, name it in "
        "missing= (--missing)."
    )


def check_finite(table: RawTable, column: str, values: Array) -> None:
    """Raise InputError if a value is infinite."""
    infinite = np.isinf(values)
    if infinite.any():
        remedy = "Correct the cell, or leave it empty."
        raise cell_error(table, column, infinite, "the value is infinite", remedy)


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
            why = f"lies far from all other values ({low:g} to {high:g})"
            raise _sentinel(table, column, values == sentinel, f"{sentinel:g}", why)


def check_label_sentinels(
    table: RawTable, column: str, texts: Sequence[str], missing: Missing
) -> None:
    """Raise InputError for a label such as -999.

    If all labels are numbers, it is an error only if it lies far from the others.
    """
    values = np.array([math.nan if (v := _value(label)) is None else v for label in texts])
    words = [text for text, value in zip(texts, values, strict=True) if text and np.isnan(value)]
    if not words:
        check_sentinels(table, column, values, missing)
    elif np.isin(values, SENTINELS).any() and not missing.unguarded:
        row = int(np.argmax(np.isin(values, SENTINELS)))
        why = f"is not a label like the others ({listed(sorted(set(words)), 3)})"
        raise _sentinel(table, column, values == values[row], texts[row], why)


def _value(label: str) -> float | None:
    """Return a label as a finite number, or None if it is not a finite number."""
    value = float(label) if NUMBERS["."].fullmatch(label) else math.inf
    return value if math.isfinite(value) else None


def _sentinel(table: RawTable, column: str, where: Mask, sentinel: str, why: str) -> InputError:
    what = f"{sentinel} {why} and looks like a mark for a missing cell"
    remedy = (
        f"Give missing=[{sentinel}] (--missing {sentinel}) to read it as missing, or missing=[] "
        "(--missing without a value) to keep it as a value."
    )
    return cell_error(table, column, where, what, remedy)


def text_labels(table: RawTable, column: str, missing: Missing) -> list[str]:
    """Return the labels, with "" for a missing cell. Two spellings of a label are an error."""
    texts = labels(table.frame[column], missing.texts)
    if missing.numbers:
        texts = ["" if _value(label) in missing.numbers else label for label in texts]
    # Without this check, the error of a formula would become a group of its own.
    for row, label in enumerate(texts):
        if EXCEL_ERROR.fullmatch(label):
            raise InputError(
                f"{table.where(row, column)}: the cell is {label!r}. {_remedy(label, '.')}"
            )
    check_spelling(table, column, texts)
    return texts


def check_repeated(table: RawTable, column: str, texts: Sequence[str], role: str) -> None:
    """Raise InputError if most rows have a label of their own, such as an id or a date."""
    present = [label for label in texts if label]
    distinct = list(dict.fromkeys(present))
    if len(present) >= MIN_ROWS_FOR_LABELS and len(distinct) > MAX_DISTINCT_LABELS * len(present):
        raise InputError(
            f"{table.source_of(column)}, column {column!r} has {len(distinct)} different labels in "
            f"{len(present)} rows, such as {listed(distinct, 3)}. Labels that hardly repeat, such "
            f"as ids and dates, cannot be a {role}. Name the column of the {role} "
            f"({OPTIONS[role]})."
        )


def check_spelling(table: RawTable, column: str, texts: Sequence[str]) -> None:
    """Raise InputError if two labels differ only in upper and lower case, or in inner blanks."""
    counts = Counter(label for label in texts if label)
    # Without this check, "AD" and "ad" would be two groups.
    seen: dict[str, str] = {}
    for label in counts:
        plain = " ".join(label.casefold().split())
        other = seen.setdefault(plain, label)
        if other != label:
            row = texts.index(label)
            raise InputError(
                f"{table.where(row, column)}: {label!r} ({counted(counts[label], 'time')}) and "
                f"{other!r} ({counted(counts[other], 'time')}) differ only in spelling. Write both "
                "in the same way."
            )


def check_filled(
    table: RawTable, column: str, texts: Sequence[str], role: str, remedy: str
) -> None:
    """Raise InputError if a label is missing ("")."""
    if "" in texts:
        blank = np.array([not text for text in texts])
        raise cell_error(table, column, blank, f"the {role} is missing", remedy)
