"""Types of command-line arguments, the folder that a command writes to, and its workers."""

from __future__ import annotations

import argparse
import math
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgbn.core.exceptions import InputError

if TYPE_CHECKING:
    import pandas as pd

SLURM_LOGS = "slurm-logs"  # name of a folder in --out
SLURM_HELP = (
    "run the tasks in SLURM jobs. sgbn submits the jobs, replaces jobs that end early, and cancels "
    "the jobs at the end; the results are the same. Separate the keys by commas: jobs (default: "
    "4), partition, account, qos, constraint, walltime (of a job, HH:MM:SS), memory (of a job; "
    "default: 4GB per process), processes (per job; default: 1), interface (of the network, such "
    "as ib0), scratch (a folder on the node), extra (an option of sbatch), setup (a shell line to "
    "run before the workers start), retries (default: 3). Or start sgbn with srun, and give the "
    "word runner: the first process then runs the command, and the others are its workers"
)


class OptionError(InputError):
    """An option has a wrong value, or conflicts with another option. The exit code is 2."""


def at_least(smallest: int) -> Callable[[str], int]:
    """Return the type of an argument that is a whole number, at least `smallest`."""

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
    """Read an argument that is a whole number from 2 upwards, or "all", which becomes None."""
    return None if text == "all" else at_least(2)(text)


def number_from(smallest: float, largest: float = math.inf) -> Callable[[str], float]:
    """Return the type of an argument that is a finite number from `smallest` to `largest`."""
    end = " upwards" if largest == math.inf else f" to {largest:g}"
    return _number(lambda value: smallest <= value <= largest, f"from {smallest:g}{end}")


def number_above(smallest: float, below: float = math.inf) -> Callable[[str], float]:
    """Return the type of an argument that is a finite number above `smallest` and below `below`."""
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
        # Only an attempt to write shows that the disk is full or read-only; access rights do not.
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        # os.path.isfile, unlike Path.is_file, returns False if a folder may not be entered.
        # The system's error "not a directory" does not name the part of the path that is a file.
        file = next((above for above in (path, *path.parents) if os.path.isfile(above)), None)
        reason = (error.strerror or str(error)).lower()
        if file is not None:
            reason = "it is a file" if file == path else f"{file} is a file"
        raise InputError(
            f"cannot write to {path}: {reason}. Give another folder (--out)."
        ) from error
    return path


def write_whole(table: pd.DataFrame, path: Path) -> None:
    """Write a table as a CSV file; if writing fails, no incomplete file is left."""
    from sgbn.runs.files import write_atomically

    write_atomically(path, lambda stream: table.to_csv(stream, index=False))


@contextmanager
def folder_of_results(path: Path) -> Iterator[Path]:
    """Make the folder of ``--out`` for a context; after an error, remove new empty folders."""
    folders = (path, *path.parents)  # the deepest first
    # os.path.exists, unlike Path.exists, returns False for names that the system refuses.
    made = [folder for folder in folders if not os.path.exists(folder)]
    try:
        yield make_folder(path)
    # BaseException: after Ctrl-C no empty folders are left either.
    except BaseException:
        for folder in made:
            with suppress(OSError):  # the folder is not empty, or was never made
                folder.rmdir()
        raise


def add_worker_options(parser: Any, default: int | None = None) -> None:
    """Add ``--workers``, ``--dask`` and ``--slurm``.

    Parameters
    ----------
    parser : ArgumentParser or argument group
        The parser of the command, or a group of its options.
    default : int, optional
        Number of processes if ``--workers`` is not given; None means one per processor.
    """
    ways = parser.add_mutually_exclusive_group()
    usual = "all processors" if default is None else default
    ways.add_argument(
        "--workers",
        type=at_least(1),
        default=default,
        metavar="N",
        help=f"number of processes on this machine (default: {usual})",
    )
    ways.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="run the tasks on the cluster of this Dask scheduler, such as tcp://host:8786; the "
        "results are the same",
    )
    ways.add_argument("--slurm", type=slurm_text, metavar="KEY=VALUE,...", help=SLURM_HELP)


def slurm_text(text: str) -> str:
    """Check the value of ``--slurm``, and return it as it is."""
    from sgbn.runs.slurm import SlurmOptions

    if not text.strip():
        raise argparse.ArgumentTypeError(
            "it is empty. Give key=value pairs separated by commas, such as partition=main,jobs=4"
        )
    try:
        # `workers` reads the text again. Here a wrong key is reported before any work begins.
        SlurmOptions.of(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def local_workers(arguments: argparse.Namespace) -> int:
    """Return the number of processes that a command may use on this machine."""
    from sgbn.runs.tasks import n_processors

    return int(arguments.workers or n_processors())


@contextmanager
def workers(arguments: argparse.Namespace) -> Iterator[int]:
    """Run tasks where ``--workers``, ``--dask`` or ``--slurm`` say, and yield `n_jobs`."""
    from sgbn.runs.dask import on_dask
    from sgbn.runs.slurm import on_slurm

    if arguments.dask is not None:
        # On a cluster `n_jobs` has no effect: the workers of the cluster do the tasks.
        with on_dask(arguments.dask):
            yield 1
    elif arguments.slurm is not None:
        with on_slurm(arguments.slurm, arguments.out / SLURM_LOGS, progress=True):
            yield 1
    else:
        yield local_workers(arguments)


def step_of_srun(arguments: argparse.Namespace) -> AbstractContextManager[object]:
    """Return the context of the whole command, which ``--slurm runner`` needs.

    With ``--slurm runner``, srun starts several processes. Only the first one enters the context.
    The others become its workers before they read, print or write anything.
    """
    text = getattr(arguments, "slurm", None)  # some commands have no option --slurm
    if text is None:
        return nullcontext()
    from sgbn.runs.slurm import SlurmOptions, slurm_step

    # Without `runner`, this process submits the jobs in `workers`.
    options = SlurmOptions.of(text)
    return slurm_step(options) if options.runner else nullcontext()
