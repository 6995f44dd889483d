"""Peak memory of `sgbn compare` at 2,000 subjects x 400 regions.

    python benchmarks/memory.py     # writes benchmarks/results/memory.json and .md

The table is drawn from two networks on one random DAG. The command runs as it would at a terminal;
the memory of each of its processes is read from /proc (Linux) five times a second.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from output import RESULTS, write

from sgbn import random_dag, simulate_sem
from sgbn.experiments.markdown import table

SEED = 8
SUBJECTS, REGIONS, DEGREE = 2000, 400, 3.0
GOAL_MB = 2000
WAYS = ("--quick --workers 1", "--quick --workers 2", "--quick --repeats 0 --workers 1")
INTRODUCTION = f"""# Peak memory of a comparison

`sgbn compare` on a table of {SUBJECTS:,} subjects x {REGIONS} regions, two groups. MB of 10^6
bytes: the highest resident memory of the command itself and of its largest worker, and the highest
sum over all processes at one moment (pages that processes share count in each). A run is stopped
after some minutes; one that was says so, and its peak is that of what it did until then."""


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
    """Process ids of a process and all below it."""
    children = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found = [root]
    for process in found:
        found += children.get(process, [])
    return found


def memory_of(process):
    """Resident memory of a process now and at its highest, in MB."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0.0, 0.0
    sizes = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith("Vm")}
    return tuple(int(sizes.get(name, 0)) * 1024 / 1e6 for name in ("VmRSS", "VmHWM"))


def measure(options, path, folder, minutes):
    command = [sys.executable, "-m", "sgbn", "compare", str(path), "--group", "group"]
    command += ["--regions", "all", "--out", str(folder), *options.split()]
    peaks, at_once, begin, stopped = {}, 0.0, time.monotonic(), False
    with open(folder.with_suffix(".log"), "w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        while process.poll() is None:
            now = {one: memory_of(one) for one in descendants(process.pid)}
            at_once = max(at_once, sum(rss for rss, _ in now.values()))
            peaks |= {one: max(high, peaks.get(one, 0.0)) for one, (_, high) in now.items()}
            if time.monotonic() - begin > 60 * minutes and not stopped:
                stopped = True
                process.terminate()
            time.sleep(0.2)
    said = folder.with_suffix(".log").read_text()
    if process.returncode and not stopped:
        raise SystemExit(said)
    steps = [line.split("]")[0].lstrip("[") for line in said.splitlines() if line.startswith("[")]
    own = peaks.pop(process.pid)
    return {
        "options": options,
        "minutes": round((time.monotonic() - begin) / 60, 1),
        "command_mb": round(own),
        "worker_mb": round(max(peaks.values(), default=0.0)),
        "at_once_mb": round(at_once),
        "ended": not stopped,
        "last_step": steps[-1] if steps else "none",
    }


def lines_of(runs):
    heads = ("options", "command", "largest worker", "all at once", "minutes", "ended")
    rows = [
        (
            f"`{run['options']}`",
            run["command_mb"],
            run["worker_mb"] or "-",
            run["at_once_mb"],
            f"{run['minutes']:g}",
            "yes" if run["ended"] else f"stopped in step {run['last_step']}",
        )
        for run in runs
    ]
    goal = f"Goal: below {GOAL_MB:,} MB."
    return [INTRODUCTION, "", *table(heads, rows), "", goal]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30, help="longest run")
    parser.add_argument(
        "--only", nargs="+", type=int, help="these runs, counted from 0; keep others"
    )
    arguments = parser.parse_args()
    chosen = range(len(WAYS)) if arguments.only is None else arguments.only
    kept = json.loads((RESULTS / "memory.json").read_text())["runs"] if arguments.only else []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        write_table_to(path)
        new = [
            measure(WAYS[number], path, Path(folder) / f"out{number}", arguments.minutes)
            for number in chosen
        ]
    runs = {run["options"]: run for run in (*kept, *new)}
    results = {"seed": SEED, "subjects": SUBJECTS, "regions": REGIONS}
    results["runs"] = [runs[way] for way in WAYS if way in runs]
    write(RESULTS, "memory", results, lines_of(results["runs"]))


if __name__ == "__main__":
    main()
