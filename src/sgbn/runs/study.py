"""Studies: tasks in parallel whose finished results a folder keeps, so that a run can be resumed.

A study is a folder. ``study.json`` describes the run (settings, versions, command, number of
tasks). ``tasks/NAME.npz`` holds the result of one finished task, its name, and the settings and
versions that made it, so that a file which was copied over another is recognized. Each file is
complete or absent, and a second start does only what is missing. Only one process at a time writes
to the folder, because it locks ``study.lock``.

`study_status` and `find_studies` find out from the folders what is done and what is left.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sgbn.core.problems import InputError, Problem, StudyError
from sgbn.core.validation import JOBS, OneOf
from sgbn.runs.dask import active_client
from sgbn.runs.files import (
    PROVENANCE,
    Arrays,
    as_path,
    as_stored,
    differences,
    full_disk_named,
    only_writer,
    read_result,
    remove_unfinished,
    versions,
    write_json,
    write_result,
)
from sgbn.runs.tasks import Outcome, Outcomes, TimeLeft, n_workers, run_tasks, with_progress

STUDY, TASKS = "study.json", "tasks"  # file and folder in the folder of a study


class Results(dict[str, Arrays]):
    """The results of a study: a mapping from task names to results, which are arrays by name.

    Attributes
    ----------
    failures : dict of str to Problem
        Message of each task that failed and was skipped, by task name.
    """

    def __init__(self, results: Mapping[str, Arrays], failures: Mapping[str, Problem]) -> None:
        super().__init__(results)
        self.failures = dict(failures)


class _Task(NamedTuple):
    """Arguments of a task, and the file that its worker writes (None if it writes no file)."""

    arguments: Mapping[str, Any]
    path: Path | None


@dataclass(frozen=True)
class Study:
    """Tasks that run in parallel, and can be resumed if there is a folder.

    Parameters
    ----------
    folder : path, optional
        Folder that keeps finished tasks, so that a second start does only what is missing. It is
        created if it does not exist.
    n_jobs : int, optional
        Number of processes. Results do not depend on it. Within `on_dask` the cluster runs the
        tasks, and `n_jobs` has no effect. This process then writes the files, so that workers need
        no access to the folder.
    progress : bool
        Whether to show a bar with the time left. In a log file, lines are printed instead.
    """

    folder: str | Path | None = None
    n_jobs: int | None = None
    progress: bool = False

    def __post_init__(self) -> None:
        JOBS.check("n_jobs", self.n_jobs)
        as_path(self.folder or "")

    def part(self, name: str) -> Study:
        """Return the study of one step, in a subfolder of this study, with the same workers."""
        return self if self.folder is None else replace(self, folder=Path(self.folder) / name)

    def require(self, settings: Mapping[str, Any]) -> None:
        """Raise StudyError if the folder was begun with other settings; begin it if it is new."""
        with self._begun(settings, ()):
            pass

    def run(
        self,
        function: Callable[..., Mapping[str, Any]],
        tasks: Mapping[str, Mapping[str, Any]],
        settings: Mapping[str, Any],
        *,
        shared: Mapping[str, Any] | None = None,
        on_error: str = "raise",
        kinds: Mapping[str, str] | None = None,
    ) -> Results:
        """Run the tasks that have no result in the folder yet, and return all results.

        Parameters
        ----------
        function : callable
            Called as ``function(**shared, **tasks[name])``. It returns a mapping of names to
            arrays, numbers or strings. The result must depend only on the arguments (a seed among
            them), and the function must not change them.
        tasks : mapping of name to arguments
            The tasks. Their names become file names.
        settings : mapping
            All settings that results depend on. JSON must be able to store them. If the folder was
            begun with other settings, StudyError is raised.
        shared : mapping, optional
            Arguments that are the same for all tasks, such as a cohort. They are sent once per
            worker instead of once per task.
        on_error : {"raise", "skip"}
            What happens if a task raises `InputError`: end the run, or skip this task. Skipped
            tasks are tried again at the next start. All other errors end the run.
        kinds : mapping of name to str, optional
            Kind of each task. Tasks of one kind take about the same time. This makes the estimate
            of the time left better.

        Returns
        -------
        Results
            The result of each task as arrays, in the order of the tasks, and `failures`.
        """
        OneOf("raise", "skip").check("on_error", on_error)
        kept_with = None if self.folder is None else dict(settings)
        run = partial(_run_task, function, dict(shared or {}), kept_with, on_error == "skip")
        elsewhere = active_client() is not None
        made: dict[str, Arrays] = {}
        failures: dict[str, Problem] = {}
        with self._begun(settings, tasks) as paths:
            missing = [name for name in tasks if name not in paths or not paths[name].exists()]
            files = {} if elsewhere else paths
            items = [_Task(_whole_paths(tasks[name]), files.get(name)) for name in missing]
            # Closed even after an error below, because workers would continue with tasks whose
            # results are no longer needed.
            with closing(run_tasks(run, items, missing, self.n_jobs)) as finished:
                kind_of = [(kinds or {}).get(name, "") for name in missing]
                shown: Outcomes = finished
                if self.progress:
                    left = TimeLeft(kind_of, n_workers(self.n_jobs))
                    title = Path(self.folder).name if self.folder else ""
                    shown = with_progress(finished, len(tasks), left, title)
                for number, (result, failure, _) in shown:
                    name = missing[number]
                    if failure is not None:
                        failures[name] = failure
                    elif elsewhere and name in paths:
                        # Read again below, so that memory never holds all results.
                        write_result(paths[name], result)
                    else:
                        made[name] = result
        results = {
            name: read_result(paths[name], settings) if name in paths else made[name]
            for name in tasks
            if name not in failures
        }
        return Results(results, {name: failures[name] for name in missing if name in failures})

    @contextmanager
    def _begun(
        self, settings: Mapping[str, Any], tasks: Iterable[str]
    ) -> Iterator[dict[str, Path]]:
        """Lock the folder in this context, check its settings, and yield the file of each task."""
        if self.folder is None:
            yield {}
            return
        folder = Path(self.folder)
        try:
            with full_disk_named(folder):
                (folder / TASKS).mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise InputError("study.no-folder", folder=folder).says(
                "{folder} is a file or inside a file", "Give a folder. It is created if needed."
            ) from error
        paths = _whole_paths({name: folder / TASKS / f"{name}.npz" for name in tasks})
        with only_writer(folder):
            # Under the lock, so that only one of two simultaneous starts writes study.json.
            _check_settings(folder, settings, paths)
            remove_unfinished(folder, folder / TASKS)
            try:
                yield paths
            except BaseException:  # workers may have been stopped while they wrote
                remove_unfinished(folder, folder / TASKS)
                raise


def _run_task(
    function: Callable[..., Mapping[str, Any]],
    shared: Mapping[str, Any],
    settings: Mapping[str, Any] | None,
    skip: bool,
    task: _Task,
) -> Outcome:
    """Run a task and return its outcome, with an empty result if it was written to a file.

    If `settings` are given, the settings and the versions of this process are added to the result.
    """
    begin = time.perf_counter()
    try:
        arrays = function(**shared, **task.arguments)
    except InputError as error:
        if not skip:
            raise
        return Outcome({}, error.problem, time.perf_counter() - begin)
    result = {key: np.asarray(value) for key, value in arrays.items()}
    if settings is not None:
        made_with = {"settings": settings, "versions": versions()}
        # Stored as text in an array, because files of results are read without pickle.
        result[PROVENANCE] = np.asarray(json.dumps(made_with, sort_keys=True))
    if task.path is not None:
        write_result(task.path, result)
        result = {}
    return Outcome(result, None, time.perf_counter() - begin)


def _whole_paths(named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mapping with absolute paths."""
    # A worker that is left from an earlier call may have another current folder.
    return {key: x.absolute() if isinstance(x, Path) else x for key, x in named.items()}


