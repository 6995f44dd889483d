"""Functions that all readers and writers of text share: text of a file, and exact numbers."""

from __future__ import annotations

import gzip
import io
import math
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from sgbn.core.exceptions import InputError
from sgbn.io.tables.files import read_bytes

MAX_BYTES = 2**28  # of text; a network needs far less, and a larger file may be a gzip bomb
# float() would also accept "1_0", "nan" and the digits of other scripts.
NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"


def read_text(path: Path) -> str:
    """Return the text of a plain or gzipped file, with line feeds as line ends."""
    name = repr(str(path))
    # One byte more than the limit shows that the limit is exceeded.
    content = read_bytes(path, name, MAX_BYTES + 1)
    if content.startswith(b"\x1f\x8b"):  # the mark of gzip, whatever the file is called
        try:
            with gzip.open(io.BytesIO(content)) as source:
                content = source.read(MAX_BYTES + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"{name} is a damaged gzip file ({error}). Fetch it again.") from error
    if len(content) > MAX_BYTES:
        raise InputError(
            f"{name} holds more than {MAX_BYTES >> 20} MB of text. Give a file of one network."
        )
    try:
        # Some editors on Windows put a byte order mark before the text.
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:  # older tools write latin-1, which can decode any bytes
        text = content.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def pieces(
    pattern: re.Pattern[str], text: str, wrong: str, line: int = 1
) -> Iterator[tuple[re.Match[str], int]]:
    """Yield the matches that a text consists of, one after another, with their lines.

    `wrong` is the message if the rest of the text does not begin with a match. In it, {line} is
    replaced by the number of the line, and {part} by the beginning of the rest.
    """
    position = 0
    while position < len(text):
        # match, not search, because the text between two pieces must not be skipped.
        piece = pattern.match(text, position)
        if piece is None:
            part = text[position : position + 40]
            raise InputError(wrong.format(line=line, part=repr(part)))
        yield piece, line
        line += piece[0].count("\n")
        position = piece.end()


def number_text(value: float) -> str:
    """Return the shortest text that gives exactly this number."""
    # semopy misreads a plus sign in an exponent.
    return repr(float(value)).replace("e+", "e")


def number_of(text: str, line: int) -> float:
    """Return the finite number that a text stands for."""
    if not re.fullmatch(NUMBER, text) or not math.isfinite(float(text)):
        raise InputError(f"line {line}: {text[:40]!r} is not a finite number. Correct it.")
    return float(text)
