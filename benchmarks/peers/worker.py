"""One process per method: it loads that library alone, warms up, and learns what it is sent.

Run as a script (``worker.py METHOD FD``) this file is the process; imported, it gives `Worker`, the
race's end of it. The process does not import sgbn unless the method does: its memory is the peer's.
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
    """A method in a process of its own, which is started when needed and ended at a time limit."""

    def __init__(self, name, warm_up):
        self.name = name
        self.warm_up = warm_up
        self.process = None
        self.connection = None

    def run(self, X, limit):
        """Learn from X; return the record of the run, the graph in it if there is one."""
        if self.process is None:
            answer = self._start()
            if answer["status"] != "ok":
                self.stop()
                return answer | {"status": "no start"}
        return self._ask(X, limit)

    def stop(self):
        """End the process, whatever it is doing."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.connection.close()
            self.process = None

    def _start(self):
        self.connection, theirs = Pipe()
        command = [sys.executable, __file__, self.name, str(theirs.fileno())]
        # Not a fork: that would hold the libraries of the race as well.
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        # Or the end of the process would not be seen on this side.
        theirs.close()
        return self._ask(self.warm_up, START_LIMIT)

    def _ask(self, X, limit):
        try:
            self.connection.send(X)
            # Wall seconds: a method that waits must be ended too.
            if self.connection.poll(limit):
                return self.connection.recv()
            answer = {"status": "over limit", "limit": limit, **_peak_of(self.process.pid)}
        except (EOFError, ConnectionError):
            answer = {"status": "crashed", "message": f"exit code {self.process.wait()}"}
        self.stop()
        return answer


def serve(name, connection):
    """Answer one data set after another; the first is that of the warm-up."""
    warnings.simplefilter("ignore")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # some libraries print
    method = METHODS[name]
    X = connection.recv()
    try:
        learn = method.load()
        for _ in range(method.warm_ups):
            # Some change what they are given.
            learn(X.copy())
    except Exception as error:
        connection.send({"status": "crashed", "message": _message(error)})
        return
    connection.send({"status": "ok"})
    with contextlib.suppress(EOFError):
        while True:
            connection.send(timed(learn, connection.recv()))


def timed(learn, X):
    """Run once; CPU seconds are those of all threads of the process, the JVM's included."""
    # What the last run left is not this run's time or memory.
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
    """Let the kernel count the peak anew, where it can (Linux)."""
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
