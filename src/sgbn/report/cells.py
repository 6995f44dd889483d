"""Tables of the page: what a cell says, what it is sorted by, and what stands out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from sgbn.report.hints import hint_of

MAX_CELLS = 10_000  # cells of a table that the page shows, to stay small; its CSV file has all
DASH = "–"
MINUS = "−"
SMALL_P = 0.001  # a smaller p is shown as "< 0.001"

Kind = Literal["text", "name", "prose", "number", "weight", "interval", "p", "share", "count"]

TEXTS = ("text", "name", "prose")


class Field(NamedTuple):
    """A column of a DataFrame as the page shows it."""

    source: str
    title: str
    kind: Kind = "text"
    hint: str | None = None  # None: as `hint_of` the table and this column
    folds: bool = False  # whether a reader has to ask for it

    @property
    def style(self) -> str:
        """Classes of its title in the page."""
        kind = {"text": "", "name": "name", "prose": "prose"}.get(self.kind, "num")
        return f"{kind} more".strip() if self.folds else kind


ENDS = Field("source", "from", "name"), Field("target", "to", "name")  # of an edge


class Cell(NamedTuple):
    """Text of a cell and, of a number, all its digits to sort and download it by."""

    text: str
    exact: str | None = None


class Row(NamedTuple):
    """Cells of a row; one with a mark stands out."""

    cells: list[Cell]
    mark: str = ""


@dataclass(frozen=True)
class Table:
    """A table of the page.

    Attributes
    ----------
    key : str
        Its id in the page, and the name of its CSV file.
    caption : str
    fields : tuple of Field
    rows : list of Row
    total : int
        Rows that there are; the page shows no more than `MAX_CELLS` allows.
    searched : bool
        Whether it can be sorted, searched and downloaded.
    """

    key: str
    caption: str
    fields: tuple[Field, ...]
    rows: list[Row]
    total: int
    searched: bool = True

    @property
    def hints(self) -> list[tuple[str, str]]:
        """How to read the columns: their titles, and what they mean."""
        titles: dict[str, list[str]] = {}
        for field in self.fields:
            hint = hint_of(self.key, field.source) if field.hint is None else field.hint
            titles.setdefault(hint, []).append(field.title)
        return [("; ".join(same), hint) for hint, same in titles.items() if hint]


def make_table(
    key: str,
    caption: str,
    frame: pd.DataFrame,
    fields: Sequence[Field],
    *,
    mark: Callable[[Any], str] | None = None,
    searched: bool = True,
) -> Table:
    """Make a table of those columns of a DataFrame that it has.

    `mark` gets a row as a mapping of column to value, and says how it stands out ("" for not).
    """
    known = tuple(field for field in fields if field.source in frame.columns)
    shown = frame.head(MAX_CELLS // max(len(known), 1))
    columns = [[cell(value, field.kind) for value in shown[field.source]] for field in known]
    marks = [""] * len(shown)
    if mark is not None:
        marks = [mark(row) for row in shown.to_dict("records")]
    rows = [Row(list(cells), row_mark) for *cells, row_mark in zip(*columns, marks, strict=True)]
    return Table(key, caption, known, rows, len(frame), searched)


def folded(fields: Iterable[Field]) -> list[Field]:
    """Return the fields as folded: a reader opens them on demand."""
    return [field._replace(folds=True) for field in fields]


def significant(level: float, *columns: str) -> Callable[[Mapping[str, Any]], str]:
    """Return a `mark` of rows in which all of these columns are at most the level."""
    # No comparison with NaN is true: what was not tested is never marked.
    return lambda row: "found" if all(row[name] <= level for name in columns) else ""


def mark_by(column: str, marks: Mapping[str, str], other: str = "") -> Callable[[Any], str]:
    """Return a `mark` of rows by the value that they have in a column."""
    return lambda row: marks.get(row[column], other)


def in_words(table: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Return the table with "yes" and "no" in these columns; absent ones are ignored."""
    known = [name for name in names if name in table]
    return table.assign(**{name: np.where(table[name], "yes", "no") for name in known})


def cell(value: Any, kind: Kind) -> Cell:
    """Cell of a value."""
    if kind in TEXTS:
        return Cell("" if value is None else str(value))
    if kind == "interval":  # sorted by its middle
        return Cell(interval_text(*value), f"{value[0] + 0.0:.6g}")
    number = float(value)
    if np.isnan(number):
        return Cell(DASH, "")
    return Cell(SHOWN[kind](number), f"{number + 0.0:.6g}")  # + 0.0: no minus zero


def number_text(value: float) -> str:
    """Write a number with three digits, and with a typographic minus sign."""
    if value == 0:
        return "0"
    # Between these limits "g" would write 12300 as 1.23e+04, which few readers like.
    text = f"{value:.3g}" if not 0.001 <= abs(value) < 1e5 else _plain(value)
    return text.replace("-", MINUS)


def p_value(value: float) -> str:
    """P as a cell shows it."""
    return f"{value:.3f}" if value >= SMALL_P else f"< {SMALL_P}"


def interval_text(mean: float, low: float, high: float) -> str:
    """Mean with its interval."""
    if np.isnan(mean):
        return DASH
    if np.isnan(low):
        return f"{round(mean, 2) + 0.0:.2f}".replace("-", MINUS)
    # Rounding makes a minus zero of -0.001; adding 0.0 makes it a zero.
    mean, low, high = (round(value, 2) + 0.0 for value in (mean, low, high))
    return f"{mean:.2f} ({low:.2f} to {high:.2f})".replace("-", MINUS)


def _plain(value: float) -> str:
    """Three digits, never with an exponent."""
    places = max(0, 2 - int(np.floor(np.log10(abs(value)))))
    return f"{value:.{places}f}"


SHOWN: dict[str, Callable[[float], str]] = {
    "number": number_text,
    "weight": lambda value: f"{round(value, 2) + 0.0:.2f}".replace("-", MINUS),
    "p": p_value,
    "share": lambda value: f"{value + 0.0:.0%}",
    "count": lambda value: f"{round(value)}",
}
