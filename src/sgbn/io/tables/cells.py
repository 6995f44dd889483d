"""Cells as numbers and labels; one that is neither is an error that names its place."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbn.exceptions import InputError, counted, listed
from sgbn.io.tables.raw import ANY_NUMBER, MISSING, RawTable, as_text, is_number_type, labels
from sgbn.types import Array, Mask

MOSTLY = 0.8  # share of numbers from which on a column with some text is a mistake, not a label
# Numbers that people write for "missing".
SENTINELS = (-9.0, *(float(sign + d * k) for sign in "-+" for d in "789" for k in (2, 3, 4, 5)))
BLOCK = 32  # columns that are turned at once: they fit the cache
FAR = 3.0  # ranges of all others beyond which such a number is no value
FEW = 3  # other values that are too few to tell
MANY_ROWS = 10  # rows from which on labels can be told from values of their own
OWN_LABELS = 0.5  # share of rows with a label of their own beyond which these are no labels

OPTIONS = {"group": "group=, --group", "covariate": "covariates=, --covariates"}

_NUMBER = r"[+-]?(\d+{0}?\d*|{0}\d+)([eE][+-]?\d+)?"
NUMBERS = {".": re.compile(_NUMBER.format(r"\.")), ",": re.compile(_NUMBER.format(","))}
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_GROUPED = re.compile(r"[+-]?\d{1,3}([.,'\s]\d{3})+([.,]\d+)?")
_EXCEL_ERROR = re.compile(r"#[^\W_\d][^\s!?]*[!?]")  # #DIV/0!, #REF!, #BEZUG!, #NAME?


Markers = str | float | Iterable[str | float] | None


@dataclass(frozen=True)
class Missing:
    """What stands for a missing cell, beyond `MISSING`.

    Attributes
    ----------
    texts : frozenset of str
    numbers : tuple of float
    unguarded : bool
        Whether numbers such as -999 are taken as they are, as ``[]`` asks for.
    """

    texts: frozenset[str] = MISSING
    numbers: tuple[float, ...] = ()
    unguarded: bool = False

    @classmethod
    def of(cls, markers: object) -> Missing:
        """From the argument of a reader: None, one marker, or several."""
        if markers is None:
            return cls()
        if isinstance(markers, Mapping):
            raise InputError(
                "missing is a mapping. Give one list of markers for all columns, such as "
                "missing=['unknown', -999]."
            )
        one = isinstance(markers, str | Real) or not isinstance(markers, Iterable)
        found: Sequence[object] = [markers] if one else list(markers)  # type: ignore[call-overload]
        texts = frozenset(as_text(marker) for marker in found)
        numbers = tuple(float(text) for text in sorted(texts) if NUMBERS["."].fullmatch(text))
        return cls(MISSING | texts, numbers, unguarded=not texts)


@dataclass(frozen=True)
class Parsed:
    """A column as numbers: NaN where a cell is missing or, in `bad`, is no number."""

    values: Array
    bad: Mask
    missing: Mask

    @property
    def kind(self) -> str:
        """``number``, ``mixed`` (numbers with some text), ``text`` or ``empty``."""
        present = int((~self.missing).sum())
        if not present:
            return "empty"
        bad = int(self.bad.sum())
        if not bad:
            return "number"
        return "mixed" if present - bad >= MOSTLY * present else "text"


def parse(table: RawTable, column: str, missing: Missing) -> Parsed:
    """Read a column as numbers, as far as it goes."""
    cells = table.frame[column]
    if is_number_type(cells.dtype):
        values = cells.to_numpy(np.float64, na_value=np.nan)
        if missing.numbers:
            values = np.where(np.isin(values, missing.numbers), np.nan, values)
        return Parsed(values, np.zeros(len(values), bool), np.isnan(values))
    decimal = table.origin_of(column).decimal
    read = [_number(cell, decimal, missing) for cell in cells.to_numpy(object)]
    values = np.array([math.nan if number is None else number for number in read], np.float64)
    bad = np.array([number is None for number in read], bool)
    return Parsed(values, bad, np.isnan(values) & ~bad)


def _number(cell: object, decimal: str, missing: Missing) -> float | None:
    """Value of a cell, NaN if it is missing, None if it is no number."""
    if isinstance(cell, Real) and not isinstance(cell, bool | np.bool_):
        try:
            value = float(cell)
        except OverflowError:
            value = math.inf
    else:
        text = as_text(cell)
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
    """Subjects x regions; a cell that is no finite number, or looks like -999, is refused."""
    values = np.empty((len(table.frame), len(regions)))
    for begin in range(0, len(regions), BLOCK):
        block = regions[begin : begin + BLOCK]
        rows = np.array([_region(table, region, missing) for region in block])
        lowest, highest = np.fmin.reduce(rows, axis=1), np.fmax.reduce(rows, axis=1)
        odd = np.isinf(lowest) | np.isinf(highest)
        odd |= np.isin(lowest, SENTINELS) | np.isin(highest, SENTINELS)
        for k in map(int, np.flatnonzero(odd)):
            check_finite(table, block[k], rows[k])
            check_sentinels(table, block[k], rows[k], missing)
        values[:, begin : begin + BLOCK] = rows.T
    return values


def _region(table: RawTable, region: str, missing: Missing) -> Array:
    parsed = parse(table, region, missing)
    if parsed.bad.any():
        raise _no_number(table, region, parsed.bad, "region")
    return parsed.values


def covariate(table: RawTable, column: str, missing: Missing) -> NDArray[Any]:
    """Numbers if all cells that are there are numbers, labels if none is."""
    parsed = parse(table, column, missing)
    if parsed.bad.any():
        found = text_labels(table, column, missing)
        check_label_sentinels(table, column, found, missing)
        _check_no_numbers(table, column, parsed)
        check_repeated(table, column, found, "covariate")
        return np.array(found, dtype=str)
    check_finite(table, column, parsed.values)
    check_sentinels(table, column, parsed.values, missing)
    return parsed.values


def _check_no_numbers(table: RawTable, column: str, parsed: Parsed) -> None:
    """Refuse labels with numbers among them, in whatever way these are written."""
    cells = table.frame[column].to_numpy(object)
    like = [ANY_NUMBER.fullmatch(as_text(c)) or _GROUPED.fullmatch(as_text(c)) for c in cells]
    written = parsed.bad & np.array([found is not None for found in like], bool)
    if written.any():
        raise _no_number(table, column, written, "covariate")
    if not (parsed.bad | parsed.missing).all():
        error = _no_number(table, column, parsed.bad, "covariate")
        raise InputError(f"{error} Numbers that are labels need a letter each.")


def _no_number(table: RawTable, column: str, bad: Mask, role: str) -> InputError:
    row = int(np.flatnonzero(bad)[0])
    cell = as_text(table.frame[column].iloc[row])
    count = int(bad.sum())
    others = f" ({count} such cells in this column)" if count > 1 else ""
    return InputError(
        f"{table.where(row, column)}: the {role} holds {cell[:60]!r}, which is no number{others}. "
        + _remedy(cell, table.origin_of(column).decimal)
    )


def _remedy(cell: str, decimal: str) -> str:
    other = "," if decimal == "." else "."
    if NUMBERS[other].fullmatch(cell) and decimal == ".":
        return (
            "If the comma separates decimals, give decimal=',' (--decimal ,) or write a point; "
            "else remove it."
        )
    if _GROUPED.fullmatch(cell) or NUMBERS[other].fullmatch(cell):
        return (
            "Thousands separators are not guessed: write the number without them, or give the "
            "decimal mark (decimal=, --decimal)."
        )
    if _EXCEL_ERROR.fullmatch(cell):
        return "This is an error of Excel: correct the formula, or leave the cell empty."
    return (
        "Correct the cell, leave it empty, or, if it stands for a missing value, name it in "
        "missing= (--missing)."
    )


def check_finite(table: RawTable, column: str, values: Array) -> None:
    """Refuse infinity."""
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        raise InputError(
            f"{table.where(int(infinite[0]), column)}: the value is infinite ({infinite.size} "
            "such cells in this column). Correct the cell, or leave it empty."
        )


def check_sentinels(table: RawTable, column: str, values: Array, missing: Missing) -> None:
    """Refuse a number such as -999 that lies far from all others: it stands for "missing"."""
    present = values[~np.isnan(values)]
    others = present[~np.isin(present, SENTINELS)]
    if missing.unguarded or len(others) < FEW:
        return
    low, high = others.min(), others.max()
    reach = FAR * (high - low)
    for sentinel in sorted(set(present.tolist()) & set(SENTINELS)):
        below = sentinel < 0 and (low >= 0 or sentinel < low - reach)
        if below or sentinel > high + reach:
            said = f"lies far from all other values ({low:g} to {high:g})"
            raise _sentinel(table, column, values == sentinel, f"{sentinel:g}", said)


def check_label_sentinels(
    table: RawTable, column: str, found: Sequence[str], missing: Missing
) -> None:
    """Refuse a label such as -999, unless labels are numbers and it lies among them."""
    values = np.array([math.nan if (v := _value(label)) is None else v for label in found])
    words = [label for label, value in zip(found, values, strict=True) if label and value != value]
    if not words:
        check_sentinels(table, column, values, missing)
    elif np.isin(values, SENTINELS).any() and not missing.unguarded:
        row = int(np.flatnonzero(np.isin(values, SENTINELS))[0])
        said = f"is no label as the others ({listed(sorted(set(words)), 3)})"
        raise _sentinel(table, column, values == values[row], found[row], said)


def _value(label: str) -> float | None:
    """Finite number that a label is."""
    value = float(label) if NUMBERS["."].fullmatch(label) else math.inf
    return value if math.isfinite(value) else None


def _sentinel(table: RawTable, column: str, where: Mask, sentinel: str, said: str) -> InputError:
    return InputError(
        f"{table.where(int(np.flatnonzero(where)[0]), column)}: {sentinel} {said} and looks like a "
        f"mark for a missing cell ({counted(where.sum(), 'such cell')} in this column). Give "
        f"missing=[{sentinel}] (--missing {sentinel}) to read it as missing, missing=[] "
        "(--missing without a value) to take it as it is."
    )


def text_labels(table: RawTable, column: str, missing: Missing) -> list[str]:
    """Labels, "" where missing; spelled in one way each."""
    found = labels(table.frame[column], missing.texts)
    if missing.numbers:
        found = ["" if _value(label) in missing.numbers else label for label in found]
    for row, label in enumerate(found):
        if _EXCEL_ERROR.fullmatch(label):
            raise InputError(f"{table.where(row, column)}: {label!r}. {_remedy(label, '.')}")
    check_spelling(table, column, found)
    return found


def check_repeated(table: RawTable, column: str, found: Sequence[str], role: str) -> None:
    """Refuse labels that most rows have to themselves, such as ids, dates or numbers."""
    present = [label for label in found if label]
    distinct = list(dict.fromkeys(present))
    if len(present) >= MANY_ROWS and len(distinct) > OWN_LABELS * len(present):
        raise InputError(
            f"{table.source_of(column)}, column {column!r}: {len(distinct)} different labels in "
            f"{len(present)} rows, such as {listed(distinct, 3)}. Ids, dates and the like are no "
            f"{role}: name the column that holds it ({OPTIONS[role]})."
        )


def check_spelling(table: RawTable, column: str, found: Sequence[str]) -> None:
    """Refuse labels that differ by upper and lower case or inner blanks alone."""
    counts = Counter(label for label in found if label)
    seen: dict[str, str] = {}
    for label in counts:
        plain = " ".join(label.casefold().split())
        other = seen.setdefault(plain, label)
        if other != label:
            row = found.index(label)
            raise InputError(
                f"{table.where(row, column)}: {label!r} ({counted(counts[label], 'time')}) and "
                f"{other!r} "
                f"({counted(counts[other], 'time')}) differ in spelling alone. Write both alike."
            )


def first_blank(found: Sequence[str]) -> int | None:
    """Row of the first missing label."""
    return next((row for row, label in enumerate(found) if not label), None)
