"""Text of the results of scale.py."""

import numpy as np

from sgbn.experiments.markdown import table

MEGA, GIGA = 1e6, 1e9


def lines_of(results):
    parts = (_model, _goal, _large, _plan, _schedule)
    lines = [line for part in parts for line in (*part(results), "")]
    return ["# Cost model and plan", "", *lines[:-1]]


def _model(results):
    heads = ("work", "a", "b", "p", "q", "r", "median error", "held out: median", "worst")
    rows = []
    for work, own in results["model"].items():
        rest, *powers = own["coefficients"][1:]
        seen, unseen = np.abs(own["seen"]), np.abs(own["unseen"])
        is_product = work == "X'X"
        rows.append(
            (
                work,
                f"{np.exp(own['coefficients'][0]):.2g}",
                *(
                    ("-",) * 4
                    if is_product
                    else (f"{np.exp(rest):.2g}", *(f"{x:.2f}" for x in powers))
                ),
                *(f"{100 * x:.0f} %" for x in (np.median(seen), np.median(unseen), unseen.max())),
            )
        )
    runs = results["runs"]
    return [
        "CPU seconds on one thread of n subjects, m regions and e edges that the fit finds: "
        "a n m^2 + b n^p m^q (e / m)^r, by least squares of logarithms, over "
        f"{len(runs)} sizes (m from {min(run['m'] for run in runs)} to "
        f"{max(run['m'] for run in runs):,}, n from {min(run['n'] for run in runs)} to "
        f"{max(run['n'] for run in runs):,}, random DAGs of mean degree 2 and 4). `fit` is "
        "`SGBN(n_kicks=0)`, a half sample that of half the n subjects; two groups. Every fourth "
        "size was held out.",
        "",
        *table(heads, rows),
    ]


def _goal(results):
    heads = ("table", "X'X", "fit of 1,000", "fit of 40,000", "share of the goal", "edges of 1,000")
    rows = [
        (
            number,
            *(f"{run[k]:.3f}" for k in ("X'X", "fit of 1,000", "fit of 40,000")),
            f"{run['share of the goal']:.2f}",
            f"{run['edges of 1,000']} (of 40,000: {run['edges of 40,000']})",
        )
        for number, run in enumerate(results["goal"], start=1)
    ]
    shares = np.array([run["share of the goal"] for run in results["goal"]])
    return [
        "## 40,000 subjects x 200 regions",
        "",
        "`SGBN()`, CPU seconds, medians of 3. Goal: at most X'X and 1.5 times the fit of the first "
        f"1,000 rows; the median is {np.median(shares):.2f} of it, and {(shares <= 1).sum()} of "
        f"{len(shares)} tables are within it.",
        "",
        *table(heads, rows),
    ]


def _large(results):
    large, plan, size = results["large"], results["plan"], results["settings"]
    heads = ("", "predicted", "measured")
    rows = [
        ("CPU s of the order search", f"{plan['predicted fit']:.1f}", f"{large['search']:.1f}"),
        (
            "CPU s of a permutation",
            f"{plan['predicted permutation']:.2f}",
            f"{large['permutation']:.2f}",
        ),
        ("peak memory of a process, GB", "-", f"{large['peak bytes'] / GIGA:.2f}"),
        (
            "peak memory of a Dask worker, GB",
            "-",
            f"{large['dask']['worker peak bytes'] / GIGA:.2f}",
        ),
        (
            "peak memory of client and scheduler, GB",
            "-",
            f"{large['dask']['client peak bytes'] / GIGA:.2f}",
        ),
        ("sent once a worker, MB", "-", f"{large['shared bytes'] / MEGA:.0f}"),
        ("arguments of a task, bytes", "-", f"{large['argument bytes']}"),
        ("result of a task of 50, MB", "-", f"{large['result bytes'] / MEGA:.2f}"),
        ("file of a task of 50, MB", "-", f"{large['file bytes'] / MEGA:.2f}"),
    ]
    return [
        f"## {size['n']:,} subjects x {size['m']:,} regions, really run",
        "",
        f"The table, random DAG of mean degree {size['degree']}, is larger than any that the model "
        f"has seen. {large['tested edges']:.0f} edges were tested in a permutation. The search "
        "includes nuisance effects and the parents of the pool. The client held the table as well.",
        "",
        *table(heads, rows),
    ]


def _plan(results):
    plan, size = results["plan"], results["settings"]
    heads = ("of the plan", "")
    rows = [
        ("workers (one core each)", size["workers"]),
        ("tasks of 50 permutations", f"{plan['tasks']:,}"),
        ("seconds a task", f"{plan['task']:.0f}"),
        ("core hours", f"{plan['core hours']:.0f}"),
        ("hours", f"{plan['hours']:.2f}"),
        ("over the network, GB", f"{plan['network bytes'] / GIGA:.1f}"),
        ("files of finished tasks, GB", f"{plan['checkpoint bytes'] / GIGA:.1f}"),
    ]
    return [f"## Plan: {size['permutations']:,} permutations", "", *table(heads, rows)]


def _schedule(results):
    found, plan = results["schedule"], results["plan"]
    needed = plan["tasks"] / (plan["hours"] * 3600)
    rows = []
    for run in found["runs"]:
        more = run["makespan"] - run["predicted"]
        rows.append(
            (
                f"1/{run['faster']:,}",
                f"{run['predicted']:.2f}",
                f"{run['makespan']:.2f}",
                f"{100 * more / run['predicted']:.0f} %",
                f"{1000 * more / plan['tasks']:.1f}",
                f"{100 * more / (3600 * plan['hours']):.2f} %",
            )
        )
    heads = ("time", "predicted, s", "measured, s", "more", "ms more a task", "of the real run")
    return [
        "## Its schedule, faster",
        "",
        "As many sleeping tasks, each a fraction as long, on as many threads of a Dask cluster, "
        "through `sgbn.runs`; `BATCH_SECONDS` was divided by the same number. Wall seconds. The "
        "last column is what the same loss would be of the real run.",
        "",
        *table(heads, rows),
        "",
        f"Tasks that do nothing, one a batch: {found['tasks a second']:.0f} a second. The plan "
        f"needs {needed:.2f} a second.",
    ]
