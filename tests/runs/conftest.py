"""A Dask cluster that a test can lose, and a SLURM of one machine."""

import getpass
import json
import os
import shutil
import socket
import subprocess
import sys
import time

import pytest

from sgbn.runs import study


class Cluster:
    """Scheduler and workers, each a process of its own that can be killed.

    Attributes
    ----------
    address : str
    """

    def __init__(self, folder):
        self._file, self._log = folder / "scheduler.json", folder / "log"
        self._processes = {"scheduler": [], "worker": []}
        self._start("scheduler", "--port", "0", "--no-show")
        _wait_until(lambda: self._file.exists() and self._file.read_text().endswith("}"))
        self.address = json.loads(self._file.read_text())["address"]

    def start_worker(self):
        """Start one that does not come again once it is killed."""
        self._start(
            "worker", "--no-nanny", "--nthreads", "1", "--local-directory", self._log.parent
        )

    def kill(self, kind):
        """Kill the scheduler or all workers, and wait until they have gone."""
        for process in self._processes[kind]:
            process.kill()
            process.wait()
        self._processes[kind].clear()

    def signal(self, kind, number):
        """Send a signal to the scheduler or all workers."""
        for process in self._processes[kind]:
            process.send_signal(number)

    def _start(self, kind, *options):
        words = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--host", "127.0.0.1"]
        words += ["--no-dashboard", "--scheduler-file", self._file, *options]
        with self._log.open("a") as log:
            self._processes[kind].append(subprocess.Popen(words, stdout=log, stderr=log))


def _wait_until(reached):
    deadline = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def frail_cluster(tmp_path_factory):
    """Scheduler with one worker, each of which can be killed for good."""
    distributed = pytest.importorskip("distributed")
    cluster = Cluster(tmp_path_factory.mktemp("frail"))
    try:
        cluster.start_worker()
        with distributed.Client(cluster.address, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=60)
        yield cluster
    finally:
        cluster.kill("worker")
        cluster.kill("scheduler")


@pytest.fixture
def after_results(monkeypatch):
    """Function that takes what is called when a number of results is written, and that number."""

    def arrange(happen, number=5):
        count = iter(range(10**6))

        def write(path, result):
            write_result(path, result)
            if next(count) == number - 1:
                happen()

        monkeypatch.setattr(study, "write_result", write)

    write_result = study.write_result
    return arrange


SLURM_CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
SchedulerParameters=sched_interval=1,sched_min_interval=1,batch_sched_delay=0
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 RealMemory=20000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
DAEMONS = ("munged", "slurmctld", "slurmd")
COMMANDS = ("sbatch", "squeue", "scancel", "sinfo", "srun")


class Slurm:
    """SLURM of this machine alone, whose node is said to have eight processors.

    Attributes
    ----------
    config : path
        What SLURM_CONF must name for commands.
    """

    def __init__(self, folder, programs):
        self.config, self._folder, self._programs = folder / "slurm.conf", folder, programs
        self._processes = []

    def start(self):
        """Start the daemons, and say whether they work."""
        folder, programs = self._folder, self._programs
        key = folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        for name in ("state", "spool"):
            (folder / name).mkdir()
        ports = [free_port() for _ in range(2)]
        host, user = socket.gethostname().partition(".")[0], getpass.getuser()
        self.config.write_text(SLURM_CONF.format(host=host, user=user, ports=ports, folder=folder))
        files = ("key-file", "pid-file", "log-file", "seed-file", "socket")
        munge = [f"--{name}={folder}/munge.{name.partition('-')[0]}" for name in files]
        self._start(programs["munged"], "--foreground", "--force", *munge)
        if not self._reached((folder / "munge.socket").exists):
            return False
        for name in ("slurmctld", "slurmd"):
            self._start(programs[name], "-D", "-f", self.config)
        return self._reached(lambda: "idle" in self.ask("sinfo", "--noheader", "--format=%T"))

    def last_words(self):
        """Return the end of what the daemons said."""
        return " / ".join((self._folder / "log").read_text().splitlines()[-3:])

    def ask(self, *words):
        """Return what a command prints."""
        done = subprocess.run(
            words,
            env=os.environ | {"SLURM_CONF": str(self.config)},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout

    def running(self):
        """Ids of jobs that run."""
        return self.ask("squeue", "--noheader", "--states=RUNNING", "--format=%i").split()

    def all_gone(self):
        """Whether no job runs, waits or is about to end, after some patience with the last."""
        _wait_until(lambda: "COMPLETING" not in self.ask("squeue", "--noheader", "--format=%T"))
        return not self.ask("squeue", "--noheader")

    def stop(self):
        try:
            self.ask("scancel", f"--user={getpass.getuser()}")
        finally:  # no daemon outlives the tests, whatever becomes of the command
            for process in reversed(self._processes):
                process.terminate()
                process.wait(30)

    def _reached(self, state):
        """Whether a state comes while all daemons live."""
        deadline = time.monotonic() + 60
        while not state():
            if time.monotonic() > deadline or any(
                one.poll() is not None for one in self._processes
            ):
                return False
            time.sleep(0.1)
        return True

    def _start(self, *words):
        with (self._folder / "log").open("a") as log:
            self._processes.append(subprocess.Popen(words, stdout=log, stderr=log))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def slurm_service(tmp_path_factory):
    """SLURM of this machine, where Debian's slurm-wlm and munge are installed."""
    path = os.environ["PATH"] + ":/usr/sbin"
    programs = {name: shutil.which(name, path=path) for name in DAEMONS}
    missing = [name for name in DAEMONS if programs[name] is None]
    missing += [name for name in COMMANDS if shutil.which(name) is None]
    if missing:
        pytest.skip(f"needs SLURM (slurm-wlm and munge of Debian): no {', '.join(missing)} here")
    service = Slurm(tmp_path_factory.mktemp("slurm"), programs)
    try:
        if not service.start():
            pytest.skip(f"SLURM does not start here: {service.last_words()}")
        yield service
    finally:
        service.stop()


@pytest.hookimpl(tryfirst=True)  # before "-m" chooses
def pytest_collection_modifyitems(items):
    """Tests on a real SLURM are long: it waits for itself, whatever the machine can do."""
    for item in items:
        if "slurm_service" in getattr(item, "fixturenames", ()):
            item.add_marker("long")
