"""Tables in text files, whose encoding, delimiter and decimal mark are detected, and safe XML.

The first lines of a file show all three. Then pandas parses the file once. If pandas meets a row
that is too long, or fills up a row that is too short, the cells of all rows are counted. A row of
the wrong length is therefore an error that names the row, and cells are never shifted.

`csv.Sniffer`, which ``pandas.read_csv(sep=None)`` also uses, finds no delimiter in files with R's
row names, with runs of blanks, or with one row of the wrong length. It does not look for decimal
marks or titles.

In some countries 1,234 means 1.234, and in others 1234. Only the user knows which, so it is never
guessed.

XML of unknown origin is read safely: entities are refused, and the depth is limited.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from xml.etree import ElementTree
from xml.parsers import expat

import numpy as np
import pandas as pd

from sgbn.core.problems import InputError, Problem
from sgbn.read.cells import (
    MISSING,
    NamedText,
    Origin,
    RawTable,
    clean_names,
    filled_rows,
    later_header,
    name_columns,
    title_above,
    unclear_point,
)

BLANKS = "blanks"  # the delimiter that is any run of spaces and tabs
DELIMITERS = {"\t": "tab", ";": "semicolon", ",": "comma", "|": "bar (|)"}
OTHER_SPELLINGS = {r"\t": "\t", "tab": "\t", " ": BLANKS, r"\s+": BLANKS, "space": BLANKS}
QUOTES = "{where} the text cannot be read ({cause})"
CLOSE = "Close its quotes."
SAMPLE_LINES = 50  # lines that are searched for the delimiter
SAMPLE_BYTES = 2**16  # bytes that are searched for binary data and for the decimal mark

_QUOTED = re.compile(rb'"[^"]*"')
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
_JSON = re.compile(rb'\s*(\{\s*["}]|\[\s*[\[{"\]\d-])')
_HTML = re.compile(rb"\s*<(!doctype|html|head|body|table|\?xml|!--)", re.IGNORECASE)
_BEFORE_HEADER = re.compile(rb"[\s,;|]*")
_DECIMAL = re.compile(rb"[ \t]*[+-]?\d*\.\d+")  # a first cell that cannot be the name of a row
_EXCEL_HINT = re.compile(rb'"?sep=([^\n])"?[ ,;\t]*\n', re.IGNORECASE)
# pandas before 3.1 must be told to read each number as the float nearest to it.
_PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2])
_EXACT: dict[str, Any] = {} if _PANDAS >= (3, 1) else {"float_precision": "round_trip"}


class _Layout(NamedTuple):
    """The way in which a file is cut into cells."""

    delimiter: str
    names: list[str]  # one per column, "" for a column without a name
    start: int  # the byte at which the first row below the header begins
    first_row: int  # the number of this row, as an editor counts lines


def parse_text(
    content: bytes,
    source: Problem,
    as_text: NamedText,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> RawTable:
    """Return the table in the bytes of a text file.

    Parameters
    ----------
    content : bytes
        The whole file, unzipped.
    source : Problem
        How messages about the file begin.
    as_text : callable
        Takes the names in the header, and returns the columns whose cells must be read as text.
    delimiter, decimal : str, optional
        The delimiter and the decimal mark of the file. They are detected if not given.
    """
    body, encoding = _as_utf8(content, source)
    layout = _layout(body, source, delimiter)
    rows, mark = body[layout.start :], _mark(layout.delimiter)
    found = decimal or decimal_mark(rows[:SAMPLE_BYTES], mark, source)
    frame, layout = _cells(body, layout, found, as_text(layout.names), source)
    # Who groups with points writes decimal commas, and so never separates cells by commas.
    unsure = decimal is None and found == "." and layout.delimiter != ","
    if unsure and b"." in rows:
        frame = _with_unclear(frame, body, layout, zeros=b".000" in rows)
    numbers = layout.first_row + np.arange(len(frame), dtype=np.intp)
    filled = filled_rows(frame)
    if not filled.any():
        raise InputError("table.empty", where=source).says(
            "{where} there is a header but no row", "Add the subjects."
        )
    if not filled.all():
        frame, numbers = frame.loc[filled].reset_index(drop=True), numbers[filled]
    marks = {"encoding": encoding, "delimiter": layout.delimiter, "decimal": found}
    facts = {**marks, "rows": len(frame)}
    frame = name_columns(frame, layout.names, source)
    return RawTable(frame, Origin(source, numbers, decimal=found, unsure=unsure), facts=facts)


def check_marks(delimiter: object, decimal: object) -> None:
    """Raise InputError unless each mark is None, or of a kind that `parse_text` accepts."""
    if not isinstance(delimiter, str | None):
        raise _no_mark(delimiter)
    if decimal not in (None, ".", ","):
        raise InputError("marks.decimal", value=decimal).says(
            "{decimal=} is {value}", "Give '.' or ','."
        )


def _no_mark(delimiter: object) -> InputError:
    return InputError("marks.delimiter", value=delimiter).says(
        "{delimiter=} is {value}", "Give one character, such as ';' or '\\t'."
    )


def _as_utf8(content: bytes, source: Problem) -> tuple[bytes, str]:
    """Return the bytes in UTF-8 with plain line ends, and the encoding they came in."""
    encoding, body = "utf-8", content.removeprefix(codecs.BOM_UTF8)
    try:
        if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            encoding = "utf-16"  # set first, because decoding fails if half a character is left
            body = content.decode(encoding).encode()
        body.decode()
    except UnicodeError as error:
        if encoding == "utf-16":
            raise InputError("text.utf16", where=source).says(
                "{where} the text is not complete UTF-16", "Save it as UTF-8."
            ) from error
        # It is an older encoding. In latin-1 every byte is a character, so decoding cannot fail.
        encoding, body = "latin-1", body.decode("latin-1").encode()
    if b"\0" in body or _NO_TEXT.search(body, 0, SAMPLE_BYTES):
        raise InputError("text.binary", where=source).says(
            "{where} the file holds binary data, not text",
            "Save the table as .xlsx, .parquet or CSV, with this ending in its name.",
        )
    if b"\r" in body:
        body = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if not body or body.isspace():
        raise InputError("file.empty", where=source).says(
            "{where} the file is empty", "Give a file with a header and one row per subject."
        )
    for form, other in (("JSON", _JSON), ("HTML or XML", _HTML)):
        if other.match(body):
            raise InputError("text.other", where=source, form=form).says(
                "{where} the file holds {form:s}, not a table", "Export it as CSV, TSV or Excel."
            )
    return body, encoding


def _layout(body: bytes, source: Problem, delimiter: str | None) -> _Layout:
    """Return the header and the delimiter, found in the first lines."""
    # Spreadsheets may export blank lines, or lines of delimiters, above the header.
    skipped = _BEFORE_HEADER.match(body)
    head = body.rfind(b"\n", 0, skipped.end() if skipped else 0) + 1
    hint = _EXCEL_HINT.match(body, head)
    if hint:
        delimiter, head = delimiter or hint[1].decode("latin-1"), hint.end()
    end = _after_lines(body, head, SAMPLE_LINES)
    lines = _QUOTED.sub(b"q", body[head:end]).split(b"\n")  # delimiters in quotes do not count
    # The mark is "" if none cuts the header into cells.
    mark = _given(delimiter) or _delimiter([line for line in lines if line.strip()])
    _check_title(body, head, lines, mark, source)
    names, start = _header(body, head, mark, source) if mark else ([], 0)
    if len([name for name in names if name]) < 2:
        raise InputError("columns.one", where=source).says(
            "{where} there seems to be only one column",
            "Give the right {delimiter=}, and a header with at least two names.",
        )
    # Lines count from 1, and the first row is the line after the header.
    row = body.count(b"\n", 0, head) + 2
    try:
        records = _records(body[start:end], mark)
    except csv.Error as error:
        raise InputError("text.quotes", where=source, cause=error).says(QUOTES, CLOSE) from error
    if end < len(body):
        records = records[:-1]  # the sample may end inside the last row
    return _Layout(mark, _fit(names, records, mark, row, source), start, row)


def _check_title(
    body: bytes, head: int, lines: Sequence[bytes], delimiter: str, source: Problem
) -> None:
    """Raise InputError for titles above the header. The first would be read as the header."""
    # Titles hold blanks but no delimiter, so blanks may look like the delimiter. Try all others.
    marks = list(DELIMITERS) if delimiter in ("", BLANKS) else [delimiter]
    filled = [k for k, line in enumerate(lines) if line.strip()]
    for mark in marks:
        rows = [lines[k].decode(errors="replace").split(mark) for k in filled]
        header = later_header(rows)
        if header and len({len(row) for row in rows[header:]}) == 1:
            raise title_above(source, body.count(b"\n", 0, head) + 1 + filled[header])


def _after_lines(body: bytes, place: int, lines: int) -> int:
    for _ in range(lines):
        place = body.find(b"\n", place) + 1 or len(body)
    return place


def _records(rows: bytes, delimiter: str) -> list[bytes]:
    """Return one line per row, in which each quoted cell is "q".

    Delimiters and line ends in quotes are then not counted. If there are quotes, the csv module
    parses the rows, because a quote inside a plain cell does not open a quoted cell.
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
        raise _no_mark(delimiter)
    return mark


