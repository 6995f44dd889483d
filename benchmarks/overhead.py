"""Measure the cost of parallel work: the speed-up by two workers, and the overhead per task.

python benchmarks/overhead.py     # writes benchmarks/results/overhead.json and .md

It needs two free processors, and the extra `scale` for a Dask cluster of two worker processes. The
scheduler of the cluster uses the same two processors.
"""

import time
from contextlib import nullcontext
from functools import partial
from statistics import median

import numpy as np
from distributed import Client
from output import main, number

from sgbn.cohort.simulate import simulate_sem
from sgbn.core.graph import random_dag
from sgbn.inference.differences import edge_differences
from sgbn.runs.dask import on_dask
from sgbn.runs.tasks import parallel

SEED = 8
M, N, PERMUTATIONS = 68, 370, 1000
SMALL, REPEATS = 1000, 3
# The speed-up of two workers is at most 2.
GOALS = {"speed-up": 1.6, "milliseconds": 1.0}


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


def seconds_of_ways(ways, permutations):
    """Return the seconds of both kinds of work for each way, `REPEATS` times in turns."""
    X, groups = make_data()
    seconds_of = {name: {"permutations": [], "small": []} for name in ways}
    # This starts the workers, and compiles in them.
    for context, n_jobs in ways.values():
        with context():
            edge_differences(X, groups, n_permutations=40, n_jobs=n_jobs)
    # The ways take turns, so that the state of the machine is the same for all.
    for _ in range(REPEATS):
        for name, (context, n_jobs) in ways.items():
            differences = partial(
                edge_differences, X, groups, n_permutations=permutations, n_jobs=n_jobs
            )
            small = partial(parallel, nothing, range(SMALL), n_jobs)
            with context():
                seconds_of[name]["permutations"].append(seconds(differences))
                seconds_of[name]["small"].append(seconds(small))
    return seconds_of


def summarise(seconds_of):
    # The comparison is with one process in this run, not in an earlier one.
    alone = median(seconds_of["1 process"]["permutations"])
    return [
        {
            "workers": name,
            "permutations": median(times["permutations"]),
            "speed-up": alone / median(times["permutations"]),
            "milliseconds": 1000 * median(times["small"]) / SMALL,
            "all": times,
        }
        for name, times in seconds_of.items()
    ]


def measure(given):
    # Each worker has one thread: two threads of a process would share the interpreter.
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        ways = {
            "1 process": (nullcontext, 1),
            "2 processes": (nullcontext, 2),
            "2 Dask workers": (lambda: on_dask(client), None),
        }
        runs = summarise(seconds_of_ways(ways, given.permutations))
    return {"permutations": given.permutations, "goals": GOALS, "runs": runs}


def slots(results):
    return {"permutations": results["permutations"], "workers": results["runs"]}


if __name__ == "__main__":
    main(measure, slots, permutations=number(PERMUTATIONS))
