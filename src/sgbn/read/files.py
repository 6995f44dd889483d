"""The cells of a table in a file of any kind, or in a DataFrame.

Files of Excel and OpenDocument are read here, and Parquet files too. The bytes of text files go to
`sgbn.read.text`.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import zipfile
import zlib
from dataclasses import replace
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sgbn.core.problems import InputError, Problem
from sgbn.core.types import Indices
from sgbn.core.validation import table_names
from sgbn.read.cells import (
    MAX_TITLES,
    MISSING,
    NamedText,
    Origin,
    RawTable,
    cell_text,
    clean_names,
    filled_rows,
    later_header,
    name_columns,
    of_file,
    plain_name,
    tells_subject,
    title_above,
)
from sgbn.read.text import check_marks, parse_text

Source = str | PathLike[str] | pd.DataFrame

PARQUET = (".parquet", ".pq")
MAX_BYTES = 2**33  # more is a gzip bomb, or too much for the memory of a workstation
BYTES_PER_READ = 2**20
NO_LIBRARY = "{where} no library is installed that reads and writes such files"
INSTALL = 'Run pip install "sgbn[tables]", or save the table as CSV.'


def load_table(
    source: Source,
    as_text: NamedText,
    *,
    sheet: str | int | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> RawTable:
    """Return the cells of a file or DataFrame.

    Parameters
    ----------
    source : path or DataFrame
        A text file such as CSV or TSV (gzipped or not), an Excel or OpenDocument file, a Parquet
        file, or a DataFrame.
    as_text : callable
        Takes the names in the header, and returns the columns whose cells must be read as text.
    sheet : str or int, optional
        The sheet of an Excel file, by name or number. If not given, the first sheet is read.
    delimiter, decimal : str, optional
        The delimiter and the decimal mark of a text file. They are detected if not given.
    """
    check_marks(delimiter, decimal)
    if isinstance(source, pd.DataFrame):
        return from_frame(source, Problem("frame").says("the DataFrame:"), decimal)
    if not isinstance(source, str | PathLike):
        raise InputError("table.type", kind=type(source).__name__).says(
            "a table is read from a path or a DataFrame, not from a {kind:s}", "Give one of these."
        )
    name, path = of_file(source), Path(source)
    suffix = path.suffix.lower()
    if sheet is not None and suffix not in EXCEL:
        raise InputError("sheets.none", where=name).says(
            "{where} the file has no sheets", "Leave out {sheet=}."
        )
    # The bytes are read once, so that the checksum is certainly the checksum of what is parsed.
    content = read_bytes(path)
    if suffix in EXCEL:
        table = read_sheet(path, name, as_text, sheet, decimal)
    elif suffix in PARQUET:
        table = from_frame(_read_parquet(content, name), name, decimal)
    else:
        table = parse_text(unzipped(content, name), name, as_text, delimiter, decimal)
    # With the checksum, a later run can see whether the file has changed.
    file_facts = {"source": str(source), "sha256": hashlib.sha256(content).hexdigest()}
    return replace(table, facts=dict(table.facts) | file_facts)


def from_frame(frame: pd.DataFrame, source: Problem, decimal: str | None = None) -> RawTable:
    """Return the cells of a DataFrame.

    The index becomes a column if it has a name, or if it does more than count the rows.
    """
    index = frame.index
    if index.nlevels > 1:
        raise InputError("frame.index", where=source, n=index.nlevels).says(
            "{where} the index has {n:level}", "Make columns of them with reset_index()."
        )
    names = clean_names(table_names(frame))
    # Columns get numbers first, because two may have the same name until this is checked.
    table = frame.set_axis(range(frame.shape[1]), axis=1).reset_index(drop=True)
    # An index is not used if it is 0, 1, 2, ..., or whole numbers that repeat after a concat.
    only_counts = index.dtype.kind in "iu" and (
        not index.is_unique or np.array_equal(index, np.arange(len(index)))
    )
    if cell_text(index.name) or not only_counts:
        table = pd.concat([pd.Series(index.to_numpy(object)), table], axis=1)
        names = [cell_text(index.name), *names]
    table = name_columns(table, names, source)
    for name, cells in table.items():
        kinds = set(map(type, cells)) if cells.dtype == object else set()
        if kinds & {list, tuple, dict, set, np.ndarray}:
            raise InputError("cells.nested", where=source, column=name).says(
                "{where} column {column} holds lists, arrays or mappings",
                "Give one number or label per cell.",
            )
    rows = np.flatnonzero(filled_rows(table))
    if not rows.size or table.shape[1] < 2:
        raise InputError("table.empty", where=source).says(
            "{where} at least two columns and one row are needed", "Give one row per subject."
        )
    if len(rows) < len(table):
        table = table.iloc[rows].reset_index(drop=True)
    facts = {"source": "the DataFrame", "rows": len(rows)}
    origin = Origin(source, rows, "0-based row", decimal or ".", unsure=decimal is None)
    return RawTable(table, origin, facts=facts)


def read_bytes(path: Path, most: int = -1, source: Problem | None = None) -> bytes:
    """Return the first `most` bytes of a file, by default all of them.

    A file that is absent or cannot be read is an error. `source` begins its message.
    """
    source = source or of_file(path)
    try:
        with path.open("rb") as file:
            return file.read(most)
    except IsADirectoryError as error:
        raise InputError("file.folder", where=source).says(
            "{where} this is a folder", "Give a file in it."
        ) from error
    except FileNotFoundError as error:
        raise _no_file(path, source) from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise InputError("file.unreadable", where=source, cause=error).says(
            "{where} the file cannot be read ({cause})", "Check its name and permissions."
        ) from error


def _no_file(path: Path, source: Problem) -> InputError:
    if path.is_symlink():
        return InputError("file.dangling", where=source, file=path.readlink()).says(
            "{where} this is a link to {file}, which does not exist", "Correct the link."
        )
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:  # the folder is absent, is a file, or may not be listed
        names = []
    # Only the case, marks or ending may differ, since other files may have names of subjects.
    asked = _plain_stem(path.name)
    near = [name for name in sorted(names) if asked and _plain_stem(name) == asked]
    if near and not tells_subject(source):
        error = InputError("file.absent", where=source, file=near[0])
        return error.says("{where} there is no such file", "Did you mean {file}?")
    return InputError("file.absent", where=source).says(
        "{where} there is no such file", "Check the path."
    )


def _plain_stem(name: str) -> str:
    return plain_name(Path(name.lower().removesuffix(".gz")).stem)


def unzipped(content: bytes, source: Problem) -> bytes:
    """Return the content of a gzip file, or the bytes of any other file as they are."""
    text = gunzipped(content, source, MAX_BYTES)
    if text is not content and len(text) > MAX_BYTES:
        raise InputError("file.large", where=source, n=MAX_BYTES >> 30).says(
            "{where} the file unpacks to more than {n} GB", "Make a table with fewer columns."
        )
    return text


def gunzipped(content: bytes, source: Problem, most: int) -> bytes:
    """Return the same as `unzipped`, but stop soon after `most` bytes without an error."""
    # A gzip file is recognized by its first bytes, because its name may have any ending.
    if not content.startswith(b"\x1f\x8b"):
        return content
    pieces: list[bytes] = []
    size = 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            # A single read would allocate memory for the whole content.
            while size <= most and (piece := file.read(BYTES_PER_READ)):
                pieces.append(piece)
                size += len(piece)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError("gzip.damaged", where=source, cause=error).says(
            "{where} the gzip file is damaged ({cause})", "Download or copy it again."
        ) from error
    return b"".join(pieces)


def decoded(content: bytes) -> str:
    """Return the text in UTF-8, or else in latin-1, which older tools write."""
    try:
        # Some editors on Windows put a byte order mark before the text.
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:  # latin-1 can decode any bytes
        return content.decode("latin-1")


def _read_parquet(content: bytes, source: Problem) -> pd.DataFrame:
    try:
        frame = pd.read_parquet(io.BytesIO(content))
        # pyarrow decodes text only when it is used. By then, an error could not name the file.
        for cells in (frame.index.to_series(), *(frame.iloc[:, k] for k in range(frame.shape[1]))):
            if isinstance(cells.dtype, pd.StringDtype):
                cells.to_numpy(object)
    except ImportError as error:
        raise InputError("library.absent", where=source).says(NO_LIBRARY, INSTALL) from error
    except Exception as error:  # damaged bytes can raise any error in pyarrow
        raise InputError("parquet.damaged", where=source, cause=error).says(
            "{where} the file is damaged, or is not a Parquet file ({cause})", "Write it again."
        ) from error
    return frame


EXCEL = (".xlsx", ".xlsm", ".xls", ".ods")
WITH_FORMATS = (".xlsx", ".xlsm")  # files whose number formats openpyxl can read
MAX_PAGE_BYTES = 2**30  # the cells of a page take twenty times its bytes as Python objects
MAX_EMPTY_CELLS = 2**24  # pandas makes every cell up to the last filled one, even empty ones

# The place of a cell or of a row, such as r="AB12" or r="12".
_PLACE = re.compile(rb"""\sr\s*=\s*["']([A-Za-z]{0,3})([0-9]{1,18})["']""")


def read_sheet(
    path: Path,
    source: Problem,
    as_text: NamedText,
    sheet: str | int | None = None,
    decimal: str | None = None,
) -> RawTable:
    """Return the cells of one sheet with their types. The default is the first sheet."""
    cells, chosen, other_sheets = _cells(path, source, sheet)
    filled = np.flatnonzero(filled_rows(cells))
    if len(filled) < 2:
        raise InputError("sheet.empty", where=source, sheet=chosen).says(
            "{where} sheet {sheet} has no rows below a header",
            "Add the subjects, or name another sheet ({sheet=}).",
        )
    first = cells.iloc[filled[: MAX_TITLES + 2]].to_numpy(object)
    # In Excel, there are often titles above the table.
    header = later_header([[cell_text(cell) for cell in row] for row in first])
    if header:
        raise title_above(source, int(filled[header]) + 1)
    head, rows = filled[0], filled[1:]
    names = clean_names(cells.iloc[head])
    body = cells.iloc[rows].reset_index(drop=True)
    if path.suffix.lower() in WITH_FORMATS:
        text = as_text(names)
        # In columns that are read as text, numbers must look as they do in Excel.
        as_written = [k for k, name in enumerate(names) if not name or name in text]
        with_numbers = [k for k in as_written if any(isinstance(c, int | float) for c in body[k])]
        body = _with_zeros(body, with_numbers, path, chosen, rows)
    frame = name_columns(body, names, source).infer_objects()
    facts: dict[str, object] = {"sheet": chosen, "rows": len(rows)}
    if other_sheets:
        facts["other_sheets"] = other_sheets
    origin = Origin(source, rows + 1, decimal=decimal or ".", unsure=decimal is None)
    return RawTable(frame, origin, facts=facts)


def _cells(
    path: Path, source: Problem, sheet: str | int | None
) -> tuple[pd.DataFrame, str, list[str]]:
    """Return the cells, the name of their sheet, and the names of the other sheets."""
    try:
        # An .xls file is not a zip archive, so it cannot be searched before it is read.
        has_errors = zipfile.is_zipfile(path) and _has_error_cells(path, source)
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
                na_values=sorted(MISSING),
            )
        cells = cells.set_axis(range(cells.shape[1]), axis=1)
        # To keep errors such as #DIV/0!, the file is read again, which takes as long as before.
        if has_errors and path.suffix.lower() in WITH_FORMATS:
            cells = _with_errors(cells, path, chosen)
    except InputError:
        raise
    except ImportError as error:
        raise InputError("library.absent", where=source).says(NO_LIBRARY, INSTALL) from error
    except Exception as error:  # damaged files can raise any error in the libraries
        raise InputError("excel.damaged", where=source, cause=error).says(
            "{where} the file is damaged, or is not an Excel file ({cause})",
            "Save it again, or as CSV.",
        ) from error
    return cells, chosen, [name for name in names if name != chosen]