def _delimiter(sample: Sequence[bytes]) -> str:
    """Return the delimiter of the lines, or "" if no known mark cuts the header into cells.

    The delimiter is the mark that cuts all lines into the same number of cells. If several marks do
    this, it is the mark that makes the most cells. If no mark does, it is the mark that cuts the
    header into the most cells. Blanks are tried last, because names and labels may hold blanks too.
    """
    # The number of cells in each line, for each mark.
    widths = {mark: [_width(line, mark.encode()) for line in sample] for mark in DELIMITERS}
    for rule in (_alike, lambda widths: widths[0] > 1):
        fit = [mark for mark, width in widths.items() if width and rule(width)]
        if fit:
            return max(fit, key=lambda mark: widths[mark][0])
        if sample and rule([_width(line, b"") for line in sample]):
            return BLANKS
    return ""


def _alike(widths: Sequence[int]) -> bool:
    """Return whether all rows have the same number of cells: as many as the header, or one more."""
    rows = set(widths[1:]) or {widths[0]}
    # R's write.table writes no name above its row names.
    return widths[0] > 1 and len(rows) == 1 and rows <= {widths[0], widths[0] + 1}


def _mark(delimiter: str) -> bytes:
    return b"" if delimiter == BLANKS else delimiter.encode()


def _width(line: bytes, mark: bytes) -> int:
    """Return the number of cells in a line. Each quoted cell must be "q" by now."""
    return line.count(mark) + 1 if mark else len(line.split())


