"""Run tasks in this process, in several processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import joblib
from joblib.externals.loky.backend import resource_tracker
from joblib.externals.loky.process_executor import BrokenProcessPool

from sgbn.core.exceptions import StudyError
from sgbn.core.validation import JOBS
from sgbn.runs.calls import Result, Task, call, call_in_worker, packed, unpacked
from sgbn.runs.cluster import active_client, n_threads, run_on
from sgbn.runs.files import full_disk_named

Finished = Generator[tuple[int, Result], None, None]

WATCH = "sgbn-watch"  # name of a thread in a worker
ORPHAN_SECONDS = 1.0  # time between two checks whether the process that started a worker runs

_held: dict[str, Any] = {}  # the function that this process last loaded for a run, by its file


def parallel(
    function: Callable[[Task], Result], tasks: Iterable[Task], n_jobs: int | None = None
) -> list[Result]:
    """Return the results of `function` for all tasks, in the order of the tasks.

    Parameters
    ----------
    function : callable
        Called with one task. It is sent once per worker.
    tasks : iterable
        The tasks.
    n_jobs : int, optional
        Number of processes. Results do not depend on it. Within `on_dask` the cluster runs the
        tasks, and `n_jobs` has no effect.
    """
    tasks = list(tasks)
    names = [f"task {number}" for number in range(len(tasks))]
    with closing(run_tasks(function, tasks, names, n_jobs)) as finished:
        results = dict(finished)
    return [results[number] for number in range(len(tasks))]


def run_tasks(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    names: Sequence[str],
    n_jobs: int | None,
) -> Finished[Result]:
    """Return a generator of the number and result of each task as it finishes.

    Parameters
    ----------
    function : callable
        Called with one task. It is sent once per worker, with all data that it refers to.
    tasks : sequence
        The tasks.
    names : sequence of str
        Names of the tasks, for messages.
    n_jobs : int or None
        Number of processes. It has no effect on a cluster.
    """
    JOBS.check("n_jobs", n_jobs)
    client = active_client()
    if not tasks:
        return _in_this_process(function, tasks)
    if client is not None:
        return run_on(client, function, tasks, names)
    if joblib.effective_n_jobs(n_jobs) == 1:
        return _in_this_process(function, tasks)
    return _in_processes(function, tasks, n_jobs)


def n_workers(n_jobs: int | None) -> int:
    """Return how many tasks run at the same time: on a cluster, as many as it has threads now."""
    client = active_client()
    return int(joblib.effective_n_jobs(n_jobs)) if client is None else n_threads(client)


def n_processors() -> int:
    """Return the number of processors that this process may use."""
    return int(joblib.cpu_count())


def _in_this_process(function: Callable[[Task], Result], tasks: Sequence[Task]) -> Finished[Result]:
    for number, task in enumerate(tasks):
        yield number, call(function, task)


def _in_processes(
    function: Callable[[Task], Result], tasks: Sequence[Task], n_jobs: int | None
) -> Finished[Result]:
    with _file_of(function) as path:
        owner = os.getpid()
        jobs = (joblib.delayed(_call_from)(path, owner, k, task) for k, task in enumerate(tasks))
        # Unordered, so that each result is written and counted as soon as it exists.
        pool = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        try:
            with closing(pool(jobs)) as finished:
                yield from finished
        except BrokenProcessPool as error:
            raise StudyError(
                f"a process that ran tasks was killed ({_first_sentence(error)}). Often the memory "
                "is too small for all processes. Use fewer processes (n_jobs, --workers) and "
                "start again. Finished work that is kept in a folder is not lost."
            ) from error


def _first_sentence(error: BaseException) -> str:
    return str(error).split(". ")[0].splitlines()[0].rstrip(".")


@contextmanager
def _file_of(function: Callable[..., Any]) -> Iterator[str]:
    """Write a function, with all data that it refers to, to a temporary file; yield its path."""
    # The data may be of persons. So no other user can read the file, and loky's resource tracker
    # removes it even if this process is killed, when the workers have ended (see `_end_with`).
    handle, path = tempfile.mkstemp(prefix="sgbn-")
    resource_tracker.register(path, "file")
    try:
        with full_disk_named(Path(path)), os.fdopen(handle, "wb") as stream:
            stream.write(packed(function))
        yield path
    finally:
        os.unlink(path)
        resource_tracker.unregister(path, "file")
        _held.clear()  # threads of this process may have loaded the function


def _call_from(path: str, owner: int, number: int, task: Any) -> tuple[int, Any]:
    """Return number and result of a task. Each process loads the function once."""
    function = _held.get(path)
    if function is None:
        _held.clear()  # frees the function of an earlier run, and its data
        function = _held[path] = unpacked(Path(path).read_bytes())
        _end_with(owner)
    return number, call_in_worker(function, task)


def _end_with(owner: int) -> None:
    """End this process as soon as the process that started it is killed."""
    # Without this, idle workers would stay for minutes.

    def watch() -> None:
        while os.getppid() == owner:
            time.sleep(ORPHAN_SECONDS)
        os._exit(1)  # sys.exit would end only this thread

    known = any(thread.name == WATCH for thread in threading.enumerate())
    if os.getppid() == owner and not known:  # false in threads of the owner itself
        threading.Thread(target=watch, name=WATCH, daemon=True).start()
