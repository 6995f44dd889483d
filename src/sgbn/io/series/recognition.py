"""Functions that decide whether a source holds time series, or one row per subject."""

from __future__ import annotations

import gzip
import re
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from sgbn.cohort.cohort import Cohort
from sgbn.core.exceptions import InputError
from sgbn.io.series.archives import ENDING
from sgbn.io.series.files import is_time_name
from sgbn.io.series.long_tables import is_long
from sgbn.io.series.reader import read_series
from sgbn.io.tables.assembly import load_cells
from sgbn.io.tables.cohorts import read_table
from sgbn.io.tables.files import PARQUET
from sgbn.io.tables.options import Options
from sgbn.io.tables.sheets import EXCEL

FOR_SERIES = ("tr", "files")  # keywords that only `read_series` has
FOR_TABLES = ("measure",)  # keywords that only `read_table` has
MAX_HEADER_BYTES = 2**20  # bytes that are searched for the header of a text file


def is_series(source: Any, **reading: Any) -> bool:
    """Return whether `read_series` reads this source: a folder, an ``.npz``, or a long table.

    A long table has many rows per subject and a column that counts them (``time``, ``volume``).

    Parameters
    ----------
    source : path, DataFrame or anything else
        The source that may hold series.
    **reading
        Keywords of `read_table`, with which a table is read.
    """
    if not isinstance(source, str | PathLike | pd.DataFrame):
        return False
    if not isinstance(source, pd.DataFrame):
        path = Path(source)
        # If there are no series inside, `read_series` raises the error.
        if path.is_dir() or path.suffix.lower() == ENDING:
            return True
        if not _may_be_long(path):
            return False
    elif not any(is_time_name(str(name)) for name in source.columns):
        return False
    try:
        # `read_series` or `read_table` checks `participants_missing` later.
        options = Options.of(**{**reading, "participants_missing": None})
        marks = {key: reading.get(key) for key in ("sheet", "delimiter", "decimal")}
        return is_long(load_cells(source, options, **marks), options)
    except InputError:  # `read_table` raises the same error
        return False


def read_any(source: Any, **reading: Any) -> Cohort:
    """Read time series with `read_series`, and any other table with `read_table`.

    Parameters
    ----------
    source : path or DataFrame
        The series or the table to read.
    **reading
        Keywords of both readers. If the reader of this source does not have a keyword, the keyword
        must be None.
    """
    series = is_series(source, **reading)
    # A keyword that would be ignored is an error.
    for name in FOR_TABLES if series else FOR_SERIES:
        if reading.pop(name, None) is not None:
            what = "holds time series" if series else "is a table with one row per subject"
            other = "tables" if series else "time series"
            hint = "" if series else " Time series in a table need a column 'time' or 'volume'."
            raise InputError(
                f"{name}= (--{name}) is for {other}, but {_called(source)} {what}. Leave this "
                "option out."
                f"{hint}"
            )
    return read_series(source, **reading) if series else read_table(source, **reading)


def _called(source: Any) -> str:
    return "the DataFrame" if isinstance(source, pd.DataFrame) else repr(str(source))


def _may_be_long(path: Path) -> bool:
    """Return whether the first line of a text file has a word for time.

    This is much faster than reading the whole file.
    """
    if path.suffix.lower() in (*EXCEL, *PARQUET):
        return True
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
            first = stream.read(MAX_HEADER_BYTES).lstrip().split(b"\n", 1)[0]
    except (OSError, EOFError):
        return False
    # The delimiter is not known yet. It may be any of these, or blanks.
    words = re.split(r"[\t,;|]", first.decode("utf-8", errors="replace"))
    return any(is_time_name(word) for cell in words for word in (cell, *cell.split()))
