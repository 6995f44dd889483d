import logging
import os
import signal
import subprocess
import sys
import time
import warnings
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from tests.codes import refused, warned
from threadpoolctl import threadpool_info

from sgbn.core.problems import InputError, StudyError, problem_of
from sgbn.inference.differences import edge_differences
from sgbn.runs import dask
from sgbn.runs.dask import ClusterWarning, call, call_in_worker, on_dask, packed, unpacked
from sgbn.runs.study import Study
from sgbn.runs.tasks import parallel

TASKS = {f"task{k}": {"seed": k} for k in range(40)}


class Witness:
    """Object that notes each time it is loaded: a line in a file."""

    def __init__(self, path):
        self.path = path

    def __setstate__(self, state):
        self.__dict__.update(state)
        with open(self.path, "a") as stream:
            stream.write(f"{os.getpid()}\n")


def draw(seed, offset=0.0):
    X = np.random.default_rng(seed).standard_normal((50, 50))
    return {"draw": X.T @ X + offset}


def draw_here(witness, seed):
    return draw(seed) | {"pid": os.getpid()}


def die_once(seed, marker):
    """Kill the worker of task 17, the first time."""
    if seed == 17:
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return draw(seed)
        os.kill(os.getpid(), signal.SIGKILL)
    return draw(seed)


def slow(seed):
    time.sleep(0.05)
    return draw(seed)


def die_always(seed):
    if seed == 17:
        os.kill(os.getpid(), signal.SIGKILL)
    return draw(seed)


def picky(seed):
    if seed == 4:
        raise InputError("luck").says("seed 4 is bad luck")
    return draw(seed)


def blas_threads(_):
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


def assert_same(results):
    assert list(results) == list(TASKS)
    for name, result in results.items():
        assert np.array_equal(result["draw"], draw(TASKS[name]["seed"])["draw"])


@pytest.mark.parametrize("kept", [True, False])
def test_the_bits_are_those_of_one_process(dask_client, tmp_path, kept):
    folder = tmp_path if kept else None
    serial = Study().run(draw, TASKS, {}, shared={"offset": 0.1})
    with on_dask(dask_client):
        results = Study(folder).run(draw, TASKS, {}, shared={"offset": 0.1})
    assert list(results) == list(serial)
    for name, result in results.items():
        assert set(result) == {"draw"}
        assert np.array_equal(result["draw"], serial[name]["draw"])
    assert len(list(tmp_path.rglob("*.npz"))) == (40 if kept else 0)


def test_tests_of_differences_are_the_same_to_the_bit(dask_client, simulate):
    X, _ = simulate(8, 120, 0)
    groups = np.repeat(["a", "b"], 60)
    serial = edge_differences(X, groups, n_permutations=99)
    with on_dask(dask_client.scheduler.address):
        spread = edge_differences(X, groups, n_permutations=99)
    assert np.array_equal(serial.edges, spread.edges)
    assert np.array_equal(serial.null["lowest"], spread.null["lowest"])


def test_what_tasks_share_reaches_each_worker_once(dask_client, tmp_path):
    dask_client.wait_for_workers(2, timeout=300)
    assert len(set(dask_client.run(os.getpid).values()) - {os.getpid()}) == 2
    shared = {"witness": Witness(tmp_path / "loads")}
    with on_dask(dask_client):
        results = Study().run(draw_here, TASKS, {}, shared=shared)
    loads = (tmp_path / "loads").read_text().split()
    assert len(loads) == len(set(loads)) <= 2
    assert os.getpid() not in {int(result["pid"]) for result in results.values()}


def test_a_lost_worker_changes_nothing(dask_client, tmp_path):
    shared = {"marker": str(tmp_path / "killed")}
    with on_dask(dask_client):
        results = Study(tmp_path / "s").run(die_once, TASKS, {}, shared=shared)
    assert (tmp_path / "killed").exists()
    assert_same(results)


@pytest.mark.long
def test_a_worker_that_is_killed_from_outside_changes_nothing(dask_client, tmp_path, after_results):
    victim = min(dask_client.run(os.getpid).values())
    after_results(lambda: os.kill(victim, signal.SIGKILL))
    with on_dask(dask_client):
        results = Study(tmp_path).run(slow, TASKS, {})
    assert_same(results)
    dask_client.wait_for_workers(2, timeout=300)
    assert victim not in dask_client.run(os.getpid).values()


@pytest.mark.long
def test_a_lost_scheduler_is_said_and_another_one_goes_on(
    frail_cluster, dask_client, tmp_path, after_results, caplog
):
    after_results(lambda: frail_cluster.kill("scheduler"))
    with refused("dask.lost", kind=StudyError), on_dask(frail_cluster.address):
        Study(tmp_path).run(slow, TASKS, {})
    errors = [record for record in caplog.records if record.levelname == "ERROR"]
    assert not errors  # our own words are enough
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz")}
    assert 5 <= len(kept) < 40
    with on_dask(dask_client):
        assert_same(Study(tmp_path).run(slow, TASKS, {}))
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


