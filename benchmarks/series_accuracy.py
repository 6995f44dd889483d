"""Classify ABIDE's NYU subjects by their time series: networks against nilearn's connectivity.

python benchmarks/series_accuracy.py --data FOLDER [--folder RUNS] [--jobs 2]

FOLDER has abide_nyu_cc200.npz and abide_nyu_participants.csv (75 ASD, 100 controls, 176 volumes
every 2 s). Regions that are empty in any subject are left out. There are two sets of regions: all
that are left, and the first 60 of every third of them. Both rules were fixed before any label was
seen.

All methods have the same folds (5 folds, 5 times, stratified), and the same logistic regression
with C chosen by folds inside the training part. The effects of age, sex and motion are learned in
each training part and removed. Intervals (95 %) allow for the overlap of training parts.
"""

from pathlib import Path

import nilearn
import numpy as np
import pandas as pd
from output import main, number

from sgbn.cohort.series import SeriesCohort
from sgbn.comparison.settings import Settings
from sgbn.comparison.steps.accuracy import METRICS, OURS
from sgbn.comparison.steps.series_accuracy import cross_validate_series
from sgbn.runs.study import Study

SEED = 0
COVARIATES = ("age", "sex", "mean_fd")
REGIONS = {"60": (3, 60), "all": (1, None)}  # step between regions, and their largest number
FOLDS, REPEATS = 5, 5


def read(folder):
    """Return the series of all subjects, with the regions that no subject lacks."""
    about = pd.read_csv(folder / "abide_nyu_participants.csv")
    with np.load(folder / "abide_nyu_cc200.npz") as arrays:
        series = [np.asarray(arrays[name], float) for name in about["subject_id"]]
    cohort = SeriesCohort.of(
        series,
        [f"CC{k + 1:03d}" for k in range(series[0].shape[1])],
        about["subject_id"].tolist(),
        tr=2.0,
        group=about["group"].to_numpy(str),
        covariates={name: about[name].to_numpy() for name in COVARIATES},
    )
    # A region that is empty in one subject is left out for all, so that columns are the same.
    full = ~np.isnan(cohort.values).any(axis=0)
    return cohort.subset(regions=np.array(cohort.regions)[full])


def scores_of(cohort, name, folder, jobs):
    """Yield one row per method: its scores, and our gain over it on the same folds."""
    every, most = REGIONS[name]
    part = cohort.subset(regions=cohort.regions[::every][:most])
    # The seed fixes the folds, which are the same for all methods.
    settings = Settings(n_folds=FOLDS, n_repeats=REPEATS, seed=SEED, reference="CTR")
    study = Study(None if folder is None else folder / name, jobs, progress=True)
    accuracy = cross_validate_series(part, settings, study)
    scores = accuracy.table().set_index(["method", "metric"])
    for method in accuracy.probabilities:
        row = {"regions": len(part.regions), "method": method}
        for metric in METRICS[:2]:
            row[metric] = [
                float(scores.loc[(method, metric), end]) for end in ("mean", "low", "high")
            ]
        row["p"] = float(scores.loc[(method, METRICS[0]), "p"])
        # The difference is paired by fold, so that it is more precise than two intervals.
        gain = accuracy.difference(OURS, method)
        row["ours more by"] = None if method == OURS else [gain.mean, *gain.interval(0.95)]
        yield row


def measure(given):
    cohort = read(given.data)
    runs = [
        row for name in given.regions for row in scores_of(cohort, name, given.folder, given.jobs)
    ]
    return {"nilearn": nilearn.__version__, "runs": runs}


def slots(results):
    def row(run):
        gain = run["ours more by"]
        return [
            *(run["regions"], run["method"]),
            *(_interval(run[metric]) for metric in METRICS[:2]),
            *(run["p"], "" if gain is None else _interval(gain)),
        ]

    return {"nilearn": results["nilearn"], "scores": list(map(row, results["runs"]))}


def _interval(ends):
    return "{:.2f} ({:.2f} to {:.2f})".format(*ends)


if __name__ == "__main__":
    main(
        measure,
        slots,
        data={"type": Path, "required": True},
        regions={"nargs": "+", "choices": list(REGIONS), "default": list(REGIONS)},
        folder={"type": Path, "help": "folder that keeps finished results"},
        jobs=number(2),
    )