def _has_error_cells(path: Path, source: Problem) -> bool:
    """Return whether a sheet has a cell of the type "error".

    Raise InputError for a sheet that is too large for the memory.
    """
    has_errors = False
    with zipfile.ZipFile(path) as book:
        for page in book.infolist():
            if page.file_size > MAX_PAGE_BYTES:
                raise InputError("file.large", where=source, n=MAX_PAGE_BYTES >> 30).says(
                    "{where} the file unpacks to more than {n} GB", "Save it as CSV or Parquet."
                )
            # Styles and shared texts hold no cells.
            if page.filename.startswith("xl/worksheets/"):
                content = book.read(page)
                _check_extent(content, source)
                has_errors = has_errors or b't="e"' in content
    return has_errors


def _check_extent(content: bytes, source: Problem) -> None:
    """Raise InputError if a sheet is nearly empty, but so large that it would fill the memory."""
    last_row, last_column, max_cells = 0, 0, max(MAX_EMPTY_CELLS, len(content))
    # The places of cells are found without parsing the sheet.
    for place in _PLACE.finditer(content):
        last_row = max(last_row, int(place[2]))
        last_column = max(last_column, _number_of(place[1]))
        if last_row * max(last_column, 1) > max_cells:
            extent = {"row": last_row, "column": last_column}
            raise InputError("sheet.extent", where=source, **extent).says(
                "{where} a nearly empty sheet reaches to row {row} and column {column}",
                "Delete the cells far from the table, or save it as CSV.",
            )


