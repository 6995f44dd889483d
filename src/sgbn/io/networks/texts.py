"""What all readers and writers of text share: text of a file, and numbers with all their digits."""

from __future__ import annotations

import gzip
import math
import re
import zlib
from pathlib import Path

from sgbn.exceptions import InputError

MAX_BYTES = 2**28  # Far more than a network needs: beyond it is a gzip bomb.
NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"


def read_text(path: Path) -> str:
    """Decode a plain or gzipped file; line ends become line feeds."""
    try:
        with path.open("rb") as file:
            zipped = file.read(2) == b"\x1f\x8b"
        with gzip.open(path) if zipped else path.open("rb") as source:
            content = source.read(MAX_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"the gzip file is damaged ({error}): fetch it again.") from error
    if len(content) > MAX_BYTES:
        raise InputError(f"more than {MAX_BYTES >> 20} MB of text: this cannot be one network.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:  # Older tools write latin-1, in which every file can be read.
        text = content.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def number_text(value: float) -> str:
    """Shortest text that gives the same number back; without a plus sign, which semopy misreads."""
    return repr(float(value)).replace("e+", "e")


def number_of(text: str, line: int) -> float:
    """Finite number that a text is."""
    if not re.fullmatch(NUMBER, text) or not math.isfinite(float(text)):
        raise InputError(f"line {line}: {text[:40]!r} is no finite number. Correct it.")
    return float(text)
