"""The reader of ``.stats`` files, as FreeSurfer and FastSurfer write them.

Lines that begin with ``#`` are the header. It holds the version (``cvs_version``), totals
(``Measure Cortex, MeanThickness, Mean Thickness, 2.39, mm``) and the names of the columns
(``ColHeaders``). Every other line holds one structure. Files of nuclei and subfields have one
comment, and then five cells per line: a number twice, 0, the volume and the name.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sgbn.core.exceptions import InputError

NAME, VOLUME_COLUMN = "StructName", "Volume_mm3"
NUCLEI = (
    "Index",
    "SegId",
    "NVoxels",
    VOLUME_COLUMN,
    NAME,
)  # columns of files that do not name them
MAX_BYTES = 2**23  # FreeSurfer's largest file has 200 KB, so a larger file is something else
MEASURE_CELLS = 5  # key, name, description, value, unit
AGAIN = "Run the tool again for this subject."


@dataclass(frozen=True)
class Stats:
    """The content of a ``.stats`` file.

    Attributes
    ----------
    header : mapping
        The first word of each comment, with the rest of its line.
    totals : mapping
        The short name of each ``Measure``, with its value. Values that are not finite are left out.
    columns : tuple of str
        The names of the columns.
    rows : mapping
        The cells of each structure, in the order of the file.
    """

    header: Mapping[str, str]
    totals: Mapping[str, float]
    columns: tuple[str, ...]
    rows: Mapping[str, tuple[str, ...]]

    def values(self, column: str, name: str) -> dict[str, float]:
        """Return the value of each structure in a column. `name` is the file's name in errors."""
        if column not in self.columns:
            raise InputError(
                f"{name} has no column {column!r}. Its columns are {', '.join(self.columns)}. "
                f"{AGAIN}"
            )
        place = self.columns.index(column)
        return {
            region: _number(cells[place], f"{name}, {column} of {region}")
            for region, cells in self.rows.items()
        }


def read_stats(path: Path) -> Stats:
    """Return the content of one file. A file that is cut off or damaged is an error."""
    return parse_stats(read_small(path, MAX_BYTES), path.name)


def read_small(path: Path, most: int) -> bytes:
    """Return the bytes of a file. It is an error if it is absent, or larger than `most` bytes."""
    try:
        if os.path.getsize(path) > most:
            raise InputError(
                f"{path.name} has more than {most >> 20} MB, so it is not a file of this tool. "
                f"{AGAIN}"
            )
        return path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"{path.name} is missing. {AGAIN}") from error
    except OSError as error:
        reason = error.strerror or error
        raise InputError(
            f"{path.name} cannot be read: {reason}. Check that you are allowed to read it."
        ) from error


def parse_stats(content: bytes, name: str) -> Stats:
    """Return the content of a ``.stats`` file. `name` is the name of the file in errors."""
    if b"\0" in content:
        raise InputError(f"{name} is not text. {AGAIN}")
    if not content.strip():
        raise InputError(f"{name} is empty. {AGAIN}")
    if not content.endswith(b"\n"):  # a number that is cut in the middle may still be a number
        raise InputError(f"{name} is cut off in its last line. {AGAIN}")
    header: dict[str, str] = {}
    totals: dict[str, float] = {}
    table: list[tuple[int, list[str]]] = []
    # Decoding as latin-1 never fails. Only comments (user, folder) hold more than ASCII.
    for number, line in enumerate(content.decode("latin-1").split("\n"), start=1):
        if line.startswith("#"):
            key, _, rest = line[1:].strip().partition(" ")
            if key == "Measure":
                _add_total(totals, rest, f"{name}, line {number}")
            else:
                header.setdefault(key, rest.strip())
        elif line.strip():
            table.append((number, line.split()))
    # Tables of nuclei and subfields do not name their columns.
    columns = tuple(header["ColHeaders"].split()) if "ColHeaders" in header else NUCLEI
    rows = _rows(table, columns, name)
    stated = header.get("NRows", "")
    if stated.isdigit() and int(stated) != len(rows):
        raise InputError(
            f"{name} has {len(rows)} structures, but its header says {stated}. {AGAIN}"
        )
    return Stats(header, totals, columns, rows)


def _add_total(totals: dict[str, float], text: str, where: str) -> None:
    cells = [cell.strip() for cell in text.split(",")]
    if len(cells) < MEASURE_CELLS:
        raise InputError(f"{where}: a measure has {len(cells)} cells, not {MEASURE_CELLS}. {AGAIN}")
    value = _number(cells[-2], where)  # counted from the end, as the description may hold commas
    if math.isfinite(value):
        totals[cells[1]] = value


def _rows(
    table: Sequence[tuple[int, list[str]]], columns: tuple[str, ...], name: str
) -> dict[str, tuple[str, ...]]:
    if NAME not in columns or not table:
        raise InputError(f"{name} holds no table of structures. {AGAIN}")
    place = columns.index(NAME)
    rows: dict[str, tuple[str, ...]] = {}
    for number, cells in table:
        # In a line of the wrong length, cells could be in the wrong columns.
        if len(cells) != len(columns):
            raise InputError(
                f"{name}, line {number} has {len(cells)} cells, not {len(columns)}. The file is "
                f"cut off or damaged. {AGAIN}"
            )
        if cells[place] in rows:
            raise InputError(f"{name}, line {number}: {cells[place]} is in the file twice. {AGAIN}")
        rows[cells[place]] = tuple(cells)
    return rows


def _number(text: str, where: str) -> float:
    try:
        if "_" in text:  # Python reads 1_0 as 10
            raise ValueError
        return float(text)
    except ValueError:
        raise InputError(f"{where}: {text!r} is not a number. {AGAIN}") from None