@pytest.mark.parametrize("asked", ["nthreads", "submit"])
def test_a_scheduler_that_is_lost_while_it_is_asked_is_said_too(dask_client, monkeypatch, asked):
    def lose(client, *_, **__):
        monkeypatch.setattr(client, "status", "connecting")
        raise OSError("no answer")

    batches = dask._Batches(dask_client, draw, [1])
    monkeypatch.setattr(dask, "_Batches", lambda *_: batches)
    monkeypatch.setattr(type(dask_client), asked, lose)
    for _ in range(2):  # the second time it is known before it is asked
        with refused("dask.lost", kind=StudyError):
            next(dask.run_on(dask_client, draw, [1], ["task"]))


def test_a_question_that_fails_while_the_scheduler_is_there_stops_nothing(dask_client, monkeypatch):
    def fail(*_, **__):
        raise OSError("connection reset")

    monkeypatch.setattr(type(dask_client), "nthreads", fail)
    with on_dask(dask_client):
        assert parallel(abs, range(-5, 0)) == [5, 4, 3, 2, 1]


@pytest.fixture
def answering(monkeypatch):
    """Batches of a scheduler that answers as it is told, on a clock that sleeping moves on."""
    clock = SimpleNamespace(now=0.0)
    state = SimpleNamespace(threads={}, asked=[], ready_at=0.0, clock=clock)

    def nthreads(callback_timeout):
        state.asked.append(clock.now)
        if state.threads is None:
            raise TimeoutError
        return state.threads

    def sleep(_):
        clock.now += 0.5

    state.client = SimpleNamespace(
        status="running",
        loop=None,
        nthreads=nthreads,
        submit=lambda *_, **__: None,
        scheduler=SimpleNamespace(address="tcp://host:1"),
    )
    completed = SimpleNamespace(has_ready=lambda: clock.now >= state.ready_at)
    distributed = SimpleNamespace(as_completed=lambda **_: completed)
    monkeypatch.setattr(dask, "load_distributed", lambda: distributed)
    monkeypatch.setattr(dask, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep))
    state.batches = dask._Batches(state.client, draw, [1])
    return state


@pytest.mark.parametrize(("threads", "code"), [({}, "dask.no-worker"), (None, "dask.silent")])
def test_that_no_worker_or_scheduler_answers_is_said_once(answering, threads, code):
    answering.threads, answering.ready_at = threads, 10 * dask.ALONE_SECONDS
    with pytest.warns(ClusterWarning) as said:
        answering.batches._wait()
    assert [problem_of(one.message).code for one in said] == [code]
    assert len(answering.asked) <= 50  # an answer is a round trip: not at every look


