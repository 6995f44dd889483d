"""Studies that resume.

A study is a folder: ``study.json`` says what is run (settings, versions, command, number of tasks),
and ``tasks/NAME.npz`` holds the result of one finished task and what it was made with. Each file is
whole or absent, and a second start does only what is missing. One process at a time writes to it,
which holds a lock on ``study.lock``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tqdm.auto import tqdm

from sgbn.exceptions import InputError, StudyError, warn
from sgbn.runs.cluster import active_client
from sgbn.runs.files import (
    PROVENANCE,
    Arrays,
    full_disk_named,
    only_writer,
    read_result,
    remove_unfinished,
    write_json,
    write_result,
)
from sgbn.runs.provenance import differences, versions
from sgbn.runs.tasks import check_jobs, run_tasks

STUDY, TASKS = "study.json", "tasks"  # of a folder


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


class _Task(NamedTuple):
    """Arguments of a task, and the file that its worker writes, if it is to write one."""

    arguments: Mapping[str, Any]
    path: Path | None


def run_study(
    folder: str | Path | None,
    function: Callable[..., Mapping[str, Any]],
    tasks: Mapping[str, Mapping[str, Any]],
    settings: Mapping[str, Any],
    *,
    shared: Mapping[str, Any] | None = None,
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
        Called as ``function(**shared, **tasks[name])``; returns a mapping of names to arrays,
        numbers or strings. It must depend on its arguments only (a seed among them), and must not
        change them.
    tasks : mapping of name to arguments
        Names become file names.
    settings : mapping
        What makes the study what it is, as JSON can write it. A folder that was begun with other
        settings is refused.
    shared : mapping, optional
        Arguments that are the same for all tasks, such as a cohort. They are sent once a worker,
        not once a task.
    n_jobs : int, optional
        Processes. Results do not depend on it. Within `on_dask` the cluster runs the tasks, and
        `n_jobs` says nothing; files are written here, so that workers need not see the folder.
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
    check_jobs(n_jobs)
    run = partial(
        _run_task,
        function,
        shared=dict(shared or {}),
        settings=None if folder is None else dict(settings),
        skip=on_error == "skip",
    )
    with _result_paths(folder, tasks, settings) as paths:
        missing = [name for name in tasks if name not in paths or not paths[name].exists()]
        bar = partial(
            tqdm,
            total=len(tasks),
            initial=len(tasks) - len(missing),
            desc=Path(folder).name if folder else None,
            unit="task",
            disable=not progress,
        )
        made = _run_missing(run, {name: tasks[name] for name in missing}, paths, n_jobs, bar)
    failures = {name: made[name][1] for name in missing if made[name][1]}
    results = {
        name: read_result(paths[name]) if name in paths else made[name][0]
        for name in tasks
        if name not in failures
    }
    return Results(results, failures)


def _run_missing(
    run: Callable[[_Task], tuple[Arrays, str]],
    tasks: Mapping[str, Mapping[str, Any]],
    paths: Mapping[str, Path],
    n_jobs: int | None,
    bar: Callable[..., Iterable[tuple[int, tuple[Arrays, str]]]],
) -> dict[str, tuple[Arrays, str]]:
    """Task name -> result, unless a file has it, and failure."""
    names, elsewhere = list(tasks), active_client() is not None
    items = [_Task(tasks[name], None if elsewhere else paths.get(name)) for name in names]
    made: dict[str, tuple[Arrays, str]] = {}
    with closing(run_tasks(run, items, names, n_jobs)) as finished:
        for number, (result, failure) in bar(finished):
            name = names[number]
            if elsewhere and name in paths and not failure:
                write_result(paths[name], result)
                result = {}
            made[name] = result, failure
    return made


def _run_task(
    function: Callable[..., Mapping[str, Any]],
    task: _Task,
    *,
    shared: Mapping[str, Any],
    settings: Mapping[str, Any] | None,
    skip: bool,
) -> tuple[Arrays, str]:
    """Give result and failure of a task; a result that is written here is not sent back.

    Results that are to be kept say what they were made with, and where they are made that is known.
    """
    try:
        found = function(**shared, **task.arguments)
    except InputError as error:
        if not skip:
            raise
        return {}, str(error)
    result = {key: np.asarray(value) for key, value in found.items()}
    if settings is not None:
        made_with = {"settings": settings, "versions": versions()}
        result[PROVENANCE] = np.asarray(json.dumps(made_with, sort_keys=True))
    if task.path is None:
        return result, ""
    write_result(task.path, result)
    return {}, ""


@contextmanager
def _result_paths(
    folder: str | Path | None, tasks: Iterable[str], settings: Mapping[str, Any]
) -> Iterator[dict[str, Path]]:
    """File of each task in a folder that is ours alone meanwhile; none without a folder."""
    if folder is None:
        yield {}
        return
    folder = Path(folder)
    try:
        with full_disk_named(folder):
            (folder / TASKS).mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise InputError(
            f"{folder} is a file, or lies in one. Give a folder, which is made if it is absent."
        ) from error
    paths = {name: folder / TASKS / f"{name}.npz" for name in tasks}
    with only_writer(folder):
        _check_settings(folder, settings, paths)
        remove_unfinished(folder, folder / TASKS)
        try:
            yield paths
        except BaseException:  # workers may have been stopped while they wrote
            remove_unfinished(folder, folder / TASKS)
            raise


def _check_settings(folder: Path, settings: Mapping[str, Any], paths: Mapping[str, Path]) -> None:
    path = folder / STUDY
    wanted = json.loads(json.dumps(dict(settings)))
    begun = {"settings": wanted, "versions": versions(), TASKS: len(paths)}
    if not path.exists():
        _refuse_results_of_unknown_settings(folder)
        command = [Path(sys.argv[0]).name, *sys.argv[1:]]
        write_json(path, begun | {"command": command})
        return
    study = read_study(path)
    if study["settings"] != wanted:
        lines = differences(study["settings"], wanted)
        raise StudyError(
            f"{folder} was begun with other settings:\n"
            + "\n".join(lines)
            + "\nGive the same settings to go on, or another folder to start anew."
        )
    if study["versions"] != versions():
        lines = differences(study["versions"], versions())
        warn(
            f"{folder} was begun with other versions, and goes on with these (each result says "
            "which made it):\n" + "\n".join(lines)
        )
    if study.get(TASKS) != len(paths) and not all(own.exists() for own in paths.values()):
        write_json(path, study | {TASKS: len(paths)})


def _refuse_results_of_unknown_settings(folder: Path) -> None:
    if any((folder / TASKS).glob("*.npz")):
        raise StudyError(
            f"{folder / TASKS} has results, but {folder / STUDY} is gone, which says what they "
            f"were made with. Put it back to go on; or delete {folder / TASKS}, or give another "
            "folder, to start anew."
        )


def read_study(path: Path) -> dict[str, Any]:
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
