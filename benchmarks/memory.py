"""Measure the peak memory of `sgbn compare` with 2,000 subjects x 400 regions.

    python benchmarks/memory.py     # writes benchmarks/results/memory.json and .md

The table is drawn from two networks on one random DAG. The command runs as at a terminal, and the
memory of each of its processes is read from /proc (Linux) five times per second.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from output import main, stored_runs

from sgbn.cohort.simulate import simulate_sem
from sgbn.core.graph import random_dag

SEED = 8
SUBJECTS, REGIONS, DEGREE = 2000, 400, 3.0
GOAL_MB = 2000
WAYS = ("--quick --workers 1", "--quick --workers 2", "--quick --repeats 0 --workers 1")


def write_table_to(path):
    rng = np.random.default_rng(SEED)
    graph = random_dag(REGIONS, DEGREE, rng)
    half = SUBJECTS // 2
    parts = [simulate_sem(graph, half, noise="unequal", random_state=rng)[0] for _ in range(2)]
    frame = pd.DataFrame(np.vstack(parts), columns=[f"region{k:03d}" for k in range(REGIONS)])
    frame.insert(0, "group", np.repeat(["control", "patient"], half))
    frame.insert(0, "subject", [f"s{k:04d}" for k in range(SUBJECTS)])
    frame.to_csv(path, index=False, float_format="%.6g")


def descendants(root):
    """Return the ids of a process and all processes below it."""
    children = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # The name of a program is in brackets and may itself have blanks and brackets:
                # the fields after it follow the last bracket.
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue  # the process has ended
            children.setdefault(parent, []).append(int(entry.name))
    processes = [root]
    for process in processes:  # the list grows during the loop
        processes += children.get(process, [])
    return processes


def memory_of(process):
    """Return the current and the highest resident memory of a process, in MB."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0.0, 0.0
    sizes = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith("Vm")}
    # The system keeps VmHWM, the peak of a process: no peak between two readings is lost.
    return tuple(int(sizes.get(name, 0)) * 1024 / 1e6 for name in ("VmRSS", "VmHWM"))


def watched(options, path, folder, minutes):
    """Run the command with these options. Return its peaks and how it ended."""
    command = [sys.executable, "-m", "sgbn", "compare", str(path), "--group", "group"]
    command += ["--regions", "all", "--out", str(folder), *options.split()]
    peaks, at_once, begin, stopped = {}, 0.0, time.monotonic(), False
    with open(folder.with_suffix(".log"), "w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        while process.poll() is None:
            now = {pid: memory_of(pid) for pid in descendants(process.pid)}
            # The sum is taken at one moment: processes may have their peaks at different times.
            at_once = max(at_once, sum(rss for rss, _ in now.values()))
            peaks |= {pid: max(high, peaks.get(pid, 0.0)) for pid, (_, high) in now.items()}
            if time.monotonic() - begin > 60 * minutes and not stopped:
                stopped = True
                process.terminate()
            time.sleep(0.2)
    printed = folder.with_suffix(".log").read_text()
    if process.returncode and not stopped:
        raise SystemExit(printed)
    steps = [
        line.split("]")[0].lstrip("[") for line in printed.splitlines() if line.startswith("[")
    ]
    # All processes except the command itself are its workers.
    of_command = peaks.pop(process.pid)
    return {
        "options": options,
        "minutes": round((time.monotonic() - begin) / 60, 1),
        "command_mb": round(of_command),
        "worker_mb": round(max(peaks.values(), default=0.0)),
        "at_once_mb": round(at_once),
        "ended": not stopped,
        "last_step": steps[-1] if steps else "none",
    }


def slots(results):
    def row(run):
        ended = "yes" if run["ended"] else f"stopped in step {run['last_step']}"
        return run | {"ended": ended, "worker_mb": run["worker_mb"] or None}

    return {"figures": list(map(row, results["runs"]))}


def measure(given):
    chosen = range(len(WAYS)) if given.only is None else given.only
    kept = stored_runs(given.out, "memory") if given.only else []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        write_table_to(path)
        new = [
            watched(WAYS[number], path, Path(folder) / f"out{number}", given.minutes)
            for number in chosen
        ]
    # New runs come last, so that they replace stored runs with the same options.
    by_options = {run["options"]: run for run in (*kept, *new)}
    runs = [by_options[way] for way in WAYS if way in by_options]
    return {"subjects": SUBJECTS, "regions": REGIONS, "runs": runs}


if __name__ == "__main__":
    main(
        measure,
        slots,
        minutes={"type": float, "default": 30, "help": "stop a run after so many minutes"},
        only={"nargs": "+", "type": int, "help": "runs to repeat, counted from 0; keep the rest"},
    )
