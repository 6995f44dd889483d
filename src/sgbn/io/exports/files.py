"""Functions that all exports share: write complete files, and check text for them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from sgbn.core.exceptions import InputError
from sgbn.runs.files import write_atomically

PathName = str | PathLike[str]

# Control characters, halves of surrogate pairs and non-characters. XML cannot hold most of them,
# and some of them end a line or a cell of a text file.
_UNWRITABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def write_file(path: PathName, write: Callable[[Any], object]) -> Path:
    """Write a file that is complete or absent, and return its path.

    `write` is called with the binary stream of the file.
    """
    target = Path(path)
    try:
        write_atomically(target, write)
    except OSError as error:
        raise InputError(
            f"{str(path)!r} cannot be written: {error.strerror or error}. Check the folder."
        ) from error
    # A name may hold half of a surrogate pair, which UTF-8 cannot express.
    except UnicodeEncodeError as error:
        raise InputError(
            f"{str(path)!r} cannot be written: {error.object[error.start : error.end]!r} is not a "
            "character. Rename the region or label that holds it."
        ) from error
    return target


def write_text(path: PathName, text: str) -> Path:
    """Write text in UTF-8, and return the path of the file."""
    return write_file(path, lambda stream: stream.write(text.encode()))


def write_json(path: PathName, content: Mapping[str, Any]) -> Path:
    """Write JSON with the keys in the given order. The caller must remove NaN, which JSON lacks."""
    return write_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def write_matrix(path: PathName, table: pd.DataFrame, *, header: bool) -> Path:
    """Write a table with tabs between its cells, and with ``n/a`` for missing cells."""
    # BIDS prescribes "n/a" for missing cells.
    return write_file(
        path,
        lambda stream: table.to_csv(
            stream, sep="\t", header=header, index=False, na_rep="n/a", lineterminator="\n"
        ),
    )


# Path.with_suffix is not used, because it would cut the name of a group at its last dot ("T1.5").
def beside(stem: PathName, ending: str) -> Path:
    """Return the path of the stem, with an ending added to its name."""
    start = Path(stem)
    if not start.name:
        raise InputError(
            f"{str(stem)!r} does not end with a file name. Give a folder and the start of a name."
        )
    return start.with_name(start.name + ending)


def check_text(texts: Iterable[object]) -> None:
    """Raise InputError if a text has characters that some formats cannot hold."""
    for text in texts:
        if isinstance(text, str) and _UNWRITABLE.search(text):
            raise InputError(
                f"the name or label {text!r} has characters that files cannot hold (such as line "
                "ends and other control characters). Rename it."
            )