@pytest.mark.parametrize("threads", [{"tcp://worker:1": 1}, {}])
def test_workers_that_are_there_or_away_for_a_moment_are_no_reason_to_warn(answering, threads):
    answering.threads = threads
    answering.ready_at = dask.ALONE_SECONDS * (10 if threads else 0.9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answering.batches._wait()


@pytest.mark.parametrize("status", ["running", "closed"])
def test_what_dask_logs_of_a_lost_scheduler_is_not_shown(status, caplog):
    log = logging.getLogger("distributed.client")
    before = log.level
    client = SimpleNamespace(status=status, close=lambda: log.error("a traceback"))
    dask.close_client(client)
    assert ("a traceback" in caplog.messages) == (status == "running")
    assert log.level == before


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no process can be suspended here")
@pytest.mark.parametrize("code", ["dask.no-worker", "dask.silent"])
def test_a_cluster_that_is_away_for_a_while_is_said_and_the_run_goes_on(
    frail_cluster, tmp_path, after_results, monkeypatch, code
):
    given = []

    def leave():
        if code == "dask.silent":
            monkeypatch.setattr(dask, "ANSWER_SECONDS", 0.5)
            frail_cluster.signal("scheduler", signal.SIGSTOP)
        else:
            frail_cluster.kill("worker")

    def come_back(problem, what, remedy, category):
        given.append((problem.code, problem.values["address"], category))
        if code == "dask.silent":
            frail_cluster.signal("scheduler", signal.SIGCONT)
        else:
            frail_cluster.start_worker()

    monkeypatch.setattr(dask, "ALONE_SECONDS", 0.5)
    monkeypatch.setattr(dask.Problem, "warn", come_back)
    after_results(leave)
    with on_dask(frail_cluster.address):
        assert_same(Study(tmp_path).run(slow, TASKS, {}))
    assert given == [(code, frail_cluster.address, ClusterWarning)]


def test_tasks_that_somebody_cancelled_are_not_called_a_lost_connection(
    dask_client, tmp_path, after_results
):
    distributed = pytest.importorskip("distributed")

    def cancel():
        dask_client.cancel([distributed.Future(key, dask_client) for key in dask_client.futures])

    after_results(cancel)
    with on_dask(dask_client), refused("dask.cancelled", kind=StudyError):
        Study(tmp_path).run(slow, TASKS, {})
    with on_dask(dask_client):
        assert_same(Study(tmp_path).run(slow, TASKS, {}))


JOBLIB = """
import os, signal
import dask, distributed, joblib

def die(task):
    with open(f"killed{task}", "a") as stream:
        stream.write("x")
    os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with distributed.LocalCluster(1, **options) as cluster, distributed.Client(cluster):
        with joblib.parallel_config(backend="dask"):
            joblib.Parallel()(joblib.delayed(die)(k) for k in range(2))
"""


@pytest.mark.long  # it says why `cluster` is there: if it fails, joblib's own backend may do
def test_joblibs_own_way_to_dask_waits_without_end_for_a_task_that_kills(tmp_path):
    pytest.importorskip("distributed")
    (tmp_path / "joblib_on_dask.py").write_text(JOBLIB)
    process = subprocess.Popen(
        [sys.executable, "joblib_on_dask.py"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # so that its workers are killed with it
    )
    try:
        deadline = time.monotonic() + 60
        while not any(path.stat().st_size >= 2 for path in tmp_path.glob("killed*")):
            assert process.poll() is None
            assert time.monotonic() < deadline, "no task killed two workers in a minute"
            time.sleep(0.05)
        # Dask has given the task up; our own way says so within a second or two
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(6)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_errors_of_tasks_are_raised_or_skipped_as_elsewhere(dask_client, tmp_path):
    with on_dask(dask_client):
        with refused("luck"):
            Study(tmp_path / "a").run(picky, TASKS, {})
        results = Study(tmp_path / "b").run(picky, TASKS, {}, on_error="skip")
    assert {name: failure.code for name, failure in results.failures.items()} == {"task4": "luck"}
    assert len(results) == 39


def test_thousands_of_small_tasks_are_sent_in_batches(dask_client, monkeypatch):
    batches = []
    submit = dask._Batches.submit
    monkeypatch.setattr(
        dask._Batches, "submit", lambda self, n: (batches.append(len(n)), submit(self, n))
    )
    with on_dask(dask_client):
        assert parallel(abs, range(2000)) == list(range(2000))
    assert sum(batches) == 2000
    assert len(batches) < 400
    with on_dask(dask_client), pytest.raises(ZeroDivisionError):
        parallel(lambda k: 1 / (1500 - k), range(2000))


def test_one_blas_thread_and_any_number_of_jobs(dask_client):
    with on_dask(dask_client) as client:
        assert client is dask_client
        assert parallel(blas_threads, range(3), n_jobs=5) == [{1}] * 3
        with refused("argument"):
            parallel(abs, [1], n_jobs=0)
    assert dask.active_client() is None


def test_without_distributed_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with refused("package.absent"), on_dask("tcp://host:1"):
        pass


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://x", 17])
def test_an_address_where_no_scheduler_is_is_named(monkeypatch, address):
    pytest.importorskip("distributed")
    monkeypatch.setattr(dask, "CONNECT_SECONDS", 0.3)
    with refused("dask.address"), on_dask(address):
        pass


def test_workers_with_other_versions_are_named(dask_client, monkeypatch):
    same = dask.versions()
    results = {"tcp://worker:1": same, "tcp://worker:2": same | {"numpy": "1.0"}}
    monkeypatch.setattr(type(dask_client), "run", lambda *_: results)
    with warned("dask.versions"), on_dask(dask_client):
        pass
    monkeypatch.setattr(type(dask_client), "run", lambda *_: {})
    with warned("dask.no-worker"), on_dask(dask_client):
        pass


@pytest.mark.parametrize(("threads", "count"), [({"a": 2, "b": 3}, 5), ({}, 1), (None, 1)])
def test_the_time_left_goes_by_the_threads_of_all_workers(threads, count):
    class Client:
        def nthreads(self, callback_timeout):
            if threads is None:
                raise TimeoutError
            return threads

    assert dask.n_threads(Client()) == count


def test_a_task_that_kills_its_workers_is_named_and_the_others_are_kept(dask_client, tmp_path):
    # Last, as a cluster may be left with one worker: Dask's nanny does not always start another.
    with on_dask(dask_client), refused("dask.killed", kind=StudyError):
        Study(tmp_path).run(die_always, TASKS, {})
    assert not (tmp_path / "tasks" / "task17.npz").exists()
    assert (tmp_path / "tasks" / "task0.npz").exists()
    assert_same(Study(tmp_path).run(draw, TASKS, {}))


def test_a_task_has_one_blas_thread_and_gives_them_back():
    before = blas_threads(None)
    assert call(blas_threads, None) == {1}
    assert call_in_worker(blas_threads, None) == {1}
    assert blas_threads(None) == before


def test_tasks_within_a_task_of_a_worker_run_one_after_another():
    assert call_in_worker(joblib.effective_n_jobs, 4) == 1
    assert call(joblib.effective_n_jobs, 4) == 4


def test_what_is_packed_is_the_same_elsewhere():
    offset = np.array([1.0, np.pi])
    function = unpacked(packed(lambda x: x + offset))
    assert np.array_equal(function(2), 2 + offset)
