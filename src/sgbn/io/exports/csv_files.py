"""Tables as CSV files that a spreadsheet opens without running anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_numeric_dtype

from sgbn.exceptions import InputError
from sgbn.io.exports.files import PathName, write_file
from sgbn.validation import table_names

# What a spreadsheet takes for the start of a formula; the last four are their wide forms.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def write_csv(table: pd.DataFrame, path: PathName) -> Path:
    """Write a table as CSV in UTF-8, without its index; the file is whole or absent.

    A cell or column name of text that a spreadsheet would take for a formula gets an apostrophe
    in front, so that ``=cmd()`` is shown and not run. These begin with ``=``, ``+``, ``-``, ``@``,
    a tab or a line end. A line end inside text is written as a line feed. Numbers, dates and
    truth values are written as they are, with all their digits; missing cells are empty.

    Parameters
    ----------
    table : DataFrame
        It is not changed.
    path : path
        File to write.

    Returns
    -------
    Path
        The file written.
    """
    if not isinstance(table, pd.DataFrame):
        raise InputError(f"table is a {type(table).__name__}. Give a DataFrame.")
    safe = table.set_axis([_inert(name) for name in table_names(table)], axis=1)
    # By place, not by name: a table may have two columns of one name.
    for place in range(safe.shape[1]):
        column = safe.iloc[:, place]
        if not _is_number(column):
            cells = [_inert(cell) for cell in column]
            safe.isetitem(place, pd.Series(cells, dtype=object).to_numpy())
    # Line feeds on Windows too, so that a file is the same bytes everywhere.
    return write_file(path, lambda stream: safe.to_csv(stream, index=False, lineterminator="\n"))


def _is_number(column: pd.Series[Any]) -> bool:
    """Whether a column can hold no text."""
    dtype = column.dtype
    return is_numeric_dtype(dtype) or is_bool_dtype(dtype) or is_datetime64_any_dtype(dtype)


def _inert(cell: Any) -> Any:
    """Text that no spreadsheet runs; anything else as it is."""
    if not isinstance(cell, str):
        return cell
    shown = f"'{cell}" if cell.startswith(FORMULA_STARTS) else cell
    # csv leaves a lone carriage return unquoted, where a reader ends the row
    return shown.replace("\r\n", "\n").replace("\r", "\n")