@cache
def _number_of(column: bytes) -> int:
    """Return the number of a column from its letters: A is 1, Z is 26, AA is 27."""
    number = 0
    for letter in column.upper():
        number = 26 * number + letter - ord("A") + 1
    return number


def _with_errors(cells: pd.DataFrame, path: Path, sheet: str) -> pd.DataFrame:
    """Return the cells with errors such as #DIV/0! as text. pandas reads them as missing."""
    cells = cells.copy()
    for row in _page(path, sheet).iter_rows():
        for cell in row:
            if cell.data_type == "e" and cell.value not in MISSING:
                cells.iloc[cell.row - 1, cell.column - 1] = cell.value
    return cells


def _chosen(names: list[str], sheet: str | int | None, source: Problem) -> str:
    """Return the name of the sheet that the caller asks for."""
    if sheet is None:
        return names[0]
    if isinstance(sheet, int) and 0 <= sheet < len(names):
        return names[sheet]
    if sheet in names:
        return str(sheet)
    # At the command line, where a number is text, sheets count from 1.
    if isinstance(sheet, str) and sheet.isdecimal() and 1 <= int(sheet) <= len(names):
        return names[int(sheet) - 1]
    raise InputError("sheet.unknown", where=source, sheet=sheet, known=names).says(
        "{where} there is no sheet {sheet}", "Choose one of {known}."
    )


def _with_zeros(
    body: pd.DataFrame, columns: list[int], path: Path, sheet: str, rows: Indices
) -> pd.DataFrame:
    """Return the cells. Numbers that Excel shows with leading zeros become the text that it shows.

    For example, Excel stores the id 0051456 as the number 51456 with the format 0000000.
    """
    if not columns:
        return body
    page = _page(path, sheet)
    shown = body.copy()
    for k in columns:
        cells = [page.cell(int(row) + 1, k + 1) for row in rows]
        widths = [_zeros(cell) for cell in cells]
        if any(widths):
            pairs = zip(cells, widths, strict=True)
            texts = [f"{cell.value:0{width}d}" if width else cell.value for cell, width in pairs]
            shown[k] = np.array(texts, dtype=object)
    return shown


def _page(path: Path, sheet: str) -> Any:
    import openpyxl  # type: ignore[import-untyped,unused-ignore]

    return openpyxl.load_workbook(path, data_only=True)[sheet]


def _zeros(cell: Any) -> int:
    """Return the least number of digits that a cell shows, or 0 if its format is not only zeros."""
    plain = isinstance(cell.value, int) and re.fullmatch("0{2,}", cell.number_format or "")
    return len(cell.number_format) if plain else 0
