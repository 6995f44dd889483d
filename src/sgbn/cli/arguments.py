"""Types of command-line arguments, the folder that a command writes to, and who does the work."""

from __future__ import annotations

import argparse
import math
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgbn.exceptions import InputError

if TYPE_CHECKING:
    import pandas as pd

SLURM_LOGS = "slurm-logs"  # folder of --out
SLURM_HELP = (
    "run the tasks in jobs of SLURM, which are submitted, replaced when they end early, and "
    "cancelled; the results are the same. Keys, with commas between: jobs (4), partition, account, "
    "qos, constraint, walltime (of a job, HH:MM:SS), memory (of a job, 4GB for each process), "
    "processes (of a job, 1), interface (network, such as ib0), scratch (folder of a node), extra "
    "(an option of sbatch), setup (a line of shell before the workers start), retries (3). Or "
    "runner, under srun: the first process runs the command, the others are its workers"
)


class OptionError(InputError):
    """An option has a wrong value, or cannot be combined with another: exit code 2."""


def at_least(smallest: int) -> Callable[[str], int]:
    """Type of an argument that is a whole number, at least `smallest`."""

    def whole_number(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if number < smallest:
            raise argparse.ArgumentTypeError(f"{number} is too small: give {smallest} or more")
        return number

    return whole_number


def all_or_number(text: str) -> int | None:
    """Type of an argument that is a whole number from 2 upwards, or "all", which becomes None."""
    return None if text == "all" else at_least(2)(text)


def number_from(smallest: float, largest: float = math.inf) -> Callable[[str], float]:
    """Type of an argument that is a finite number from `smallest` to `largest`."""
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
        # float reads "nan" and "inf" too, and no comparison with a NaN is true.
        if not (math.isfinite(value) and allows(value)):
            raise argparse.ArgumentTypeError(f"{text} is not a number {which}")
        return value

    return number


def make_folder(path: Path) -> Path:
    """Make the folder of ``--out``, and check before any work that it is writable."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        # Rights can be read, but only a file shows a full disk or one that is read-only.
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        # os.path.isfile, unlike Path.is_file, is False where a folder may not be entered.
        # The system says "not a directory" without saying which part of the path is not one.
        file = next((above for above in (path, *path.parents) if os.path.isfile(above)), None)
        reason = (error.strerror or str(error)).lower()
        if file is not None:
            reason = "it is a file" if file == path else f"{file} is a file"
        raise InputError(
            f"cannot write to {path}: {reason}. Give another folder (--out)."
        ) from error
    return path


def write_whole(table: pd.DataFrame, path: Path) -> None:
    """Write a table as a CSV file that is whole or absent."""
    from sgbn.runs import write_atomically

    write_atomically(path, lambda stream: table.to_csv(stream, index=False))


@contextmanager
def folder_of_results(path: Path) -> Iterator[Path]:
    """Context with the folder of ``--out``; after an error, new empty folders are removed."""
    folders = (path, *path.parents)  # the deepest first
    # os.path, not Path: it answers False for names that the system refuses, as `make_folder` says.
    made = [folder for folder in folders if not os.path.exists(folder)]
    try:
        yield make_folder(path)
    # Ctrl-C, too, leaves no empty folders.
    except BaseException:
        for folder in made:
            with suppress(OSError):  # it holds something, or was never made
                folder.rmdir()
        raise


def add_worker_options(parser: Any, default: int | None = None) -> None:
    """Add ``--workers``, ``--dask`` and ``--slurm``.

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
    ways.add_argument("--slurm", type=slurm_text, metavar="KEY=VALUE,...", help=SLURM_HELP)


def slurm_text(text: str) -> str:
    """Type of ``--slurm``: the text itself, if it can be used."""
    from sgbn.runs.slurm_options import SlurmOptions

    if not text.strip():
        raise argparse.ArgumentTypeError(
            "it is empty. Give key=value, with commas between, such as partition=main,jobs=4"
        )
    try:
        # Read here, and again where it is used: a wrong key is named before anything else happens.
        SlurmOptions.of(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def local_workers(arguments: argparse.Namespace) -> int:
    """Count the processes of this machine that a command may use."""
    from sgbn.runs import n_processors

    return int(arguments.workers or n_processors())


@contextmanager
def workers(arguments: argparse.Namespace) -> Iterator[int]:
    """Context in which tasks run where ``--workers``, ``--dask`` or ``--slurm`` say; `n_jobs`."""
    from sgbn.runs import on_dask, on_slurm

    if arguments.dask is not None:
        # On a cluster `n_jobs` says nothing: its workers do the tasks.
        with on_dask(arguments.dask):
            yield 1
    elif arguments.slurm is not None:
        with on_slurm(arguments.slurm, arguments.out / SLURM_LOGS, progress=True):
            yield 1
    else:
        yield local_workers(arguments)


def step_of_srun(arguments: argparse.Namespace) -> AbstractContextManager[object]:
    """Context of the whole command: with ``--slurm runner``, one process of srun alone enters it.

    The others become its workers, before they read, print or write anything.
    """
    text = getattr(arguments, "slurm", None)  # not every command has workers
    if text is None:
        return nullcontext()
    from sgbn.runs.slurm_options import SlurmOptions
    from sgbn.runs.slurm_step import slurm_step

    # Without `runner` this process submits the jobs: see `workers`.
    options = SlurmOptions.of(text)
    return slurm_step(options) if options.runner else nullcontext()
