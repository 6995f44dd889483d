"""Whether the tests of group differences hold their levels, and what they find.

python benchmarks/calibration.py --study nulls --workers 2
python benchmarks/calibration.py --study real      # and power: need the real tables (SGBN_DATA)
python benchmarks/calibration.py --study peers     # DCI and NBS need the extra "peers"

Each study adds its rows to benchmarks/results/calibration.json, from which calibration.md is drawn.
Finished cohorts are kept in calibration_runs beside it: a second start does only what is missing.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from calibration_parts.designs import STUDIES
from calibration_parts.report import lines_of
from output import RESULTS, write

from sgbn.experiments.data import data_folder
from sgbn.runs import Study, versions

SEED = 18
NAME = "calibration"
NEED_TABLES = ("power", "real")


def run(study, folder, cohorts, seed, n_jobs):
    """Run what the folder does not hold yet; yield one row per setting and method."""
    for setting, design in study.designs.items():
        n = min(cohorts, design.most)
        tasks = {
            f"{k:04d}": {"design": design.setting, "cohort": k, "seed": seed} for k in range(n)
        }
        described = {"setting": repr(design.setting), "seed": seed}
        kept = Study(folder / design.folder, n_jobs, progress=True)
        results = kept.run(design.score, tasks, described)
        yield from rows_of(setting, list(results.values()))


def rows_of(setting, results):
    """Mean, standard error and number of cohorts of each figure, one row per method."""
    columns = {}
    for result in results:
        for k, method in enumerate(result["methods"].tolist()):
            own = columns.setdefault(method, {})
            for name, values in result.items():
                if name != "methods":
                    own.setdefault(name, []).append(float(values[k]))
    for method, figures in columns.items():
        kept = {name: summary(values) for name, values in figures.items()}
        row = {"setting": setting, "method": method, "cohorts": len(results)}
        yield row | {name: own for name, own in kept.items() if own[2]}


def summary(values):
    """Mean, standard error and number of what is not NaN."""
    known = np.array(values)[~np.isnan(values)]
    n = len(known)
    error = float(known.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0
    return [float(known.mean()) if n else 0.0, error, n]


def merged(path, study, seed, rows):
    """Put the rows of one study in the place of its old ones."""
    old = json.loads(path.read_text()) if path.exists() else {"runs": [], "studies": {}}
    made = {"command": command(), "versions": versions(), "seed": seed}
    runs = [row for row in old["runs"] if row["study"] != study]
    runs += [{"study": study, **row} for row in rows]
    order = list(STUDIES)
    runs.sort(key=lambda row: order.index(row["study"]))
    return {"seed": seed, "studies": old["studies"] | {study: made}, "runs": runs}


def command():
    """Command line, from the root of the repository."""
    return " ".join(["python", f"benchmarks/{NAME}.py", *sys.argv[1:]])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--study", choices=STUDIES, default="nulls")
    parser.add_argument("--cohorts", type=int, help="cohorts per setting without a difference")
    parser.add_argument("--powers", type=int, help="cohorts per setting with changed edges")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    if arguments.study in NEED_TABLES and data_folder() is None:
        raise SystemExit("the real tables are not here: set SGBN_DATA to their folder.")
    study = STUDIES[arguments.study]
    asked = arguments.powers if study.powers else arguments.cohorts
    folder = arguments.out / f"{NAME}_runs" / arguments.study
    rows = list(run(study, folder, asked or study.cohorts, arguments.seed, arguments.workers))
    results = merged(arguments.out / f"{NAME}.json", arguments.study, arguments.seed, rows)
    write(arguments.out, NAME, results, lines_of(results), [f"benchmarks/{NAME}.py", *sys.argv[1:]])


if __name__ == "__main__":
    main()
