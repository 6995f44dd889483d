"""Tables in Excel and OpenDocument files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgbn.exceptions import InputError, listed
from sgbn.io.tables.raw import (
    MISSING,
    NamedText,
    Origin,
    RawTable,
    clean_names,
    filled_rows,
    name_columns,
)

EXCEL = (".xlsx", ".xlsm", ".xls", ".ods")
WITH_FORMATS = (".xlsx", ".xlsm")  # files in which openpyxl finds how a number is shown
EXTRA = 'pip install "sgbn[tables]"'


def read_sheet(
    path: Path,
    source: str,
    as_text: NamedText,
    sheet: str | int | None = None,
    decimal: str | None = None,
) -> RawTable:
    """Cells of one sheet, the first if none is named, typed as they are there."""
    cells, chosen = _cells(path, source, sheet)
    filled = np.flatnonzero(filled_rows(cells))
    if len(filled) < 2:
        raise InputError(f"{source}, sheet {chosen!r}: no rows under a header. Add the subjects.")
    head, rows = filled[0], filled[1:]
    names = clean_names(cells.iloc[head])
    body = cells.iloc[rows].reset_index(drop=True)
    if path.suffix.lower() in WITH_FORMATS:
        text = as_text(names)
        ids = [k for k, name in enumerate(names) if (not name or name in text)]
        body = _with_zeros(body, [k for k in ids if _has_numbers(body[k])], path, chosen, rows)
    frame = name_columns(body, names, source).infer_objects()
    facts = {"sheet": chosen, "rows": len(rows)}
    return RawTable(frame, Origin(source, rows + 1), facts=facts, decimal=decimal or ".")


def _cells(path: Path, source: str, sheet: str | int | None) -> tuple[pd.DataFrame, str]:
    try:
        with pd.ExcelFile(path) as book:
            chosen = _chosen([str(name) for name in book.sheet_names], sheet, source)
            cells = pd.read_excel(
                book,
                sheet_name=chosen,
                header=None,
                dtype=object,
                keep_default_na=False,
                na_values=sorted(MISSING),
            )
    except InputError:
        raise
    except ImportError as error:
        remedy = EXTRA if path.suffix.lower() in WITH_FORMATS else "save it as .xlsx or CSV"
        raise InputError(f"{source} needs a library that is absent: {remedy}.") from error
    except Exception as error:  # what is no zip of XML fails anywhere in the libraries below
        said = " ".join(str(error).split())[:120] or type(error).__name__
        raise InputError(
            f"{source} is no Excel file, or damaged ({said}). Save it again, or as CSV."
        ) from error
    return cells.set_axis(range(cells.shape[1]), axis=1), chosen


def _chosen(names: list[str], sheet: str | int | None, source: str) -> str:
    if sheet is None:
        return names[0]
    if isinstance(sheet, int) and 0 <= sheet < len(names):
        return names[sheet]
    if sheet not in names:
        raise InputError(f"{source} has no sheet {sheet!r}: there are {listed(names)}.")
    return str(sheet)


def _has_numbers(cells: pd.Series) -> bool:
    return any(isinstance(cell, int | float) for cell in cells.to_numpy(object))


def _with_zeros(
    body: pd.DataFrame, columns: list[int], path: Path, sheet: str, rows: NDArray[np.intp]
) -> pd.DataFrame:
    """Numbers that the sheet shows with leading zeros (format 0000000), as that text."""
    if not columns:
        return body
    import openpyxl  # type: ignore[import-untyped,unused-ignore]

    page = openpyxl.load_workbook(path, data_only=True)[sheet]
    shown = body.copy()
    for k in columns:
        cells = [page.cell(int(row) + 1, k + 1) for row in rows]
        if any(_zeros(cell) for cell in cells):
            shown[k] = np.array([_shown(cell) for cell in cells], dtype=object)
    return shown


def _zeros(cell: Any) -> int:
    """How many digits a cell shows at least, if its format is zeros only."""
    plain = isinstance(cell.value, int) and re.fullmatch("0{2,}", cell.number_format or "")
    return len(cell.number_format) if plain else 0


def _shown(cell: Any) -> object:
    width = _zeros(cell)
    return f"{cell.value:0{width}d}" if width else cell.value
