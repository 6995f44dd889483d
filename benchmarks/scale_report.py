"""What fills the text of scale.py's results."""

import numpy as np
from output import table

MEGA, GIGA = 1e6, 1e9


def slots(results):
    runs, schedule, plan = results["runs"], results["schedule"], results["plan"]
    # 1 is just what was asked for.
    shares = np.array([run["share of the goal"] for run in results["goal"]])
    large = results["large"]
    ends = {
        f"{bound}_{key}": function(run[key] for run in runs)
        for key in ("m", "n")
        for bound, function in (("least", min), ("most", max))
    }
    return ends | {
        **{"n_sizes": len(runs), "n_goal": len(shares), "within": (shares <= 1).sum()},
        "median": np.median(shares),
        "tested": large["tested edges"],
        "settings": results["settings"],
        "model": _model(results["model"]),
        "goal": _goal(results["goal"]),
        "large": table(("", "predicted", "measured"), _large(large, plan)),
        "plan": table(("of the plan", ""), _plan(plan, results["settings"])),
        "schedule": _schedule(schedule["runs"], plan),
        "a_second": schedule["tasks a second"],
        "needed": plan["tasks"] / (plan["hours"] * 3600),
    }


def _model(model):
    heads = ("work", "a", "b", "p", "q", "r", "median error", "held out: median", "worst")
    rows = []
    for work, fitted in model.items():
        product, rest, *powers = fitted["coefficients"]
        seen, unseen = np.abs(fitted["seen"]), np.abs(fitted["unseen"])
        errors = (np.median(seen), np.median(unseen), unseen.max())
        beside = (f"{np.exp(rest):.2g}", *(f"{power:.2f}" for power in powers))
        if work == "X'X":  # it is the first term alone
            beside = ("-",) * 4
        percent = (f"{100 * error:.0f} %" for error in errors)
        rows.append((work, f"{np.exp(product):.2g}", *beside, *percent))
    return table(heads, rows)


def _goal(goal):
    heads = ("table", "X'X", "fit of 1,000", "fit of 40,000", "share of the goal", "edges of 1,000")
    rows = [
        (
            number,
            *(f"{run[key]:.3f}" for key in heads[1:4]),
            f"{run['share of the goal']:.2f}",
            f"{run['edges of 1,000']} (of 40,000: {run['edges of 40,000']})",
        )
        for number, run in enumerate(goal, start=1)
    ]
    return table(heads, rows)


def _large(large, plan):
    """Rows: what was predicted, where it was, and what was measured."""
    dask = large["dask"]
    yield "CPU s of the order search", f"{plan['predicted fit']:.1f}", f"{large['search']:.1f}"
    predicted = f"{plan['predicted permutation']:.2f}"
    yield "CPU s of a permutation", predicted, f"{large['permutation']:.2f}"
    peaks = {
        "peak memory of a process, GB": large["peak bytes"],
        "peak memory of a Dask worker, GB": dask["worker peak bytes"],
        "peak memory of client and scheduler, GB": dask["client peak bytes"],
    }
    yield from ((name, "-", f"{n_bytes / GIGA:.2f}") for name, n_bytes in peaks.items())
    yield "sent once a worker, MB", "-", f"{large['shared bytes'] / MEGA:.0f}"
    yield "arguments of a task, bytes", "-", large["argument bytes"]
    yield "result of a task of 50, MB", "-", f"{large['result bytes'] / MEGA:.2f}"
    yield "file of a task of 50, MB", "-", f"{large['file bytes'] / MEGA:.2f}"


def _plan(plan, settings):
    return [
        ("workers (one core each)", settings["workers"]),
        ("tasks of 50 permutations", f"{plan['tasks']:,}"),
        ("seconds a task", f"{plan['task']:.0f}"),
        ("core hours", f"{plan['core hours']:.0f}"),
        ("hours", f"{plan['hours']:.2f}"),
        ("over the network, GB", f"{plan['network bytes'] / GIGA:.1f}"),
        ("files of finished tasks, GB", f"{plan['checkpoint bytes'] / GIGA:.1f}"),
    ]


def _schedule(runs, plan):
    rows = []
    for run in runs:
        # Costs of the scheduler do not shrink with the tasks: at full speed the same seconds are a
        # smaller share.
        more = run["makespan"] - run["predicted"]
        rows.append(
            (
                f"1/{run['faster']:,}",
                *(f"{run[key]:.2f}" for key in ("predicted", "makespan")),
                f"{100 * more / run['predicted']:.0f} %",
                f"{1000 * more / plan['tasks']:.1f}",
                f"{100 * more / (3600 * plan['hours']):.2f} %",
            )
        )
    heads = ("time", "predicted, s", "measured, s", "more", "ms more a task", "of the real run")
    return table(heads, rows)
