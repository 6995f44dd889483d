"""Use the processes that srun started: the first runs the command, the others are its workers.

This is for clusters that allow only one allocation, or whose nodes do not reach the machine that
submits jobs. The first process also runs the Dask scheduler, so that all workers end with it, even
if it is killed. The workers read its address from a file in the folder where srun was called.

dask-jobqueue's SLURMRunner is not used for two reasons. It needs one more process for the
scheduler, and this process stays when the client is killed. It may also read the file of an earlier
step of the same job, whose scheduler has ended.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from sgbn.core.exceptions import InputError, StudyError
from sgbn.runs.cluster import check_workers, close_client, load_distributed, running_on
from sgbn.runs.files import write_json
from sgbn.runs.slurm_options import SlurmOptions

ADDRESS_SECONDS = 300.0  # longest wait until the file of the first process is visible on all nodes
JOIN_SECONDS = 20.0  # longest wait at the end for workers that have not joined yet
WORKER_SECONDS = 300.0  # time without any worker before the run stops
DEATHS = 5  # workers may die this often with a task before the task is suspected
LOOK_SECONDS = 5.0  # time between two looks at the workers
QUIET = {  # workers do not print: the first process reports their problems
    "DASK_LOGGING__DISTRIBUTED": "critical",
    "DASK_LOGGING__ASYNCIO": "critical",
}
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

_scheduler: ContextVar[Any] = ContextVar("scheduler", default=None)


@contextmanager
def slurm_step(options: SlurmOptions) -> Iterator[Any]:
    """Run the scheduler in the first process of srun, in this context.

    The other processes never enter the context. They become workers, and end when the first process
    leaves it.
    """
    if _scheduler.get() is not None:
        yield _scheduler.get()
        return
    rank = _rank()
    load_distributed()
    if rank:
        _become_worker(rank, options)  # never returns
    with _started(options) as cluster:
        path = _address_file()
        write_json(path, {"address": cluster.scheduler.address})
        token = _scheduler.set(cluster)
        try:
            yield cluster
        finally:
            _scheduler.reset(token)
            _leave(path, cluster)


@contextmanager
def on_step(options: SlurmOptions) -> Iterator[Any]:
    """Run all tasks in this context in the other processes of srun; yield the client."""
    with slurm_step(options) as cluster:
        client = load_distributed().Client(cluster, set_as_default=False)
        try:
            with running_on(client, _Workers(client, cluster)):
                yield client
        finally:
            close_client(client)


class _Workers:
    """The workers of this step of srun. They are never replaced."""

    def __init__(self, client: Any, cluster: Any) -> None:
        self._client, self._cluster = client, cluster
        self._seen = self._looked = time.monotonic()
        self._versions_checked = False

    def look(self) -> None:
        """Raise StudyError if there has been no worker for `WORKER_SECONDS`."""
        now = time.monotonic()
        if now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        if self._cluster.scheduler.workers:
            self._seen = now
            if not self._versions_checked:
                self._versions_checked = True
                check_workers(self._client)
        elif now - self._seen > WORKER_SECONDS:
            raise StudyError(
                f"for the last {WORKER_SECONDS:g} seconds, no worker was running: all workers of "
                "srun have ended, or they never joined. Often they need more memory (--mem of "
                "srun). Finished work that is kept in a folder is not lost. To continue, run the "
                "same command again."
            )

    def note_result(self) -> None:
        """Do nothing: workers of a step are not replaced."""


def _rank() -> int:
    """Return the rank of this process; raise InputError unless srun started several processes."""
    try:
        rank, count, _ = (int(os.environ[f"SLURM_{name}"]) for name in _OF_STEP)
    except (KeyError, ValueError):
        raise InputError(
            "srun did not start this process, but --slurm runner needs srun. Start it as "
            "srun -n 5 sgbn ... --slurm runner, on the command line or in a script for sbatch."
        ) from None
    if count < 2:
        raise InputError(
            f"srun started {count} process, but --slurm runner needs two or more. The first runs "
            "the command, and the others do the work. Use srun -n 5, for example."
        )
    return rank


_OF_STEP = ("PROCID", "STEP_NUM_TASKS", "STEP_ID")


def _address_file() -> Path:
    """Return the path of the file with the address of the scheduler."""
    # Each step has its own name, because a job may have several steps, and may be restarted.
    names = ("JOB_ID", "STEP_ID", "RESTART_COUNT")
    numbers = [os.environ.get(f"SLURM_{name}", "0") for name in names]
    return Path(f".sgbn-scheduler-{'-'.join(numbers)}.json").absolute()


def _leave(path: Path, cluster: Any) -> None:
    """Wait until all workers have joined, and remove the file with the address.

    If some workers do not join in time, the file gets an empty address, which ends them.
    """
    n_workers = int(os.environ["SLURM_STEP_NUM_TASKS"]) - 1
    deadline = time.monotonic() + JOIN_SECONDS
    while len(cluster.scheduler.workers) < n_workers and time.monotonic() < deadline:
        time.sleep(0.1)
    if len(cluster.scheduler.workers) >= n_workers:
        path.unlink(missing_ok=True)
    else:
        write_json(path, {"address": ""})  # workers that start later end at once


@contextmanager
def _started(options: SlurmOptions) -> Iterator[Any]:
    distributed = load_distributed()
    always = {"allowed_failures": DEATHS, "dashboard": False, "dashboard_address": ":0"}
    network = {"interface": options.interface} if options.interface else {}
    try:
        cluster = distributed.SpecCluster(
            workers={},
            scheduler={"cls": distributed.Scheduler, "options": always | network},
            silence_logs="error",
        )
    except (ValueError, RuntimeError) as error:
        raise InputError(
            f"no Dask scheduler can start on this machine ({error}). Check interface= of --slurm."
        ) from error
    with closing(cluster):
        yield cluster


def _become_worker(rank: int, options: SlurmOptions) -> None:
    """Replace this process by a Dask worker that runs one task at a time."""
    address = _address()
    if not address:
        raise SystemExit(0)
    words = [sys.executable, "-m", "distributed.cli.dask_worker", address]
    # The nanny restarts a worker that was killed.
    words += ["--name", str(rank), "--nthreads", "1", "--nanny", "--no-dashboard"]
    words += ["--memory-limit", "0", "--death-timeout", "60"]  # SLURM limits the memory itself
    if options.interface:
        words += ["--interface", options.interface]
    if options.scratch:
        # No shell expands variables here. This process runs on the node and knows its $TMPDIR.
        words += ["--local-directory", os.path.expandvars(options.scratch)]
    os.execve(sys.executable, words, os.environ | QUIET | THREADS)


def _address() -> str:
    """Wait for the address of the scheduler and return it, or "" if the first process has ended."""
    path = _address_file()
    deadline = time.monotonic() + ADDRESS_SECONDS
    while time.monotonic() < deadline:
        try:
            return str(json.loads(path.read_text())["address"])
        except (OSError, ValueError):
            time.sleep(0.1)
    raise StudyError(
        f"the first process of srun did not write {path} in {ADDRESS_SECONDS:g} seconds. Read its "
        "output, and start srun in a folder that all nodes can read and write."
    )
