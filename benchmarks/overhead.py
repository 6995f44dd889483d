"""What the parallel layer costs: two workers against one, and the overhead of a small task.

python benchmarks/overhead.py     # writes benchmarks/results/overhead.json and .md

Needs two free processors, and the extra `scale` for a Dask cluster of two worker processes, whose
scheduler shares the two processors with them.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import time
from contextlib import nullcontext
from functools import partial
from statistics import median

import numpy as np
from distributed import Client
from output import RESULTS, write

from sgbn import random_dag, simulate_sem
from sgbn.experiments.markdown import table
from sgbn.inference import edge_differences
from sgbn.runs import on_dask, parallel

SEED = 8
M, N, PERMUTATIONS = 68, 370, 1000
SMALL, REPEATS = 1000, 3
GOALS = {"speed-up": 1.6, "milliseconds": 1.0}
INTRODUCTION = f"""# Overhead of the parallel layer

{{}} permutations of the tests of differences, {M} regions and {N} subjects, and {SMALL}
tasks that do nothing; wall seconds, median of {REPEATS} in one run, in turns. Workers are started
before the clock is."""


def make_data():
    rng = np.random.default_rng(SEED)
    X, _ = simulate_sem(random_dag(M, 3.0, rng), N, noise="unequal", random_state=rng)
    return X, np.repeat([0, 1], [N // 2, N - N // 2])


def seconds(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def nothing(task):
    return task


def measure(ways, permutations):
    """Seconds of both kinds of work by each way, `REPEATS` times in turns."""
    X, groups = make_data()
    found = {name: {"permutations": [], "small": []} for name in ways}
    for context, n_jobs in ways.values():  # starts the workers, and compiles in them
        with context():
            edge_differences(X, groups, n_permutations=40, n_jobs=n_jobs)
    for _ in range(REPEATS):
        for name, (context, n_jobs) in ways.items():
            differences = partial(
                edge_differences, X, groups, n_permutations=permutations, n_jobs=n_jobs
            )
            small = partial(parallel, nothing, range(SMALL), n_jobs)
            with context():
                found[name]["permutations"].append(seconds(differences))
                found[name]["small"].append(seconds(small))
    return found


def summarise(found):
    one = median(found["1 process"]["permutations"])
    return [
        {
            "workers": name,
            "permutations": median(own["permutations"]),
            "speed-up": one / median(own["permutations"]),
            "milliseconds": 1000 * median(own["small"]) / SMALL,
            "all": own,
        }
        for name, own in found.items()
    ]


def lines_of(runs, permutations):
    heads = ("workers", "seconds", "speed-up", "ms a small task")
    rows = [
        (
            run["workers"],
            f"{run['permutations']:.1f}",
            f"{run['speed-up']:.2f}",
            f"{run['milliseconds']:.3f}",
        )
        for run in runs
    ]
    goals = f"Goals: {GOALS['speed-up']} times, below {GOALS['milliseconds']:g} ms."
    return [INTRODUCTION.format(permutations), "", *table(heads, rows), "", goals]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--permutations", type=int, default=PERMUTATIONS)
    arguments = parser.parse_args()
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        ways = {
            "1 process": (nullcontext, 1),
            "2 processes": (nullcontext, 2),
            "2 Dask workers": (lambda: on_dask(client), None),
        }
        runs = summarise(measure(ways, arguments.permutations))
    results = {"seed": SEED, "permutations": arguments.permutations, "goals": GOALS, "runs": runs}
    write(RESULTS, "overhead", results, lines_of(runs, arguments.permutations))


if __name__ == "__main__":
    main()
