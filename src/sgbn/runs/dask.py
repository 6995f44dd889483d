"""Run tasks on a Dask cluster: submit them in batches, and collect them as they finish.

The data that all tasks share are the result of one submitted task. They reach each worker once. If
a worker is lost, the scheduler can compute them again, which it could not do with scattered data.
A batch is a fraction of a second of work, so that small tasks and lost workers cost little. Tasks
of a lost worker run again on another worker. The scheduler holds the shared data once, and the
arguments of a few batches per worker. A worker holds the shared data once, and two batches.

When a worker dies, Dask suspects all tasks that it had. A task that was suspected too often is
tried once more, alone. If the worker dies again, an error names the task.

joblib's Dask backend is not used: it waits for ever for a task that kills its worker each time
(joblib 1.6; a test shows it).

`call` runs a task in the same way in this process, in another process, and on a cluster.
"""

from __future__ import annotations

import logging
import pickle
import re
import time
import uuid
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Protocol, TypeVar

import joblib
from joblib.externals.loky.backend.reduction import dumps

from sgbn.core.moments import one_blas_thread
from sgbn.core.problems import InputError, Problem, StudyError
from sgbn.runs.files import differences, full_memory_named, versions

BATCH_SECONDS = 0.25  # work in a batch: a hundred times the time to submit it
MIN_BATCH_SHARE = 0.1  # smallest batch near the end, as a share of a usual batch
MAX_BATCH_GROWTH = 8  # a batch has at most this many times the tasks of the last timed batch
BATCHES_PER_THREAD = 2  # batches submitted per thread, so that no thread waits for its next batch
MIN_BATCHES = 8  # batches submitted even if there are hardly any workers
CONNECT_SECONDS = 10  # time to connect to the scheduler
ALONE_SECONDS = 15  # time without any worker before a warning
ANSWER_SECONDS = 15  # time without an answer of the scheduler before a warning
LOOK_SECONDS = 0.002  # time between two looks for finished batches

REPEAT = "Run the same command again: finished work in a folder is kept."


class Supply(Protocol):
    """A source of workers that is checked while tasks run."""

    def look(self) -> None:
        """Replace lost workers; raise StudyError if no worker can be started any more."""

    def note_result(self) -> None:
        """Note that a batch of tasks is finished."""


_client: ContextVar[Any] = ContextVar("client", default=None)
_supply: ContextVar[Supply | None] = ContextVar("supply", default=None)


class ClusterWarning(UserWarning):
    """A warning that the cluster needs attention. It is not about the data or the results."""


@contextmanager
def on_dask(scheduler: Any) -> Iterator[Any]:
    """Run all tasks of sgbn in this context on the workers of a Dask cluster.

    Parameters
    ----------
    scheduler : str or distributed.Client
        Address of the scheduler, such as ``"tcp://host:8786"``, or a client. A client is left open.

    Yields
    ------
    distributed.Client
        The client of the cluster.

    Notes
    -----
    In this context `n_jobs` has no effect. Results are the same to the bit as in one process, on
    processors of the same kind. Workers need the same versions of sgbn and its libraries. The
    workers present at the start are checked, and different versions give a warning. Workers that
    join later are not checked, but the files of results store the versions. Tasks read images by
    their paths, so workers must be able to read these paths.

    Examples
    --------
    >>> with sgbn.runs.on_dask("tcp://host:8786"):  # doctest: +SKIP
    ...     differences = sgbn.inference.edge_differences(X, groups)
    """
    distributed = load_distributed()
    is_address = not isinstance(scheduler, distributed.Client)
    client = _connected(distributed, scheduler) if is_address else scheduler
    try:
        if not check_workers(client):
            Problem("dask.no-worker").warn(
                "the Dask cluster has no worker yet", "Tasks wait until a worker joins."
            )
        with running_on(client):
            yield client
    finally:
        if is_address:  # a client that was given is closed by its owner
            close_client(client)


@contextmanager
def running_on(client: Any, supply: Supply | None = None) -> Iterator[None]:
    """Run tasks in this context on the workers of a client; `supply` replaces lost workers."""
    tokens = _client.set(client), _supply.set(supply)
    try:
        yield
    finally:
        _client.reset(tokens[0])
        _supply.reset(tokens[1])


def active_client() -> Any:
    """Return the client of the cluster that runs the tasks now, or None if there is none."""
    return _client.get()


def n_threads(client: Any) -> int:
    """Return the number of threads of all workers, or 1 if the scheduler does not answer."""
    try:
        return max(1, sum(client.nthreads(callback_timeout=ANSWER_SECONDS).values()))
    except OSError:
        return 1


