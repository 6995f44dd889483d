"""Whether a source holds time series, and not one row per subject."""

from __future__ import annotations

import gzip
import re
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from sgbn.cohort import Cohort
from sgbn.exceptions import InputError
from sgbn.io.series.archives import ENDING
from sgbn.io.series.files import is_time_name
from sgbn.io.series.long_tables import is_long
from sgbn.io.series.reader import read_series
from sgbn.io.tables.assembly import load_cells
from sgbn.io.tables.cohorts import read_table
from sgbn.io.tables.files import PARQUET
from sgbn.io.tables.options import Options
from sgbn.io.tables.sheets import EXCEL

FOR_SERIES = ("tr", "files")  # keywords that `read_table` lacks
FOR_TABLES = ("measure",)  # and that `read_series` lacks
MAX_HEADER_BYTES = 2**20  # the header of a text file ends within these


def is_series(source: Any, **reading: Any) -> bool:
    """Whether `read_series` reads this source: a folder, an ``.npz``, or a long table.

    A long table has many rows per subject and a column that counts them (``time``, ``volume``).

    Parameters
    ----------
    source : path, DataFrame or anything else
        What may hold series.
    **reading
        Keywords of `read_table`, by which a table is looked at.
    """
    if not isinstance(source, str | PathLike | pd.DataFrame):
        return False
    if not isinstance(source, pd.DataFrame):
        path = Path(source)
        # No look inside: what is wrong with it is said by `read_series`.
        if path.is_dir() or path.suffix.lower() == ENDING:
            return True
        if not _may_be_long(path):
            return False
    elif not any(is_time_name(str(name)) for name in source.columns):
        return False
    try:
        # Whether participants lack somebody is the business of the reader.
        options = Options.of(**{**reading, "participants_missing": None})
        marks = {key: reading.get(key) for key in ("sheet", "delimiter", "decimal")}
        return is_long(load_cells(source, options, **marks), options)
    except InputError:  # the reader of tables says what is wrong
        return False


def read_any(source: Any, **reading: Any) -> Cohort:
    """Read time series by `read_series`, and any other table by `read_table`.

    Parameters
    ----------
    source : path or DataFrame
        What to read.
    **reading
        Keywords of both. One that the reader lacks must be None.
    """
    series = is_series(source, **reading)
    # A keyword that would be ignored is an error.
    for name in FOR_TABLES if series else FOR_SERIES:
        if reading.pop(name, None) is not None:
            what = "holds time series" if series else "is a table with one row per subject"
            other = "tables" if series else "time series"
            hint = "" if series else " (those in one table need a column 'time' or 'volume')"
            raise InputError(
                f"{name}= (--{name}) is for {other}{hint}, but {_called(source)} {what}. Leave it "
                "out."
            )
    return read_series(source, **reading) if series else read_table(source, **reading)


def _called(source: Any) -> str:
    return "the DataFrame" if isinstance(source, pd.DataFrame) else repr(str(source))


def _may_be_long(path: Path) -> bool:
    """Whether the first line of a text file has a word for time; a quick look spares a long one."""
    if path.suffix.lower() in (*EXCEL, *PARQUET):
        return True
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
            first = stream.read(MAX_HEADER_BYTES).lstrip().split(b"\n", 1)[0]
    except (OSError, EOFError):
        return False
    # The delimiter is not known yet: any may be it, blanks too.
    words = re.split(r"[\t,;|]", first.decode("utf-8", errors="replace"))
    return any(is_time_name(word) for cell in words for word in (cell, *cell.split()))
