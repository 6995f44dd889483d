"""Tables in text files: encoding, delimiter and decimal mark are found, not asked for.

The first lines tell all that; then pandas parses the file once. Where it finds a row too long, or
fills one up, the cells of all rows are counted, so that a row of the wrong length is an error that
names it and never shifts cells.
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
from sgbn.io.tables.raw import (
    MISSING,
    NamedText,
    Origin,
    RawTable,
    clean_names,
    filled_rows,
    later_header,
    name_columns,
    title_above,
)
from sgbn.types import Mask

BLANKS = "blanks"  # delimiter: any run of spaces and tabs
DELIMITERS = {"\t": "tab", ";": "semicolon", ",": "comma", "|": "bar (|)"}
OTHER_SPELLINGS = {r"\t": "\t", "tab": "\t", " ": BLANKS, r"\s+": BLANKS, "space": BLANKS}
SAMPLE_LINES = 50  # lines that tell the delimiter
SAMPLE_BYTES = 2**16  # bytes that tell text from binary data
DECIMAL_BYTES = 2**16  # bytes that tell the decimal mark

_QUOTED = re.compile(rb'"[^"]*"')
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
_BEFORE_HEADER = re.compile(rb"[\s,;|]*")
_DECIMAL = re.compile(rb"[ \t]*[+-]?\d*\.\d+")  # a first cell that is no name of a row
_THOUSANDS = re.compile(rb"[+-]?[1-9]\d{0,2},\d{3}")  # or a number with three decimals
_EXCEL_HINT = re.compile(rb'"?sep=([^\n])"?[ ,;\t]*\n', re.IGNORECASE)
# Since 3.1 pandas always reads a number as the float nearest to it.
_EXACT: dict[str, Any] = (
    {}
    if tuple(int(part) for part in pd.__version__.split(".")[:2]) >= (3, 1)
    else {"float_precision": "round_trip"}
)


class _Layout(NamedTuple):
    """How a file is cut: the names of its columns, and the byte and row where cells begin."""

    delimiter: str
    names: list[str]
    start: int
    first_row: int


def parse_text(
    content: bytes,
    source: str,
    as_text: NamedText,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> RawTable:
    """Table in the bytes of a text file.

    Parameters
    ----------
    content : bytes
    source : str
        What errors call the file.
    as_text : callable
        Names in the header -> those whose cells must stay as written.
    delimiter, decimal : str, optional
        Found from the file if not given.
    """
    body, encoding = _as_utf8(content, source)
    layout = _layout(body, source, delimiter)
    sample = body[layout.start : layout.start + DECIMAL_BYTES]
    decimal = decimal or _decimal(sample, layout.delimiter, source)
    frame, layout = _cells(body, layout, decimal, as_text(layout.names), source)
    numbers = layout.first_row + np.arange(len(frame), dtype=np.intp)
    filled = filled_rows(frame)
    if not filled.any():
        raise InputError(f"{source} has a header but no rows. Add the subjects.")
    if not filled.all():
        frame, numbers = frame.loc[filled].reset_index(drop=True), numbers[filled]
    facts = {
        "encoding": encoding,
        "delimiter": layout.delimiter,
        "decimal": decimal,
        "rows": len(frame),
    }
    frame = name_columns(frame, layout.names, source)
    return RawTable(frame, Origin(source, numbers, decimal=decimal), facts=facts)


def check_marks(delimiter: object, decimal: object) -> None:
    """Refuse what is no delimiter or decimal mark."""
    if not isinstance(delimiter, str | None):
        raise InputError(f"delimiter is {delimiter!r}. Give one character, such as ';' or '\\t'.")
    if decimal not in (None, ".", ","):
        raise InputError(f"decimal is {decimal!r}. Give '.' or ','.")


def _as_utf8(content: bytes, source: str) -> tuple[bytes, str]:
    """Bytes in UTF-8 with plain line ends, and the encoding they came in."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
        try:
            body = content.decode(encoding).encode()
        except UnicodeError as error:
            raise InputError(f"{source} is no whole UTF-16 text. Save it as UTF-8.") from error
    else:
        body, encoding = content.removeprefix(codecs.BOM_UTF8), "utf-8"
        try:
            if not body.isascii():
                body.decode()
        except UnicodeDecodeError:  # in latin-1 every file can be read
            body, encoding = body.decode("latin-1").encode(), "latin-1"
    if b"\0" in body or _NO_TEXT.search(body, 0, SAMPLE_BYTES):
        raise InputError(
            f"{source} holds binary data and is no text table. Excel files end in .xlsx, Parquet "
            "files in .parquet; save others as CSV in UTF-8."
        )
    if b"\r" in body:
        body = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if not body or body.isspace():
        raise InputError(f"{source} is empty. Give a file with a header and a row per subject.")
    return body, encoding


