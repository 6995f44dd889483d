"""The decimal mark of a text file, and marks that may separate decimals or thousands.

In some countries 1,234 means 1.234, and in others 1234. Only the user knows which, so it is never
guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import pandas as pd

from sgbn.core.exceptions import InputError
from sgbn.io.tables.raw import ROW_NAMES

# Each of these may also be a number with three decimals. A number such as 0.449 cannot be grouped.
_THOUSANDS = {mark: re.compile(rb"[+-]?[1-9]\d{0,2}%b\d{3}" % mark) for mark in (b",", rb"\.")}
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
_GROUPED_TWICE = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3}){2,}(,\d+)?")
_WHOLE = re.compile(r"[+-]?[1-9]\d*")  # without 0, which is the same number in both readings


def decimal_mark(sample: bytes, delimiter: bytes, source: str) -> str:
    """Return the decimal mark of most numbers. It is never a comma if commas separate cells.

    `delimiter` is empty if blanks separate cells.
    """
    if delimiter == b"," or b"," not in sample:
        return "."
    commas, points = ([*_numbers(sample, mark, delimiter)] for mark in (b",", rb"\."))
    if len(commas) <= len(points):
        return "."
    if all(map(_THOUSANDS[b","].fullmatch, commas)):
        raise InputError(
            f"{source}: the comma in numbers such as {commas[0].decode()!r} may separate decimals "
            "or thousands. If it separates decimals, give decimal=',' (--decimal ,). If it "
            "separates thousands, write the numbers without it."
        )
    return ","


def check_points(
    rows: bytes,
    delimiter: bytes,
    names: Sequence[str],
    as_text: Callable[[], pd.DataFrame],
    source: str,
) -> None:
    """Raise InputError if points may separate thousands, as in 2.449 beside 938.

    All numbers with a point must look like thousands. This alone is no reason, because thickness in
    mm with three decimals looks so too, and if it holds for a whole column, the column only has
    another unit. But one column cannot hold numbers with three decimals and numbers with none.

    Parameters
    ----------
    rows : bytes
        The file below the header.
    delimiter : bytes
        What separates cells, empty for blanks.
    names : sequence of str
        The names of the columns.
    as_text : callable
        Returns all cells of the file as text. It is slow, and called only if needed.
    source : str
        The name of the file in errors.
    """
    # Who groups with points writes decimal commas, and so never separates cells by commas.
    if delimiter == b"," or b"." not in rows:
        return
    if not all(map(_THOUSANDS[rb"\."].fullmatch, _numbers(rows, rb"\.", delimiter))):
        return
    for name, (_, column) in zip(names, as_text().items(), strict=True):
        cells = [cell.strip() for cell in column.dropna()]
        twice, grouped, whole = (
            next(filter(form.fullmatch, cells), None) for form in (_GROUPED_TWICE, _GROUPED, _WHOLE)
        )
        place = f"{source}, column {name or ROW_NAMES!r}"
        if twice:
            raise InputError(
                f"{place}: the points in {twice!r} seem to separate thousands. Write all numbers "
                "of this file without them. If such cells are not numbers, and points separate "
                "decimals in all others, give decimal='.' (--decimal .)."
            )
        if grouped and whole:
            raise InputError(
                f"{place}: the point in numbers such as {grouped!r} may separate decimals or "
                f"thousands, because the column also holds {whole!r}. If it separates decimals, "
                f"give decimal='.' (--decimal .), or write {whole}.000. If it separates thousands, "
                "write the numbers without it."
            )


def _numbers(rows: bytes, mark: bytes, delimiter: bytes) -> Iterator[bytes]:
    """Yield the numbers with this decimal mark. Only numbers that fill a cell count."""
    # A text may hold a comma.
    edge = rb"[\s" + re.escape(delimiter) + rb'"]'
    cell = rb"(?:^|(?<=%b))[+-]?\d*%b\d+(?:[eE][+-]?\d+)?(?=%b|$)" % (edge, mark, edge)
    return (number[0] for number in re.finditer(cell, rows))
