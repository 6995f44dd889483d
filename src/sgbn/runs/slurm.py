"""Run tasks in jobs of SLURM, or in the processes that srun started.

Jobs
    dask-jobqueue starts the scheduler in this process and writes the script of a job, with the
    defaults of the site's jobqueue.yaml. This module submits, counts, replaces and cancels the jobs
    itself: dask-jobqueue does not replace a job that ended, and hides the message if sbatch rejects
    a later job.

    A job may end at any time (its walltime, scancel, a node that fails). Its tasks run again in
    other jobs, and a new job replaces it. The run stops when too many jobs in a row end without a
    finished task, or before their workers have joined.

    `SlurmOptions` are the options of jobs, read from a text such as
    ``"partition=long,memory=8GB,jobs=4"``.

Processes of srun
    The first process runs the command, the others are its workers. This is for clusters that allow
    only one allocation, or whose nodes do not reach the machine that submits jobs. The first
    process also runs the Dask scheduler, so that all workers end with it, even if it is killed. The
    workers read its address from a file in the folder where srun was called.

    dask-jobqueue's SLURMRunner is not used for two reasons. It needs one more process for the
    scheduler, and this process stays when the client is killed. It may also read the file of an
    earlier step of the same job, whose scheduler has ended.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from sgbn.core.problems import InputError, Problem, StudyError, did_you_mean
from sgbn.core.validation import Whole
from sgbn.runs.dask import (
    ClusterWarning,
    check_workers,
    close_client,
    load_distributed,
    load_package,
    running_on,
)
from sgbn.runs.files import write_json

QUEUE_SECONDS = 10.0  # time between two calls of squeue, because all users share its server
COMMAND_SECONDS = 60.0  # longest wait for an answer of sbatch, squeue or scancel
# Words of sbatch if there is no controller, or no configuration that names one.
UNREACHABLE = ("Unable to contact slurm controller", "configuration source", "DNS SRV")
COMMANDS = ("sbatch", "squeue", "scancel")
# States in which squeue may list a job that has ended or is about to end.
ENDED = ("COMPLETING", "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "STAGE_OUT")


@contextmanager
def on_slurm(
    options: str | Mapping[str, Any], logs: str | Path = "slurm-logs", *, progress: bool = False
) -> Iterator[Any]:
    """Run all tasks of sgbn in this context in jobs of SLURM, or in the processes of srun.

    Parameters
    ----------
    options : str or mapping
        Options of the jobs, such as ``"partition=long,memory=8GB,jobs=4"``. docs/scale.md lists
        them. In a program that srun started, give ``"runner"``. Then the first process runs the
        program, and the other processes are its workers and end with it. Enter this context at the
        beginning of such a program, because all processes run the lines before it.
    logs : path
        Folder for the output of the jobs. All nodes must be able to write to it.
    progress : bool
        Whether to print to stderr how many jobs are running.

    Yields
    ------
    distributed.Client
        The client of the cluster.

    Notes
    -----
    Results are the same to the bit as in one process, on processors of the same kind. The jobs are
    cancelled at the end, also after an error or Ctrl-C. If this process is killed, they end by
    themselves after a minute.

    Examples
    --------
    >>> with sgbn.runs.on_slurm("partition=long,memory=8GB,jobs=4"):  # doctest: +SKIP
    ...     differences = sgbn.inference.edge_differences(X, groups)
    """
    chosen = SlurmOptions.of(options)
    if chosen.runner:
        with on_step(chosen) as client:
            yield client
        return
    folder = Path(logs).absolute()
    with _run_scheduler(chosen) as cluster:
        client = load_distributed().Client(cluster, set_as_default=False)
        jobs = _Jobs(client, cluster, chosen, folder, progress=progress)
        try:
            jobs.start()
            with running_on(client, jobs):
                yield client
        finally:
            jobs.cancel()
            close_client(client)


class _Jobs:
    """The jobs of one run.

    Attributes
    ----------
    live : dict of str to str
        Id of each job that has not ended, by the name of its workers.
    """

    def __init__(
        self, client: Any, cluster: Any, options: SlurmOptions, logs: Path, *, progress: bool
    ) -> None:
        self._client, self._cluster, self._options = client, cluster, options
        self._logs, self._progress = logs, progress
        # All jobs of this run share one name. squeue and scancel select by this name, so that other
        # jobs of the user are left alone.
        self._name = f"sgbn-{uuid.uuid4().hex[:8]}"
        self._count = self._fruitless = self._failed_starts = 0
        self._looked, self._said, self._last_ended = -float("inf"), "", ""
        self._joined: set[str] = set()
        self._versions_checked = self._silence_said = False
        self.live: dict[str, str] = {}

    def start(self) -> None:
        """Submit all jobs; raise InputError if SLURM rejects them."""
        self._logs.mkdir(parents=True, exist_ok=True)
        try:
            while len(self.live) < self._options.jobs:
                self._submit()
        except StudyError as error:
            if not self.live:
                self._count = 0  # no job was accepted, so there is nothing to cancel
            reason = str(error.problem.values.get("cause"))
            if any(sign in reason for sign in UNREACHABLE):
                raise InputError("slurm.unreachable", cause=error).says(
                    "SLURM cannot be reached from this machine ({cause})",
                    "Start the command on a login node of the cluster, or use {n_jobs=}.",
                ) from error
            raise InputError("slurm.rejected", cause=error).says(
                "{cause}", "Change the options of the jobs (sinfo lists the partitions)."
            ) from error

    def look(self) -> None:
        """Replace jobs that have ended; raise StudyError if no further job can be submitted."""
        if time.monotonic() - self._looked < QUEUE_SECONDS:
            return
        self._looked = time.monotonic()
        if self._note_workers() >= self._options.jobs * self._options.processes:
            self._say(f"{len(self.live)} of {self._options.jobs} jobs running")
            return  # all workers are present, so squeue is not needed
        queue = self._queue()
        if queue is None:
            return
        self._say(self._waiting(queue))
        # A list, because `_end` removes names from the mapping.
        for name in [name for name, job in self.live.items() if job not in queue]:
            self._end(name)
        self._fill()

    def note_result(self) -> None:
        """Note that a batch of tasks is finished, so that the jobs are of use."""
        self._fruitless = 0

    def cancel(self) -> None:
        """Cancel all jobs of this run by their name, also a job whose id was not stored yet."""
        if not self._count:
            return
        try:
            _run(["scancel", f"--name={self._name}"])
        except StudyError as error:
            Problem("slurm.cancel", cause=error, name=self._name).warn(
                "{cause}", "Cancel the jobs yourself: scancel -n {name:s}.", ClusterWarning
            )

    def _submit(self) -> None:
        """Submit one job; if sbatch rejects it, raise StudyError with the message of sbatch."""
        self._count += 1
        name = f"{self._name}-{self._count}"
        # In file names of sbatch, % begins a pattern such as %j, the id of the job.
        log = str(self._logs).replace("%", "%%") + "/%j.log"
        # This class replaces a job that ends. If SLURM queued it again, both would run.
        words = ["sbatch", "--parsable", "--no-requeue", f"--job-name={self._name}"]
        words += [f"--output={log}", f"--error={log}"]
        script = self._cluster.job_cls(
            self._cluster.scheduler.address, name=name, **_job_keywords(self._options)
        ).job_script()
        answer = _run(words, script)
        # The id of the job need not be in the first line.
        job = re.search(r"^(\d+)", answer, re.MULTILINE)
        if job is None:
            raise StudyError("slurm.no-id", answer=answer).says(
                "the answer of sbatch has no id of a job: {answer}"
            )
        self.live[name] = job[1]

    def _note_workers(self) -> int:
        """Note which jobs have workers, and return the number of workers."""
        # A copy, because the scheduler's thread may change this mapping while it is read.
        workers = [str(state.name) for state in list(self._cluster.scheduler.workers.values())]
        joined = {name for name in self.live for worker in workers if _is_of(worker, name)}
        if joined - self._joined:
            self._failed_starts = 0
        self._joined |= joined
        if workers and not self._versions_checked:
            self._versions_checked = True
            check_workers(self._client)
        return len(workers)

    def _queue(self) -> dict[str, tuple[str, str]] | None:
        """Return state and reason of each job by its id, or None if squeue does not answer."""
        try:
            answer = _run(["squeue", "--noheader", f"--name={self._name}", "--format=%i|%T|%r"])
        except StudyError as error:
            if not self._silence_said:
                self._silence_said = True
                Problem("slurm.silent", cause=error).warn(
                    "{cause}", "The run continues, and asks again later.", ClusterWarning
                )
            return None
        lines = [line for line in answer.splitlines() if line.count("|") >= 2]
        # The reason is free text and may contain |.
        rows = [line.strip().split("|", 2) for line in lines]
        return {job: (state, reason) for job, state, reason in rows if state not in ENDED}

    def _end(self, name: str) -> None:
        """Note that a job has ended."""
        job = self._last_ended = self.live.pop(name)
        self._fruitless += 1
        self._failed_starts += name not in self._joined
        Problem("slurm.ended", job=job, file=self._log(job)).warn(
            "SLURM job {job:s} ended before the work was done (its log is {file})",
            "Its unfinished tasks run again in other jobs.",
            ClusterWarning,
        )

    def _fill(self) -> None:
        """Submit jobs up to the wanted number, unless too many have failed."""
        while len(self.live) < self._options.jobs and self._may_submit():
            try:
                self._submit()
            except StudyError as error:
                self._failed_starts += 1
                Problem("slurm.without", cause=error).warn(
                    "{cause}", "The run continues without this job for now.", ClusterWarning
                )
                break  # until the next look
        if not self.live and not self._may_submit():
            raise StudyError("slurm.gone", file=self._log(self._last_ended)).says(
                "the jobs of SLURM end without a finished task",
                "Read {file}, and check interface=, memory= and walltime=, or use runner.",
            )

    def _may_submit(self) -> bool:
        limit = self._options.retries * self._options.jobs
        return max(self._fruitless, self._failed_starts) <= limit

    def _waiting(self, queue: Mapping[str, tuple[str, str]]) -> str:
        states = [queue[job] for job in self.live.values() if job in queue]
        n_running = sum(state == "RUNNING" for state, _ in states)
        reasons = sorted({reason for state, reason in states if state == "PENDING"} - {"None"})
        why = f"; SLURM says: {', '.join(reasons)}" if reasons else ""
        counts = f"{n_running} of {self._options.jobs} running{why}"
        if n_running < self._options.jobs:
            return f"waiting for jobs in the queue ({counts})"
        return f"waiting for the workers of the jobs to start ({counts})"

    def _say(self, text: str) -> None:
        if self._progress and text != self._said:
            tqdm.write(f"SLURM: {text}", file=sys.stderr)
        self._said = text

    def _log(self, job: str) -> Path:
        return self._logs / f"{job}.log"


def _is_of(worker: str, name: str) -> bool:
    """Return whether a worker belongs to the job `name`."""
    # If a job has several processes, a number is appended to the name of each worker.
    return worker == name or worker.startswith(f"{name}-")


@contextmanager
def _run_scheduler(options: SlurmOptions) -> Iterator[Any]:
    """Run the scheduler of dask-jobqueue in this process."""
    for command in COMMANDS:
        if shutil.which(command) is None:
            raise InputError("slurm.command", name=command).says(
                "there is no command {name:s} on this machine",
                "Use a machine from which jobs of SLURM are submitted.",
            )
    load_distributed()
    jobqueue = _load_jobqueue()
    # At its walltime a whole job ends, and all its workers die with the tasks that they had. These
    # deaths are allowed in addition to the usual number.
    always = {"allowed_failures": DEATHS + options.processes, "dashboard": False}
    with _opened(
        jobqueue.SLURMCluster,
        n_workers=0,
        # Port 0 means any free port, because several runs may share a login node.
        scheduler_options=_site("scheduler-options", {}) | {"dashboard_address": ":0"} | always,
        **_job_keywords(options),
    ) as cluster:
        yield cluster


@contextmanager
def _opened(kind: Callable[..., Any], **keywords: Any) -> Iterator[Any]:
    """Start the scheduler of a cluster, and close it at the end."""
    try:
        cluster = kind(**keywords)
    except (ValueError, RuntimeError) as error:
        raise InputError("slurm.scheduler", cause=error).says(
            "no Dask scheduler can start on this machine ({cause})",
            "Check interface= of the options, and the site's jobqueue.yaml.",
        ) from error
    with closing(cluster):
        yield cluster


def _job_keywords(options: SlurmOptions) -> dict[str, Any]:
    """Return the keywords of dask-jobqueue for a job; None means the default of the site."""
    wanted = {"--qos": options.qos, "--constraint": options.constraint}
    directives = [f"{name}={value}" for name, value in wanted.items() if value]
    return {
        "queue": options.partition or None,
        "account": options.account or None,
        "walltime": options.walltime or None,
        "memory": options.job_memory,
        "cores": options.processes,
        "processes": options.processes,
        "interface": options.interface or None,
        "local_directory": options.scratch or None,
        "python": shlex.quote(sys.executable),  # becomes part of a line of shell
        "worker_extra_args": [*_site("worker-extra-args", []), "--no-dashboard"],
        "job_extra_directives": [*_site("job-extra-directives", []), *directives, *options.extra],
        "job_script_prologue": [
            *_site("job-script-prologue", []),
            *(f"export {name}=1" for name in THREADS),
            *options.setup,  # last, so that a user's lines can change all of the above
        ],
    }


def _site(name: str, otherwise: Any) -> Any:
    return import_module("dask").config.get(f"jobqueue.slurm.{name}", None) or otherwise


def _load_jobqueue() -> Any:
    """Return the package dask-jobqueue; raise InputError if it is not installed."""
    # Loading it replaces the handler of Ctrl-C. The old handler is restored below.
    handler = signal.getsignal(signal.SIGINT)
    try:
        return load_package("dask_jobqueue", "slurm")
    finally:
        # Handlers can be set only in the main thread.
        if handler is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


def _run(words: Sequence[str], given: str | None = None) -> str:
    """Return the output of a command of SLURM; raise StudyError with its message if it fails."""
    try:
        done = subprocess.run(
            words, input=given, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StudyError("slurm.no-answer", name=words[0], cause=error).says(
            "{name:s} of SLURM does not answer: {cause}"
        ) from error
    if done.returncode:
        cause = RuntimeError(done.stderr.strip() or f"{words[0]} ended with {done.returncode}")
        raise StudyError("slurm.refuses", cause=cause).says("SLURM refuses: {cause}")
    return done.stdout


RUNNER = "runner"  # submit no jobs: use the processes that srun started
OF_RUNNER = ("interface", "scratch")  # the keys that may follow `RUNNER`
SEVERAL = ("extra", "setup")  # keys that may be given more than once
COUNTS = {"jobs": 1, "processes": 1, "retries": 0}  # keys of whole numbers, and their least values
# A unit is required: Dask reads a plain number as bytes, and sbatch as megabytes.
BYTES = re.compile(r"\d+(\.\d+)?\s*[KMGT](i?B)?", re.IGNORECASE)
# The folder is not quoted in the script, so that the node expands variables such as $TMPDIR.
UNSAFE_IN_PATH = re.compile(r"[\s;&|<>()`'\"\\]")
NEXT_KEY = re.compile(r",(?=\s*\w+\s*=)")  # other commas belong to a value: extra=--exclude=n1,n2


@dataclass(frozen=True)
class SlurmOptions:
    """The options of the jobs that run the workers.

    For a text option, "" means the default in the site's jobqueue.yaml. If that file has
    none, it means the default of SLURM.

    Attributes
    ----------
    partition, account, qos, constraint, walltime : str
        Values of the options of sbatch with these names (walltime is --time).
    memory : str
        Memory of one job, such as ``"8GB"``. "" means 4 GB per process.
    processes : int
        Number of processes in a job. Each has one processor and runs one task at a time.
    jobs : int
        Number of jobs that run at the same time.
    interface : str
        Network interface between the jobs and this process, such as ``"ib0"``.
    scratch : str
        Folder of a node for the temporary files of workers.
    extra : tuple of str
        Further options of sbatch, such as ``"--exclude=n1,n2"``.
    setup : tuple of str
        Lines of shell that run before the workers start, such as ``"module load python"``.
    retries : int
        How often each job is replaced while no task is finished.
    runner : bool
        Whether to use the processes that srun started: the first runs the command, and the others
        are its workers.
    """

    partition: str = ""
    account: str = ""
    qos: str = ""
    constraint: str = ""
    walltime: str = ""
    memory: str = ""
    processes: int = 1
    jobs: int = 4
    interface: str = ""
    scratch: str = ""
    extra: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    retries: int = 3
    runner: bool = False

    @classmethod
    def of(cls, given: str | Mapping[str, Any]) -> SlurmOptions:
        """Return the options of a text or mapping, after checking them.

        Parameters
        ----------
        given : str or mapping
            ``"key=value,key=value"`` or ``"runner"``. In a mapping, `extra` and `setup` are lists.

        Raises
        ------
        InputError
            If a key is unknown, given twice or without a value, or a value cannot be used.
        """
        read = _from_text(given) if isinstance(given, str) else dict(given)
        runner = bool(read.pop(RUNNER, False))
        known = OF_RUNNER if runner else KEYS
        for key in read:
            if key not in known:
                raise InputError("slurm.key", key=key, near=did_you_mean(key, known)).says(
                    "the options of SLURM have no key {key} here", "{near}"
                )
        return cls(**{key: _checked(key, value) for key, value in read.items()}, runner=runner)

    @property
    def job_memory(self) -> str:
        """Return the memory of one job, with its unit."""
        return self.memory or f"{4 * self.processes}GB"


KEYS = tuple(one.name for one in fields(SlurmOptions) if one.name != RUNNER)


def _from_text(text: str) -> dict[str, Any]:
    """Return the value of each key as text, or as a list of texts for keys of `SEVERAL`."""
    read: dict[str, Any] = {}
    first, _, rest = text.partition(",")
    if first.strip() == RUNNER:
        read[RUNNER], text = True, rest
    for part in filter(str.strip, NEXT_KEY.split(text)):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        # NEXT_KEY does not split off a word without "=". The word ends the value before it.
        last = value.rpartition(",")[2].strip()
        if RUNNER in (key, last):
            raise InputError("slurm.runner", text=text).says(
                "runner is in the wrong place in {text}", "Give it first, without a value."
            )
        if not equals or last in KEYS:
            raise InputError("slurm.no-value", key=last or key, text=text).says(
                "{key} in {text} has no value", "Give key=value, separated by commas."
            )
        if key in SEVERAL:
            read.setdefault(key, []).append(value)
        elif key in read:
            raise InputError("slurm.twice", key=key, text=text).says(
                "{text} has {key:s} twice", "Give it once."
            )
        else:
            read[key] = value
    return read


def _checked(key: str, value: Any) -> Any:
    """Return the value of a key as `SlurmOptions` stores it; raise InputError if it is invalid."""
    if key in COUNTS:
        written = re.fullmatch(r"\d+", str(value))
        return Whole(COUNTS[key]).check(key, int(value) if written else value)
    if key in SEVERAL:
        lines = [value] if isinstance(value, str) else value
        return tuple(_line(key, line) for line in lines)
    value = _line(key, value)
    if key == "scratch" and UNSAFE_IN_PATH.search(value):
        raise InputError("slurm.scratch", folder=value).says(
            "scratch={folder} has white space or a special character of the shell",
            "Give a plain path, or a variable such as $TMPDIR.",
        )
    if key == "memory" and not BYTES.fullmatch(value):
        raise InputError("slurm.memory", value=value).says(
            "memory={value:s} is not a size", "Give a size such as 8GB or 500MB."
        )
    return value


def _line(key: str, value: Any) -> str:
    text = str(value).strip()
    if not text or len(text.splitlines()) > 1:
        raise InputError("slurm.line", key=key, text=text).says(
            "{key:s}={text} is not one line of text", "Give a line, or omit {key:s}."
        )
    return text


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
            raise StudyError("slurm.alone").says(
                "all workers of srun have ended, or they never joined",
                "Give srun more memory, and run the same command again: finished work in a folder "
                "is kept.",
            )

    def note_result(self) -> None:
        """Do nothing: workers of a step are not replaced."""


def _rank() -> int:
    """Return the rank of this process; raise InputError unless srun started several processes."""
    try:
        names = ("PROCID", "STEP_NUM_TASKS", "STEP_ID")
        rank, count, _ = (int(os.environ[f"SLURM_{name}"]) for name in names)
    except (KeyError, ValueError):
        count = 0
    if count < 2:
        raise InputError("slurm.srun", n=count).says(
            "srun started {n:process/processes} with this command, but a runner needs two or more",
            "Start the command with srun, for example srun -n 5, also in a script for sbatch.",
        )
    return rank


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


def _started(options: SlurmOptions) -> AbstractContextManager[Any]:
    distributed = load_distributed()
    always = {"allowed_failures": DEATHS, "dashboard": False, "dashboard_address": ":0"}
    network = {"interface": options.interface} if options.interface else {}
    scheduler = {"cls": distributed.Scheduler, "options": always | network}
    return _opened(distributed.SpecCluster, workers={}, scheduler=scheduler, silence_logs="error")


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
    raise StudyError("slurm.address", file=path).says(
        "the first process of srun did not write {file}",
        "Read its output, and start srun in a folder that all nodes can read and write.",
    )