def _check_settings(folder: Path, settings: Mapping[str, Any], paths: Mapping[str, Path]) -> None:
    path = folder / STUDY
    wanted = as_stored(settings)
    begun = {"settings": wanted, "versions": versions(), TASKS: len(paths)}
    if not path.exists():
        if any((folder / TASKS).glob("*.npz")):
            raise StudyError("study.no-settings", folder=folder, file=path).says(
                "{folder} has results, but their settings are unknown because {file} is gone",
                "Put it back to continue, or give another folder for a new run.",
            )
        # Only the name of the program is stored. Its folder means nothing on another machine.
        command = [Path(sys.argv[0]).name, *sys.argv[1:]]
        write_json(path, begun | {"command": command})
        return
    study = read_study(path)
    _refuse_another_release(folder, study["versions"])
    if differs := differences(study["settings"], wanted):
        error = StudyError("study.settings", folder=folder, names=list(differs))
        error.differs = differs
        raise error.says(
            "{folder} was begun with other settings, which differ in {names:s}",
            "Give the same settings to continue, or another folder for a new run.",
        )
    if differs := differences(study["versions"], versions()):
        Problem("study.versions", folder=folder, names=list(differs)).warn(
            "{folder} was begun with other versions of {names:s}",
            "It continues with the present versions. For a new run, give another folder.",
        )
    # `require` has no tasks and must not change their number. A finished study is not written.
    if study.get(TASKS) != len(paths) and not all(result.exists() for result in paths.values()):
        write_json(path, study | {TASKS: len(paths)})