def _layout(body: bytes, source: str, delimiter: str | None) -> _Layout:
    """Find the header and the delimiter from the first lines."""
    skipped = _BEFORE_HEADER.match(body)
    head = body.rfind(b"\n", 0, skipped.end() if skipped else 0) + 1
    hint = _EXCEL_HINT.match(body, head)
    if hint:
        delimiter, head = delimiter or hint[1].decode("latin-1"), hint.end()
    end = _after_lines(body, head, SAMPLE_LINES)
    lines = _masked(body[head:end]).split(b"\n")
    found = _given(delimiter) or _delimiter([line for line in lines if line.strip()])
    _check_title(body, head, lines, found, source)
    names, start = _header(body, head, found, source) if found else ([], 0)
    if len([name for name in names if name]) < 2:
        raise _one_column(lines[0], found, source)
    row = body.count(b"\n", 0, head) + 2
    try:
        records = _records(body[start:end], found)
    except csv.Error as error:
        raise InputError(f"{source} cannot be read ({error}). Close its quotes.") from error
    if end < len(body):
        records = records[:-1]  # it may be cut inside a quoted cell
    return _Layout(found, _fit(names, records, found, row, source), start, row)


def _check_title(
    body: bytes, head: int, lines: Sequence[bytes], delimiter: str, source: str
) -> None:
    """Refuse titles above the header, which would be taken for it."""
    marks = list(DELIMITERS) if delimiter in ("", BLANKS) else [delimiter]
    filled = [k for k, line in enumerate(lines) if line.strip()]
    for mark in marks:
        rows = [lines[k].decode(errors="replace").split(mark) for k in filled]
        found = later_header(rows)
        if found and len({len(row) for row in rows[found:]}) == 1:
            raise title_above(source, body.count(b"\n", 0, head) + 1 + filled[found])


def _after_lines(body: bytes, place: int, lines: int) -> int:
    for _ in range(lines):
        place = body.find(b"\n", place) + 1 or len(body)
    return place


def _records(rows: bytes, delimiter: str) -> list[bytes]:
    """Lines whose quoted cells are masked; a quote inside a plain cell opens nothing."""
    if b'"' in rows and delimiter != BLANKS:
        reader = csv.reader(io.StringIO(rows.decode(), newline="\n"), delimiter=delimiter)
        return [delimiter.join("q" * bool(cell.strip()) for cell in row).encode() for row in reader]
    return _masked(rows).rstrip(b"\n").split(b"\n")


def _masked(rows: bytes) -> bytes:
    return _QUOTED.sub(b"q", rows) if b'"' in rows else rows


def _given(delimiter: str | None) -> str:
    if delimiter is None:
        return ""
    mark = OTHER_SPELLINGS.get(delimiter, delimiter)
    if mark != BLANKS and (len(mark) != 1 or mark in '"\n\r' or not mark.isascii()):
        raise InputError(f"delimiter is {delimiter!r}. Give one character, such as ';' or '\\t'.")
    return mark


def _delimiter(sample: Sequence[bytes]) -> str:
    """Mark that cuts all lines alike and into most cells; else that which cuts the header most.

    Blanks come last: they stand in names and labels too.
    """
    widths = {mark: [_width(line, mark.encode()) for line in sample] for mark in DELIMITERS}
    for rule in (_alike, _cuts_header):
        fit = [mark for mark, width in widths.items() if width and rule(width)]
        if fit:
            return max(fit, key=lambda mark: widths[mark][0])
        if sample and rule([_width(line, b"") for line in sample]):
            return BLANKS
    return ""


def _alike(widths: Sequence[int]) -> bool:
    rows = set(widths[1:]) or {widths[0]}
    return widths[0] > 1 and len(rows) == 1 and rows <= {widths[0], widths[0] + 1}


def _cuts_header(widths: Sequence[int]) -> bool:
    return widths[0] > 1


def _mark(delimiter: str) -> bytes:
    return b"" if delimiter == BLANKS else delimiter.encode()


def _width(line: bytes, mark: bytes) -> int:
    """Cells of a line whose quoted cells are masked."""
    return line.count(mark) + 1 if mark else len(line.split())


def _header(body: bytes, head: int, delimiter: str, source: str) -> tuple[list[str], int]:
    """Names in the header, and where the next line begins."""
    if delimiter == BLANKS:
        start = body.find(b"\n", head) + 1 or len(body)
        cells = re.findall(r'"([^"]*)"|(\S+)', body[head:start].decode())
        return clean_names(quoted or plain for quoted, plain in cells), start
    stream = io.BytesIO(body)
    stream.seek(head)
    reader = csv.reader(io.TextIOWrapper(stream, "utf-8", newline="\n"), delimiter=delimiter)
    try:
        names = clean_names(next(reader))
    except csv.Error as error:
        raise InputError(
            f"{source}: the header cannot be read ({error}). Close its quotes."
        ) from error
    return names, _after_lines(body, head, reader.line_num)


