"""What all readers and writers of text share: text of a file, and numbers with all their digits."""

from __future__ import annotations

import gzip
import math
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from sgbn.exceptions import InputError

MAX_BYTES = 2**28  # far more than a network needs: a larger file is a gzip bomb
# Narrower than float(), which takes "1_0", "nan" and digits of other scripts too.
NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"


def read_text(path: Path) -> str:
    """Decode a plain or gzipped file; line ends become line feeds."""
    try:
        with path.open("rb") as file:
            zipped = file.read(2) == b"\x1f\x8b"  # whatever its name
        with gzip.open(path) if zipped else path.open("rb") as source:
            content = source.read(MAX_BYTES + 1)  # one more than may be, so that too much is seen
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"the gzip file is damaged ({error}): fetch it again.") from error
    if len(content) > MAX_BYTES:
        raise InputError(f"more than {MAX_BYTES >> 20} MB of text: this cannot be one network.")
    try:
        # Some editors of Windows put a byte order mark before the text.
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:  # older tools write latin-1, in which every file can be read
        text = content.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def pieces(
    pattern: re.Pattern[str], text: str, wrong: str, line: int = 1
) -> Iterator[tuple[re.Match[str], int]]:
    """Give the matches of a pattern, one after another up to the end of a text, with their lines.

    `wrong` is the message where none follows, with {line} and {part} for the place.
    """
    position = 0
    while position < len(text):
        # match and not search: what stands between two pieces must not be passed over.
        piece = pattern.match(text, position)
        if piece is None:
            part = text[position : position + 40]
            raise InputError(wrong.format(line=line, part=repr(part)))
        yield piece, line
        line += piece[0].count("\n")
        position = piece.end()


def number_text(value: float) -> str:
    """Shortest text that gives the same number back; without a plus sign, which semopy misreads."""
    return repr(float(value)).replace("e+", "e")


def number_of(text: str, line: int) -> float:
    """Finite number that a text is."""
    if not re.fullmatch(NUMBER, text) or not math.isfinite(float(text)):
        raise InputError(f"line {line}: {text[:40]!r} is not a finite number. Correct it.")
    return float(text)
