"""Tables in Excel and OpenDocument files."""

from __future__ import annotations

import re
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sgbn.exceptions import InputError, listed
from sgbn.io.tables import raw
from sgbn.types import Indices

EXCEL = (".xlsx", ".xlsm", ".xls", ".ods")
WITH_FORMATS = (".xlsx", ".xlsm")  # files in which openpyxl finds how a number is shown
EXTRA = 'pip install "sgbn[tables]"'
MAX_PAGE_BYTES = 2**30  # as Python objects, its cells take twenty times as much
MAX_EMPTY_CELLS = 2**24  # pandas makes each cell up to the last, filled or not

_PLACE = re.compile(rb"""\sr\s*=\s*["']([A-Za-z]{0,3})([0-9]{1,18})["']""")  # of a cell or a row


def read_sheet(
    path: Path,
    source: str,
    as_text: raw.NamedText,
    sheet: str | int | None = None,
    decimal: str | None = None,
) -> raw.RawTable:
    """Return the cells of one sheet, the first if none is named, typed as they are there."""
    cells, chosen, other_sheets = _cells(path, source, sheet)
    filled = np.flatnonzero(raw.filled_rows(cells))
    if len(filled) < 2:
        remedy = (
            f", or name another sheet (sheet=, --sheet): {listed(other_sheets)}"
            if other_sheets
            else ""
        )
        raise InputError(
            f"{source}, sheet {chosen!r}: no rows under a header. Add the subjects{remedy}."
        )
    first = cells.iloc[filled[: raw.MAX_TITLES + 2]].to_numpy(object)
    # Titles above the table are usual in Excel.
    header = raw.later_header([[raw.as_text(cell) for cell in row] for row in first])
    if header:
        raise raw.title_above(f"{source}, sheet {chosen!r}", int(filled[header]) + 1)
    head, rows = filled[0], filled[1:]
    names = raw.clean_names(cells.iloc[head])
    body = cells.iloc[rows].reset_index(drop=True)
    if path.suffix.lower() in WITH_FORMATS:
        text = as_text(names)
        # Columns to be read as text: their numbers must look as in Excel.
        ids = [k for k, name in enumerate(names) if (not name or name in text)]
        with_numbers = [k for k in ids if any(isinstance(c, int | float) for c in body[k])]
        body = _with_zeros(body, with_numbers, path, chosen, rows)
    frame = raw.name_columns(body, names, source).infer_objects()
    facts = {
        "sheet": chosen,
        "rows": len(rows),
        **({"other_sheets": other_sheets} if other_sheets else {}),
    }
    return raw.RawTable(frame, raw.Origin(source, rows + 1, decimal=decimal or "."), facts=facts)


def _cells(path: Path, source: str, sheet: str | int | None) -> tuple[pd.DataFrame, str, list[str]]:
    """Return the cells, the name of their sheet, and the names of the other sheets."""
    try:
        # An .xls is not a zip: then nothing is known of it before it is read.
        flawed = zipfile.is_zipfile(path) and _look_through(path, source)
        with pd.ExcelFile(path) as book:
            names = [str(name) for name in book.sheet_names]
            chosen = _chosen(names, sheet, source)
            cells = pd.read_excel(
                book,
                sheet_name=chosen,
                header=None,
                # Object keeps numbers, text and dates as they are in the cells.
                dtype=object,
                keep_default_na=False,
                na_values=sorted(raw.MISSING),
            )
        cells = cells.set_axis(range(cells.shape[1]), axis=1)
        # A second reading, which takes as long, only for books that need it.
        if flawed and path.suffix.lower() in WITH_FORMATS:
            cells = _with_errors(cells, path, chosen)
    except InputError:
        raise
    except ImportError as error:
        remedy = EXTRA if path.suffix.lower() in WITH_FORMATS else "save it as .xlsx or CSV"
        raise InputError(f"{source} needs a library that is absent: {remedy}.") from error
    except Exception as error:  # what is not a zip of XML fails anywhere in the libraries below
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise InputError(
            f"{source} is not an Excel file, or damaged ({reason}). Save it again, or as CSV."
        ) from error
    return cells, chosen, [name for name in names if name != chosen]


