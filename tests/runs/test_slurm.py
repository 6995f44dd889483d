"""Jobs of a real SLURM where there is one, and what is made of its answers everywhere.

Processes as srun starts them, by the variables that it sets; test_slurm has the real srun.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.codes import refused, warned

from sgbn import Cohort
from sgbn.cli.main import main
from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.problems import InputError, StudyError
from sgbn.read.table import write_table
from sgbn.runs import slurm
from sgbn.runs.dask import ClusterWarning
from sgbn.runs.slurm import KEYS, SlurmOptions, on_slurm
from sgbn.runs.study import Study
from sgbn.runs.tasks import parallel

TASKS = {f"task{k}": {"seed": k} for k in range(40)}
OF_ONE_RUN = ("report.html", "about.json")  # they say how long steps took, and what was typed
NOT_COMPARED = ("work", "slurm-logs")


def draw(seed):
    time.sleep(0.05)
    X = np.random.default_rng(seed).standard_normal((50, 50))
    return {"draw": X.T @ X}


def assert_same(results):
    assert list(results) == list(TASKS)
    for name, result in results.items():
        assert np.array_equal(result["draw"], draw(TASKS[name]["seed"])["draw"])


# A real SLURM


@pytest.fixture
def real(slurm_service, monkeypatch, tmp_path):
    """Service whose commands this process and all that it starts use."""
    if find_spec("dask_jobqueue") is None:  # importing it here would take Ctrl-C over
        pytest.skip("needs dask-jobqueue (the extra slurm)")
    monkeypatch.setenv("SLURM_CONF", str(slurm_service.config))
    monkeypatch.setattr(slurm, "QUEUE_SECONDS", 0.5)
    yield slurm_service
    assert slurm_service.all_gone()  # whatever happened, no job stays


@pytest.fixture
def jobs(tmp_path):
    """Text of options for two small jobs."""
    return f"jobs=2,memory=1GB,interface=lo,scratch={tmp_path / 'scratch'}"


def files_of(folder):
    """Path -> bytes of what a comparison wrote, but for what differs between any two runs."""
    paths = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    return {
        name: path.read_bytes()
        for name, path in paths.items()
        if name.parts[0] not in NOT_COMPARED and str(name) not in OF_ONE_RUN
    }


@pytest.fixture
def compare_words(tmp_path):
    """Words of a small comparison."""
    table, drawn = tmp_path / "table.csv", simulate_cohort(30, regions=6)
    write_table(Cohort(drawn.values, list("abcdef"), drawn.ids, group=drawn.group), table)
    few = ["--permutations", "39", "--half-samples", "3", "--refinements", "--no-accuracy"]
    return ["compare", str(table), "--group", "group", "--regions", "all", "--quick", *few]


@pytest.mark.usefixtures("no_figures")
def test_compare_with_a_job_killed_in_the_middle_gives_the_bits_of_one_process(
    real, jobs, compare_words, tmp_path, after_results, capsys
):
    here, there = tmp_path / "here", tmp_path / "there"
    assert main([*compare_words, "--out", str(here), "--workers", "1"]) == 0
    n_results = len(list(here.rglob("*.npz")))
    killed = []

    def kill():
        killed.append(real.running()[0])
        real.ask("scancel", killed[0])

    after_results(kill, n_results // 2)
    assert main([*compare_words, "--out", str(there), "--slurm", jobs]) == 0
    assert len(killed) == 1 < n_results // 2
    assert files_of(there) == files_of(here)
    assert len(files_of(here)) > 20
    assert len(list((there / "slurm-logs").glob("*.log"))) >= 2
    said = capsys.readouterr().err
    assert "SLURM: waiting for" in said


def test_all_jobs_are_replaced_when_all_are_killed(real, jobs, tmp_path, after_results):
    after_results(lambda: real.ask("scancel", *real.running()))
    with warned("slurm.ended", kind=ClusterWarning), on_slurm(jobs, tmp_path / "logs"):
        assert_same(Study(tmp_path / "study").run(draw, TASKS, {}))
    assert len(list((tmp_path / "logs").glob("*.log"))) >= 3


def test_an_interrupt_cancels_the_jobs(real, jobs, tmp_path, after_results):
    handler = signal.getsignal(signal.SIGINT)
    after_results(lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt), on_slurm(jobs, tmp_path / "logs"):
        Study(tmp_path / "study").run(draw, TASKS, {})
    assert signal.getsignal(signal.SIGINT) is handler  # dask-jobqueue would only exit
    assert real.all_gone()


def test_workers_have_one_thread_and_run_what_the_user_sets_up(real, jobs, tmp_path):
    more = "processes=2,partition=main,walltime=5:00,setup=export SET_UP=yes,extra=--comment=x"
    text = jobs.replace("jobs=2", "jobs=1").replace("1GB", "2GB") + "," + more
    with on_slurm(text, tmp_path / "logs with a blank") as client:
        client.wait_for_workers(2, timeout=120)
        assert set(client.nthreads().values()) == {1}
        assert set(client.run(lambda: sys.executable).values()) == {sys.executable}
        names = ("SET_UP", "OPENBLAS_NUM_THREADS", "SLURM_CPUS_PER_TASK")
        (found,) = set(client.run(lambda: tuple(map(os.environ.get, names))).values())
        assert found == ("yes", "1", "2")
        assert parallel(abs, range(-3, 0)) == [3, 2, 1]
    assert list((tmp_path / "logs with a blank").glob("*.log"))


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("partition=nowhere", "invalid partition specified: nowhere"),
        ("memory=900GB", "Memory specification can not be satisfied"),
        ("extra=--nonsense", "unrecognized option '--nonsense'"),
    ],
)
def test_what_slurm_refuses_is_said_in_its_own_words(real, tmp_path, wrong, reason):
    with pytest.raises(InputError, match=reason), on_slurm(f"{wrong},interface=lo", tmp_path):
        pass


@pytest.mark.filterwarnings("ignore:SLURM job")
def test_jobs_that_cannot_start_end_the_run(real, jobs, tmp_path):
    text = jobs + ",retries=1,setup=echo the disk is away; exit 3"
    with refused("slurm.gone", kind=StudyError), on_slurm(text, tmp_path / "logs"):
        parallel(abs, [1])
    assert len(list((tmp_path / "logs").glob("*.log"))) >= 3


WITHOUT_FIGURES = """
import sys
from importlib import import_module

