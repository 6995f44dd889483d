"""Tables in text files: encoding, delimiter and decimal mark are found, not asked for.

The first lines tell all of these. Then pandas parses the file once. If pandas meets a row that is
too long, or fills up one that is too short, the cells of all rows are counted. So a row of the
wrong length is an error that names the row, and cells are never shifted.

`csv.Sniffer`, which ``pandas.read_csv(sep=None)`` uses too, finds no delimiter in files with R's
row names, runs of blanks, or one row of the wrong length. It knows no decimal marks and no titles.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sgbn.exceptions import InputError, counted
from sgbn.io.tables import raw

BLANKS = "blanks"  # delimiter: any run of spaces and tabs
DELIMITERS = {"\t": "tab", ";": "semicolon", ",": "comma", "|": "bar (|)"}
OTHER_SPELLINGS = {r"\t": "\t", "tab": "\t", " ": BLANKS, r"\s+": BLANKS, "space": BLANKS}
SAMPLE_LINES = 50  # lines that tell the delimiter
SAMPLE_BYTES = 2**16  # bytes that tell text from binary data, and the decimal mark

_QUOTED = re.compile(rb'"[^"]*"')
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
_BEFORE_HEADER = re.compile(rb"[\s,;|]*")
_DECIMAL = re.compile(rb"[ \t]*[+-]?\d*\.\d+")  # a first cell that is not the name of a row
_THOUSANDS = re.compile(rb"[+-]?[1-9]\d{0,2},\d{3}")  # or a number with three decimals
_EXCEL_HINT = re.compile(rb'"?sep=([^\n])"?[ ,;\t]*\n', re.IGNORECASE)
# Since 3.1 pandas always reads a number as the float nearest to it.
_EXACT: dict[str, Any] = (
    {}
    if tuple(int(part) for part in pd.__version__.split(".")[:2]) >= (3, 1)
    else {"float_precision": "round_trip"}
)


class _Layout(NamedTuple):
    """How a file is cut into cells."""

    delimiter: str
    names: list[str]  # one per column, "" for a column without a name
    start: int  # byte at which the first row below the header begins
    first_row: int  # number of that row, as an editor counts lines


def parse_text(
    content: bytes,
    source: str,
    as_text: raw.NamedText,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> raw.RawTable:
    """Return the table in the bytes of a text file.

    Parameters
    ----------
    content : bytes
        The whole file, unzipped.
    source : str
        What errors call the file.
    as_text : callable
        Takes the names in the header and returns those whose cells must stay as written.
    delimiter, decimal : str, optional
        The marks of the file. They are found if not given.
    """
    body, encoding = _as_utf8(content, source)
    layout = _layout(body, source, delimiter)
    decimal = decimal or _decimal(body[layout.start :][:SAMPLE_BYTES], layout.delimiter, source)
    frame, layout = _cells(body, layout, decimal, as_text(layout.names), source)
    numbers = layout.first_row + np.arange(len(frame), dtype=np.intp)
    filled = raw.filled_rows(frame)
    if not filled.any():
        raise InputError(f"{source} has a header but no rows. Add the subjects.")
    if not filled.all():
        frame, numbers = frame.loc[filled].reset_index(drop=True), numbers[filled]
    marks = {"encoding": encoding, "delimiter": layout.delimiter, "decimal": decimal}
    facts = {**marks, "rows": len(frame)}
    frame = raw.name_columns(frame, layout.names, source)
    return raw.RawTable(frame, raw.Origin(source, numbers, decimal=decimal), facts=facts)


def check_marks(delimiter: object, decimal: object) -> None:
    """Raise InputError unless both are None or marks that `parse_text` takes."""
    if not isinstance(delimiter, str | None):
        raise InputError(f"delimiter is {delimiter!r}. Give one character, such as ';' or '\\t'.")
    if decimal not in (None, ".", ","):
        raise InputError(f"decimal is {decimal!r}. Give '.' or ','.")


def _as_utf8(content: bytes, source: str) -> tuple[bytes, str]:
    """Return the bytes in UTF-8 with plain line ends, and the encoding they came in."""
    encoding, body = "utf-8", content.removeprefix(codecs.BOM_UTF8)
    try:
        if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            encoding = "utf-16"  # before decoding, which fails if half a character is left
            body = content.decode(encoding).encode()
        body.decode()
    except UnicodeError as error:
        if encoding == "utf-16":
            raise InputError(f"{source} is not whole UTF-16 text. Save it as UTF-8.") from error
        # No UTF-8: an older encoding. Every byte is a character of latin-1, so that none fails.
        encoding, body = "latin-1", body.decode("latin-1").encode()
    if b"\0" in body or _NO_TEXT.search(body, 0, SAMPLE_BYTES):
        raise InputError(
            f"{source} holds binary data, so it is not a text table. Excel files end in .xlsx, "
            "Parquet files in .parquet; save others as CSV in UTF-8."
        )
    if b"\r" in body:
        body = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if not body or body.isspace():
        raise InputError(f"{source} is empty. Give a file with a header and a row per subject.")
    return body, encoding


def _layout(body: bytes, source: str, delimiter: str | None) -> _Layout:
    """Find the header and the delimiter from the first lines."""
    # Blank lines and rows of delimiters above the header, as spreadsheets export them.
    skipped = _BEFORE_HEADER.match(body)
    head = body.rfind(b"\n", 0, skipped.end() if skipped else 0) + 1
    hint = _EXCEL_HINT.match(body, head)
    if hint:
        delimiter, head = delimiter or hint[1].decode("latin-1"), hint.end()
    end = _after_lines(body, head, SAMPLE_LINES)
    lines = _QUOTED.sub(b"q", body[head:end]).split(b"\n")  # delimiters in quotes do not count
    # "" if no mark cuts the header.
    mark = _given(delimiter) or _delimiter([line for line in lines if line.strip()])
    _check_title(body, head, lines, mark, source)
    names, start = _header(body, head, mark, source) if mark else ([], 0)
    if len([name for name in names if name]) < 2:
        raise _one_column(lines[0], mark, source)
    # Lines are counted from 1, and the header is one of them.
    row = body.count(b"\n", 0, head) + 2
    try:
        records = _records(body[start:end], mark)
    except csv.Error as error:
        raise InputError(f"{source} cannot be read ({error}). Close its quotes.") from error
    if end < len(body):
        records = records[:-1]  # it may be cut inside a quoted cell
    return _Layout(mark, _fit(names, records, mark, row, source), start, row)


def _check_title(
    body: bytes, head: int, lines: Sequence[bytes], delimiter: str, source: str
) -> None:
    """Raise InputError if titles stand above the header: the first would be taken for it."""
    # Titles have no delimiter, so that blanks may be found first: then all others are tried.
    marks = list(DELIMITERS) if delimiter in ("", BLANKS) else [delimiter]
    filled = [k for k, line in enumerate(lines) if line.strip()]
    for tried in marks:
        # Cut as the file would be, if this mark were the delimiter.
        rows = [lines[k].decode(errors="replace").split(tried) for k in filled]
        header = raw.later_header(rows)
        if header and len({len(row) for row in rows[header:]}) == 1:
            raise raw.title_above(source, body.count(b"\n", 0, head) + 1 + filled[header])


def _after_lines(body: bytes, place: int, lines: int) -> int:
    for _ in range(lines):
        place = body.find(b"\n", place) + 1 or len(body)
    return place


def _records(rows: bytes, delimiter: str) -> list[bytes]:
    """Return one line per row, each quoted cell as "q", so that marks and line ends can be counted.

    The csv module is asked where there are quotes, since one inside a plain cell opens nothing.
    """
    if b'"' in rows and delimiter != BLANKS:
        reader = csv.reader(io.StringIO(rows.decode(), newline="\n"), delimiter=delimiter)
        return [delimiter.join("q" * bool(cell.strip()) for cell in row).encode() for row in reader]
    return _QUOTED.sub(b"q", rows).rstrip(b"\n").split(b"\n")


def _given(delimiter: str | None) -> str:
    if delimiter is None:
        return ""
    mark = OTHER_SPELLINGS.get(delimiter, delimiter)
    if mark != BLANKS and (len(mark) != 1 or mark in '"\n\r' or not mark.isascii()):
        raise InputError(f"delimiter is {delimiter!r}. Give one character, such as ';' or '\\t'.")
    return mark


def _delimiter(sample: Sequence[bytes]) -> str:
    """Return the mark that cuts all lines into the same number of cells, the more the better.

    If no mark does, the one that cuts the header into most cells is taken.

    Blanks come last: they stand in names and labels too.
    """
    # Cells per line for each mark.
    widths = {mark: [_width(line, mark.encode()) for line in sample] for mark in DELIMITERS}
    for rule in (_alike, lambda widths: widths[0] > 1):
        fit = [mark for mark, width in widths.items() if width and rule(width)]
        if fit:
            return max(fit, key=lambda mark: widths[mark][0])
        if sample and rule([_width(line, b"") for line in sample]):
            return BLANKS
    return ""


def _alike(widths: Sequence[int]) -> bool:
    """Whether all rows have as many cells, which may be one more than the header has."""
    rows = set(widths[1:]) or {widths[0]}
    # R's write.table has no name above its row names.
    return widths[0] > 1 and len(rows) == 1 and rows <= {widths[0], widths[0] + 1}


def _mark(delimiter: str) -> bytes:
    return b"" if delimiter == BLANKS else delimiter.encode()


def _width(line: bytes, mark: bytes) -> int:
    """Return the number of cells of a line whose quoted cells are masked."""
    return line.count(mark) + 1 if mark else len(line.split())


def _header(body: bytes, head: int, delimiter: str, source: str) -> tuple[list[str], int]:
    """Return the names in the header, and the byte at which the next line begins."""
    if delimiter == BLANKS:  # the csv module knows no runs of blanks
        start = body.find(b"\n", head) + 1 or len(body)
        # A name in quotes may hold blanks.
        cells = re.findall(r'"([^"]*)"|(\S+)', body[head:start].decode())
        return raw.clean_names(quoted or plain for quoted, plain in cells), start
    stream = io.BytesIO(body)
    # The csv module reads the header, which may span lines, and no more.
    stream.seek(head)
    reader = csv.reader(io.TextIOWrapper(stream, "utf-8", newline="\n"), delimiter=delimiter)
    try:
        names = raw.clean_names(next(reader))
    except csv.Error as error:
        raise InputError(
            f"{source}: the header cannot be read ({error}). Close its quotes."
        ) from error
    return names, _after_lines(body, head, reader.line_num)


def _fit(
    names: list[str], records: Sequence[bytes], delimiter: str, first: int, source: str
) -> list[str]:
    """Return one name per cell of each row; row names and empty columns at the end get "".

    A row that has cells without a name, or too few cells, is an error.
    """
    mark = _mark(delimiter)
    # Rows of nothing but delimiters count as empty.
    widths = [_width(line, mark) if line.strip(b" \t" + mark) else 0 for line in records]
    filled = {width for width in widths if width}
    # A row that begins with 0.5 has no row name: then the rows are too long.
    whole = not any(_DECIMAL.match(line) for line in records)
    if filled == {len(names) + 1} and whole and not _all_end(records, mark):
        return ["", *names]  # R's write.table has no name for its row names
    needed = _needed(names)
    for k, width in enumerate(widths):
        # Cells behind the last name may be empty, as spreadsheets write them.
        excess = records[k].split(mark or None)[len(names) :] if width > len(names) else []
        if width and (width < needed or any(cell.strip() for cell in excess)):
            raise InputError(
                f"{source}, row {first + k}: {counted(width, 'cell')}, but the header has "
                f"{len(names)}. Correct the row; a cell that holds the delimiter needs quotes "
                "around it, and each quote must be closed."
            )
    return names + [""] * (max(widths, default=0) - len(names))


def _needed(names: Sequence[str]) -> int:
    """Return the number of cells up to the last that has a name."""
    return max((k for k, name in enumerate(names, start=1) if name), default=0)


def _all_end(records: Sequence[bytes], mark: bytes) -> bool:
    """Whether each row ends with a delimiter: it has an empty cell at the end, no row name."""
    return bool(mark) and all(line.rstrip(b" ").endswith(mark) for line in records if line.strip())


def _one_column(line: bytes, delimiter: str, source: str) -> InputError:
    tried = [DELIMITERS.get(delimiter, delimiter)] if delimiter else [*DELIMITERS.values(), BLANKS]
    return InputError(
        f"{source} comes out as one column: its first line is {line.decode()[:60]!r}. Tried as "
        f"delimiter: {', '.join(tried)}. Give the right one (delimiter=, --delimiter), and a "
        "header with two names or more."
    )


def _decimal(sample: bytes, delimiter: str, source: str) -> str:
    """Return the decimal mark of most numbers; never a comma where commas separate cells."""
    if delimiter == "," or b"," not in sample:
        return "."
    # Numbers between delimiters: a comma inside a text does not count.
    edge = rb"[\s" + re.escape(_mark(delimiter)) + rb'"]'
    cell = rb"(?:^|(?<=%b))[+-]?\d*%b\d+(?:[eE][+-]?\d+)?(?=%b|$)"
    commas, points = (re.findall(cell % (edge, mark, edge), sample) for mark in (b",", rb"\."))
    if len(commas) <= len(points):
        return "."
    # 1,234 is 1.234 in Berlin and 1234 in Boston: with no other number, only the user knows.
    if all(map(_THOUSANDS.fullmatch, commas)):
        raise InputError(
            f"{source}: the comma in numbers such as {commas[0].decode()!r} may separate decimals "
            "or thousands. Give decimal=',' (--decimal ,) if they are decimals; else write the "
            "numbers without it."
        )
    return ","


def _cells(
    body: bytes, layout: _Layout, decimal: str, text: set[str], source: str
) -> tuple[pd.DataFrame, _Layout]:
    """Parse all rows; if one seems too long or too short, count the cells of every row."""
    try:
        frame = _parse(body, layout, decimal, text)
    except (ValueError, OverflowError) as error:
        checked = _counted(body, layout, source)
        if checked == layout:  # all rows have the right length: something else is wrong
            raise InputError(
                f"{source} cannot be read as a table ({_reason(error, layout)}). Correct it there; "
                "each quote must be closed, and each row have as many cells as the header."
            ) from error
        return _cells(body, checked, decimal, text, source)
    # pandas fills up short rows without a word. Such a row lacks its last cell.
    if frame.iloc[:, _needed(layout.names) - 1].isna().any():
        _counted(body, layout, source)
    return frame, layout


def _counted(body: bytes, layout: _Layout, source: str) -> _Layout:
    """Return a layout that fits all rows; raise InputError for a row of another length."""
    try:
        records = _records(body[layout.start :], layout.delimiter)
    except csv.Error:  # a cell too long for the reader
        return layout
    names = _fit(layout.names, records, layout.delimiter, layout.first_row, source)
    return layout._replace(names=names)


def _parse(body: bytes, layout: _Layout, decimal: str, text: set[str]) -> pd.DataFrame:
    """Return the cells, in columns that are numbered."""
    stream = io.BytesIO(body)
    stream.seek(layout.start)
    try:
        return pd.read_csv(
            stream,
            sep=r"\s+" if layout.delimiter == BLANKS else layout.delimiter,
            header=None,
            # Numbers as names: those of the file may repeat until this is checked.
            names=range(len(layout.names)),
            dtype={k: str for k, name in enumerate(layout.names) if name in text or not name},
            keep_default_na=False,
            na_values=sorted(raw.MISSING),
            # Rows keep their numbers, by which errors name them.
            skip_blank_lines=False,
            # In pieces, pandas would give cells of one column two types.
            low_memory=False,
            decimal=decimal,
            encoding="utf-8",
            **_EXACT,
        )
    # There is nothing below the header.
    except pd.errors.EmptyDataError:
        return pd.DataFrame(columns=range(len(layout.names)))


def _reason(error: Exception, layout: _Layout) -> str:
    """Return the words of pandas, with rows counted as in the file."""
    reason = " ".join(str(error).split()).removeprefix("Error tokenizing data. C error: ")
    # pandas counts from 0 where a quote begins, and from 1 where cells are too many.
    for words, start in (("starting at row", 0), ("in line", 1)):
        number = re.search(rf"{words} (\d+)", reason)
        if number:
            row = int(number[1]) + layout.first_row - start
            reason = reason.replace(number[0], f"in row {row}")
    return reason