def _header(body: bytes, head: int, delimiter: str, source: Problem) -> tuple[list[str], int]:
    """Return the names in the header, and the byte at which the next line begins."""
    if delimiter == BLANKS:  # the csv module cannot read runs of blanks
        start = body.find(b"\n", head) + 1 or len(body)
        # A name in quotes may hold blanks.
        cells = re.findall(r'"([^"]*)"|(\S+)', body[head:start].decode())
        return clean_names(quoted or plain for quoted, plain in cells), start
    stream = io.BytesIO(body)
    # The csv module reads only the header, which may have several lines.
    stream.seek(head)
    reader = csv.reader(io.TextIOWrapper(stream, "utf-8", newline="\n"), delimiter=delimiter)
    try:
        names = clean_names(next(reader))
    except csv.Error as error:
        raise InputError("text.quotes", where=source, cause=error).says(QUOTES, CLOSE) from error
    return names, _after_lines(body, head, reader.line_num)


def _fit(
    names: list[str], records: Sequence[bytes], delimiter: str, first: int, source: Problem
) -> list[str]:
    """Return one name per cell of the widest row. Row names and empty columns get "".

    A row with too few cells is an error. So is a row with filled cells that have no name.
    """
    mark = _mark(delimiter)
    # A row that holds only delimiters counts as empty.
    widths = [_width(line, mark) if line.strip(b" \t" + mark) else 0 for line in records]
    filled = {width for width in widths if width}
    # A row that begins with 0.5 has no row name. Its additional cell is then an error.
    may_have_row_names = not any(_DECIMAL.match(line) for line in records)
    if filled == {len(names) + 1} and may_have_row_names and not _all_end(records, mark):
        return ["", *names]  # R's write.table writes no name above its row names
    needed = _needed(names)
    for k, width in enumerate(widths):
        # Spreadsheets may write empty cells after the last name.
        excess = records[k].split(mark or None)[len(names) :] if width > len(names) else []
        if width and (width < needed or any(cell.strip() for cell in excess)):
            place = {"row": first + k, "n": width, "m": len(names)}
            raise InputError("rows.length", where=source, **place).says(
                "{where} row {row} has {n:cell}, but the header has {m}",
                "Correct the row. Quote a cell that holds the delimiter, and close each quote.",
            )
    return names + [""] * (max(widths, default=0) - len(names))