from sgbn.cli.main import main

if __name__ == "__main__":  # drawing would be most of the work
    plan = import_module("sgbn.comparison.figures").Plan
    plan.files = lambda plan, kinds, dpi: dict.fromkeys(kinds, b"<svg></svg>")
    import_module("sgbn.write.figures").WORTH_WORKERS = float("inf")
    sys.exit(main())
"""


def test_processes_of_srun_give_the_bits_of_one_process(real, compare_words, tmp_path):
    (tmp_path / "program.py").write_text(WITHOUT_FIGURES)
    command = [sys.executable, "program.py", *compare_words]
    ways = {
        "here": [*command, "--out", "here", "--workers", "1"],
        "there": ["srun", "--ntasks=3", *command, "--out", "there", "--slurm", "runner"],
    }
    for name, words in ways.items():
        done = subprocess.run(
            words, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("One network per group") == 1, name  # one process prints
    assert files_of(tmp_path / "there") == files_of(tmp_path / "here")
    assert len(files_of(tmp_path / "here")) > 20
    assert not list(tmp_path.glob(".sgbn-*"))


@pytest.mark.long  # it draws all figures
def test_the_job_script_of_the_guide_works(real, compare_words, tmp_path, monkeypatch):
    guide = (Path(__file__).parents[2] / "docs" / "scale.md").read_text()
    script = re.search(r"^```bash\n(#!/bin/bash\n.*?)^```", guide, re.DOTALL | re.MULTILINE)[1]
    table = (tmp_path / "table.csv").read_text()
    (tmp_path / "table.csv").write_text(table.replace("group", "diagnosis", 1))
    smaller = "--quick --regions all --permutations 39 --refinements --no-accuracy --slurm"
    (tmp_path / "compare.sh").write_text(script.replace("--slurm", smaller))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sbatch", "--wait", "compare.sh"],
        cwd=tmp_path,
        env=os.environ | {"PATH": path},
        timeout=1200,
        check=False,
    )
    (log,) = tmp_path.glob("compare-*.log")
    assert done.returncode == 0, log.read_text()
    assert "Open results/report.html in a browser." in log.read_text()
    assert (tmp_path / "results" / "report.html").stat().st_size > 10_000
    assert log.read_text().count("Wrote") == 1


# Answers of a SLURM that is not there


@pytest.fixture
def fake(monkeypatch, tmp_path):
    """Commands that answer as they are told, and a scheduler with the workers that it is told."""
    state = SimpleNamespace(queue={}, words=[], workers={}, refuses="", silent=False, checked=0)

    def run(words, given=None):
        state.words.append(words)
        if words[0] == "sbatch":
            if state.refuses:
                raise StudyError(f"SLURM refuses: {state.refuses}")
            job = str(len(state.queue) + 1)
            state.queue[job] = "RUNNING|None"
            return f"{job};cluster\n"
        if state.silent:
            raise StudyError(f"{words[0]} of SLURM does not answer")
        live = {job: text for job, text in state.queue.items() if text}
        return "".join(f"{job}|{text}\n" for job, text in live.items())

    def check(client):
        state.checked += 1

    monkeypatch.setattr(slurm, "_run", run)
    monkeypatch.setattr(slurm, "_job_keywords", lambda options: {})
    monkeypatch.setattr(slurm, "check_workers", check)
    monkeypatch.setattr(slurm, "QUEUE_SECONDS", 0.0)
    state.cluster = SimpleNamespace(
        scheduler=SimpleNamespace(workers=state.workers, address="tcp://host:1"),
        job_cls=lambda address, name: SimpleNamespace(job_script=lambda: f"{address} {name}"),
    )

    def start(text):
        jobs = slurm._Jobs(None, state.cluster, SlurmOptions.of(text), tmp_path, progress=True)
        jobs.start()
        return jobs

    state.start = start
    return state


def end(fake, job):
    fake.queue[job] = ""
    fake.workers.pop(f"tcp://{job}", None)


def join(fake, jobs, job):
    """Let the worker of a job join."""
    (name,) = [name for name, own in jobs.live.items() if own == job]
    fake.workers[f"tcp://{job}"] = SimpleNamespace(name=name)


def run_and_end(fake, jobs, job):
    """Let the worker of a job join, and the job end then."""
    join(fake, jobs, job)
    jobs.look()
    end(fake, job)
    jobs.look()


@pytest.mark.filterwarnings("ignore:SLURM job")
def test_jobs_are_replaced_as_long_as_tasks_get_finished(fake):
    jobs = fake.start("jobs=2,retries=1")
    for k in range(1, 20):
        run_and_end(fake, jobs, str(k))
        assert len(jobs.live) == 2
        jobs.note_result()
    assert fake.checked == 1


@pytest.mark.filterwarnings("ignore:SLURM job")
def test_jobs_that_finish_no_task_are_replaced_up_to_the_limit(fake):
    jobs = fake.start("jobs=2,retries=2")
    job = map(str, range(1, 100))
    with refused("slurm.gone", kind=StudyError):
        while True:
            run_and_end(fake, jobs, next(job))
    assert len(fake.queue) == 2 + 2 * 2


@pytest.mark.filterwarnings("ignore:SLURM job")
def test_one_place_where_jobs_cannot_start_does_not_stop_the_others(fake):
    jobs = fake.start("jobs=2,retries=2")
    join(fake, jobs, "1")
    for _ in range(30):
        jobs.look()
        last = max(fake.queue, key=int)
        if last != "1":
            end(fake, last)
        jobs.note_result()
    assert list(jobs.live.values()) == ["1"]
    assert len(fake.queue) == 2 + 2 * 2  # and then no more are tried
    end(fake, "1")
    with refused("slurm.gone", kind=StudyError):
        jobs.look()


@pytest.mark.filterwarnings("ignore:SLURM job")
def test_a_job_that_is_refused_later_is_tried_again(fake):
    jobs = fake.start("jobs=2,retries=1")
    join(fake, jobs, "1")
    end(fake, "2")
    fake.refuses = "the queue is closed"
    with warned("slurm.without", kind=ClusterWarning):
        jobs.look()
    fake.refuses = ""
    jobs.look()
    assert len(jobs.live) == 2


def test_an_answer_without_the_number_of_a_job_is_quoted(fake, monkeypatch):
    monkeypatch.setattr(slurm, "_run", lambda words, given=None: "queued\n")
    with refused("slurm.rejected"):
        fake.start("jobs=2")


def test_a_queue_that_does_not_answer_is_said_once_and_changes_nothing(fake):
    jobs = fake.start("jobs=2")
    fake.silent = True
    with warned("slurm.silent", kind=ClusterWarning):
        jobs.look()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jobs.look()
    with warned("slurm.cancel", kind=ClusterWarning):
        jobs.cancel()
    assert len(jobs.live) == 2


def test_how_many_jobs_run_is_said_when_it_changes(fake, capsys):
    jobs = fake.start("jobs=2")
    fake.queue["1"] = fake.queue["2"] = "PENDING|Resources"
    jobs.look()
    jobs.look()
    fake.queue["1"] = "RUNNING|None"
    jobs.look()
    fake.queue["2"] = "RUNNING|None"
    jobs.look()
    join(fake, jobs, "1")
    join(fake, jobs, "2")
    jobs.look()
    assert capsys.readouterr().err.splitlines() == [
        "SLURM: waiting for jobs in the queue (0 of 2 running; SLURM says: Resources)",
        "SLURM: waiting for jobs in the queue (1 of 2 running; SLURM says: Resources)",
        "SLURM: waiting for the workers of the jobs to start (2 of 2 running)",
        "SLURM: 2 of 2 jobs running",
    ]
    asked = len(fake.words)
    jobs.look()
    assert len(fake.words) == asked  # all workers are there: the controller is left alone


def test_the_script_of_a_job_has_what_the_user_said(monkeypatch):
    pytest.importorskip("dask_jobqueue")
    slurm._load_jobqueue()
    from dask_jobqueue.slurm import SLURMJob

    text = "partition=long,account=brain,qos=low,constraint=avx2,walltime=1:00:00,memory=6GB,"
    text += "processes=3,interface=ib0,scratch=$TMPDIR,extra=--exclude=n1,n2,setup=module load x"
    keywords = slurm._job_keywords(SlurmOptions.of(text))
    script = SLURMJob("tcp://host:1", name="w", **keywords).job_script()
    for line in (
        *("-p long", "-A brain", "--qos=low", "--constraint=avx2", "-t 1:00:00", "--mem=6G"),
        *("--cpus-per-task=3", "--exclude=n1,n2"),
    ):
        assert f"#SBATCH {line}\n" in script
    command = script.splitlines()[-1]
    assert command.startswith(f"{sys.executable} -m distributed.cli.dask_worker tcp://host:1 ")
    for words in ("--nthreads 1", "--nworkers 3", "--interface ib0", "--local-directory $TMPDIR"):
        assert words in command
    assert script.index("export OMP_NUM_THREADS=1") < script.index("module load x")


def test_without_slurm_or_its_package_that_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(slurm.shutil, "which", lambda name: None)
    with refused("slurm.command"), on_slurm("jobs=1", tmp_path):
        pass
    monkeypatch.setattr(slurm.shutil, "which", lambda name: name)
    monkeypatch.setitem(sys.modules, "dask_jobqueue", None)
    with refused("package.absent"), on_slurm("", tmp_path):
        pass


@pytest.fixture
def starts(monkeypatch):
    """Function that takes what starts a scheduler, in place of dask-jobqueue."""
    monkeypatch.setattr(slurm.shutil, "which", lambda name: name)
    monkeypatch.setattr(slurm, "load_distributed", lambda: None)

    def arrange(start):
        package = SimpleNamespace(SLURMCluster=start)
        monkeypatch.setattr(slurm, "_load_jobqueue", lambda: package)

    return arrange


def test_a_scheduler_allows_for_jobs_that_die_with_all_their_workers_and_is_closed(starts):
    given, closed = {}, []

    def start(**keywords):
        given.update(keywords)
        return SimpleNamespace(close=lambda: closed.append(True))

    starts(start)
    with slurm._run_scheduler(SlurmOptions.of("processes=3,memory=6GB")):
        assert not closed
    assert closed
    assert (given["n_workers"], given["processes"]) == (0, 3)
    expected = {"allowed_failures": slurm.DEATHS + 3, "dashboard": False, "dashboard_address": ":0"}
    assert expected.items() <= given["scheduler_options"].items()


def test_a_scheduler_that_cannot_start_is_said(starts):
    def start(**_):
        raise ValueError("no interface ib7")

    starts(start)
    with refused("slurm.scheduler"), slurm._run_scheduler(SlurmOptions.of("memory=1GB")):
        pass


def test_a_command_that_fails_is_quoted():
    with refused("slurm.refuses", kind=StudyError) as caught:
        slurm._run(["sh", "-c", "echo one >&2; echo two >&2; exit 3"])
    assert "one two" in str(caught.value)
    with refused("slurm.no-answer", kind=StudyError):
        slurm._run(["no-such-command"])
    assert slurm._run(["cat"], "given") == "given"


def test_text_and_mapping_say_the_same():
    text = "partition=long,short, account = brain ,walltime=1-00:00:00,memory=8GB,jobs=3,"
    said = {"partition": "long,short", "account": "brain", "walltime": "1-00:00:00"}
    said |= {"memory": "8GB", "jobs": 3, "processes": 2}
    assert SlurmOptions.of(text + "processes=2") == SlurmOptions.of(said) == SlurmOptions(**said)


def test_what_may_be_said_more_than_once_is_kept_in_order():
    text = "extra=--exclude=n1,n2,setup=module load a,setup=module load b,extra=--exclusive"
    chosen = SlurmOptions.of(text)
    assert chosen.extra == ("--exclude=n1,n2", "--exclusive")
    assert chosen.setup == ("module load a", "module load b")
    assert SlurmOptions.of({"extra": "--exclusive"}).extra == ("--exclusive",)
    assert SlurmOptions.of("") == SlurmOptions()
    assert set(KEYS) < set(vars(SlurmOptions()))


def test_memory_is_that_of_all_processes_of_a_job():
    assert SlurmOptions.of("processes=3").job_memory == "12GB"
    assert SlurmOptions.of("processes=3,memory=500 MB").job_memory == "500 MB"


def test_a_runner_takes_only_what_srun_does_not_decide():
    assert SlurmOptions.of("runner") == SlurmOptions(runner=True)
    chosen = SlurmOptions.of("runner,interface=ib0,scratch=$TMPDIR")
    assert (chosen.runner, chosen.interface, chosen.scratch) == (True, "ib0", "$TMPDIR")
    assert SlurmOptions.of({"runner": True}) == SlurmOptions(runner=True)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("partiton=long", "slurm.key"),
        ("long", "slurm.no-value"),
        ("partition=", "slurm.line"),
        ("jobs=2,jobs=3", "slurm.twice"),
        ("memory=8", "slurm.memory"),
        ("scratch=/my folder", "slurm.scratch"),
        ("scratch=/tmp;reboot", "slurm.scratch"),
        ("runner,jobs=3", "slurm.key"),
        ("jobs=3,runner", "slurm.runner"),
        ("runner=yes", "slurm.runner"),
        ("jobs=0", "argument"),
        ("partition=a\nrm -r x", "slurm.line"),
    ],
)
def test_what_cannot_be_used_is_named(text, code):
    with refused(code):
        SlurmOptions.of(text)


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
    pytest.importorskip("distributed")

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
    as_rank(0, count=1)
    with refused("slurm.srun"):
        on_slurm("runner").__enter__()
    monkeypatch.delenv("SLURM_STEP_ID")  # as in a script of sbatch that calls no srun
    with refused("slurm.srun"):
        on_slurm("runner").__enter__()


def test_a_worker_is_the_same_python_with_one_task_and_one_thread(as_rank, monkeypatch, tmp_path):
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
    for option in ("--nthreads 1", "--interface ib0", "--local-directory /fast/me"):
        assert option in " ".join(words)
    assert environment["OPENBLAS_NUM_THREADS"] == "1"


def test_a_worker_that_comes_after_the_end_ends_too(as_rank, tmp_path, monkeypatch):
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
    monkeypatch.setattr(slurm, "ADDRESS_SECONDS", 0.2)
    as_rank(1)
    with refused("slurm.address", kind=StudyError):
        on_slurm("runner").__enter__()


def test_that_all_workers_are_gone_ends_the_run(as_rank, monkeypatch):
    for name in ("WORKER_SECONDS", "JOIN_SECONDS", "LOOK_SECONDS"):
        monkeypatch.setattr(slurm, name, 0.2)
    as_rank(0)
    with refused("slurm.alone", kind=StudyError), on_slurm("runner,interface=lo"):
        parallel(abs, [1])


def test_an_interface_that_is_not_there_is_named(as_rank):
    as_rank(0)
    with refused("slurm.scheduler"), slurm.slurm_step(SlurmOptions.of("runner,interface=nowhere0")):
        pass


def test_versions_of_workers_are_looked_at_once(monkeypatch):
    looks = []
    cluster = SimpleNamespace(scheduler=SimpleNamespace(workers={"tcp://a:1": None}))
    monkeypatch.setattr(slurm, "check_workers", looks.append)
    monkeypatch.setattr(slurm, "LOOK_SECONDS", 0.0)
    workers = slurm._Workers("client", cluster)
    for _ in range(3):
        time.sleep(0.001)
        workers.look()
        workers.note_result()
    assert looks == ["client"]
