"""Tasks: parallel, resumable, with progress. The one place that starts workers.

A study is a folder: ``study.json`` says what is run (settings, versions, command), and
``tasks/NAME.npz`` holds the result of one finished task and what it was made with. Each file is
written under another name and then renamed, so that it is whole or absent, and a second start does
only what is missing.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar
from zipfile import BadZipFile

import joblib
import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from sgbn.exceptions import InputError, StudyError, warn

Task = TypeVar("Task")
Result = TypeVar("Result")
Arrays = dict[str, NDArray[Any]]

LIBRARIES = ("sgbn", "numpy", "scipy", "scikit-learn", "numba")
UNFINISHED = ".unfinished"
DATA = "data"  # setting that tells the data by a hash, which means nothing to a reader
PROVENANCE = "provenance"  # entry of a result that says what it was made with, as JSON


def parallel(
    function: Callable[[Task], Result], tasks: Iterable[Task], n_jobs: int | None = None
) -> list[Result]:
    """Results of `function` on every task, in the order of the tasks, whatever `n_jobs`."""
    _check_jobs(n_jobs)
    results: list[Result] = joblib.Parallel(n_jobs=n_jobs)(
        joblib.delayed(function)(task) for task in tasks
    )
    return results


class Results(dict[str, Arrays]):
    """Task name -> result as arrays.

    Attributes
    ----------
    failures : dict
        Task name -> message, of tasks that failed and were skipped.
    """

    def __init__(self, results: Mapping[str, Arrays], failures: Mapping[str, str]) -> None:
        super().__init__(results)
        self.failures = dict(failures)


def run_study(
    folder: str | Path | None,
    function: Callable[..., Mapping[str, Any]],
    tasks: Mapping[str, Mapping[str, Any]],
    settings: Mapping[str, Any],
    *,
    n_jobs: int | None = None,
    progress: bool = True,
    on_error: str = "raise",
) -> Results:
    """Run the tasks of a study that its folder does not hold yet, and return all results.

    Parameters
    ----------
    folder : path or None
        Made if absent. None keeps nothing.
    function : callable
        Called as ``function(**tasks[name])``; returns a mapping of names to arrays, numbers or
        strings. It must depend on its arguments only (a seed among them).
    tasks : mapping of name to arguments
        Names become file names.
    settings : mapping
        What makes the study what it is, as JSON can write it. A folder that was begun with other
        settings is refused.
    n_jobs : int, optional
        Processes. Results do not depend on it.
    progress : bool
        Show a bar with the time left.
    on_error : {"raise", "skip"}
        What an `InputError` of a task does: end the run, or leave that task out. Skipped tasks are
        tried again at the next start. All other errors end the run.

    Returns
    -------
    Results
        Task name -> result as arrays, in the order of the tasks, and `failures`.
    """
    if on_error not in ("raise", "skip"):
        raise InputError(f"on_error is {on_error!r}: give 'raise' or 'skip'.")
    _check_jobs(n_jobs)
    paths = _result_paths(folder, tasks, settings)
    missing = [name for name in tasks if name not in paths or not paths[name].exists()]
    provenance = json.dumps({"settings": settings, "versions": versions()}, sort_keys=True)
    run = partial(_run_task, function, provenance=provenance, skip=on_error == "skip")
    jobs = (joblib.delayed(run)(name, tasks[name], paths.get(name)) for name in missing)
    finished = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")(jobs)
    bar = tqdm(
        finished,
        total=len(tasks),
        initial=len(tasks) - len(missing),
        desc=Path(folder).name if folder else None,
        unit="task",
        disable=not progress,
    )
    made = {name: (result, failure) for name, result, failure in bar}
    failures = {name: made[name][1] for name in missing if made[name][1]}
    results = {
        name: read_result(paths[name]) if name in paths else made[name][0]
        for name in tasks
        if name not in failures
    }
    return Results(results, failures)


def read_result(path: Path) -> Arrays:
    """Arrays of one finished task."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files if name != PROVENANCE}
    except (ValueError, OSError, EOFError, BadZipFile) as error:
        raise StudyError(f"{path} cannot be read ({error}). Delete it and start again.") from error


