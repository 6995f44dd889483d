"""Tables from files of any kind, or from a DataFrame."""

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

from sgbn.exceptions import InputError, listed
from sgbn.io.tables import raw
from sgbn.io.tables.sheets import EXCEL, EXTRA, read_sheet
from sgbn.io.tables.text import check_marks, parse_text
from sgbn.validation import table_names

Source = str | PathLike[str] | pd.DataFrame

PARQUET = (".parquet", ".pq")
MAX_BYTES = 2**33  # larger is a gzip bomb, or no table for the memory of a workstation
BYTES_PER_READ = 2**20
FROM_ZERO = "row {} (counted from 0)"


def load_table(
    source: Source,
    as_text: raw.NamedText,
    *,
    sheet: str | int | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> raw.RawTable:
    """Return the cells of a file or DataFrame.

    Parameters
    ----------
    source : path or DataFrame
        CSV, TSV or other text, gzipped or not; Excel or OpenDocument; Parquet.
    as_text : callable
        Takes the names in the header and returns those whose cells must stay as written.
    sheet : str or int, optional
        The sheet of an Excel file, by name or number; the first if not given.
    delimiter, decimal : str, optional
        The marks of a text file; they are found if not given.
    """
    check_marks(delimiter, decimal)
    if isinstance(source, pd.DataFrame):
        return from_frame(source, "the DataFrame", decimal)
    if not isinstance(source, str | PathLike):
        raise InputError(
            f"a table is a path or a DataFrame, not {type(source).__name__}. Give one of these."
        )
    name, path = repr(str(source)), Path(source)
    suffix = path.suffix.lower()
    if sheet is not None and suffix not in EXCEL:
        raise InputError(f"{name} has no sheets: leave out sheet={sheet!r} (--sheet).")
    # The bytes are read once: what is parsed is what the checksum is of.
    content = read_bytes(path, name)
    if suffix in EXCEL:
        table = read_sheet(path, name, as_text, sheet, decimal)
    elif suffix in PARQUET:
        table = from_frame(_read_parquet(content, name), name, decimal)
    else:
        table = parse_text(unzipped(content, name), name, as_text, delimiter, decimal)
    # The checksum tells later whether a file is still the one that was read.
    made = {"source": str(source), "sha256": hashlib.sha256(content).hexdigest()}
    return replace(table, facts=dict(table.facts) | made)


def from_frame(frame: pd.DataFrame, name: str, decimal: str | None = None) -> raw.RawTable:
    """Return the cells of a DataFrame; its index is a column if it has a name or does not count."""
    index = frame.index
    if index.nlevels > 1:
        raise InputError(f"{name} has an index of {index.nlevels} levels. Call its reset_index().")
    names = raw.clean_names(table_names(frame))
    # Columns by number, since two may have one name until this is checked.
    table = frame.set_axis(range(frame.shape[1]), axis=1).reset_index(drop=True)
    # 0, 1, 2, ... says nothing, nor do whole numbers that repeat after a concat.
    counts = index.dtype.kind in "iu" and (
        not index.is_unique or np.array_equal(index, np.arange(len(index)))
    )
    if raw.as_text(index.name) or not counts:
        table = pd.concat([pd.Series(index.to_numpy(object)), table], axis=1)
        names = [raw.as_text(index.name), *names]
    table = raw.name_columns(table, names, name)
    rows = np.flatnonzero(raw.filled_rows(table))
    if not rows.size or table.shape[1] < 2:
        raise InputError(f"{name} has no rows under two or more columns. Give a row per subject.")
    if len(rows) < len(table):
        table = table.iloc[rows].reset_index(drop=True)
    facts = {"source": name, "rows": len(rows)}
    return raw.RawTable(table, raw.Origin(name, rows, FROM_ZERO, decimal or "."), facts=facts)


def read_bytes(path: Path, name: str) -> bytes:
    """Return the bytes of a file; one that is absent or cannot be read is an error."""
    try:
        return path.read_bytes()
    except IsADirectoryError as error:
        raise InputError(f"{name} is a folder. Give a file in it.") from error
    except FileNotFoundError as error:
        raise InputError(f"there is no file {name}. {_near(path)}") from error
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:  # a NUL in the path
        raise InputError(f"{name} is not a path: {error}.") from error


def _near(path: Path) -> str:
    """Return a sentence about files with similar names in the folder."""
    try:
        entries = [entry.name for entry in path.parent.iterdir()]
    except OSError:  # the folder is absent, a file, or may not be listed
        entries = []
    # A typing error is the usual cause.
    near = get_close_matches(path.name, entries)
    return f"Did you mean {listed(near)}?" if near else "Check the path."


def unzipped(content: bytes, name: str) -> bytes:
    """Return the bytes as they are, or what a gzip file holds."""
    # By its first bytes, whatever it is called.
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            text = b"".join(_pieces(file))
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name} is a damaged gzip file ({error}). Fetch it again.") from error
    if len(text) > MAX_BYTES:
        raise InputError(f"{name} unpacks to more than {MAX_BYTES >> 30} GB. Take fewer columns.")
    return text


def _pieces(file: gzip.GzipFile) -> Iterator[bytes]:
    """Yield content up to just beyond `MAX_BYTES`; in one read, gzip would allocate all of it."""
    size = 0
    while size <= MAX_BYTES and (piece := file.read(BYTES_PER_READ)):
        size += len(piece)
        yield piece


# pyarrow decodes text when it is used. Decoded at once, damaged text is an error of this file.
def _read_parquet(content: bytes, name: str) -> pd.DataFrame:
    try:
        return _decoded(pd.read_parquet(io.BytesIO(content)))
    except ImportError as error:
        raise InputError(f"{name} needs a library that is absent: {EXTRA}.") from error
    except Exception as error:  # damaged bytes fail anywhere in the library below
        reason = " ".join(str(error).split())[:120]
        raise InputError(
            f"{name} is not a Parquet file, or damaged ({reason}). Write it again."
        ) from error


def _decoded(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with all its text decoded."""
    # Only text is decoded late.
    for cells in (frame.index.to_series(), *(frame.iloc[:, k] for k in range(frame.shape[1]))):
        if isinstance(cells.dtype, pd.StringDtype):
            cells.to_numpy(object)
    return frame
