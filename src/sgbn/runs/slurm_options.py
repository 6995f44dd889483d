"""What a user says about jobs of SLURM: ``"partition=long,memory=8GB,jobs=4"``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from sgbn.exceptions import InputError, did_you_mean

RUNNER = "runner"  # no jobs of its own: this is one process of an allocation, under srun
OF_RUNNER = ("interface", "scratch")  # what else can be said there
SEVERAL = ("extra", "setup")  # may be given more than once
COUNTS = {"jobs": 1, "processes": 1, "retries": 0}  # whole numbers, and the smallest of each
# With a unit: a plain number is bytes to Dask, and megabytes to sbatch.
BYTES = re.compile(r"\d+(\.\d+)?\s*[KMGT](i?B)?", re.IGNORECASE)
# The folder is not quoted, so that the node fills in variables such as $TMPDIR.
UNSAFE_IN_PATH = re.compile(r"[\s;&|<>()`'\"\\]")
NEXT_KEY = re.compile(r",(?=\s*\w+\s*=)")  # other commas belong to a value: extra=--exclude=n1,n2


@dataclass(frozen=True)
class SlurmOptions:
    """Jobs that run the workers.

    What is "" is left to the site: to its jobqueue.yaml of Dask, then to SLURM.

    Attributes
    ----------
    partition, account, qos, constraint, walltime : str
        As sbatch takes them.
    memory : str
        Of one job, such as ``"8GB"``; 4 GB for each process if "".
    processes : int
        Processes in a job, each with one processor and one task at a time.
    jobs : int
        Jobs that run at the same time.
    interface : str
        Network between the jobs and this process, such as ``"ib0"``.
    scratch : str
        Folder of a node for the temporary files of workers.
    extra : tuple of str
        More options of sbatch, such as ``"--exclude=n1,n2"``.
    setup : tuple of str
        Lines of shell before the workers start, such as ``"module load python"``.
    retries : int
        How often each job is replaced while no task is finished.
    runner : bool
        Under srun: the first process runs the command, the others are its workers.
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
        """Read and check options.

        Parameters
        ----------
        given : str or mapping
            ``"key=value,key=value"`` or ``"runner"``; in a mapping, `extra` and `setup` are lists.

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
        """Memory of one job."""
        return self.memory or f"{4 * self.processes}GB"


KEYS = tuple(one.name for one in fields(SlurmOptions) if one.name != RUNNER)


def _from_text(text: str) -> dict[str, Any]:
    """Key -> text of its value, or a list of them."""
    read: dict[str, Any] = {}
    first, _, rest = text.partition(",")
    if first.strip() == RUNNER:
        read[RUNNER], text = True, rest
    for part in filter(str.strip, NEXT_KEY.split(text)):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        # A word without "=" is not split off by NEXT_KEY: it is the end of the value before it.
        last = value.rpartition(",")[2].strip()
        if RUNNER in (key, last):
            raise InputError(
                f"{text!r}: {RUNNER} must stand first and without a value. Correct it."
            )
        if not equals or last in KEYS:
            raise InputError(
                f"{last or key!r} in {text!r} has no value. Give key=value, with commas between."
            )
        if key in SEVERAL:
            read.setdefault(key, []).append(value)
        elif key in read:
            raise InputError(f"{text!r} says {key} twice. Say it once.")
        else:
            read[key] = value
    return read


def _unknown(key: str, known: tuple[str, ...], *, runner: bool) -> str:
    if runner and key in KEYS:
        return (
            f"runner takes no {key}: srun and its allocation decide that. Leave it out, or "
            "leave out runner."
        )
    return f"no key of SLURM's options is called {key!r}. {did_you_mean(key, known)}"


def _checked(key: str, value: Any) -> Any:
    """Value of a key as `SlurmOptions` holds it."""
    if key in COUNTS:
        return _count(key, value)
    if key in SEVERAL:
        lines = [value] if isinstance(value, str) else value
        return tuple(_line(key, line) for line in lines)
    value = _line(key, value)
    if key == "scratch" and UNSAFE_IN_PATH.search(value):
        raise InputError(
            f"scratch={value} has white space or a sign of the shell, and stands in the job script "
            "as it is. Give a plain path, or one such as $TMPDIR."
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
        raise InputError(f"{key}={text!r} is not one line of text. Give one, or leave {key} out.")
    return text