def run_on(
    client: Any, function: Callable[[Any], Any], tasks: Sequence[Any], names: Sequence[str]
) -> Generator[tuple[int, Any], None, None]:
    """Yield the number and result of each task as it finishes (see `sgbn.runs.tasks.run_tasks`)."""
    if client.status != "running":  # the connection was lost since the last tasks
        raise _lost()
    batches = _Batches(client, function, tasks)
    waiting, suspects = deque(range(len(tasks))), deque[int]()
    on_trial = False
    try:
        while waiting or suspects or batches.running:
            # If workers died with a batch, its tasks run one at a time and alone, so that the task
            # that kills workers can be named.
            if not suspects:
                batches.submit_from(waiting)
            elif not batches.running:
                batches.submit([suspects.popleft()])
                on_trial = True
            numbers, results = batches.next_finished()
            if results is None:
                if on_trial:
                    raise _killer(names[numbers[0]])
                suspects.extend(numbers)
                continue
            on_trial = False
            # If a task failed, the rest of its batch did not run and must wait again.
            yield from zip(numbers, results, strict=False)
            waiting.extendleft(reversed(numbers[len(results) :]))
    except Exception as error:
        if client.status == "running" or isinstance(error, StudyError):
            raise
        raise _lost() from error  # the lost connection caused this error
    finally:
        batches.cancel()


