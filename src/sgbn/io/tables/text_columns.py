"""Columns of text among the columns that may be regions.

If regions="all", every column of numbers is a region. A column with too much text for this, such as
values below the limit of detection (``<LLOD``), must not leave the analysis silently.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from sgbn.core.exceptions import listed, warn
from sgbn.io.tables.cells import EXCEL_ERROR, GROUPED, Missing, Parsed, no_number, parse
from sgbn.io.tables.raw import ANY_NUMBER, RawTable, cell_text

# A column of labels, names, notes or dates has hardly any number.
MIN_SHARE_TO_ASK = 0.1
_BEYOND_LIMIT = re.compile(r"[<>≤≥].*")  # <LLOD, <0.5, > 100
_NEARLY = (ANY_NUMBER, GROUPED, EXCEL_ERROR, _BEYOND_LIMIT)


def text_columns(table: RawTable, columns: Iterable[str], missing: Missing) -> dict[str, Parsed]:
    """Return the columns in which many filled cells are not numbers."""
    parsed = {name: parse(table, name, missing) for name in columns}
    return {name: column for name, column in parsed.items() if column.kind == "text"}


def warn_of_numbers(table: RawTable, columns: Mapping[str, Parsed]) -> None:
    """Warn of columns of text that seem to hold measurements, and are therefore no regions."""
    some = [name for name, column in columns.items() if _has_numbers(table, name, column)]
    if some:
        column = some[0]
        others = f" The same is true of {listed(some[1:])}." if some[1:] else ""
        warn(
            f"{no_number(table, column, columns[column].bad, 'column')} Until then the column is "
            "left out, because too few of its cells are numbers. If it is not a region, exclude it "
            f"(exclude=, --exclude).{others}"
        )


def _has_numbers(table: RawTable, name: str, column: Parsed) -> bool:
    cells: Sequence[object] = table.frame[name].to_numpy(object)[column.bad].tolist()
    texts = map(cell_text, cells)
    nearly = sum(any(form.fullmatch(text) for form in _NEARLY) for text in texts)
    present = int((~column.missing).sum())
    return present - len(cells) + nearly >= MIN_SHARE_TO_ASK * present
