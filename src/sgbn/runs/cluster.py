"""Tasks on a Dask cluster: submitted in batches, collected as they are finished.

What all tasks share is the result of one submitted task: it reaches each worker once, and the
scheduler makes it anew if its worker is lost (it could not do so with scattered data). Batches are
as large as a fraction of a second of work, so that small tasks cost little and a lost worker costs
little; tasks of a lost worker run again elsewhere. The scheduler has the shared object once and the
arguments of a few batches per worker; a worker has the shared object once and two batches.

Dask blames all tasks that a worker has when it dies. A task that was blamed too often is therefore
tried once more with nothing beside it before it is called the one that kills.

Not joblib's Dask backend: with it a task that kills its worker each time is waited for without end
(joblib 1.6; a test shows it).
"""

from __future__ import annotations

import logging
import re
import time
import uuid
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Protocol

from sgbn.exceptions import InputError, StudyError, warn
from sgbn.runs.calls import call_in_worker, packed, unpacked
from sgbn.runs.provenance import differences, versions

BATCH_SECONDS = 0.25  # of work in a batch: a hundred times what submitting it costs
MIN_BATCH_SHARE = 0.1  # of a batch: near the end smaller ones share out the rest
MAX_BATCH_GROWTH = 8  # times: how much larger a batch may be than one that was timed
BATCHES_PER_THREAD = 2  # submitted, so that a thread never waits for the next one
MIN_BATCHES = 8  # submitted while there are hardly any workers
CONNECT_SECONDS = 10
ALONE_SECONDS = 15  # without any worker, before that is said
ANSWER_SECONDS = 15  # without an answer of the scheduler, before that is said
LOOK_SECONDS = 0.002  # between two looks for what is finished; a few batches are always ahead

LOST = (
    "the connection to the Dask scheduler was lost. What was finished and kept in a folder is not "
    "lost: start the scheduler, then the same command, to go on."
)
CANCELLED = (
    "tasks were cancelled on the Dask cluster: somebody cancelled them, or restarted it. What was "
    "finished and kept in a folder is not lost: start again to go on."
)


class Supply(Protocol):
    """Where workers come from, looked after while tasks run."""

    def look(self) -> None:
        """Replace workers that are lost; raise StudyError if there can be no more."""

    def note_result(self) -> None:
        """Note that a batch of tasks is finished."""


_client: ContextVar[Any] = ContextVar("client", default=None)
_supply: ContextVar[Supply | None] = ContextVar("supply", default=None)


class ClusterWarning(UserWarning):
    """The cluster needs a look while tasks run; it says nothing about the data or the results."""