class _Batches:
    """Batches of tasks on a cluster.

    Attributes
    ----------
    running : dict of str to tuple
        Future and task numbers of each batch that is not collected yet, by its Dask key.
    """

    def __init__(self, client: Any, function: Callable[[Any], Any], tasks: Sequence[Any]) -> None:
        self._distributed = load_distributed()
        self._client, self._tasks = client, tasks
        # Dask treats tasks with the same key as the same task, so keys of two runs must differ.
        self._name = f"sgbn-{uuid.uuid4().hex}"
        with warnings.catch_warnings():
            # The shared data are large, but they are sent only once.
            warnings.filterwarnings("ignore", message="Sending large graph")
            content = packed(function)
            self._function = client.submit(unpacked, content, key=f"{self._name}-shared")
        self._completed = self._distributed.as_completed(
            loop=client.loop, with_results=True, raise_errors=False
        )
        self._size, self._count = 1, 0
        self._ahead, self._asked = MIN_BATCHES, -float("inf")
        self._silence_said = False
        self._supply = _supply.get()
        self.running: dict[str, tuple[Any, list[int]]] = {}

    def submit_from(self, waiting: deque[int]) -> None:
        """Submit enough of the waiting tasks to keep all workers busy for a while."""
        ahead = self._batches_ahead()
        while waiting and len(self.running) < ahead:
            # Batches become smaller at the end, so that workers do not wait for a large one.
            share = max(-(-len(waiting) // ahead), int(MIN_BATCH_SHARE * self._size))
            size = min(self._size, share, len(waiting))
            self.submit([waiting.popleft() for _ in range(size)])

    def submit(self, numbers: list[int]) -> None:
        """Submit one batch."""
        key = f"{self._name}-{self._count}"
        self._count += 1
        content = packed([self._tasks[number] for number in numbers])
        future = self._client.submit(_run_batch, self._function, content, key=key)
        self.running[key] = future, numbers
        self._completed.add(future)

    def next_finished(self) -> tuple[list[int], list[Any] | None]:
        """Wait for a batch, and return the numbers of its tasks and the results.

        If a task failed, only the results of the tasks before it are returned. The failed task is
        tried again alone, and then raises its error. The results are None if workers died while
        they had this batch.
        """
        self._wait()
        finished, outcome = next(self._completed)
        future, numbers = self.running.pop(finished.key)
        if future.status == "cancelled":
            if self._client.status != "running":
                raise _lost()
            raise StudyError("dask.cancelled").says(
                "tasks were cancelled on the Dask cluster, or the cluster was restarted", REPEAT
            )
        if future.status == "error":
            error = future.exception()
            if isinstance(error, self._distributed.scheduler.KilledWorker):
                if error.task == self._function.key:
                    raise _killer("the data that all tasks share") from error
                return numbers, None
            raise error
        results, seconds = outcome
        if self._supply is not None:
            self._supply.note_result()
        self._adapt(len(numbers), len(results), seconds)
        return numbers, results

    def cancel(self) -> None:
        """Cancel all batches that are not finished."""
        futures = [future for future, _ in self.running.values()]
        if futures and self._client.status == "running":
            self._client.cancel(futures)

    def _wait(self) -> None:
        """Wait until a batch is finished; warn if there is no worker for a long time."""
        alone_since = looked = time.monotonic()
        if self._supply is not None:
            self._supply.look()
        while not self._completed.has_ready():
            time.sleep(LOOK_SECONDS)
            if self._supply is not None:  # it replaces workers and gives its own warnings
                self._supply.look()
                continue
            now = time.monotonic()
            if now - looked < ALONE_SECONDS / 5:
                continue
            looked = now
            threads = self._threads()
            if threads or threads is None:
                alone_since = now
            elif now - alone_since >= ALONE_SECONDS:
                alone_since = float("inf")  # warn only once
                Problem("dask.no-worker", address=self._client.scheduler.address).warn(
                    "tasks wait, because the Dask cluster has no worker",
                    "Start one to continue (dask worker {address:s}), or stop with Ctrl-C: "
                    "finished work in a folder is kept.",
                    ClusterWarning,
                )

    def _threads(self) -> int | None:
        """Return the number of threads of all workers, or None if the scheduler does not answer."""
        if self._client.status != "running":  # asking would take half a minute
            raise _lost()
        try:
            return sum(self._client.nthreads(callback_timeout=ANSWER_SECONDS).values())
        except OSError as error:  # a lost connection is known now, or at the next call
            if self._client.status != "running":
                raise _lost() from error
            if isinstance(error, TimeoutError) and not self._silence_said:
                self._silence_said = True
                Problem("dask.silent", address=self._client.scheduler.address).warn(
                    "the Dask scheduler at {address:s} does not answer",
                    "Check whether it is suspended or overloaded. The run continues when it "
                    "answers.",
                    ClusterWarning,
                )
            return None

    def _adapt(self, tried: int, finished: int, seconds: float) -> None:
        """Choose the size of the next batches."""
        if finished < tried:  # a task failed: when it runs alone, it raises its error
            self._size = 1
            return
        # The times of the first tasks are rough, so sizes grow step by step.
        fitting = int(BATCH_SECONDS * finished / max(seconds, 1e-9))
        self._size = max(1, min(fitting, MAX_BATCH_GROWTH * finished))

    def _batches_ahead(self) -> int:
        """Return how many batches may be submitted, from the present number of threads."""
        # At most once per second, because each question to the scheduler takes time.
        if time.monotonic() - self._asked > 1:
            ahead = max(MIN_BATCHES, BATCHES_PER_THREAD * (self._threads() or 0))
            self._ahead, self._asked = ahead, time.monotonic()
        return self._ahead


def _run_batch(function: Callable[[Any], Any], content: bytes) -> tuple[list[Any], float]:
    """Run tasks until one fails, and return the results and the seconds that they took.

    The error of a task is raised only if it is the only task of the batch.
    """
    tasks = unpacked(content)
    results: list[Any] = []
    begin = time.perf_counter()
    for task in tasks:
        try:
            results.append(call_in_worker(function, task))
        except Exception:
            if len(tasks) == 1:
                raise
            break
    return results, time.perf_counter() - begin


def _lost() -> StudyError:
    return StudyError("dask.lost").says("the connection to the Dask scheduler was lost", REPEAT)


def _killer(task: str) -> StudyError:
    return StudyError("dask.killed", task=task).says(
        "{task:s} killed each worker that had it, often because a worker has too little memory",
        "Start again with larger workers: finished work in a folder is kept.",
    )


def load_distributed() -> Any:
    """Return Dask's package distributed; raise InputError if it is not installed."""
    return load_package("distributed", "scale")


def load_package(name: str, extra: str) -> Any:
    """Return a package; raise InputError if it is not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        raise InputError("package.absent", name=name, extra=extra, cause=error).says(
            "a cluster needs the package {name:s} ({cause})",
            "Install it with: pip install 'sgbn[{extra:s}]'.",
        ) from error


def _connected(distributed: Any, address: Any) -> Any:
    try:
        if not re.search(r":\d+$|^inproc://", str(address)):
            raise ValueError("the address has no port")
        # A default client would also run the user's other Dask computations.
        return distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InputError("dask.address", address=address, cause=error).says(
            "no Dask scheduler answers at {address} ({cause})",
            "Give the address that it printed when it started, such as tcp://host:8786.",
        ) from error


def close_client(client: Any) -> None:
    """Close the client. Hide the traceback that Dask logs if the scheduler is lost."""
    log = logging.getLogger("distributed.client")
    level = log.level
    if client.status != "running":
        log.setLevel(logging.CRITICAL)
    try:
        client.close()
    finally:
        log.setLevel(level)


def check_workers(client: Any) -> int:
    """Return the number of workers; warn of other versions, raise InputError if sgbn is missing."""
    try:
        by_worker = client.run(versions)
    except Exception as error:
        raise InputError("dask.no-sgbn", cause=error).says(
            "a worker of the Dask cluster cannot load sgbn ({cause})",
            "Install the same versions on the workers as on this machine.",
        ) from error
    for address, of_worker in by_worker.items():
        if differs := differences(of_worker, versions()):
            Problem("dask.versions", address=address, names=list(differs)).warn(
                "worker {address:s} has other versions of {names:s}, so last digits may differ",
                "Install the same versions on all machines.",
            )
    return len(by_worker)


Task = TypeVar("Task")
Result = TypeVar("Result")


def call(function: Callable[[Task], Result], task: Task) -> Result:
    """Call the function with one BLAS thread."""
    # The number of threads changes the last bits of a matrix product.
    with one_blas_thread(), full_memory_named():
        return function(task)


def call_in_worker(function: Callable[[Task], Result], task: Task) -> Result:
    """Call the function in a worker, where tasks within the task run one after another."""
    # Without this, tasks that call `parallel` would start more processes than processors exist.
    with joblib.parallel_config(backend="sequential"):
        return call(function, task)


def packed(content: Any) -> bytes:
    """Return the content as bytes. It may hold functions that workers cannot import."""
    # pickle.dumps sends only the name of a function, which fails for lambdas and __main__.
    return bytes(dumps(content))


def unpacked(content: bytes) -> Any:
    """Return the content of bytes that `packed` made in the same run."""
    return pickle.loads(content)  # noqa: S301 - the bytes come from this program only
