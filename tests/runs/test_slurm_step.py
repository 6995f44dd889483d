"""Processes as srun starts them, by the variables that it sets; test_slurm has the real srun."""

import json
import os
import subprocess
import sys
import time

import pytest

from sgbn.core.exceptions import InputError, StudyError
from sgbn.runs import slurm
from sgbn.runs.slurm import SlurmOptions, on_slurm
from sgbn.runs.tasks import parallel

PROGRAM = """
import os
import sys

from sgbn.runs import on_slurm, parallel

def pid(task):
    return os.getpid(), task

if __name__ == "__main__":
    with on_slurm("runner,interface=lo,scratch=" + sys.argv[1]):
        found = parallel(pid, range(20))
    assert [task for _, task in found] == list(range(20))
    pids = {pid for pid, _ in found}
    assert os.getpid() not in pids
    print("the first process goes on", len(pids))
"""


def variables(rank, count=3):
    own = {"PROCID": rank, "STEP_NUM_TASKS": count, "STEP_ID": 0, "JOB_ID": 7}
    return {f"SLURM_{name}": str(value) for name, value in own.items()}


@pytest.fixture
def as_rank(monkeypatch, tmp_path):
    def be(rank, count=3):
        for name, value in variables(rank, count).items():
            monkeypatch.setenv(name, value)

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLURM_RESTART_COUNT", raising=False)
    return be


def test_one_process_goes_on_and_the_other_works_for_it(tmp_path):
    pytest.importorskip("distributed")
    (tmp_path / "program.py").write_text(PROGRAM)
    processes = [
        subprocess.Popen(
            [sys.executable, "program.py", str(tmp_path / "scratch")],
            cwd=tmp_path,
            env=os.environ | variables(rank, 2),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        said = [process.communicate(timeout=180)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert [process.returncode for process in processes] == [0, 0], said
    assert "the first process goes on" in said[0]
    assert said[1] == ""  # what workers say is nothing
    assert not list(tmp_path.glob(".sgbn-*"))


def test_a_program_without_srun_and_one_process_alone_are_refused(as_rank, monkeypatch):
    pytest.importorskip("distributed")
    as_rank(0, count=1)
    with pytest.raises(InputError, match=r"srun started 1 process, .*Use srun -n 5"):
        on_slurm("runner").__enter__()
    monkeypatch.delenv("SLURM_STEP_ID")  # as in a script of sbatch that calls no srun
    with pytest.raises(InputError, match=r"Start it as srun -n 5 sgbn"):
        on_slurm("runner").__enter__()


def test_a_worker_is_the_same_python_with_one_task_and_one_thread(as_rank, monkeypatch, tmp_path):
    pytest.importorskip("distributed")
    as_rank(2)
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")  # another file than before the restart
    (tmp_path / ".sgbn-scheduler-7-0-0.json").write_text('{"address": "tcp://gone:1"}')
    (tmp_path / ".sgbn-scheduler-7-0-1.json").write_text('{"address": "tcp://127.0.0.1:5"}')
    monkeypatch.setenv("FAST", "/fast")

    class ReplacedError(Exception):
        pass

    def replace(program, words, environment):
        raise ReplacedError(program, words, environment)

    monkeypatch.setattr(os, "execve", replace)
    with pytest.raises(ReplacedError) as stop:
        on_slurm("runner,interface=ib0,scratch=$FAST/me").__enter__()
    program, words, environment = stop.value.args
    assert program == words[0] == sys.executable
    assert words[3] == "tcp://127.0.0.1:5"
    text = " ".join(words)
    assert "--nthreads 1" in text
    assert "--interface ib0" in text
    assert "--local-directory /fast/me" in text
    assert environment["OPENBLAS_NUM_THREADS"] == "1"


def test_a_worker_that_comes_after_the_end_ends_too(as_rank, tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(slurm, "JOIN_SECONDS", 0.1)
    as_rank(0)
    with on_slurm("runner,interface=lo") as client:
        (path,) = tmp_path.iterdir()
        assert json.loads(path.read_text()) == {"address": client.scheduler.address}
        with on_slurm("runner") as again:  # a command enters it, and what it calls once more
            assert again.scheduler.address == client.scheduler.address
    assert json.loads(path.read_text()) == {"address": ""}
    as_rank(1)
    with pytest.raises(SystemExit) as stop:
        on_slurm("runner").__enter__()
    assert stop.value.code == 0


def test_a_first_process_that_does_not_start_is_said_by_the_others(as_rank, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(slurm, "ADDRESS_SECONDS", 0.2)
    as_rank(1)
    with pytest.raises(StudyError, match=r"first process of srun did not write .*json in 0\.2 sec"):
        on_slurm("runner").__enter__()


def test_that_all_workers_are_gone_ends_the_run(as_rank, monkeypatch):
    pytest.importorskip("distributed")
    for name in ("WORKER_SECONDS", "JOIN_SECONDS", "LOOK_SECONDS"):
        monkeypatch.setattr(slurm, name, 0.2)
    as_rank(0)
    message = r"for the last 0\.2 seconds, no worker was running.*is not lost"
    with pytest.raises(StudyError, match=message), on_slurm("runner,interface=lo"):
        parallel(abs, [1])


def test_an_interface_that_is_not_there_is_named(as_rank):
    pytest.importorskip("distributed")
    as_rank(0)
    with (
        pytest.raises(InputError, match=r"no Dask scheduler can start .*interface="),
        slurm.slurm_step(SlurmOptions.of("runner,interface=nowhere0")),
    ):
        pass


def test_versions_of_workers_are_looked_at_once(monkeypatch):
    class Cluster:
        class scheduler:  # noqa: N801 - as an attribute is called
            workers = {"tcp://a:1": None}  # noqa: RUF012

    looks = []
    monkeypatch.setattr(slurm, "check_workers", looks.append)
    monkeypatch.setattr(slurm, "LOOK_SECONDS", 0.0)
    workers = slurm._Workers("client", Cluster)
    for _ in range(3):
        time.sleep(0.001)
        workers.look()
        workers.note_result()
    assert looks == ["client"]
