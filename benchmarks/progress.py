"""Measure how accurate the remaining time is that a comparison displays.

    python benchmarks/progress.py     # writes benchmarks/results/progress.json and .md

This runs a comparison of simulated groups, or of a table (--table), with one or more workers. In
each step with many tasks, at a third, a half and two thirds of its time, the displayed remaining
time is compared with the true remaining time.
"""

import tempfile
import time
from pathlib import Path

from output import main

import sgbn
from sgbn.runs import study

AT = (1 / 3, 1 / 2, 2 / 3)  # moments, as shares of the time of a step
MIN_TASKS = 6  # a step with fewer tasks ends before an estimate is useful


class Trace:
    """A record of all estimates of a study, with the times at which they were made."""

    def __init__(self):
        self.steps = {}

    def recorded(self, with_progress):
        """Return a function like `with_progress` that also keeps each estimate."""

        def trace(finished, planned, left, title):
            # A study that starts again under the same title keeps its first start time.
            kept = self.steps.setdefault(title, {"begin": time.monotonic(), "estimates": []})
            for item in with_progress(finished, planned, left, title):
                yield item
                # After the yield, the estimate is the one that a bar displays for this item.
                kept["estimates"].append((time.monotonic(), left.seconds()))

        return trace

    def rows(self):
        """Yield one row per step and moment: displayed and true remaining seconds."""
        for title, step in self.steps.items():
            if len(step["estimates"]) < MIN_TASKS:
                continue
            begin, end = step["begin"], step["estimates"][-1][0]
            for part in AT:
                moment = begin + part * (end - begin)
                now, left = next(pair for pair in step["estimates"] if pair[0] >= moment)
                row = {"step": title, "tasks": len(step["estimates"]), "seconds": end - begin}
                yield row | {"at": part, "said": left, "true": end - now}


def traced(cohort, settings, workers, folder):
    trace = Trace()
    shown = study.with_progress
    # The study looks up this name when it starts, so that the replacement is used.
    study.with_progress = trace.recorded(shown)
    try:
        sgbn.compare(cohort, settings, n_jobs=workers, folder=folder, progress=True)
    finally:
        study.with_progress = shown
    return [*trace.rows()]


def slots(results):
    def row(run):
        # In the last half second, a percentage has no meaning.
        error = f"{100 * (run['said'] / run['true'] - 1):+.0f} %" if run["true"] > 0.5 else None
        return run | {"percent": 100 * run["at"], "error": error}

    return {"what": results["what"], "estimates": list(map(row, results["runs"]))}


def measure(given):
    if given.table is None:
        cohort, what = sgbn.simulate_cohort(100, 0), "200 simulated subjects, 40 regions"
    else:
        roles = {"group": "group", "site": "site", "covariates": ["age", "sex", "eTIV"]}
        cohort, what = sgbn.read_table(given.table, **roles), given.table.name
    # A few repeats are enough, because only the estimates are used.
    settings = sgbn.Settings.quick(n_repeats=2, peers=True)
    rows = []
    for workers in given.workers:
        with tempfile.TemporaryDirectory() as folder:
            traces = traced(cohort, settings, workers, Path(folder, "work"))
            rows += [row | {"workers": workers} for row in traces]
    return {"what": what, "runs": rows}


if __name__ == "__main__":
    columns = "with columns group, site, age, sex and eTIV"
    main(
        measure,
        slots,
        table={"type": Path, "help": columns},
        workers={"type": int, "nargs": "+", "default": [1, 2]},
    )
