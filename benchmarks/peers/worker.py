"""A process per method, which loads only that library, warms up, and learns from data it gets.

As a script (``worker.py METHOD FD``), this file is the process. The race imports `Worker`, which
starts the process and talks to it. The process does not import sgbn unless the method does, so that
its memory is that of the peer.
"""

import contextlib
import gc
import os
import re
import resource
import subprocess
import sys
import time
import warnings
from multiprocessing.connection import Connection, Pipe
from pathlib import Path

from adapters import METHODS

START_LIMIT = 300  # seconds for imports and the warm-up


class Worker:
    """A method in a separate process, which starts when needed and ends at a time limit."""

    def __init__(self, name, warm_up):
        self.name = name
        self.warm_up = warm_up
        self.process = None
        self.connection = None

    def run(self, X, limit):
        """Learn from X. Return the record of the run, with the graph if there is one."""
        if self.process is None:
            answer = self._start()
            if answer["status"] != "ok":
                self.stop()
                return answer | {"status": "no start"}
        return self._ask(X, limit)

    def stop(self):
        """End the process at once."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.connection.close()
            self.process = None

    def _start(self):
        self.connection, theirs = Pipe()
        command = [sys.executable, __file__, self.name, str(theirs.fileno())]
        # A fork would also contain the libraries of the race.
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        # If this end stayed open, the end of the process would not be noticed.
        theirs.close()
        return self._ask(self.warm_up, START_LIMIT)

    def _ask(self, X, limit):
        try:
            self.connection.send(X)
            # The limit is in wall seconds, so that a method that only waits is ended too.
            if self.connection.poll(limit):
                return self.connection.recv()
            answer = {"status": "over limit", "limit": limit, **_peak_of(self.process.pid)}
        except (EOFError, ConnectionError):
            answer = {"status": "crashed", "message": f"exit code {self.process.wait()}"}
        self.stop()
        return answer


def serve(name, connection):
    """Answer one data set after another. The first data set is for the warm-up."""
    warnings.simplefilter("ignore")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # some libraries print
    method = METHODS[name]
    X = connection.recv()
    try:
        learn = method.load()
        for _ in range(method.warm_ups):
            # A copy is needed, because some methods change their input.
            learn(X.copy())
    except Exception as error:
        connection.send({"status": "crashed", "message": _message(error)})
        return
    connection.send({"status": "ok"})
    with contextlib.suppress(EOFError):
        while True:
            connection.send(timed(learn, connection.recv()))


def timed(learn, X):
    """Run a method once. CPU seconds count all threads of the process, including the JVM's."""
    # Garbage of the last run must not count as time or memory of this run.
    gc.collect()
    _reset_peak()
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        graph = learn(X)
    except Exception as error:
        return {"status": "crashed", "message": _message(error)}
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {"status": "ok", "cpu": cpu, "wall": wall, **_peak_of(os.getpid()), "graph": graph}


def _message(error):
    """Return the first line of an error, without folders."""
    text = f"{type(error).__name__}: {error}".strip().splitlines()[0]
    return re.sub(r"/[\w.+-]+(/[\w.+-]+)+", "<path>", text)[:300]


def _reset_peak():
    """Reset the peak that the kernel counts, if it can (Linux)."""
    with contextlib.suppress(OSError):
        # 5 resets the peak of resident memory.
        Path("/proc/self/clear_refs").write_text("5")


def _peak_of(pid):
    """Return the peak resident memory in MB."""
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        peak = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        return {"peak_mb": round(int(peak[1]) / 1024)} if peak else {}
    if pid == os.getpid():
        # macOS counts in bytes, others in kilobytes.
        unit = 2**20 if sys.platform == "darwin" else 2**10
        return {"peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit)}
    return {}


if __name__ == "__main__":
    serve(sys.argv[1], Connection(int(sys.argv[2])))
