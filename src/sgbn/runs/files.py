"""Files that are whole or absent: written under another name, then renamed."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from sgbn.exceptions import StudyError

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

Arrays = dict[str, NDArray[Any]]

UNFINISHED = ".unfinished"
LOCK = "study.lock"  # locked while a process writes to a folder, and empty
PROVENANCE = "provenance"  # entry of a result that says what it was made with, as JSON
FULL = (errno.ENOSPC, errno.EDQUOT)  # no room on the disk, and the user's quota used up


def read_result(path: Path) -> Arrays:
    """Arrays of one finished task."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files if name != PROVENANCE}
    except (ValueError, TypeError, OSError, EOFError, BadZipFile) as error:  # Type: no archive
        raise StudyError(f"{path} cannot be read ({error}). Delete it and start again.") from error


def write_result(path: Path, result: Mapping[str, NDArray[Any]]) -> None:
    """Write the arrays of one finished task, as `read_result` reads them."""
    for name, array in result.items():
        if array.dtype.hasobject:  # numpy before 2.1 would pickle it, and cannot be told not to
            raise ValueError(f"result {name!r} holds objects: give numbers or strings")
    arrays: dict[str, Any] = dict(result)
    write_atomically(path, lambda stream: np.savez(stream, **arrays))


def write_atomically(path: Path, write: Callable[[Any], object]) -> None:
    """Call `write` on a binary file that gets its name only when it is complete."""
    # Where a folder cannot be locked two processes may write one result: each has its own file.
    temporary = path.with_name(f"{path.name}.{os.getpid()}{UNFINISHED}")
    try:
        with full_disk_named(path), temporary.open("wb") as stream:
            write(stream)
            stream.flush()
            # Without it a machine that crashes may leave the name without the content.
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:  # Ctrl-C too
        temporary.unlink(missing_ok=True)
        raise


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON atomically."""
    text = json.dumps(content, indent=1, sort_keys=True) + "\n"
    write_atomically(path, lambda stream: stream.write(text.encode()))


def remove_unfinished(*folders: Path) -> None:
    """Remove what processes left in folders that were killed while they wrote; not below these."""
    for folder in folders:
        for leftover in folder.glob(f"*{UNFINISHED}"):
            leftover.unlink(missing_ok=True)


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Context in which no other process that asks for it writes to a folder.

    The kernel ends it with the process, however that ends. Where files cannot be locked (on
    Windows, on some network disks, in a folder that may only be read) nobody is kept out.
    """
    with ExitStack() as stack:
        try:
            if fcntl is not None:
                stream = stack.enter_context((folder / LOCK).open("ab"))
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Closing is not enough: a process that is being started holds the file for a moment
                stack.callback(fcntl.flock, stream, fcntl.LOCK_UN)
        except BlockingIOError as error:
            raise StudyError(
                f"{folder} is being written by another process. Wait until that has ended or stop "
                "it, then start again, which does only what is missing; or give another folder."
            ) from error
        except OSError:
            pass  # a disk that is full is named by what writes more than this
        yield


@contextmanager
def full_disk_named(path: Path) -> Iterator[None]:
    """Context that turns the error of a full disk into a clear message."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise StudyError(
            f"there is no disk space for {path} ({error.strerror}). What was finished is kept: "
            "free some space and start again, which does only what is missing."
        ) from error