def _needed(names: Sequence[str]) -> int:
    """Return the number of cells up to the last one that has a name."""
    return max((k for k, name in enumerate(names, start=1) if name), default=0)


def _all_end(records: Sequence[bytes], mark: bytes) -> bool:
    """Return whether each row ends with a delimiter. It then has an empty cell, and no row name."""
    return bool(mark) and all(line.rstrip(b" ").endswith(mark) for line in records if line.strip())


def _cells(
    body: bytes, layout: _Layout, decimal: str, text: set[str], source: Problem
) -> tuple[pd.DataFrame, _Layout]:
    """Return the cells of all rows, and the layout that fits them.

    If a row seems too long or too short, the cells of every row are counted.
    """
    try:
        frame = _parse(body, layout, decimal, text)
    except (ValueError, OverflowError) as error:
        checked = _counted(body, layout, source)
        if checked == layout:  # all rows have the right length, so something else is wrong
            raise InputError("rows.unreadable", where=source, row=_row(error, layout)).says(
                "{where} a cell at or below row {row} cannot be read",
                "Correct it, and close each quote.",
            ) from error
        return _cells(body, checked, decimal, text, source)
    # pandas fills up short rows silently, so that the last cell of such a row is missing.
    if frame.iloc[:, _needed(layout.names) - 1].isna().any():
        _counted(body, layout, source)
    return frame, layout


def _counted(body: bytes, layout: _Layout, source: Problem) -> _Layout:
    """Return a layout that fits all rows. Raise InputError for a row of the wrong length."""
    try:
        records = _records(body[layout.start :], layout.delimiter)
    except csv.Error:  # a cell is too long for the csv module
        return layout
    names = _fit(layout.names, records, layout.delimiter, layout.first_row, source)
    return layout._replace(names=names)


def _parse(
    body: bytes, layout: _Layout, decimal: str, text: set[str], columns: list[Any] | None = None
) -> pd.DataFrame:
    """Return the cells, or only those of some columns, as text. Columns have numbers, not names."""
    as_text = {k: str for k, name in enumerate(layout.names) if name in text or not name}
    stream = io.BytesIO(body)
    stream.seek(layout.start)
    try:
        return pd.read_csv(
            stream,
            sep=r"\s+" if layout.delimiter == BLANKS else layout.delimiter,
            header=None,
            # The columns get numbers, because the names in the file may repeat (checked later).
            names=range(len(layout.names)),
            usecols=columns,
            dtype=as_text if columns is None else str,
            keep_default_na=False,
            na_values=sorted(MISSING),
            # Blank lines are kept, so that errors can name the row in the file.
            skip_blank_lines=False,
            # If the file were read in pieces, the cells of one column could get two types.
            low_memory=False,
            decimal=decimal,
            encoding="utf-8",
            **_EXACT,
        )
    except pd.errors.EmptyDataError:  # there is nothing below the header
        return pd.DataFrame(columns=range(len(layout.names)))


def _row(error: Exception, layout: _Layout) -> int:
    """Return the row that an error of pandas names, counted from the top of the file."""
    # pandas counts rows from 0 in errors about quotes, and from 1 in errors about long rows.
    number = re.search(r"(starting at row|in line) (\d+)", str(error))
    return layout.first_row + (int(number[2]) - (number[1] == "in line") if number else 0)


# This may also be a number with three decimals. A number such as 0,449 cannot be grouped.
_THOUSANDS = re.compile(rb"[+-]?[1-9]\d{0,2},\d{3}")