@contextmanager
def on_dask(scheduler: Any) -> Iterator[Any]:
    """Context in which all tasks of sgbn run on the workers of a Dask cluster.

    Parameters
    ----------
    scheduler : str or distributed.Client
        Address of the scheduler, such as ``"tcp://host:8786"``, or a client, which is left open.

    Yields
    ------
    distributed.Client

    Notes
    -----
    Within it `n_jobs` says nothing. Results are the same to the bit as in one process, on
    processors of the same kind. Workers need the same versions of sgbn and its libraries. Those
    that are there at the start are asked, and others are warned about; of workers that join later
    only the files of results say their versions. Tasks that read images do so by their paths,
    which workers must see.

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
            warn("the Dask cluster has no worker yet. Tasks wait until there is one.")
        with running_on(client):
            yield client
    finally:
        if is_address:  # whoever gave a client closes it
            close_client(client)


@contextmanager
def running_on(client: Any, supply: Supply | None = None) -> Iterator[None]:
    """Context in which tasks run on the workers of a client, which `supply` looks after."""
    tokens = _client.set(client), _supply.set(supply)
    try:
        yield
    finally:
        _client.reset(tokens[0])
        _supply.reset(tokens[1])


def active_client() -> Any:
    """Client of the cluster that was asked for, or None."""
    return _client.get()


def n_threads(client: Any) -> int:
    """Count the threads of all workers; 1 if the scheduler does not say."""
    try:
        return max(1, sum(client.nthreads(callback_timeout=ANSWER_SECONDS).values()))
    except OSError:
        return 1


def run_on(
    client: Any, function: Callable[[Any], Any], tasks: Sequence[Any], names: Sequence[str]
) -> Generator[tuple[int, Any], None, None]:
    """Numbers and results of tasks, as they are finished; see `sgbn.runs.tasks.run_tasks`."""
    if client.status != "running":  # lost since the last tasks
        raise StudyError(LOST)
    batches = _Batches(client, function, tasks)
    waiting, suspects = deque(range(len(tasks))), deque[int]()
    on_trial = False
    try:
        while waiting or suspects or batches.running:
            # Workers that died took a whole batch with them. Its tasks run one at a time then, with
            # nothing beside them, so that the one that kills workers can be named.
            if not suspects:
                batches.submit_from(waiting)
            elif not batches.running:
                batches.submit([suspects.popleft()])
                on_trial = True
            numbers, results = batches.next_finished()
            if results is None:
                if on_trial:
                    raise StudyError(_killer(names[numbers[0]]))
                suspects.extend(numbers)
                continue
            on_trial = False
            # Fewer results than numbers where a task failed: the rest of its batch did not run.
            yield from zip(numbers, results, strict=False)
            waiting.extendleft(reversed(numbers[len(results) :]))  # after one that failed
    except Exception as error:
        if client.status == "running" or isinstance(error, StudyError):
            raise
        raise StudyError(LOST) from error  # whatever it was about to say to the scheduler
    finally:
        batches.cancel()


class _Batches:
    """Batches of tasks on a cluster.

    Attributes
    ----------
    running : dict
        Key -> future and numbers of the tasks of a batch that is not collected yet.
    """

    def __init__(self, client: Any, function: Callable[[Any], Any], tasks: Sequence[Any]) -> None:
        self._distributed = load_distributed()
        self._client, self._tasks = client, tasks
        # Dask takes tasks of one key as the same task, so that keys of two runs must differ.
        self._name = f"sgbn-{uuid.uuid4().hex}"
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")  # once, not a task
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
        """Submit as many of the waiting tasks as keep the workers busy for a while."""
        ahead = self._batches_ahead()
        while waiting and len(self.running) < ahead:
            # towards the end batches get smaller, or one worker would work while all others wait
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
        """Numbers of a finished batch, and the results of the first tasks of it.

        These are all, unless one failed, which is then tried alone and raises. None if workers died
        while they had this batch.
        """
        self._wait()
        finished, outcome = next(self._completed)
        future, numbers = self.running.pop(finished.key)
        if future.status == "cancelled":
            lost = self._client.status != "running"
            raise StudyError(LOST if lost else CANCELLED)
        if future.status == "error":
            error = future.exception()
            if isinstance(error, self._distributed.scheduler.KilledWorker):
                if error.task == self._function.key:
                    raise StudyError(_killer("the data that all tasks share")) from error
                return numbers, None
            raise error
        results, seconds = outcome
        if self._supply is not None:
            self._supply.note_result()
        self._adapt(len(numbers), len(results), seconds)
        return numbers, results

    def cancel(self) -> None:
        """Cancel what is not finished."""
        futures = [future for future, _ in self.running.values()]
        if futures and self._client.status == "running":
            self._client.cancel(futures)

    def _wait(self) -> None:
        """Wait until a batch is finished; say so if there is no worker for long."""
        alone_since = looked = time.monotonic()
        if self._supply is not None:
            self._supply.look()
        while not self._completed.has_ready():
            time.sleep(LOOK_SECONDS)
            if self._supply is not None:  # it starts workers itself, and says so
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
                alone_since = float("inf")  # once is enough
                warn(_alone(self._client), ClusterWarning)

    def _threads(self) -> int | None:
        """Count the threads of all workers; None if the scheduler does not answer this time."""
        if self._client.status != "running":  # it would be asked for half a minute
            raise StudyError(LOST)
        try:
            return sum(self._client.nthreads(callback_timeout=ANSWER_SECONDS).values())
        except OSError as error:  # if it is lost, the client knows by the next time at the latest
            if self._client.status != "running":
                raise StudyError(LOST) from error
            if isinstance(error, TimeoutError) and not self._silence_said:
                self._silence_said = True
                warn(_silent(self._client), ClusterWarning)
            return None

    def _adapt(self, tried: int, finished: int, seconds: float) -> None:
        """Choose the size of the next batches."""
        if finished < tried:  # one failed: alone it raises its own error
            self._size = 1
            return
        # times of the first tasks are rough: sizes grow step by step
        fitting = int(BATCH_SECONDS * finished / max(seconds, 1e-9))
        self._size = max(1, min(fitting, MAX_BATCH_GROWTH * finished))

    def _batches_ahead(self) -> int:
        """Batches that may be submitted; workers come and go, but not every moment."""
        if time.monotonic() - self._asked > 1:  # seconds: an answer is a round trip
            ahead = max(MIN_BATCHES, BATCHES_PER_THREAD * (self._threads() or 0))
            self._ahead, self._asked = ahead, time.monotonic()
        return self._ahead


def _run_batch(function: Callable[[Any], Any], content: bytes) -> tuple[list[Any], float]:
    """Run tasks until one fails; return their results and seconds. A task alone may raise."""
    tasks = unpacked(content)
    results: list[Any] = []
    begin = time.perf_counter()
    for task in tasks:  # what came before a failure is kept
        try:
            results.append(call_in_worker(function, task))
        except Exception:
            if len(tasks) == 1:
                raise
            break
    return results, time.perf_counter() - begin


def _killer(what: str) -> str:
    return (
        f"{what} killed each worker that had it. Often it needs more memory than a worker may use "
        "(memory_limit of the workers); their logs may say more. What was finished and kept in a "
        "folder is not lost: start again with larger workers."
    )


def _alone(client: Any) -> str:
    address = client.scheduler.address
    return (
        f"the Dask cluster has had no worker for {ALONE_SECONDS:g} seconds, and tasks wait. Start "
        f"one (dask worker {address}), and the run goes on. Or stop with Ctrl-C: what was finished "
        "and kept in a folder is not lost."
    )


def _silent(client: Any) -> str:
    return (
        f"the Dask scheduler at {client.scheduler.address} has not answered for "
        f"{ANSWER_SECONDS:g} seconds. Look whether it was suspended or is overloaded; when it "
        "answers, the run goes on. Or stop with Ctrl-C: what was finished and kept in a folder is "
        "not lost."
    )


def load_distributed() -> Any:
    """Import Dask's package distributed, or say how to install it."""
    try:
        return import_module("distributed")
    except ImportError as error:
        raise InputError(
            f"a Dask cluster needs the package distributed ({error}). Install it with: "
            "pip install 'sgbn[scale]'."
        ) from error


def _connected(distributed: Any, address: Any) -> Any:
    try:
        if not re.search(r":\d+$|^inproc://", str(address)):
            raise ValueError("it names no port")
        # As the default client it would take the user's other Dask computations too.
        return distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"no Dask scheduler answers at {address!r} ({error}). Give the address that it printed "
            "when it started, such as tcp://host:8786."
        ) from error


def close_client(client: Any) -> None:
    """Close the client, without the traceback that Dask logs if its scheduler is lost."""
    log = logging.getLogger("distributed.client")
    level = log.level
    if client.status != "running":
        log.setLevel(logging.CRITICAL)
    try:
        client.close()
    finally:
        log.setLevel(level)


def check_workers(client: Any) -> int:
    """Count the workers. Warn of other versions; raise InputError if sgbn is missing."""
    try:
        by_worker = client.run(versions)
    except Exception as error:
        raise InputError(
            f"a worker of the Dask cluster cannot load sgbn ({error}). Install the same versions "
            "there as here."
        ) from error
    for address, of_worker in by_worker.items():
        if of_worker != versions():
            lines = "\n".join(differences(of_worker, versions()))
            warn(
                f"worker {address} has different versions: the last digits of results may "
                f"differ:\n{lines}"
            )
    return len(by_worker)