def _fit(
    names: list[str], records: Sequence[bytes], delimiter: str, first: int, source: str
) -> list[str]:
    """Names, one per cell of each row: row names and empty columns at the end get an empty one.

    A row that has cells without a name, or too few of them, is an error.
    """
    mark = _mark(delimiter)
    widths = [_width(line, mark) if line.strip(b" \t" + mark) else 0 for line in records]
    filled = {width for width in widths if width}
    whole = not any(_DECIMAL.match(line) for line in records)
    if filled == {len(names) + 1} and whole and not _all_end(records, mark):
        return ["", *names]  # R's write.table has no name for its row names
    needed = _needed(names)
    for k, width in enumerate(widths):
        excess = records[k].split(mark or None)[len(names) :] if width > len(names) else []
        if width and (width < needed or any(cell.strip() for cell in excess)):
            raise InputError(
                f"{source}, row {first + k}: {counted(width, 'cell')}, but the header has "
                f"{len(names)}. "
                "Correct the row; a cell that holds the delimiter needs quotes around it, and each "
                "quote must be closed."
            )
    return names + [""] * (max(widths, default=0) - len(names))


def _needed(names: Sequence[str]) -> int:
    """Cells up to the last that has a name."""
    return max((k for k, name in enumerate(names, start=1) if name), default=0)


def _all_end(records: Sequence[bytes], mark: bytes) -> bool:
    return bool(mark) and all(line.rstrip(b" ").endswith(mark) for line in records if line.strip())


def _one_column(line: bytes, delimiter: str, source: str) -> InputError:
    tried = [DELIMITERS.get(delimiter, delimiter)] if delimiter else [*DELIMITERS.values(), BLANKS]
    return InputError(
        f"{source} comes out as one column: its first line is {line.decode()[:60]!r}. Tried as "
        f"delimiter: {', '.join(tried)}. Give the right one (delimiter=, --delimiter), and a "
        "header with two names or more."
    )


def _decimal(sample: bytes, delimiter: str, source: str) -> str:
    """Decimal mark of most numbers with decimals; never a comma where commas separate cells."""
    if delimiter == "," or b"," not in sample:
        return "."
    edge = rb"[\s" + re.escape(_mark(delimiter)) + rb'"]'
    cell = rb"(?:^|(?<=%b))[+-]?\d*%b\d+(?:[eE][+-]?\d+)?(?=%b|$)"
    commas, points = (re.findall(cell % (edge, mark, edge), sample) for mark in (b",", rb"\."))
    if len(commas) <= len(points):
        return "."
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
    """Parse all rows; where pandas finds one too long, or fills one up, all are counted."""
    try:
        frame = _parse(body, layout, decimal, text)
    except (ValueError, OverflowError) as error:
        checked = _counted(body, layout, source)
        if checked == layout:
            raise InputError(
                f"{source} cannot be read as a table ({_reason(error, layout)}). Correct it there; "
                "each quote must be closed, and each row have as many cells as the header."
            ) from error
        return _cells(body, checked, decimal, text, source)
    suspects = frame.iloc[:, _needed(layout.names) - 1].isna().to_numpy(bool)
    if suspects.any() and not _is_full(body, layout, suspects):
        _counted(body, layout, source)
    return frame, layout


def _is_full(body: bytes, layout: _Layout, suspects: Mask) -> bool:
    """Whether the rows that may have been filled up are whole; no row is too long."""
    mark, marks = _mark(layout.delimiter), len(layout.names) - 1
    if not mark:
        return False
    if b'"' in body:
        return _masked(body[layout.start :]).count(mark) == marks * len(suspects)
    place = layout.start
    for suspect in suspects:
        end = body.find(b"\n", place)
        end = len(body) if end < 0 else end
        if suspect and body.count(mark, place, end) != marks:
            return False
        place = end + 1
    return True


def _counted(body: bytes, layout: _Layout, source: str) -> _Layout:
    """Layout that fits all rows and not only the first."""
    try:
        records = _records(body[layout.start :], layout.delimiter)
    except csv.Error:  # a cell too long for the reader
        return layout
    names = _fit(layout.names, records, layout.delimiter, layout.first_row, source)
    return layout._replace(names=names)


def _parse(body: bytes, layout: _Layout, decimal: str, text: set[str]) -> pd.DataFrame:
    """Cells with columns that are numbered."""
    stream = io.BytesIO(body)
    stream.seek(layout.start)
    try:
        return pd.read_csv(
            stream,
            sep=r"\s+" if layout.delimiter == BLANKS else layout.delimiter,
            header=None,
            names=range(len(layout.names)),
            dtype={k: str for k, name in enumerate(layout.names) if name in text or not name},
            keep_default_na=False,
            na_values=sorted(MISSING),
            skip_blank_lines=False,
            low_memory=False,
            decimal=decimal,
            encoding="utf-8",
            **_EXACT,
        )
    except pd.errors.EmptyDataError:
        return pd.DataFrame(columns=range(len(layout.names)))


def _reason(error: Exception, layout: _Layout) -> str:
    """Words of pandas, with rows counted as in the file."""
    said = " ".join(str(error).split()).removeprefix("Error tokenizing data. C error: ")
    said = re.sub(
        r"starting at row (\d+)", lambda found: f"at row {int(found[1]) + layout.first_row}", said
    )
    return re.sub(
        r"in line (\d+)", lambda found: f"in row {int(found[1]) + layout.first_row - 1}", said
    )
