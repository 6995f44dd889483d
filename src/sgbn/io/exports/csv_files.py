"""Write tables as CSV files. A spreadsheet program runs nothing when it opens them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_numeric_dtype

from sgbn.core.exceptions import InputError
from sgbn.core.validation import table_names
from sgbn.io.exports.files import PathName, write_file

# Characters that begin a formula in a spreadsheet program. The last four are wide forms.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def write_csv(table: pd.DataFrame, path: PathName) -> Path:
    """Write a table as CSV in UTF-8, without its index. The file is complete or absent.

    A spreadsheet program would run text such as ``=cmd()`` as a formula. So text in a cell or
    column name gets an apostrophe in front if it begins with ``=``, ``+``, ``-``, ``@`` (also in
    their wide forms), a tab or a line end. A line end inside text is written as a line feed.
    Numbers, dates and truth values are written unchanged, with all their digits. Missing cells are
    empty.

    Parameters
    ----------
    table : DataFrame
        Table to write. It is not changed.
    path : path
        File to write.

    Returns
    -------
    Path
        Path of the file.
    """
    if not isinstance(table, pd.DataFrame):
        raise InputError(f"table is a {type(table).__name__}. Give a DataFrame.")
    safe = table.set_axis([_inert(name) for name in table_names(table)], axis=1)
    # By position, because a table may have two columns of the same name.
    for place in range(safe.shape[1]):
        column = safe.iloc[:, place]
        if not _is_number(column):
            cells = [_inert(cell) for cell in column]
            safe.isetitem(place, pd.Series(cells, dtype=object).to_numpy())
    # Line feeds on Windows too, so that the file has the same bytes on all systems.
    return write_file(path, lambda stream: safe.to_csv(stream, index=False, lineterminator="\n"))


def _is_number(column: pd.Series[Any]) -> bool:
    """Return whether a column cannot hold text."""
    dtype = column.dtype
    return is_numeric_dtype(dtype) or is_bool_dtype(dtype) or is_datetime64_any_dtype(dtype)


def _inert(cell: Any) -> Any:
    """Return text that a spreadsheet program does not run. Other values are returned unchanged."""
    if not isinstance(cell, str):
        return cell
    shown = f"'{cell}" if cell.startswith(FORMULA_STARTS) else cell
    # The csv module does not quote a single carriage return, and a reader would end the row there.
    return shown.replace("\r\n", "\n").replace("\r", "\n")
