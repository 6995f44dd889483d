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
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar
from zipfile import BadZipFile

import joblib
import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from sgbn.exceptions import StudyError, warn

Task = TypeVar("Task")
Result = TypeVar("Result")
Arrays = dict[str, NDArray[Any]]

LIBRARIES = ("sgbn", "numpy", "scipy", "scikit-learn", "numba")
UNFINISHED = ".unfinished"
PROVENANCE = "provenance"  # entry of a result that says what it was made with, as JSON


def parallel(
    function: Callable[[Task], Result], tasks: Iterable[Task], n_jobs: int | None = None
) -> list[Result]:
    """Results of `function` on every task, in the order of the tasks, whatever `n_jobs`."""
    results: list[Result] = joblib.Parallel(n_jobs=n_jobs)(
        joblib.delayed(function)(task) for task in tasks
    )
    return results


def run_study(
    folder: str | Path,
    function: Callable[..., Mapping[str, Any]],
    tasks: Mapping[str, Mapping[str, Any]],
    settings: Mapping[str, Any],
    *,
    n_jobs: int | None = None,
    progress: bool = True,
) -> dict[str, Arrays]:
    """Run the tasks of a study that its folder does not hold yet, and return all results.

    Parameters
    ----------
    folder : path
        Made if absent.
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

    Returns
    -------
    dict
        Task name -> result as arrays.
    """
    folder = Path(folder)
    (folder / "tasks").mkdir(parents=True, exist_ok=True)
    _check_settings(folder, settings)
    for leftover in folder.rglob(f"*{UNFINISHED}"):
        leftover.unlink()
    paths = {name: folder / "tasks" / f"{name}.npz" for name in tasks}
    missing = [name for name in tasks if not paths[name].exists()]
    provenance = json.dumps({"settings": settings, "versions": versions()}, sort_keys=True)
    jobs = (
        joblib.delayed(_run_task)(function, tasks[name], paths[name], provenance)
        for name in missing
    )
    finished = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")(jobs)
    bar = tqdm(
        finished,
        total=len(tasks),
        initial=len(tasks) - len(missing),
        desc=folder.name,
        unit="task",
        disable=not progress,
    )
    for _ in bar:
        pass
    return {name: read_result(path) for name, path in paths.items()}


def read_result(path: Path) -> Arrays:
    """Arrays of one finished task."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files if name != PROVENANCE}
    except (ValueError, OSError, EOFError, BadZipFile) as error:
        raise StudyError(f"{path} cannot be read ({error}). Delete it and start again.") from error


def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that numbers depend on."""
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


def _run_task(
    function: Callable[..., Mapping[str, Any]],
    arguments: Mapping[str, Any],
    path: Path,
    provenance: str,
) -> None:
    result = {name: np.asarray(value) for name, value in function(**arguments).items()}
    result[PROVENANCE] = np.asarray(provenance)
    write_atomically(path, lambda stream: np.savez(stream, allow_pickle=False, **result))


def _check_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    path = folder / "study.json"
    wanted = json.loads(json.dumps(dict(settings)))
    if not path.exists():
        command = [Path(sys.argv[0]).name, *sys.argv[1:]]
        write_json(path, {"settings": wanted, "versions": versions(), "command": command})
        return
    study = json.loads(path.read_text())
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


def _differences(begun: Mapping[str, Any], wanted: Mapping[str, Any]) -> Sequence[str]:
    names = sorted(set(begun) | set(wanted))
    return [
        f"  {name}: {begun.get(name, '(not set)')} there, {wanted.get(name, '(not set)')} now"
        for name in names
        if begun.get(name) != wanted.get(name)
    ]
