"""Fit a cost model of fits, permutations and half samples, and plan 40,000 x 1,000 with it.

    python benchmarks/scale.py     # writes benchmarks/results/scale.json and .md

Sizes that were measured are kept in ``--points`` (scale-points.jsonl), and are not measured again.

Times are CPU seconds on one thread, and medians of three if one takes less than a second. A quarter
of the sizes is not used to fit the model. The schedule of the plan is run a thousand times and a
hundred times faster, on a Dask cluster of threads (the extra `scale`), with the code of a real run.
"""

import argparse
import json
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
from output import cpu_times, main, peak_memory, timed, timed_process
from scipy.optimize import least_squares

from sgbn.cohort.rows import residual_rows, rows_of_groups
from sgbn.cohort.simulate import simulate_sem
from sgbn.core.graph import random_dag
from sgbn.inference.confidence import learn_pair
from sgbn.inference.differences import problem_of
from sgbn.inference.permutations import PERMUTATIONS_PER_TASK as A_TASK
from sgbn.inference.permutations import permute
from sgbn.learn.sgbn import SGBN
from sgbn.runs import dask
from sgbn.runs.dask import on_dask, packed
from sgbn.runs.files import write_result
from sgbn.runs.tasks import parallel

SEED, REPEATS = 8, 3
SHORT = 1.0  # CPU seconds: work that takes longer is measured once
SIZES = [(m, n, d) for m in (50, 100, 200, 400) for n in (200, 1000, 4000, 16_000) for d in (2, 4)]
# The most expensive size of the grid is left out. The two sizes below have more variables.
SIZES = [size for size in SIZES if size[:2] != (400, 16_000)]
SIZES += [(1000, 2000, 2), (1000, 8000, 2)]
PRODUCTS = {"fit": 1.0, "permutation": 2.0, "half sample": 0.5}  # products X'X in each kind of work
LARGE = {"n": 40_000, "m": 1000, "degree": 3, "permutations": 100_000, "workers": 64}
FASTER = (1000, 100)  # speed of the schedule, as a multiple of the real speed
MEGA, GIGA = 1e6, 1e9


def simulate(m, n, degree, sim=0):
    rng = np.random.default_rng([SEED, m, n, degree, sim])
    X, _ = simulate_sem(random_dag(m, float(degree), rng), n, noise="unequal", random_state=rng)
    return X


def cpu(work):
    """Return the median CPU seconds of some work, and its result."""
    result, first = timed(work)
    return median([first, *(cpu_times(work, REPEATS - 1) if first < SHORT else ())]), result


def make_problem(X):
    rows = rows_of_groups(X, np.arange(len(X)) % 2)
    return problem_of(rows, SGBN(n_kicks=0), True, "two-sided")


def measure_size(m, n, degree):
    """Return the CPU seconds of each kind of work at one size, and bytes of a permutation task."""
    X = simulate(m, n, degree)
    learner = SGBN(n_kicks=0)
    gram, _ = cpu(lambda: X.T @ X)
    fit, learned = cpu(lambda: SGBN(n_kicks=0).fit(X))
    # Two halves here, and two permutations below, are measured and divided by two.
    pair, _ = cpu(lambda: learn_pair(residual_rows(X), learner, 0, 0))
    problem = make_problem(X)
    permutation, part = cpu(lambda: permute(problem, (0, 0), 2, (0, 1)))
    return {
        **{"m": m, "n": n, "degree": degree, "edges": int(learned.network_.n_edges)},
        **{"X'X": gram, "fit": fit, "half sample": pair / 2, "permutation": permutation / 2},
        "tested edges": len(part["tests"]) / 2,
        "shared bytes": len(packed(problem)),
    }


def measure_all(kept):
    """Measure all sizes that a file does not have yet, and add each as a line of JSON."""
    runs = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    measure_size(30, 200, 2)  # compiles
    done = {(run["m"], run["n"], run["degree"]) for run in runs}
    for size in SIZES:
        if size not in done:
            runs.append(measure_size(*size))
            with kept.open("a") as stream:
                stream.write(json.dumps(runs[-1]) + "\n")
    return runs


def predicted(coefficients, n, m, edges):
    """Return seconds: a multiple of n m^2, plus a product of powers of n, m and edges / m."""
    # The first two coefficients are logarithms, so that both factors are positive.
    table, rest, by_n, by_m, by_degree = coefficients
    degree = np.asarray(edges) / m
    return np.exp(table) * n * m**2.0 + np.exp(rest) * n**by_n * m**by_m * degree**by_degree


