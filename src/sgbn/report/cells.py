"""Tables of the page: the text of each cell, the number it is sorted by, and marked rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from sgbn.report.hints import hint_of

MAX_CELLS = 10_000  # per table: more would make the page slow; the CSV file has all
DASH = "–"
MINUS = "−"
SMALL_P = 0.001  # a smaller p is shown as "< 0.001"

Kind = Literal["text", "name", "prose", "number", "weight", "interval", "p", "share", "count"]

TEXTS = ("text", "name", "prose")


class Field(NamedTuple):
    """A column of a DataFrame as the page shows it.

    Attributes
    ----------
    source : str
        Name of the column in the DataFrame.
    title : str
        Title of the column in the page.
    kind : str
        How the values are written.
    hint : str or None
        How to read the column. If it is None, `hint_of` looks it up.
    folds : bool
        Whether the column is hidden until a reader asks for it.
    """

    source: str
    title: str
    kind: Kind = "text"
    hint: str | None = None
    folds: bool = False

    @property
    def style(self) -> str:
        """CSS classes of the title."""
        kind = {"text": "", "name": "name", "prose": "prose"}.get(self.kind, "num")
        return f"{kind} more".strip() if self.folds else kind


ENDS = Field("source", "from", "name"), Field("target", "to", "name")  # both regions of an edge


class Cell(NamedTuple):
    """The text of a cell. A number also has more digits, for sorting and for the download."""

    text: str
    exact: str | None = None


class Row(NamedTuple):
    """Cells of a row; a mark is a CSS class that emphasises the row."""

    cells: list[Cell]
    mark: str = ""


@dataclass(frozen=True)
class Table:
    """A table of the page.

    Attributes
    ----------
    key : str
        Id of the table in the page, and name of the file that its button downloads.
    caption : str
        Title of the table.
    fields : tuple of Field
        Columns of the table.
    rows : list of Row
        Rows that the page shows.
    total : int
        Number of all rows; the page shows no more than `MAX_CELLS` allows.
    searched : bool
        Whether a reader can sort, search and download the table.
    """

    key: str
    caption: str
    fields: tuple[Field, ...]
    rows: list[Row]
    total: int
    searched: bool = True

    @property
    def hints(self) -> list[tuple[str, str]]:
        """Titles of columns, and how to read these columns."""
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
    """Make a table for the page; fields whose column the DataFrame lacks are left out.

    `mark` gets a row as a mapping of column to value. It returns the CSS class that emphasises the
    row, or "".
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
    """Return the fields as folded: they are hidden until a reader asks for them."""
    return [field._replace(folds=True) for field in fields]


def significant(level: float, *columns: str) -> Callable[[Mapping[str, Any]], str]:
    """Return a `mark` for rows in which all of these columns are at most the level."""
    # A comparison with NaN is always false, so a row that was not tested is never marked.
    return lambda row: "found" if all(row[name] <= level for name in columns) else ""


def mark_by(column: str, marks: Mapping[str, str], other: str = "") -> Callable[[Any], str]:
    """Return a `mark` that depends on the value of a column."""
    return lambda row: marks.get(row[column], other)


def in_words(table: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Return the table with "yes" and "no" in these columns; absent columns are ignored."""
    known = [name for name in names if name in table]
    return table.assign(**{name: np.where(table[name], "yes", "no") for name in known})


def cell(value: Any, kind: Kind) -> Cell:
    """Return the cell that shows a value."""
    if kind in TEXTS:
        return Cell("" if value is None else str(value))
    if kind == "interval":  # sorted by its middle
        return Cell(interval_text(*value), f"{value[0] + 0.0:.6g}")
    number = float(value)
    if np.isnan(number):
        return Cell(DASH, "")
    return Cell(SHOWN[kind](number), f"{number + 0.0:.6g}")  # + 0.0: no minus zero


def number_text(value: float) -> str:
    """Write a number with three significant digits and a typographic minus sign."""
    if value == 0:
        return "0"
    # Between these limits "g" would write 12300 as 1.23e+04, which is hard to read.
    text = f"{value:.3g}" if not 0.001 <= abs(value) < 1e5 else _plain(value)
    return text.replace("-", MINUS)


def p_value(value: float) -> str:
    """Write a p with three decimals; a dash if it is NaN."""
    if np.isnan(value):
        return DASH
    return f"{value:.3f}" if value >= SMALL_P else f"< {SMALL_P}"


def interval_text(mean: float, low: float, high: float) -> str:
    """Write a mean with its interval, such as "0.50 (0.20 to 0.80)"."""
    if np.isnan(mean) or np.isnan(low):
        return fixed(mean)
    return f"{fixed(mean)} ({fixed(low)} to {fixed(high)})"


def fixed(value: float, places: int = 2) -> str:
    """Write a number with a fixed number of decimals; a dash if it is NaN."""
    if np.isnan(value):
        return DASH
    # Rounding -0.001 gives a minus zero. Adding 0.0 makes it a zero.
    return f"{round(value, places) + 0.0:.{places}f}".replace("-", MINUS)


def _plain(value: float) -> str:
    """Write three significant digits, never with an exponent."""
    places = max(0, 2 - int(np.floor(np.log10(abs(value)))))
    return f"{value:.{places}f}"


SHOWN: dict[str, Callable[[float], str]] = {
    "number": number_text,
    "weight": fixed,
    "p": p_value,
    "share": lambda value: f"{value + 0.0:.0%}",
    "count": lambda value: f"{round(value)}",
}