def _refuse_another_release(folder: Path, begun_with: Mapping[str, Any]) -> None:
    """Raise StudyError if the folder was begun by another release. Version X.Y.Z is release X.Y."""
    theirs, ours = str(begun_with.get("sgbn", "unknown")), versions()["sgbn"]
    # A release may compute other numbers, and a mix of two releases could not be reported.
    if theirs.split(".")[:2] != ours.split(".")[:2]:
        raise StudyError("study.release", folder=folder, theirs=theirs, ours=ours).says(
            "{folder} was begun by sgbn {theirs:s}, and this is sgbn {ours:s}",
            "Give another folder for a new run, or install sgbn {theirs:s} to continue.",
        )


def read_study(path: Path) -> dict[str, Any]:
    """Return the content of study.json; raise StudyError if it cannot be read."""
    try:
        study = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        study = None
    parts = ("settings", "versions")
    if not isinstance(study, dict) or not all(isinstance(study.get(part), dict) for part in parts):
        raise StudyError("study.damaged", file=path).says(
            "{file} is absent, damaged or of another program",
            "Give another folder, or delete this folder for a new run.",
        )
    return study


@dataclass(frozen=True)
class StudyStatus:
    """The state of one study.

    Attributes
    ----------
    folder : Path
        Folder of the study.
    done : int
        Number of tasks with a result.
    planned : int or None
        Number of tasks at the last start. None if an old version of sgbn did not store it.
    settings : mapping
        Settings with which the study was begun.
    versions : mapping
        Versions of the libraries with which the study was begun.
    last : datetime or None
        Local time at which the last result was written. None if there is no result.
    """

    folder: Path
    done: int
    planned: int | None
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    last: datetime | None

    @property
    def left(self) -> int | None:
        """Return the number of tasks without a result, or None if `planned` is None."""
        return None if self.planned is None else max(0, self.planned - self.done)


def study_status(folder: str | Path) -> StudyStatus:
    """Return the state of the study in a folder."""
    folder = Path(folder)
    study = read_study(folder / STUDY)
    planned = study.get(TASKS)
    # The names of files that are still being written end with UNFINISHED instead.
    times = [result.stat().st_mtime for result in (folder / TASKS).glob("*.npz")]
    return StudyStatus(
        folder,
        len(times),
        planned if isinstance(planned, int) else None,
        study["settings"],
        study["versions"],
        datetime.fromtimestamp(max(times)) if times else None,
    )


def find_studies(folder: str | Path) -> list[Path]:
    """Return the folders of all studies in a folder and its subfolders."""
    studies = []
    for path, folders, files in os.walk(folder):
        folders.sort()  # os.walk lists folders in the order of the disk
        if STUDY in files:
            studies.append(Path(path))
            # The folder of results may have thousands of files, and contains no studies.
            folders[:] = [name for name in folders if name != TASKS]
    if not studies:
        raise InputError("study.none", folder=folder).says(
            "there is no study in {folder}", "Give the output folder of a command."
        )
    return studies
