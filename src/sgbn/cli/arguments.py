"""Types of command-line arguments, the folder that a command writes to, and who does the work."""

from __future__ import annotations

import argparse
import math
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sgbn.exceptions import InputError


class OptionError(InputError):
    """An option that has no such value, or does not go with another: exit code 2."""


def at_least(smallest: int) -> Callable[[str], int]:
    """Type of an argument that is a whole number from `smallest` on."""

    def whole_number(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if number < smallest:
            raise argparse.ArgumentTypeError(f"{number} is too small: give {smallest} or more")
        return number

    return whole_number


def number_from(smallest: float, largest: float = math.inf) -> Callable[[str], float]:
    """Type of an argument that is a finite number from `smallest` on, up to `largest`."""
    end = " on" if largest == math.inf else f" to {largest:g}"
    return _number(lambda value: smallest <= value <= largest, f"from {smallest:g}{end}")


def number_above(smallest: float, below: float = math.inf) -> Callable[[str], float]:
    """Type of an argument that is a finite number above `smallest` and below `below`."""
    end = "" if below == math.inf else f" and below {below:g}"
    return _number(lambda value: smallest < value < below, f"above {smallest:g}{end}")


def _number(allows: Callable[[float], bool], which: str) -> Callable[[str], float]:
    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
        if not (math.isfinite(value) and allows(value)):
            raise argparse.ArgumentTypeError(f"{text} is not a number {which}")
        return value

    return number


def make_folder(path: Path) -> Path:
    """Make the folder of ``--out`` and see that files can be written to it, before any work."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        file = next((one for one in (path, *path.parents) if os.path.isfile(one)), None)
        reason = (error.strerror or str(error)).lower()
        if file is not None:
            reason = "it is a file" if file == path else f"{file} is a file"
        raise InputError(
            f"cannot write to {path}: {reason}. Give another folder (--out)."
        ) from error
    return path


def add_worker_options(parser: Any, default: int | None = None) -> None:
    """Add ``--workers`` and ``--dask``.

    Parameters
    ----------
    parser : ArgumentParser or group of one
    default : int, optional
        Processes; all processors if None.
    """
    ways = parser.add_mutually_exclusive_group()
    usual = "all processors" if default is None else default
    ways.add_argument(
        "--workers", type=at_least(1), default=default, metavar="N", help=f"processes ({usual})"
    )
    ways.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="run the tasks on the cluster of this Dask scheduler, such as tcp://host:8786; the "
        "results are the same",
    )


def local_workers(arguments: argparse.Namespace) -> int:
    """Count the processes of this machine that a command may use."""
    from sgbn.runs import n_processors

    return int(arguments.workers or n_processors())


@contextmanager
def workers(arguments: argparse.Namespace) -> Iterator[int]:
    """Context in which tasks run where ``--workers`` or ``--dask`` say; gives `n_jobs`."""
    if arguments.dask is None:
        yield local_workers(arguments)
        return
    from sgbn.runs import on_dask

    with on_dask(arguments.dask):
        yield 1
