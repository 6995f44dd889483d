"""A Dask cluster that a test can lose."""

import json
import subprocess
import sys
import time

import pytest


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
