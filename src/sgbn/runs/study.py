"""Studies that resume.

A study is a folder: ``study.json`` says what is run (settings, versions, command, number of tasks),
and ``tasks/NAME.npz`` holds the result of one finished task and what it was made with. Each file is
whole or absent, and a second start does only what is missing. One process at a time writes to it,
which holds a lock on ``study.lock``.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sgbn.exceptions import InputError, StudyError, warn
from sgbn.parameters import JOBS
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
from sgbn.runs.progress import Finished, Outcome, with_progress
from sgbn.runs.provenance import differences, versions
from sgbn.runs.tasks import n_workers, run_tasks
from sgbn.runs.time_left import TimeLeft

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
    """Arguments of a task, and the file that its worker writes; None if it writes no file."""

    arguments: Mapping[str, Any]
    path: Path | None


@dataclass(frozen=True)
class Study:
    """Tasks that run in parallel and, with a folder, resume.

    Parameters
    ----------
    folder : path, optional
        Keeps finished tasks, so that a second start does only what is missing. Made if absent.
    n_jobs : int, optional
        Processes. Results do not depend on it. Within `on_dask` the cluster runs the tasks, and
        `n_jobs` says nothing; files are written here, so that workers need not see the folder.
    progress : bool
        Show a bar with the time left; in a log file, a line now and then.
    """

    folder: str | Path | None = None
    n_jobs: int | None = None
    progress: bool = False

    def __post_init__(self) -> None:
        JOBS.check("n_jobs", self.n_jobs)

    def part(self, name: str) -> Study:
        """Study of a step, in a folder within this one, by the same workers."""
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
        """Run the tasks that the folder does not hold yet, and return all results.

        Parameters
        ----------
        function : callable
            Called as ``function(**shared, **tasks[name])``; returns a mapping of names to arrays,
            numbers or strings. It must depend on its arguments only (a seed among them), and must
            not change them.
        tasks : mapping of name to arguments
            Names become file names.
        settings : mapping
            What makes the study what it is, as JSON can write it. A folder that was begun with
            other settings is refused.
        shared : mapping, optional
            Arguments that are the same for all tasks, such as a cohort. They are sent once per
            worker, not once per task.
        on_error : {"raise", "skip"}
            What an `InputError` of a task does: end the run, or leave that task out. Skipped tasks
            are tried again at the next start. All other errors end the run.
        kinds : mapping of name to str, optional
            Kind of each task, where kinds take different times: those of one kind tell how long
            the others of it will take.

        Returns
        -------
        Results
            Task name -> result as arrays, in the order of the tasks, and `failures`.
        """
        if on_error not in ("raise", "skip"):
            raise InputError(f"on_error is {on_error!r}: give 'raise' or 'skip'.")
        kept_with = None if self.folder is None else dict(settings)
        run = partial(_run_task, function, dict(shared or {}), kept_with, on_error == "skip")
        elsewhere = active_client() is not None
        made: dict[str, tuple[Arrays, str]] = {}
        with self._begun(settings, tasks) as paths:
            missing = [name for name in tasks if name not in paths or not paths[name].exists()]
            files = {} if elsewhere else paths
            items = [_Task(_whole_paths(tasks[name]), files.get(name)) for name in missing]
            # Closed also after an error below, or workers would go on with tasks that nobody
            # collects.
            with closing(run_tasks(run, items, missing, self.n_jobs)) as finished:
                told = self._told(finished, len(tasks), [(kinds or {}).get(m, "") for m in missing])
                for number, (result, failure, _) in told:
                    name = missing[number]
                    if elsewhere and name in paths and not failure:
                        write_result(paths[name], result)
                        result = {}  # read from its file below, so that memory does not hold all
                    made[name] = result, failure
        failures = {name: made[name][1] for name in missing if made[name][1]}
        results = {
            name: read_result(paths[name]) if name in paths else made[name][0]
            for name in tasks
            if name not in failures
        }
        return Results(results, failures)

    def _told(self, finished: Finished, planned: int, kinds: Sequence[str]) -> Finished:
        """Give outcomes as they come, with progress if that was asked for."""
        if not self.progress:
            return finished
        title = Path(self.folder).name if self.folder else ""
        return with_progress(finished, planned, TimeLeft(kinds, n_workers(self.n_jobs)), title)

    @contextmanager
    def _begun(
        self, settings: Mapping[str, Any], tasks: Iterable[str]
    ) -> Iterator[dict[str, Path]]:
        """Context with the file of each task, in a folder that no other process writes to."""
        if self.folder is None:
            yield {}
            return
        folder = Path(self.folder)
        try:
            with full_disk_named(folder):
                (folder / TASKS).mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise InputError(
                f"{folder} is a file, or lies in one. Give a folder, which is made if it is absent."
            ) from error
        paths = _whole_paths({name: folder / TASKS / f"{name}.npz" for name in tasks})
        with only_writer(folder):
            # Under the lock: of two first starts only one may write study.json.
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
    """Run a task; a result that is written here is not sent back.

    Results that are to be kept say what they were made with, and where they are made that is known.
    """
    begin = time.perf_counter()
    try:
        arrays = function(**shared, **task.arguments)
    except InputError as error:
        if not skip:
            raise
        return Outcome({}, str(error), time.perf_counter() - begin)
    result = {key: np.asarray(value) for key, value in arrays.items()}
    if settings is not None:
        made_with = {"settings": settings, "versions": versions()}
        # As text in an array: files of results are read without pickle.
        result[PROVENANCE] = np.asarray(json.dumps(made_with, sort_keys=True))
    if task.path is not None:
        write_result(task.path, result)
        result = {}
    return Outcome(result, "", time.perf_counter() - begin)


def _whole_paths(named: Mapping[str, Any]) -> dict[str, Any]:
    """Make paths absolute: a worker that an earlier call left may stand in another folder."""
    return {key: x.absolute() if isinstance(x, Path) else x for key, x in named.items()}


def _check_settings(folder: Path, settings: Mapping[str, Any], paths: Mapping[str, Path]) -> None:
    path = folder / STUDY
    wanted = json.loads(json.dumps(dict(settings)))  # tuples become lists, as in the file
    begun = {"settings": wanted, "versions": versions(), TASKS: len(paths)}
    if not path.exists():
        _refuse_results_of_unknown_settings(folder)
        # The name alone: its folder means nothing on another machine.
        command = [Path(sys.argv[0]).name, *sys.argv[1:]]
        write_json(path, begun | {"command": command})
        return
    study = read_study(path)
    _refuse_another_release(folder, study["versions"])
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
            f"{folder} was begun with other versions of Python or of libraries, and goes on with "
            "those of now. Each result stores the versions that made it. To start anew, give "
            "another folder. What differs:\n" + "\n".join(lines)
        )
    # `require` names no tasks and must not change their number, nor need a finished study be
    # written.
    if study.get(TASKS) != len(paths) and not all(result.exists() for result in paths.values()):
        write_json(path, study | {TASKS: len(paths)})


def _refuse_another_release(folder: Path, begun_with: Mapping[str, Any]) -> None:
    """Raise StudyError if another release began the folder; corrections of one release go on."""
    theirs, ours = str(begun_with.get("sgbn", "unknown")), versions()["sgbn"]
    # X.Y of X.Y.Z: a release may compute other numbers, and a mix of two could not be reported.
    if theirs.split(".")[:2] != ours.split(".")[:2]:
        raise StudyError(
            f"{folder} was begun by sgbn {theirs}, and this is sgbn {ours}. Results of two "
            "releases are never mixed: give another folder to start anew, or install sgbn "
            f"{theirs} to go on."
        )


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
