"""Test whether the tests of group differences hold their levels, and measure what they find.

python benchmarks/calibration.py --study nulls --workers 2
python benchmarks/calibration.py --study real      # real and power need the tables (SGBN_DATA)
python benchmarks/calibration.py --study peers     # DCI and NBS need the extra "peers"

Each study adds its rows to benchmarks/results/calibration.json, from which calibration.md is made.
Finished cohorts are kept in calibration_runs beside it: a second start runs only missing cohorts.
"""

import json

import numpy as np
from calibration_parts.designs import STUDIES
from calibration_parts.report import slots
from output import command, number, options, real_data, write

from sgbn.runs.files import versions
from sgbn.runs.study import Study

SEED = 18
NAME = "calibration"
NEED_TABLES = ("power", "real")  # the other studies simulate all their data


def run(study, folder, cohorts, seed, n_jobs):
    """Run the cohorts that the folder does not have yet. Yield one row per setting and method."""
    for setting, design in study.designs.items():
        # Some designs are expensive, or have only as many cohorts as seeds.
        n = min(cohorts, design.most)
        tasks = {
            f"{k:04d}": {"design": design.setting, "cohort": k, "seed": seed} for k in range(n)
        }
        # The setting is stored as text, so that a folder of another setting is refused.
        described = {"setting": repr(design.setting), "seed": seed}
        kept = Study(folder / design.folder, n_jobs, progress=True)
        results = kept.run(design.score, tasks, described)
        yield from rows_of(setting, list(results.values()))


def rows_of(setting, results):
    """Yield one row per method: mean, standard error and number of cohorts of each figure."""
    columns = {}
    for result in results:
        for k, method in enumerate(result["methods"].tolist()):
            figures = columns.setdefault(method, {})
            for name, values in result.items():
                if name != "methods":
                    figures.setdefault(name, []).append(float(values[k]))
    for method, figures in columns.items():
        kept = {name: summary(values) for name, values in figures.items()}
        row = {"setting": setting, "method": method, "cohorts": len(results)}
        # A figure that no cohort has, such as recall without changed edges, is left out.
        yield row | {name: figure for name, figure in kept.items() if figure[2]}


def summary(values):
    """Return the mean, standard error and number of the values that are not NaN."""
    known = np.array(values)[~np.isnan(values)]
    n = len(known)
    # A single cohort has no spread.
    error = float(known.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0
    return [float(known.mean()) if n else 0.0, error, n]


def merged(path, study, seed, rows):
    """Return the stored results with the rows of one study replaced."""
    old = json.loads(path.read_text()) if path.exists() else {"runs": [], "studies": {}}
    made = {"command": " ".join(command()), "versions": versions(), "seed": seed}
    runs = [row for row in old["runs"] if row["study"] != study]
    runs += [{"study": study, **row} for row in rows]
    order = list(STUDIES)
    # Rows are in the order of the studies, whichever was run last.
    runs.sort(key=lambda row: order.index(row["study"]))
    return {"seed": seed, "studies": old["studies"] | {study: made}, "runs": runs}


def main():
    given = options(
        __doc__,
        seed=number(SEED),
        study={"choices": STUDIES, "default": "nulls"},
        cohorts=number(None, "cohorts per setting without a difference"),
        powers=number(None, "cohorts per setting with changed edges"),
        workers=number(1),
    ).parse_args()
    if given.study in NEED_TABLES:
        real_data()
    study = STUDIES[given.study]
    asked = given.powers if study.powers else given.cohorts
    folder = given.out / f"{NAME}_runs" / given.study
    rows = list(run(study, folder, asked or study.cohorts, given.seed, given.workers))
    results = merged(given.out / f"{NAME}.json", given.study, given.seed, rows)
    write(given.out, NAME, results, slots(results))


if __name__ == "__main__":
    main()