def _look_through(path: Path, source: str) -> bool:
    """Whether any sheet has a cell of the type "error". Raise InputError for a sheet too large."""
    flawed = False
    with zipfile.ZipFile(path) as book:
        for page in book.infolist():
            if page.file_size > MAX_PAGE_BYTES:
                raise InputError(
                    f"{source} unpacks to more than {MAX_PAGE_BYTES >> 30} GB. Save the table as "
                    "CSV or Parquet."
                )
            # Styles and shared texts hold no cells.
            if page.filename.startswith("xl/worksheets/"):
                content = book.read(page)
                _check_extent(content, source)
                flawed = flawed or b't="e"' in content
    return flawed


def _check_extent(content: bytes, source: str) -> None:
    """Raise InputError for a nearly empty sheet with a cell far out: it would fill the memory."""
    last, widest, most = 0, 0, max(MAX_EMPTY_CELLS, len(content))
    for place in _PLACE.finditer(content):
        # The extent is that of the last row and the widest one, found without parsing.
        last = max(last, int(place[2]))
        widest = max(widest, _number_of(place[1]))
        if last * max(widest, 1) > most:
            raise InputError(
                f"{source}: a sheet reaches to row {last} and column {widest}, and nearly all of "
                "it is empty. Delete the cells far below or right of the table, or save as CSV."
            )


@cache
def _number_of(column: bytes) -> int:
    """Return the place of a column from its letters: A is 1, Z is 26, AA is 27."""
    number = 0
    for letter in column.upper():
        number = 26 * number + letter - ord("A") + 1
    return number


def _with_errors(cells: pd.DataFrame, path: Path, sheet: str) -> pd.DataFrame:
    """Return cells with errors such as #DIV/0! as text: pandas reads them as missing."""
    cells = cells.copy()
    for row in _page(path, sheet).iter_rows():
        for cell in row:
            if cell.data_type == "e" and cell.value not in raw.MISSING:
                cells.iloc[cell.row - 1, cell.column - 1] = cell.value
    return cells


def _chosen(names: list[str], sheet: str | int | None, source: str) -> str:
    """Return the name of the sheet that is asked for."""
    if sheet is None:
        return names[0]
    if isinstance(sheet, int) and 0 <= sheet < len(names):
        return names[sheet]
    if isinstance(sheet, str) and sheet not in names and sheet.isdecimal():
        return _chosen(names, int(sheet) - 1, source)  # as people count, at the command line
    if sheet not in names:
        raise InputError(f"{source} has no sheet {sheet!r}: there are {listed(names)}.")
    return str(sheet)


def _with_zeros(
    body: pd.DataFrame, columns: list[int], path: Path, sheet: str, rows: Indices
) -> pd.DataFrame:
    """Return cells with the numbers that the sheet shows with leading zeros as that text.

    An id 0051456 is the number 51456 in the format 0000000.
    """
    if not columns:
        return body
    page = _page(path, sheet)
    shown = body.copy()
    for k in columns:
        cells = [page.cell(int(row) + 1, k + 1) for row in rows]
        if any(_zeros(cell) for cell in cells):
            shown[k] = np.array([_shown(cell) for cell in cells], dtype=object)
    return shown


def _page(path: Path, sheet: str) -> Any:
    import openpyxl  # type: ignore[import-untyped,unused-ignore]

    return openpyxl.load_workbook(path, data_only=True)[sheet]


def _zeros(cell: Any) -> int:
    """Return how many digits a cell shows at least, if its format is zeros only; else 0."""
    plain = isinstance(cell.value, int) and re.fullmatch("0{2,}", cell.number_format or "")
    return len(cell.number_format) if plain else 0


def _shown(cell: Any) -> object:
    width = _zeros(cell)
    return f"{cell.value:0{width}d}" if width else cell.value
