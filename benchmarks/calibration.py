"""Whether the tests of group differences hold their levels, and what they find.

python benchmarks/calibration.py --study nulls --workers 2
python benchmarks/calibration.py --study real      # and power: need the real tables (SGBN_DATA)
python benchmarks/calibration.py --study peers     # DCI and NBS need the extra "peers"

Each study adds its rows to benchmarks/results/calibration.json, from which calibration.md is drawn.
Finished cohorts are kept in calibration_runs beside it: a second start does only what is missing.
"""

import json

import numpy as np
from calibration_parts.designs import STUDIES
from calibration_parts.report import slots
from output import command, number, options, real_data, write

from sgbn.runs import Study, versions

SEED = 18
NAME = "calibration"
# The others simulate all that they need.
NEED_TABLES = ("power", "real")


def run(study, folder, cohorts, seed, n_jobs):
    """Run what the folder does not hold yet; yield one row per setting and method."""
    for setting, design in study.designs.items():
        # Some designs are dear, or have no more cohorts than seeds.
        n = min(cohorts, design.most)
        tasks = {
            f"{k:04d}": {"design": design.setting, "cohort": k, "seed": seed} for k in range(n)
        }
        # Settings as text: a folder that was begun with another setting is refused.
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
    # One cohort has no spread.
    error = float(known.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0
    return [float(known.mean()) if n else 0.0, error, n]


def merged(path, study, seed, rows):
    """Put the rows of one study in the place of its old ones."""
    old = json.loads(path.read_text()) if path.exists() else {"runs": [], "studies": {}}
    made = {"command": " ".join(command()), "versions": versions(), "seed": seed}
    runs = [row for row in old["runs"] if row["study"] != study]
    runs += [{"study": study, **row} for row in rows]
    order = list(STUDIES)
    # In the order of the studies, whichever was run last.
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
