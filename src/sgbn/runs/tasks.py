"""Run tasks in this process, in several processes of this machine, or on a Dask cluster.

`with_progress` shows the progress of a study: a bar on a terminal or in a notebook, lines in a log
file. `TimeLeft` estimates the time that is left. Tasks of one kind take about the same time, but
tasks of another kind may take a hundred times as long. So each task left is assumed to take as long
as the finished tasks of its kind. The tasks left are then assigned to the workers in the order in
which they would start.
"""

from __future__ import annotations

import heapq
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from statistics import fmean, median_low
from typing import Any, NamedTuple

import joblib
from joblib.externals.loky.backend import resource_tracker
from joblib.externals.loky.process_executor import BrokenProcessPool
from tqdm.asyncio import tqdm_asyncio
from tqdm.auto import tqdm

from sgbn.core.problems import Problem, StudyError
from sgbn.core.validation import JOBS
from sgbn.runs.dask import (
    Result,
    Task,
    active_client,
    call,
    call_in_worker,
    n_threads,
    packed,
    run_on,
    unpacked,
)
from sgbn.runs.files import Arrays, full_disk_named

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
            raise StudyError("tasks.killed").says(
                "a process that ran tasks was killed, often because the memory is too small",
                "Use fewer processes ({n_jobs=}) and start again: finished work in a folder is "
                "kept.",
            ) from error


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


SECONDS_PER_LINE = 30.0  # shortest time between two lines of a log
SECONDS_PER_ESTIMATE = 0.5  # shortest time between two estimates in a bar
IN_NOTEBOOK = tqdm is not tqdm_asyncio  # outside of notebooks, tqdm.auto uses tqdm_asyncio
# tqdm's own rate and time left are omitted, because they assume that all tasks take equally long.
BAR = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"


class Outcome(NamedTuple):
    """The result of a task, or why it failed, and its time.

    Attributes
    ----------
    result : dict of str to ndarray
        The result. Empty if the task failed or wrote its result to a file.
    failure : Problem or None
        Message of the error. None if the task did not fail.
    seconds : float
        Time that the task took.
    """

    result: Arrays
    failure: Problem | None
    seconds: float


Outcomes = Iterable[tuple[int, Outcome]]


def with_progress(
    finished: Outcomes, planned: int, left: TimeLeft, title: str
) -> Iterator[tuple[int, Outcome]]:
    """Yield outcomes as they arrive, and show how many tasks are done and the time left.

    Parameters
    ----------
    finished : iterable of (int, Outcome)
        Number and outcome of each task that had no result at the start.
    planned : int
        Number of all tasks, including the tasks that had a result at the start.
    left : TimeLeft
        Estimate for the tasks that had no result at the start.
    title : str
        Title of the study, or "" for no title.
    """
    noted = _noted(finished, left)
    if IN_NOTEBOOK or sys.stderr.isatty():
        return _with_bar(noted, planned, left, title)
    return _with_lines(noted, planned, left, title)


def _noted(finished: Outcomes, left: TimeLeft) -> Iterator[tuple[int, Outcome]]:
    for number, outcome in finished:
        left.note(number, outcome.seconds, time.monotonic())
        yield number, outcome


def _with_bar(
    finished: Outcomes, planned: int, left: TimeLeft, title: str
) -> Iterator[tuple[int, Outcome]]:
    done = planned - left.n_left
    estimated_at = float("-inf")
    with tqdm(total=planned, initial=done, desc=title or None, bar_format=BAR) as bar:
        for item in finished:
            # On a cluster the caller writes the result now. So the bar counts written results.
            yield item
            if time.monotonic() - estimated_at >= SECONDS_PER_ESTIMATE:
                estimated_at = time.monotonic()
                bar.set_postfix_str(_words(left), refresh=False)
            bar.update()


def _with_lines(
    finished: Outcomes, planned: int, left: TimeLeft, title: str
) -> Iterator[tuple[int, Outcome]]:
    begin = printed_at = time.monotonic()
    for item in finished:
        yield item
        now = time.monotonic()
        if now - printed_at >= SECONDS_PER_LINE and left.n_left:
            printed_at = now
            tqdm.write(
                f"{title or 'tasks'}: {planned - left.n_left} of {planned} done, "
                f"{tqdm.format_interval(now - begin)} passed, {_words(left)}",
                file=sys.stderr,
            )


def _words(left: TimeLeft) -> str:
    return f"about {tqdm.format_interval(left.seconds() or 0.0)} left"


class TimeLeft:
    """An estimate of the seconds that tasks will still take.

    Parameters
    ----------
    kinds : sequence of str
        Kind of each task, in the order in which the tasks start.
    workers : int
        Number of tasks that run at the same time.
    """

    def __init__(self, kinds: Sequence[str], workers: int) -> None:
        self._kinds = kinds
        self._workers = workers
        self._took: dict[str, dict[int, float]] = {}  # seconds by kind and number of the task
        self._left = dict.fromkeys(range(len(kinds)), 0.0)  # start times, as far as they are known
        self._now = 0.0

    def note(self, number: int, seconds: float, now: float) -> None:
        """Note that a task ended at the time `now` after `seconds` in its worker."""
        if not self._took:  # the other running tasks started together with the first one
            self._left = dict.fromkeys(self._left, now - seconds)
        self._now = now
        self._left.pop(number, None)
        self._took.setdefault(self._kinds[number], {})[number] = seconds
        # Tasks start in order. So the first tasks left are running, one per worker, and the last of
        # these has just started on the worker that became free.
        just_started = next(islice(self._left, self._workers - 1, None), None)
        if just_started is not None:
            self._left[just_started] = now

    @property
    def n_left(self) -> int:
        """Return the number of tasks that have not ended."""
        return len(self._left)

    def seconds(self) -> float | None:
        """Return the estimate of the seconds left, or None before any task has ended."""
        if not self._took:
            return None
        usual = {kind: _usual(took, self._workers) for kind, took in self._took.items()}
        other = fmean(usual.values())  # for a kind without any task that has ended
        costs = [usual.get(self._kinds[number], other) for number in self._left]
        running = islice(self._left.values(), self._workers)
        for place, begin in enumerate(running):
            # A task that already took longer than usual is assumed to end now.
            costs[place] = max(costs[place] - (self._now - begin), 0.0)
        return _last_end(costs, self._workers)


def _usual(took: Mapping[int, float], workers: int) -> float:
    """Return the usual seconds of the tasks of one kind."""
    seconds = [took[number] for number in sorted(took)]
    # The first task of each worker is left out, because it may include compilation.
    return fmean(seconds[workers:]) if len(seconds) > workers else median_low(seconds)


def _last_end(costs: Sequence[float], workers: int) -> float:
    """Return the time at which the last task ends, if each free worker starts the next task."""
    ends = [0.0] * min(workers, max(len(costs), 1))
    for cost in costs:
        heapq.heapreplace(ends, ends[0] + cost)
    return max(ends)
