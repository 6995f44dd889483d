"""Measure what the first run of a new installation compiles: seconds by kernel and by job.

python benchmarks/compile.py --before OLD/src    # writes benchmarks/results/compile.json and .md

Each job runs in a new process with an empty cache ("cold"), and then in another process that loads
the code that the first one stored ("warm"). `--before` is the folder with the `sgbn` of another
version, which is measured in the same run, in turns. Seconds are CPU seconds of the process and,
for the demo, of its two workers.
"""

import json
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from numba.core import event

SEED = 0
SOURCE = Path(__file__).parents[1] / "src"
WORST = 10  # number of kernels that the report lists


def table_of_groups():
    import numpy as np

    from sgbn.cohort.simulate import simulate_sem
    from sgbn.core.graph import random_dag

    rng = np.random.default_rng(SEED)
    X, _ = simulate_sem(random_dag(40, 3.0, rng), 200, noise="unequal", random_state=rng)
    return X, np.arange(200) % 2


def fit(learner, **settings):
    import sgbn

    X, groups = table_of_groups()
    return partial(getattr(sgbn, learner)(**settings).fit, X, groups)


def differences():
    from sgbn.inference.differences import edge_differences

    X, groups = table_of_groups()
    return lambda: edge_differences(X, groups, n_permutations=20)


def demo():
    from sgbn.cli.main import main

    out = tempfile.TemporaryDirectory()
    return lambda: (main(["demo", "--out", out.name, "--workers", "2"]), out.cleanup())


JOBS = {
    "fit": ("`SGBN().fit`", partial(fit, "SGBN")),
    "classifier": ("`SGBNClassifierCV().fit`", partial(fit, "SGBNClassifierCV")),
    "ensemble": ("`SGBNEnsemble(n_pairs=2).fit`", partial(fit, "SGBNEnsemble", n_pairs=2)),
    "differences": ("`edge_differences`", differences),
    "refinement": ("`CLSGBNClassifier().fit`", partial(fit, "CLSGBNClassifier")),
    "demo": ("`sgbn demo`", demo),
}


class Compilations(event.Listener):
    """A listener that adds up the compile seconds of each kernel, with and without its callees."""

    def __init__(self):
        self.open, self.kernels = [], {}

    # While a kernel is compiled, the kernels that it calls are compiled: times are nested.
    def on_start(self, _):
        """Store the start time of a kernel, and 0 seconds for the kernels that it calls."""
        self.open.append([time.process_time(), 0.0])

    def on_end(self, ended):
        """Add the seconds of a finished kernel."""
        begin, inside = self.open.pop()
        seconds = time.process_time() - begin
        if self.open:
            self.open[-1][1] += seconds
        function = ended.data["dispatcher"].py_func
        name = f"{function.__module__}.{function.__name__}"
        kernel = self.kernels.setdefault(name, {"own": 0.0, "all": 0.0, "signatures": 0})
        kernel["own"] += seconds - inside
        kernel["all"] += seconds
        kernel["signatures"] += 1


def run_job(name):
    """Do one job in this process, and print its times as JSON."""
    listener = Compilations()
    event.register("numba:compile", listener)
    # Output of the job goes to stderr: stdout must have only the JSON.
    sys.stdout, stdout = sys.stderr, sys.stdout
    work = JOBS[name][1]()
    imports = time.process_time()
    work()
    seconds = time.process_time() - imports
    print(
        json.dumps({"imports": imports, "work": seconds, "kernels": listener.kernels}), file=stdout
    )


def took(name, source, cache):
    """Return the seconds of one job of the `sgbn` in `source`, with the code in `cache`."""
    from output import timed_process

    words = [sys.executable, __file__, "--job", name]
    printed, seconds = timed_process(words, PYTHONPATH=str(source), NUMBA_CACHE_DIR=str(cache))
    return {"cpu": seconds["cpu"], "wall": seconds["clock"]} | json.loads(printed)


def measure(given):
    """Yield cold and warm measures of all jobs, the versions in turns."""
    sources = {"before": given.before} if given.before else {}
    for name in given.jobs:
        for version, source in (sources | {"after": SOURCE}).items():
            # Each version has its own cache. It is empty in the cold run and full in the warm run.
            with tempfile.TemporaryDirectory() as cache:
                for state in ("cold", "warm"):
                    record = took(name, source, cache)
                    print(name, version, state, f"{record['cpu']:.1f} s", file=sys.stderr)
                    yield {"job": name, "version": version, "state": state} | record


def rows_of_jobs(runs):
    """Yield the cold and warm times of each job and version."""
    by_state = {(run["job"], run["version"], run["state"]): run for run in runs}
    for (name, version, state), cold in by_state.items():
        if state == "cold":
            kernels = cold["kernels"].values()
            yield cold | {
                "job": JOBS[name][0],
                "compiling": sum(kernel["own"] for kernel in kernels),
                "signatures": sum(kernel["signatures"] for kernel in kernels),
                "warm": by_state[name, version, "warm"],
            }


def rows_of_kernels(runs, version):
    """Yield the kernels that took longest in any job, with their seconds."""
    worst = {}
    for run in runs:
        if run["version"] == version and run["state"] == "cold":
            for name, kernel in run["kernels"].items():
                # The slowest job of each kernel counts: others may find signatures compiled.
                if kernel["own"] > worst.get(name, {"own": 0.0})["own"]:
                    worst[name] = kernel
    ranked = sorted(worst.items(), key=lambda item: -item[1]["own"])
    for name, kernel in ranked[:WORST]:
        yield f"`{name}`", f"{kernel['own']:.2f}", f"{kernel['all']:.2f}", kernel["signatures"]


def slots(runs):
    from output import table, values_of

    versions = values_of(runs, "version")
    dearest = []
    for version in versions:
        dearest += ["", f"## The {WORST} dearest kernels, {version}", ""]
        columns = ("kernel", "by itself", "with what it calls", "signatures")
        dearest += table(columns, rows_of_kernels(runs, version))
    jobs = list(rows_of_jobs(runs))
    return {"versions": ", ".join(versions), "jobs": jobs, "dearest": dearest[1:]}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--job"]:  # before anything is imported that might compile
        run_job(sys.argv[2])
    else:
        from output import main

        main(
            measure,
            slots,
            before={"type": Path, "help": "folder with another version of sgbn"},
            jobs={"nargs": "+", "choices": JOBS, "default": list(JOBS)},
        )
