"""Files that are complete or absent, and the versions of libraries that results depend on.

A file is written under another name, and then renamed.
"""

from __future__ import annotations

import errno
import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from sgbn.core.problems import InputError, StudyError

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

Arrays = dict[str, NDArray[Any]]

UNFINISHED = ".unfinished"  # ending of the name of a file that is being written
LOCK = "study.lock"  # an empty file, locked while a process writes to the folder
PROVENANCE = "provenance"  # entry of a result: settings and versions that made it, as JSON
TASK = "task"  # entry of a result: the name of its task, which is also the name of its file
# The disk is full, the user's quota is used up, or the file is larger than ulimit -f allows.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
AGAIN = "Delete this file and start again. Only its task is then computed."


def as_path(path: str | PathLike[str]) -> Path:
    """Return a path; raise InputError if it has a NUL, which no system allows."""
    if "\0" in str(path):
        raise InputError("path.nul", file=str(path)).says(
            "{file} cannot be a path", "Remove the NUL character."
        )
    return Path(path)


def read_result(path: Path, settings: Mapping[str, Any] | None = None) -> Arrays:
    """Return the arrays of one finished task.

    Raise StudyError if the file was copied from another task, or, if `settings` are given, from a
    study with other settings.
    """
    try:
        with np.load(path, allow_pickle=False) as stored:
            result = {name: stored[name] for name in stored.files}
    # A file that is not an archive loads as one array, and then raises TypeError.
    except (ValueError, TypeError, OSError, EOFError, BadZipFile) as error:
        raise StudyError("result.damaged", file=path, cause=error).says(
            "{file} cannot be read ({cause})", AGAIN
        ) from error
    task, made_with = result.pop(TASK, None), result.pop(PROVENANCE, None)
    if task is None:
        raise StudyError("result.unnamed", file=path).says(
            "{file} does not say which task it belongs to", AGAIN
        )
    if str(task) != path.stem:
        raise StudyError("result.moved", file=path).says(
            "{file} holds the result of another task", AGAIN
        )
    if settings is not None and _settings_of(made_with) != as_stored(settings):
        raise StudyError("result.settings", file=path).says(
            "{file} was made with other settings, in another run", AGAIN
        )
    return result


def _settings_of(made_with: NDArray[Any] | None) -> Any:
    """Return the settings in the provenance of a result, or None if it has none."""
    try:
        return json.loads(str(made_with))["settings"]
    except (ValueError, TypeError, KeyError):
        return None


def as_stored(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as they come back from a JSON file, in which tuples are lists."""
    return json.loads(json.dumps(dict(settings)))


def write_result(path: Path, result: Mapping[str, NDArray[Any]]) -> None:
    """Write the arrays of one finished task to a file that `read_result` can read."""
    for name, array in result.items():
        if array.dtype.hasobject:  # numpy before 2.1 always pickles objects in savez
            raise ValueError(f"result {name!r} holds objects. Return numbers or strings.")
    arrays: dict[str, Any] = {**result, TASK: np.asarray(path.stem)}
    write_atomically(path, lambda stream: np.savez(stream, **arrays))


def write_atomically(path: Path, write: Callable[[Any], object]) -> None:
    """Call `write` on a binary file that gets the name `path` only when it is complete."""
    # If a folder cannot be locked, two processes may write the same result. So each process has
    # its own temporary file.
    temporary = path.with_name(f"{path.name}.{os.getpid()}{UNFINISHED}")
    try:
        with full_disk_named(path), temporary.open("wb") as stream:
            write(stream)
            stream.flush()
            # Without this, a crash of the machine may leave a named file without its content.
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:  # also after Ctrl-C
        temporary.unlink(missing_ok=True)
        raise


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a mapping to a JSON file that is complete or absent."""
    text = json.dumps(content, indent=1, sort_keys=True) + "\n"
    write_atomically(path, lambda stream: stream.write(text.encode()))


def remove_unfinished(*folders: Path) -> None:
    """Remove the unfinished files of killed processes from folders, but not from subfolders."""
    for folder in folders:
        for leftover in folder.glob(f"*{UNFINISHED}"):
            leftover.unlink(missing_ok=True)


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Lock a folder in this context; raise StudyError if another process has locked it.

    The operating system removes the lock when the process ends, even if it is killed. If files
    cannot be locked (on Windows, on some network disks, in a read-only folder), there is no lock.
    """
    with ExitStack() as stack:
        try:
            if fcntl is not None:
                stream = stack.enter_context((folder / LOCK).open("ab"))
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Closing is not enough, because a process that just starts holds the file open too.
                stack.callback(fcntl.flock, stream, fcntl.LOCK_UN)
        except BlockingIOError as error:
            raise StudyError("study.locked", folder=folder).says(
                "{folder} is being written by another process",
                "Wait until it ends, or stop it, and start again: finished work is kept.",
            ) from error
        except OSError:
            pass  # if the disk is full, the first larger file raises a clear error
        yield


@contextmanager
def full_disk_named(path: Path) -> Iterator[None]:
    """Turn the error of a full disk in this context into a clear message."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise StudyError("disk.full", file=path, reason=error.strerror).says(
            "there is no room for {file} ({reason:s})",
            "Free some space and start again: finished work is kept.",
        ) from error


@contextmanager
def full_memory_named() -> Iterator[None]:
    """Turn an error of too little memory in this context into a clear message."""
    try:
        yield
    except MemoryError as error:
        raise StudyError("memory.full").says(
            "there is too little memory for a task",
            "Use fewer processes ({n_jobs=}) and start again: finished work in a folder is kept.",
        ) from error


LIBRARIES = ("sgbn", "numpy", "scipy", "scikit-learn", "numba")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that results depend on."""
    return dict(_versions())


@cache  # finding a version reads files, and every study needs the versions
def _versions() -> Mapping[str, str]:
    return {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}}


def differences(stored: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return each entry that differs, with its stored and its present value (None if not set)."""
    names = sorted(set(stored) | set(now))
    pairs = {name: (stored.get(name), now.get(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
