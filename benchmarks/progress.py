"""How right the time left is that a comparison shows.

    python benchmarks/progress.py     # writes benchmarks/results/progress.json and .md

Runs a comparison of simulated groups, or of a table (--table), by one or more workers. In each step
with many tasks, at a third, a half and two thirds of its time, the time left that was shown is
compared with the one that was true.
"""

import tempfile
import time
from pathlib import Path

from output import main

import sgbn
from sgbn.runs import study

AT = (1 / 3, 1 / 2, 2 / 3)  # of the time of a step
MIN_TASKS = 6  # fewer are over before there is anything to tell


class Trace:
    """Keeps each estimate of a study with the time at which it was made."""

    def __init__(self):
        self.steps = {}

    def recorded(self, with_progress):
        """Return `with_progress` so that each of its estimates is kept."""

        def trace(finished, planned, left, title):
            # A study that begins anew under the same title goes on with its first time.
            kept = self.steps.setdefault(title, {"begin": time.monotonic(), "estimates": []})
            for item in with_progress(finished, planned, left, title):
                yield item
                # After the yield: the estimate is then the one that a bar would show for this item.
                kept["estimates"].append((time.monotonic(), left.seconds()))

        return trace

    def rows(self):
        """One row per step and moment: predicted and true seconds that are left."""
        for title, step in self.steps.items():
            if len(step["estimates"]) < MIN_TASKS:  # a step that is over at once
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
    # The study looks this name up when it starts, so that no other hook is needed.
    study.with_progress = trace.recorded(shown)
    try:
        sgbn.compare(cohort, settings, n_jobs=workers, folder=folder, progress=True)
    finally:
        study.with_progress = shown
    return [*trace.rows()]


def slots(results):
    def row(run):
        # Of the last half second a percentage says nothing.
        error = f"{100 * (run['said'] / run['true'] - 1):+.0f} %" if run["true"] > 0.5 else None
        return run | {"percent": 100 * run["at"], "error": error}

    return {"what": results["what"], "estimates": list(map(row, results["runs"]))}


def measure(given):
    if given.table is None:
        cohort, what = sgbn.simulate_cohort(100, 0), "200 simulated subjects, 40 regions"
    else:
        roles = {"group": "group", "site": "site", "covariates": ["age", "sex", "eTIV"]}
        cohort, what = sgbn.read_table(given.table, **roles), given.table.name
    # Few repeats: the estimates matter, not the results.
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
