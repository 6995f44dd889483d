"""The reader of series in a numpy archive (.npz) with one array per subject."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sgbn.core.exceptions import InputError, listed
from sgbn.io.series.files import from_array
from sgbn.io.series.names import read_names
from sgbn.io.series.runs import Run, Source, check_kinds
from sgbn.io.tables.files import read_bytes
from sgbn.io.tables.raw import RawTable

ENDING = ".npz"
# Names of arrays that are not series.
REGIONS = ("regions", "region_names", "labels", "names")  # the names of the columns, as text
TR = ("tr", "TR", "repetition_time")  # one number: the seconds from one volume to the next


def find_in_archive(path: Path, files: str | None) -> Source:
    """Return the runs of an archive. Arrays are named like files, such as ``sub-01_run-1``."""
    name = repr(str(path))
    if files is not None:
        raise InputError(
            f"files= (--files) is for folders, but {name} is one file. Leave this option out."
        )
    read_bytes(path, name)  # raises an error if the file is absent, or if it is a folder
    with _opened(path, name) as archive:
        keys = list(archive.files)
    # All other arrays are series, whatever they are called.
    subjects = [key for key in keys if key not in (*REGIONS, *TR)]
    if not subjects:
        raise InputError(
            f"{name} holds no series. Its arrays are: {listed(keys) or 'none'}. Add one array per "
            "subject."
        )
    names = read_names(subjects)
    # Two arrays of the same run would be joined silently.
    check_kinds(name, names, subjects)
    regions, tr = _regions(path, name, keys), _tr(path, name, keys)
    runs = [
        Run(series_name, f"{name}, array {key!r}", partial(_load, path, name, key, regions), tr)
        for key, series_name in zip(subjects, names, strict=True)
    ]
    return Source(name, tuple(runs), facts={"arrays": len(runs)})


def _load(path: Path, name: str, key: str, regions: list[str] | None) -> RawTable:
    return from_array(_array(path, name, key), f"{name}, array {key!r}", regions)


@contextmanager
def _opened(path: Path, name: str) -> Iterator[Any]:
    """Open an archive. If it cannot be read, the error names the archive."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            yield archive
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{name} cannot be read ({error}). Write it with numpy.savez, one plain array of "
            "numbers per subject."
        ) from error


def _array(path: Path, name: str, key: str) -> Any:
    """Return one array of an archive.

    The archive is opened again for each array, because all together may not fit into the memory.
    """
    with _opened(path, f"{name}, array {key!r}") as archive:
        return archive[key]


def _regions(path: Path, name: str, keys: list[str]) -> list[str] | None:
    """Return the names of the regions, if the archive has them."""
    key = next((key for key in REGIONS if key in keys), None)
    if key is None:
        return None
    array = _array(path, name, key)
    # The array may be the series of a subject called "labels". Then it holds numbers.
    if array.ndim != 1 or array.dtype.kind not in "US":
        raise InputError(
            f"{name}, array {key!r} must be a list of the names of the regions. Correct or rename "
            "it."
        )
    return array.astype(str).tolist()


def _tr(path: Path, name: str, keys: list[str]) -> float | None:
    """Return the TR in seconds, if the archive has it."""
    key = next((key for key in TR if key in keys), None)
    if key is None:
        return None
    array = _array(path, name, key)
    if array.size != 1 or array.dtype.kind not in "fiu" or not 0 < float(array.item()) < np.inf:
        raise InputError(
            f"{name}, array {key!r} must be one positive number of seconds. Correct or rename it."
        )
    return float(array.item())
