"""Cells as numbers and labels; one that is neither is an error that names its place."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbn.exceptions import InputError
from sgbn.io.tables.raw import MISSING, RawTable, as_text, is_number_type, labels

Array = NDArray[np.float64]

MOSTLY = 0.8  # share of numbers from which on a column with some text is a mistake, not a label
# Numbers that people write for "missing".
SENTINELS = (-9.0, *(float(sign + d * k) for sign in "-+" for d in "789" for k in (2, 3, 4, 5)))
BLOCK = 32  # columns that are turned at once: they fit the cache
FAR = 3.0  # ranges of all others beyond which such a number is no value
FEW = 3  # other values that are too few to tell

_NUMBER = r"[+-]?(\d+{0}?\d*|{0}\d+)([eE][+-]?\d+)?"
NUMBERS = {".": re.compile(_NUMBER.format(r"\.")), ",": re.compile(_NUMBER.format(","))}
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_GROUPED = re.compile(r"[+-]?\d{1,3}([.,' ]\d{3})+([.,]\d+)?|[+-]?\d+[.,]\d+[.,]\d+")


@dataclass(frozen=True)
class Missing:
    """What stands for a missing cell, beyond `MISSING`.

    Attributes
    ----------
    texts : frozenset of str
    numbers : tuple of float
    given : bool
        Whether the caller named any: numbers such as -999 are then taken as they are.
    """

    texts: frozenset[str] = MISSING
    numbers: tuple[float, ...] = ()
    given: bool = False

    @classmethod
    def of(cls, markers: object) -> Missing:
        """From the argument of a reader: None, one marker, or several."""
        if markers is None:
            return cls()
        one = isinstance(markers, str | Real) or not isinstance(markers, Iterable)
        found: Sequence[object] = [markers] if one else list(markers)  # type: ignore[call-overload]
        texts = frozenset(as_text(marker) for marker in found)
        numbers = tuple(float(text) for text in sorted(texts) if NUMBERS["."].fullmatch(text))
        return cls(MISSING | texts, numbers, given=True)


@dataclass(frozen=True)
class Parsed:
    """A column as numbers: NaN where a cell is missing or, in `bad`, is no number."""

    values: Array
    bad: NDArray[np.bool_]
    missing: NDArray[np.bool_]

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
    read = [_number(cell, table.decimal, missing) for cell in cells.to_numpy(object)]
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
        raise _no_number(table, region, parsed, "region")
    return parsed.values


def covariate(table: RawTable, column: str, missing: Missing) -> NDArray[Any]:
    """Numbers if all cells that are there are numbers, else labels."""
    parsed = parse(table, column, missing)
    if parsed.kind == "mixed":
        raise _no_number(table, column, parsed, "covariate")
    if parsed.kind == "text":
        found = labels(table.frame[column], missing.texts)
        check_spelling(table, column, found)
        return np.array(found, dtype=str)
    check_finite(table, column, parsed.values)
    check_sentinels(table, column, parsed.values, missing)
    return parsed.values


def _no_number(table: RawTable, column: str, parsed: Parsed, role: str) -> InputError:
    row = int(np.flatnonzero(parsed.bad)[0])
    cell = as_text(table.frame[column].iloc[row])
    count = int(parsed.bad.sum())
    others = f" ({count} such cells in this column)" if count > 1 else ""
    return InputError(
        f"{table.where(row, column)}: the {role} holds {cell[:60]!r}, which is no number{others}. "
        + _remedy(cell, table.decimal)
    )


def _remedy(cell: str, decimal: str) -> str:
    other = "," if decimal == "." else "."
    if NUMBERS[other].fullmatch(cell) and decimal == ".":
        return "If the comma separates decimals, give decimal=','; else remove it."
    if _GROUPED.fullmatch(cell):
        return "Thousands separators are not guessed: write the number without them."
    return (
        "Correct the cell, leave it empty, or, if it stands for a missing value, name it in "
        "missing=."
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
    if missing.given or len(others) < FEW:
        return
    low, high = others.min(), others.max()
    reach = FAR * (high - low)
    for sentinel in sorted(set(present.tolist()) & set(SENTINELS)):
        below = sentinel < 0 and (low >= 0 or sentinel < low - reach)
        if below or sentinel > high + reach:
            rows = np.flatnonzero(values == sentinel)
            raise InputError(
                f"{table.where(int(rows[0]), column)}: {sentinel:g} lies far from all other "
                f"values ({low:g} to {high:g}) and looks like a mark for a missing cell "
                f"({len(rows)} such cells in this column). Give missing=[{sentinel:g}] to read it "
                "as missing, missing=[] to take it as it is."
            )


def group_labels(table: RawTable, column: str, missing: Missing) -> list[str]:
    """Labels of groups or sites, "" where missing; spelled in one way each."""
    found = labels(table.frame[column], missing.texts)
    check_spelling(table, column, found)
    return found


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
                f"{table.where(row, column)}: {label!r} ({counts[label]} times) and {other!r} "
                f"({counts[other]} times) differ in spelling alone. Write both alike."
            )


def first_blank(found: Sequence[str]) -> int | None:
    """Row of the first missing label."""
    return next((row for row, label in enumerate(found) if not label), None)
