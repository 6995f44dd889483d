"""Read and check the options of SLURM jobs, such as ``"partition=long,memory=8GB,jobs=4"``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from sgbn.core.exceptions import InputError, did_you_mean

RUNNER = "runner"  # submit no jobs: use the processes that srun started
OF_RUNNER = ("interface", "scratch")  # the keys that may follow `RUNNER`
SEVERAL = ("extra", "setup")  # keys that may be given more than once
COUNTS = {"jobs": 1, "processes": 1, "retries": 0}  # keys of whole numbers, and their least values
# A unit is required: Dask reads a plain number as bytes, and sbatch as megabytes.
BYTES = re.compile(r"\d+(\.\d+)?\s*[KMGT](i?B)?", re.IGNORECASE)
# The folder is not quoted in the script, so that the node expands variables such as $TMPDIR.
UNSAFE_IN_PATH = re.compile(r"[\s;&|<>()`'\"\\]")
NEXT_KEY = re.compile(r",(?=\s*\w+\s*=)")  # other commas belong to a value: extra=--exclude=n1,n2


@dataclass(frozen=True)
class SlurmOptions:
    """The options of the jobs that run the workers.

    For a text option, "" means the default in the site's jobqueue.yaml. If that file has
    none, it means the default of SLURM.

    Attributes
    ----------
    partition, account, qos, constraint, walltime : str
        Values of the options of sbatch with these names (walltime is --time).
    memory : str
        Memory of one job, such as ``"8GB"``. "" means 4 GB per process.
    processes : int
        Number of processes in a job. Each has one processor and runs one task at a time.
    jobs : int
        Number of jobs that run at the same time.
    interface : str
        Network interface between the jobs and this process, such as ``"ib0"``.
    scratch : str
        Folder of a node for the temporary files of workers.
    extra : tuple of str
        Further options of sbatch, such as ``"--exclude=n1,n2"``.
    setup : tuple of str
        Lines of shell that run before the workers start, such as ``"module load python"``.
    retries : int
        How often each job is replaced while no task is finished.
    runner : bool
        Whether to use the processes that srun started: the first runs the command, and the others
        are its workers.
    """

    partition: str = ""
    account: str = ""
    qos: str = ""
    constraint: str = ""
    walltime: str = ""
    memory: str = ""
    processes: int = 1
    jobs: int = 4
    interface: str = ""
    scratch: str = ""
    extra: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    retries: int = 3
    runner: bool = False

    @classmethod
    def of(cls, given: str | Mapping[str, Any]) -> SlurmOptions:
        """Return the options of a text or mapping, after checking them.

        Parameters
        ----------
        given : str or mapping
            ``"key=value,key=value"`` or ``"runner"``. In a mapping, `extra` and `setup` are lists.

        Raises
        ------
        InputError
            If a key is unknown, given twice or without a value, or a value cannot be used.
        """
        read = _from_text(given) if isinstance(given, str) else dict(given)
        runner = bool(read.pop(RUNNER, False))
        known = OF_RUNNER if runner else KEYS
        for key in read:
            if key not in known:
                raise InputError(_unknown(key, known, runner=runner))
        return cls(**{key: _checked(key, value) for key, value in read.items()}, runner=runner)

    @property
    def job_memory(self) -> str:
        """Return the memory of one job, with its unit."""
        return self.memory or f"{4 * self.processes}GB"


KEYS = tuple(one.name for one in fields(SlurmOptions) if one.name != RUNNER)


def _from_text(text: str) -> dict[str, Any]:
    """Return the value of each key as text, or as a list of texts for keys of `SEVERAL`."""
    read: dict[str, Any] = {}
    first, _, rest = text.partition(",")
    if first.strip() == RUNNER:
        read[RUNNER], text = True, rest
    for part in filter(str.strip, NEXT_KEY.split(text)):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        # NEXT_KEY does not split off a word without "=". The word ends the value before it.
        last = value.rpartition(",")[2].strip()
        if RUNNER in (key, last):
            raise InputError(
                f"{RUNNER} is in the wrong place in {text!r}. It must be the first word, without a "
                "value."
            )
        if not equals or last in KEYS:
            raise InputError(
                f"{last or key!r} in {text!r} has no value. Give key=value, separated by commas."
            )
        if key in SEVERAL:
            read.setdefault(key, []).append(value)
        elif key in read:
            raise InputError(f"{text!r} contains {key} twice. Give it once.")
        else:
            read[key] = value
    return read


def _unknown(key: str, known: tuple[str, ...], *, runner: bool) -> str:
    if runner and key in KEYS:
        return (
            f"runner does not accept {key}, because srun and its allocation decide it. Leave out "
            f"{key}, or leave out runner."
        )
    return f"the options of SLURM have no key called {key!r}. {did_you_mean(key, known)}"


def _checked(key: str, value: Any) -> Any:
    """Return the value of a key as `SlurmOptions` stores it; raise InputError if it is invalid."""
    if key in COUNTS:
        return _count(key, value)
    if key in SEVERAL:
        lines = [value] if isinstance(value, str) else value
        return tuple(_line(key, line) for line in lines)
    value = _line(key, value)
    if key == "scratch" and UNSAFE_IN_PATH.search(value):
        raise InputError(
            f"scratch={value} has white space or a special character of the shell, which the job "
            "script cannot contain. Give a plain path, or a variable such as $TMPDIR."
        )
    if key == "memory" and not BYTES.fullmatch(value):
        raise InputError(f"memory={value} is not a size. Give a size such as 8GB or 500MB.")
    return value


def _count(key: str, value: Any) -> int:
    least = COUNTS[key]
    if re.fullmatch(r"\d+", str(value)) is None or int(value) < least:
        raise InputError(
            f"{key}={value} is not a valid count. Give a whole number of at least {least}."
        )
    return int(value)


def _line(key: str, value: Any) -> str:
    text = str(value).strip()
    if not text or len(text.splitlines()) > 1:
        raise InputError(f"{key}={text!r} is not one line of text. Give a line, or omit {key}.")
    return text
