"""The reading of tables from files of any kind, or from a DataFrame."""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches
from os import PathLike
from pathlib import Path

import numpy as np
import pandas as pd

from sgbn.core.exceptions import InputError, listed
from sgbn.core.validation import table_names
from sgbn.io.tables.raw import (
    NamedText,
    Origin,
    RawTable,
    cell_text,
    clean_names,
    filled_rows,
    name_columns,
)
from sgbn.io.tables.sheets import EXCEL, EXTRA, read_sheet
from sgbn.io.tables.text import check_marks, parse_text

Source = str | PathLike[str] | pd.DataFrame

PARQUET = (".parquet", ".pq")
MAX_BYTES = 2**33  # more is a gzip bomb, or too much for the memory of a workstation
BYTES_PER_READ = 2**20
FROM_ZERO = "row {} (counted from 0)"


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
        return from_frame(source, "the DataFrame", decimal)
    if not isinstance(source, str | PathLike):
        raise InputError(
            f"a table is read from a path or a DataFrame, not from {type(source).__name__}. Give "
            "one of these."
        )
    name, path = repr(str(source)), Path(source)
    suffix = path.suffix.lower()
    if sheet is not None and suffix not in EXCEL:
        raise InputError(f"{name} has no sheets. Leave out sheet={sheet!r} (--sheet).")
    # The bytes are read once, so that the checksum is certainly the checksum of what is parsed.
    content = read_bytes(path, name)
    if suffix in EXCEL:
        table = read_sheet(path, name, as_text, sheet, decimal)
    elif suffix in PARQUET:
        table = from_frame(_read_parquet(content, name), name, decimal)
    else:
        table = parse_text(unzipped(content, name), name, as_text, delimiter, decimal)
    # With the checksum, a later run can see whether the file has changed.
    file_facts = {"source": str(source), "sha256": hashlib.sha256(content).hexdigest()}
    return replace(table, facts=dict(table.facts) | file_facts)


def from_frame(frame: pd.DataFrame, name: str, decimal: str | None = None) -> RawTable:
    """Return the cells of a DataFrame.

    The index becomes a column if it has a name, or if it does more than count the rows.
    """
    index = frame.index
    if index.nlevels > 1:
        raise InputError(
            f"{name} has an index of {index.nlevels} levels. Make columns of them with "
            "reset_index()."
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
    table = name_columns(table, names, name)
    rows = np.flatnonzero(filled_rows(table))
    if not rows.size or table.shape[1] < 2:
        raise InputError(
            f"{name} needs at least two columns and one row. Give one row per subject."
        )
    if len(rows) < len(table):
        table = table.iloc[rows].reset_index(drop=True)
    facts = {"source": name, "rows": len(rows)}
    return RawTable(table, Origin(name, rows, FROM_ZERO, decimal or "."), facts=facts)


def read_bytes(path: Path, name: str, most: int = -1) -> bytes:
    """Return the first `most` bytes of a file, by default all of them.

    A file that is absent or cannot be read is an error.
    """
    try:
        with path.open("rb") as file:
            return file.read(most)
    except IsADirectoryError as error:
        raise InputError(f"{name} is a folder. Give a file in it.") from error
    except FileNotFoundError as error:
        raise InputError(f"there is no file {name}. {_near(path)}") from error
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{name} cannot be read: {reason}. Check its permissions.") from error
    except ValueError as error:  # a NUL in the path
        raise InputError(f"{name} is not a path: {error}.") from error


def _near(path: Path) -> str:
    """Return a sentence about files with similar names in the same folder."""
    try:
        entries = [entry.name for entry in path.parent.iterdir()]
    except OSError:  # the folder is absent, is a file, or may not be listed
        entries = []
    near = get_close_matches(path.name, entries)
    return f"Did you mean {listed(near)}?" if near else "Check the path."


def unzipped(content: bytes, name: str) -> bytes:
    """Return the content of a gzip file, or the bytes of any other file as they are."""
    # A gzip file is recognized by its first bytes, because its name may have any ending.
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            text = b"".join(_pieces(file))
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{name} is a damaged gzip file ({error}). Download or copy it again."
        ) from error
    if len(text) > MAX_BYTES:
        raise InputError(
            f"{name} unpacks to more than {MAX_BYTES >> 30} GB. Make a table with fewer columns."
        )
    return text


def _pieces(file: gzip.GzipFile) -> Iterator[bytes]:
    """Yield the content in pieces, and stop soon after `MAX_BYTES`.

    A single read would allocate memory for the whole content.
    """
    size = 0
    while size <= MAX_BYTES and (piece := file.read(BYTES_PER_READ)):
        size += len(piece)
        yield piece


def _read_parquet(content: bytes, name: str) -> pd.DataFrame:
    try:
        frame = pd.read_parquet(io.BytesIO(content))
        _decode_all_text(frame)
    except ImportError as error:
        raise InputError(
            f"{name} needs a library that is not installed. Install it: {EXTRA}."
        ) from error
    except Exception as error:  # damaged bytes can raise any error in pyarrow
        reason = " ".join(str(error).split())[:120]
        raise InputError(
            f"{name} is damaged, or is not a Parquet file ({reason}). Write it again."
        ) from error
    return frame


def _decode_all_text(frame: pd.DataFrame) -> None:
    """Decode all text of a table, so that damaged text raises its error here.

    pyarrow decodes text only when it is used. By then, the error could not name the file.
    """
    for cells in (frame.index.to_series(), *(frame.iloc[:, k] for k in range(frame.shape[1]))):
        if isinstance(cells.dtype, pd.StringDtype):
            cells.to_numpy(object)