def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that numbers depend on."""
    return dict(_versions())


@cache  # a lookup reads files, and every study asks for it
def _versions() -> Mapping[str, str]:
    return {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}}


def write_atomically(path: Path, write: Callable[[Any], object]) -> None:
    """Call `write` on a binary file that gets its name only when it is complete."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}{UNFINISHED}")
    try:
        with temporary.open("wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON atomically."""
    text = json.dumps(content, indent=1, sort_keys=True) + "\n"
    write_atomically(path, lambda stream: stream.write(text.encode()))


def _check_jobs(n_jobs: object) -> None:
    """Refuse a number of processes that is none."""
    whole = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not (whole and n_jobs):
        raise InputError(
            f"n_jobs is {n_jobs!r}: give the number of processes, from 1 on, or -1 for one a "
            "processor."
        )


def _result_paths(
    folder: str | Path | None, tasks: Iterable[str], settings: Mapping[str, Any]
) -> dict[str, Path]:
    """File of each task in a folder that is made ready for them; none without a folder."""
    if folder is None:
        return {}
    folder = Path(folder)
    try:
        (folder / "tasks").mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise InputError(
            f"{folder} is a file, or lies in one. Give a folder, which is made if it is absent."
        ) from error
    _check_settings(folder, settings)
    for leftover in folder.rglob(f"*{UNFINISHED}"):
        leftover.unlink()
    return {name: folder / "tasks" / f"{name}.npz" for name in tasks}


def _run_task(
    function: Callable[..., Mapping[str, Any]],
    name: str,
    arguments: Mapping[str, Any],
    path: Path | None,
    provenance: str,
    skip: bool,
) -> tuple[str, Arrays, str]:
    """Name, result and failure of a task; a result that is kept in `path` is not sent back."""
    try:
        result = {key: np.asarray(value) for key, value in function(**arguments).items()}
    except InputError as error:
        if not skip:
            raise
        return name, {}, str(error)
    if path is None:
        return name, result, ""
    result[PROVENANCE] = np.asarray(provenance)
    write_atomically(path, lambda stream: np.savez(stream, allow_pickle=False, **result))
    return name, {}, ""


def _check_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    path = folder / "study.json"
    wanted = json.loads(json.dumps(dict(settings)))
    if not path.exists():
        command = [Path(sys.argv[0]).name, *sys.argv[1:]]
        write_json(path, {"settings": wanted, "versions": versions(), "command": command})
        return
    study = _read_study(path)
    if study["settings"] != wanted:
        lines = _differences(study["settings"], wanted)
        raise StudyError(
            f"{folder} was begun with other settings:\n"
            + "\n".join(lines)
            + "\nGive the same settings to go on, or another folder to start anew."
        )
    if study["versions"] != versions():
        lines = _differences(study["versions"], versions())
        warn(
            f"{folder} was begun with other versions, and goes on with these (each result says "
            "which made it):\n" + "\n".join(lines)
        )


def _read_study(path: Path) -> dict[str, Any]:
    """Read what a study was begun with."""
    try:
        study = json.loads(path.read_text(encoding="utf-8"))
        reason = "it lacks settings or versions"
    except (OSError, ValueError) as error:
        study, reason = None, str(error)
    parts = ("settings", "versions")
    if not isinstance(study, dict) or not all(isinstance(study.get(part), dict) for part in parts):
        raise StudyError(
            f"{path} cannot be read as the description of a study ({reason}). Give another folder, "
            "or delete this one to start anew."
        )
    return study


def _differences(begun: Mapping[str, Any], wanted: Mapping[str, Any]) -> Sequence[str]:
    """One line for each setting that is not the same; of data only that, for they are a hash."""
    names = sorted(set(begun) | set(wanted))
    return [
        "  the data are not the same"
        if name == DATA
        else f"  {name}: {begun.get(name, '(not set)')} there, {wanted.get(name, '(not set)')} now"
        for name in names
        if begun.get(name) != wanted.get(name)
    ]