def decimal_mark(sample: bytes, delimiter: bytes, source: Problem) -> str:
    """Return the decimal mark of most numbers. It is never a comma if commas separate cells.

    `delimiter` is empty if blanks separate cells.
    """
    if delimiter == b"," or b"," not in sample:
        return "."
    commas, points = ([*_numbers(sample, mark, delimiter)] for mark in (b",", rb"\."))
    if len(commas) <= len(points):
        return "."
    if all(map(_THOUSANDS.fullmatch, commas)):
        raise InputError("marks.comma", where=source, cell=commas[0].decode()).says(
            "{where} the comma in {cell} may separate decimals or thousands",
            "Give {decimal=','}, or write numbers without separators of thousands.",
        )
    return ","


def _with_unclear(frame: pd.DataFrame, body: bytes, layout: _Layout, zeros: bool) -> pd.DataFrame:
    """Return the cells, as text in columns where a point may separate thousands.

    As numbers, 1.000 and 1 would be the same. `parse` asks about such a column if it is used.
    """
    columns = [k for k, cells in frame.items() if _may_group(cells, zeros)]
    if not columns:
        return frame
    text = _parse(body, layout, ".", set(), columns)
    for k, cells in text.items():
        whole = cells[frame[k] % 1 == 0]
        # Most columns have points in all cells. To see this is quick.
        if not whole.str.contains(".", regex=False).all() and unclear_point(cells):
            frame[k] = cells
    return frame


def _may_group(cells: pd.Series, zeros: bool) -> bool:
    """Return whether numbers may have been written like 2.449 beside 938. This is quick.

    `zeros` says whether a cell may end in ".000".
    """
    if cells.dtype.kind != "f":
        return False
    sizes = np.abs(cells.to_numpy())
    sizes = sizes[(sizes > 0) & (sizes < np.inf)]
    parts = sizes[sizes % 1 != 0]
    thousandths = (parts > 1) & (parts < 1000) & (parts == np.round(parts, 3))
    return len(parts) < len(sizes) and (zeros or len(parts) > 0) and bool(thousandths.all())


def _numbers(rows: bytes, mark: bytes, delimiter: bytes) -> Iterator[bytes]:
    """Yield the numbers with this decimal mark. Only numbers that fill a cell count."""
    # A text may hold a comma.
    edge = rb"[\s" + re.escape(delimiter) + rb'"]'
    cell = rb"(?:^|(?<=%b))[+-]?\d*%b\d+(?:[eE][+-]?\d+)?(?=%b|$)" % (edge, mark, edge)
    return (number[0] for number in re.finditer(cell, rows))


WRITE_AGAIN = "Write the file again with the program that made it."
MAX_DEPTH = 20  # levels of nested elements; CAT12's files need four, FSL's files three


def xml_tree(content: bytes, source: Problem) -> ElementTree.Element:
    """Return the root element of an XML file; raise InputError if the file is not safe to read.

    `ElementTree` alone is not safe. It expands entities, which can fill gigabytes of memory, and it
    accepts any depth.

    Parameters
    ----------
    content : bytes
        The bytes of the file, in the encoding that the file declares.
    source : Problem
        How messages about the file begin.
    """
    builder = ElementTree.TreeBuilder()
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise InputError("xml.deep", where=source, n=MAX_DEPTH).says(
                "{where} there are more than {n} levels of elements", WRITE_AGAIN
            )
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse(*_: Any) -> None:
        raise InputError("xml.entities", where=source).says(
            "{where} the file defines entities or a document type", WRITE_AGAIN
        )

    parser = expat.ParserCreate()
    parser.buffer_text = True  # one call per text, not one per line
    # Entities can only be defined in a document type. The parser decodes the file before it calls
    # these functions, so an unusual encoding cannot hide an entity.
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(content, True)
        return builder.close()
    except InputError:
        raise
    except (expat.ExpatError, ValueError, LookupError) as error:  # LookupError: unknown encoding
        raise InputError("xml.damaged", where=source, cause=error).says(
            "{where} the file is cut off or not XML ({cause})", WRITE_AGAIN
        ) from error