def fit_model(runs, work):
    """Return coefficients by least squares of logarithms. X'X is a lower limit of each work."""
    n, m, edges, seconds = (
        np.array([run[k] for run in runs], float) for k in ("n", "m", "edges", work)
    )
    if work == "X'X":
        # exp(-99) is practically 0: X'X has no second term.
        return [float(np.log(seconds / (n * m**2)).mean()), -99.0, 0.0, 0.0, 0.0]
    product = fit_model(runs, "X'X")[0]
    least = product + np.log(PRODUCTS[work])
    solution = least_squares(
        lambda c: np.log(predicted(c, n, m, edges) / seconds),
        [least + 1.0, -14.0, 0.3, 1.5, 1.5],
        bounds=([least, -40.0, 0.0, 0.0, 0.0], [-10.0, 0.0, 2.0, 4.0, 4.0]),
        # This loss limits the influence of a size that other programs disturbed.
        loss="soft_l1",
        f_scale=0.2,
    )
    return [round(float(c), 4) for c in solution.x]


def make_model(runs):
    """Map each work to its coefficients, and relative errors at fitted and held-out sizes."""
    # Every fourth size is held out, so that these sizes cover the whole range.
    seen = [run for k, run in enumerate(runs) if k % 4 != 2]
    unseen = [run for k, run in enumerate(runs) if k % 4 == 2]
    model = {}
    for work in ("X'X", *PRODUCTS):
        coefficients = fit_model(seen, work)
        errors = {
            name: [
                float(predicted(coefficients, run["n"], run["m"], run["edges"]) / run[work] - 1)
                for run in part
            ]
            for name, part in (("seen", seen), ("unseen", unseen))
        }
        model[work] = {"coefficients": coefficients, **errors}
    return model


def forty_thousand(sims=10):
    """Compare a fit of 40,000 x 200 with the goal: X'X plus 1.5 times the fit of 1,000 rows."""
    runs = []
    for sim in range(sims):
        X = simulate(200, 40_000, 4, sim)
        small = X[:1000]
        SGBN().fit(X)  # warm
        gram, _ = cpu(partial(np.matmul, X.T, X))
        few, of_few = cpu(partial(SGBN().fit, small))
        all_rows, of_all = cpu(partial(SGBN().fit, X))
        edges = [learner.network_.n_edges for learner in (of_few, of_all)]
        runs.append(
            {
                **{"X'X": gram, "fit of 1,000": few, "fit of 40,000": all_rows},
                **{"edges of 1,000": edges[0], "edges of 40,000": edges[1]},
                "share of the goal": all_rows / (gram + 1.5 * few),
            }
        )
    return runs


def large_run(path):
    """Run the order search and two permutations at the size of the plan, in this process."""
    X = np.load(path)
    problem, search = timed(make_problem, X)
    del X  # a worker does not have the table either
    part, seconds = timed(permute, problem, (0, 0), 2, (0, 1))
    arguments = {"seed": (0, 1), "count": A_TASK, "members": (0, 1)}
    per_task = {
        # Two permutations are repeated until they are as large as the result of a whole task.
        name: np.resize(array, (len(array) * A_TASK // 2, *array.shape[1:]))
        for name, array in part.items()
    }
    file = Path(path).with_name("task.npz")
    write_result(file, per_task)
    return {
        **{"search": search, "permutation": seconds / 2, "peak bytes": peak_memory()},
        **{"tested edges": len(part["tests"]) / 2, "edges": int(problem.shared.pooled.sum())},
        **{"shared bytes": len(packed(problem)), "argument bytes": len(packed(arguments))},
        **{"result bytes": len(packed(per_task)), "file bytes": file.stat().st_size},
        "dask": large_on_dask(problem),
    }


def large_on_dask(problem):
    """Run two permutations on a Dask worker process. Return seconds and peak memory."""
    from distributed import Client

    # Without this, Dask would pause the worker at its limit and hide the peak.
    settings = {"n_workers": 1, "threads_per_worker": 1, "memory_limit": 0}
    with Client(**settings, dashboard_address=None) as client, on_dask(client):
        begin = time.perf_counter()
        parallel(partial(_one_permutation, problem), range(2))
        seconds = time.perf_counter() - begin
        worker = next(iter(client.run(peak_memory).values()))
    return {"wall": seconds, "worker peak bytes": worker, "client peak bytes": peak_memory()}


def _one_permutation(problem, k):
    return timed(permute, problem, (0, k), 1, (0, 1))[1]


def schedule(task_seconds, n_tasks, workers, batch_seconds):
    """Return the seconds that sleeping tasks take on a Dask cluster of threads."""
    from distributed import Client

    usual = dask.BATCH_SECONDS
    # Batches are as much shorter as the tasks, so that they have as many tasks as in a real run.
    dask.BATCH_SECONDS = batch_seconds
    try:
        with (
            Client(
                n_workers=workers // 16,
                threads_per_worker=16,
                # Threads are enough, because tasks that sleep need no processor.
                processes=False,
                dashboard_address=None,
            ) as client,
            on_dask(client),
        ):
            begin = time.perf_counter()
            parallel(time.sleep, [task_seconds] * n_tasks)
            return time.perf_counter() - begin
    finally:
        dask.BATCH_SECONDS = usual


def plan(model, large):
    """Return cores, hours and bytes of the plan, from the model and the measured task."""
    n, m, edges = LARGE["n"], LARGE["m"], large["edges_fit"]
    second = float(predicted(model["permutation"]["coefficients"], n, m, edges))
    tasks = -(-LARGE["permutations"] // A_TASK)
    # The last round takes as long as a full round.
    rounds = -(-tasks // LARGE["workers"])
    return {
        "predicted permutation": second,
        "predicted fit": float(predicted(model["fit"]["coefficients"], n, m, edges)),
        "task": A_TASK * second,
        "tasks": tasks,
        "core hours": LARGE["permutations"] * second / 3600,
        "hours": rounds * A_TASK * second / 3600,
        "network bytes": LARGE["workers"] * large["shared bytes"]
        + tasks * (large["argument bytes"] + large["result bytes"]),
        "checkpoint bytes": tasks * large["file bytes"],
    }


def simulate_plan(planned):
    n_tasks, workers = planned["tasks"], LARGE["workers"]
    # Tasks without work show the highest rate of the scheduler.
    empty = schedule(0.0, n_tasks, workers, 0.0)
    runs = []
    for faster in FASTER:
        makespan = schedule(planned["task"] / faster, n_tasks, workers, dask.BATCH_SECONDS / faster)
        predicted = planned["hours"] * 3600 / faster
        runs.append({"faster": faster, "predicted": predicted, "makespan": makespan})
    return {"tasks a second": n_tasks / empty, "runs": runs}


def measure_large():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.npy"
        X = simulate(LARGE["m"], LARGE["n"], LARGE["degree"])
        np.save(path, X)
        del X
        # A new process is used, because the peak of this process comes from other work.
        printed, _ = timed_process([sys.executable, __file__, "--large", str(path)])
    # The JSON is the last line: libraries may print before it.
    large = json.loads(printed.splitlines()[-1])
    # Each edge has two ends.
    return large | {"edges_fit": round(LARGE["m"] * LARGE["degree"] / 2)}


def measure(given):
    warnings.simplefilter("ignore")
    if given.large:  # this is the process that `measure_large` started
        print(json.dumps(large_run(given.large)))
        raise SystemExit
    runs = measure_all(given.points)
    model = make_model(runs)
    goal = forty_thousand()
    large = measure_large()
    planned = plan(model, large)
    results = {"model": model, "goal": goal, "large": large, "plan": planned}
    return results | {"schedule": simulate_plan(planned), "settings": LARGE, "runs": runs}


def slots(results):
    runs, schedule, planned = results["runs"], results["schedule"], results["plan"]
    # A share of 1 meets the goal exactly.
    shares = np.array([run["share of the goal"] for run in results["goal"]])
    sizes = {key: [run[key] for run in runs] for key in ("m", "n")}
    return {
        **{"n_sizes": len(runs), "n_goal": len(shares), "within": (shares <= 1).sum()},
        **{f"least_{key}": min(values) for key, values in sizes.items()},
        **{f"most_{key}": max(values) for key, values in sizes.items()},
        "median": np.median(shares),
        "settings": results["settings"],
        "model": [model_row(work, fitted) for work, fitted in results["model"].items()],
        "goal": [run | {"number": k} for k, run in enumerate(results["goal"], start=1)],
        "large": in_units(results["large"]) | {"dask": in_units(results["large"]["dask"])},
        "plan": in_units(planned),
        "schedule": [schedule_row(run, planned) for run in schedule["runs"]],
        "a_second": schedule["tasks a second"],
        "needed": planned["tasks"] / (planned["hours"] * 3600),
    }


def in_units(figures):
    """Return the figures, with figures in bytes added in megabytes and gigabytes."""
    sizes = {name.removesuffix(" bytes"): n for name, n in figures.items() if "bytes" in name}
    mega = {f"{name} MB": n_bytes / MEGA for name, n_bytes in sizes.items()}
    return figures | mega | {f"{name} GB": n_bytes / GIGA for name, n_bytes in sizes.items()}


def model_row(work, fitted):
    product, rest, *powers = fitted["coefficients"]
    seen, unseen = np.abs(fitted["seen"]), np.abs(fitted["unseen"])
    errors = [100 * error for error in (np.median(seen), np.median(unseen), unseen.max())]
    # X'X has only the first term.
    beside = [None] * 4 if work == "X'X" else [np.exp(rest), *powers]
    return [work, np.exp(product), *beside, *errors]


def schedule_row(run, planned):
    # The cost of the scheduler does not depend on the length of tasks: in a real run the same
    # seconds are a smaller share.
    more = run["makespan"] - run["predicted"]
    return run | {
        "more": 100 * more / run["predicted"],
        "a task": 1000 * more / planned["tasks"],
        "of the real run": 100 * more / (3600 * planned["hours"]),
    }


if __name__ == "__main__":
    main(
        measure,
        slots,
        large={"help": argparse.SUPPRESS},
        points={"type": Path, "default": Path("scale-points.jsonl")},
    )
