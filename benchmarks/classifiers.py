"""Compare `SGBNClassifierCV` with its peers: balanced accuracy, log-loss and CPU time.

    python benchmarks/classifiers.py          # writes benchmarks/results/classifiers.json and .md
    python benchmarks/classifiers.py --time   # only CPU time: classifiers_time.json and .md

Real tables are looked for in the same folder as for `sgbn reproduce`, and left out if they are not
found. The protocol is that of `sgbn reproduce exp3` (`sgbn.paper.experiments.experiment`), but
groups and covariates differ (see `TABLES` and texts/classifiers.md): the figures of the two cannot
be compared. `--workers` and `--dask` run splits in parallel. Workers of a cluster need this folder
on their PYTHONPATH.
"""

import warnings
from dataclasses import replace
from functools import partial

import numpy as np
from graphical_lasso import graphical_lasso
from output import cpu_times, options, stored_runs, table, values_of, write_parts
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegressionCV, RidgeClassifierCV
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from sgbn.cli.options import add_worker_options, workers
from sgbn.cohort.simulate import simulate_cohort, simulate_sem
from sgbn.core.graph import random_dag
from sgbn.inference.intervals import average, estimate
from sgbn.learn.peers import GaussianBayes
from sgbn.paper.classifier_cv import SGBNClassifierCV
from sgbn.paper.experiments.experiment import (
    Problem,
    data_folder,
    evaluate,
    prepare,
    read_neuro,
    splits,
)
from sgbn.runs.tasks import parallel

# The choice of data was made before anything was tuned, and has not changed since.
SEED = 0
TABLES = {  # table -> two groups, site (None: all), covariates that are regressed out
    "cobre_scz": (("CTR", "SCZ"), None, ("age", "sex", "eTIV")),
    "ixi_age": (("MID", "OLD"), None, ("sex", "eTIV")),  # age is what the groups differ in
    "abide1_asd": (("ASD", "CTR"), "NYU", ("age", "sex")),
}
# Training sizes and regions are the paper's, as in `sgbn reproduce exp3`.
SPLITS, TRAIN, REGIONS = 50, 80, 40
# Simulated cohorts. Many test subjects (per group) cost nothing, and make the test error small.
COHORTS, SIZES, TEST = 50, (80, 200, 500), 1000
OURS = "SGBNClassifierCV"
# Peers that aim at good probabilities. A comparison of log-loss with others would not be fair.
CALIBRATED = ("logistic, L2, by log-loss", "logistic, calibrated")
REPEATS = 5  # fits that are timed


class ConvergedGraphicalLasso(BaseEstimator):
    """A Gaussian of standardised rows, fitted by the graphical lasso of this folder."""

    def __init__(self, alpha=0.1):
        self.alpha = alpha

    def fit(self, X):
        """Fit mean and precision matrix."""
        self.location_ = X.mean(axis=0)
        self.precision_ = graphical_lasso(np.cov(X.T, bias=True), self.alpha)
        return self


def by_log_loss():
    return LogisticRegressionCV(scoring="neg_log_loss", max_iter=1000)


def methods():
    """Return the classifiers of standardised rows, by name."""
    C = np.logspace(-4, 1, 6)
    return {
        OURS: SGBNClassifierCV(),
        "logistic, L1": LogisticRegressionCV(
            Cs=np.logspace(-3, 2, 10), l1_ratios=(1.0,), solver="liblinear"
        ),
        "logistic, L2": LogisticRegressionCV(max_iter=1000),
        CALIBRATED[0]: by_log_loss(),
        CALIBRATED[1]: CalibratedClassifierCV(by_log_loss()),
        "ridge": RidgeClassifierCV(np.logspace(-2, 4, 13)),
        "linear SVM": GridSearchCV(SVC(kernel="linear"), {"C": C}),
        "RBF SVM": GridSearchCV(SVC(), {"C": 10 * C[2:], "gamma": np.logspace(-4, -1, 4)}),
        "shrinkage LDA": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        "shrinkage QDA": QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
        "naive Bayes": GaussianNB(),
        "random forest": RandomForestClassifier(200, random_state=0),
        "graphical-lasso QDA": GridSearchCV(
            GaussianBayes(ConvergedGraphicalLasso()),
            {"covariance__alpha": (0.025, 0.05, 0.1, 0.2, 0.4)},
        ),
    }


def real(name, n_splits=SPLITS, seed=SEED):
    """Yield the prepared splits of a table. Regions are chosen in the training part."""
    groups, site, covariates = TABLES[name]
    cohort = read_neuro(data_folder(), name).subset(groups=groups)
    if site is not None:
        cohort = cohort.subset(cohort.site == site)
    kept = {covariate: cohort.covariates[covariate] for covariate in covariates}
    cohort = replace(cohort, covariates=kept, site=None)
    for rows in splits(cohort, (TRAIN, None), seed, n_splits):
        yield prepare(cohort, cohort.group, rows, REGIONS)


def simulated(n, cohorts=COHORTS, seed=SEED, differ="edges"):
    """Yield independent cohorts of n subjects for training, with new subjects for testing."""
    for k in range(seed, seed + cohorts):
        cohort = simulate_cohort(n // 2, k, differ=differ)
        # The seed has the cohort and the group, so that test rows differ from training rows.
        fresh = [net.sample(TEST, [k, c]) for c, net in enumerate(cohort.networks.values())]
        # All rows are standardised by the training rows, as in the real tables.
        mean, sd = cohort.values.mean(axis=0), cohort.values.std(axis=0)
        y = np.repeat(list(cohort.networks), TEST)
        parts = [(values - mean) / sd for values in (cohort.values, np.vstack(fresh))]
        yield Problem(parts[0], cohort.group, parts[1], y)


def measure(data_set, problems, n_jobs, names):
    """Return one record per method: balanced accuracy and log-loss of every split or cohort."""
    problems = list(problems)
    sizes = {"n_train": len(problems[0].train), "n_test": len(problems[0].test)}
    scores = parallel(partial(score, names), problems, n_jobs)
    runs = []
    for name in names:
        accuracies, losses = zip(*(of_problem[name] for of_problem in scores), strict=True)
        # Methods without probabilities have no log-loss.
        losses = [loss for loss in losses if not np.isnan(loss)]
        record = {"data": data_set, **sizes, "method": name}
        runs.append(record | {"accuracy": list(accuracies), "log_loss": losses})
    return runs


def score(names, problem):
    """Return balanced accuracy and log-loss of each method (NaN without probabilities)."""
    scores = {}
    for name in names:
        outcome = evaluate(methods()[name], problem)
        if outcome.failure:
            raise RuntimeError(f"{name} failed: {outcome.failure}")
        scores[name] = round(outcome.balanced, 5), round(outcome.log_loss, 5)
    return scores


def time_tables():
    """Return standardised rows and their groups, by size."""
    cohort = simulate_cohort(40, SEED)
    tables = {"40 regions, 80 subjects": (cohort.values, cohort.group)}
    rng = np.random.default_rng(SEED)
    values, _ = simulate_sem(random_dag(200, 4, rng), 120, random_state=rng)
    # Patients differ in ten regions, so that there is something to learn.
    values[60:, :10] += 0.5
    tables["200 regions, 120 subjects"] = values, np.repeat(["control", "patient"], 60)
    return {
        size: ((values - values.mean(axis=0)) / values.std(axis=0), group)
        for size, (values, group) in tables.items()
    }


def measure_times():
    """Return the CPU seconds of the fastest of `REPEATS` fits, for each size and method."""
    runs = []
    for size, (Z, group) in time_tables().items():
        seconds = {}
        for method in (SGBNClassifierCV(), LogisticRegressionCV()):
            # The first fit compiles, and imports further modules.
            method.fit(Z, group)
            times = cpu_times(partial(method.fit, Z, group), REPEATS)
            seconds[type(method).__name__] = round(min(times), 4)
        ratio = round(seconds[OURS] / seconds["LogisticRegressionCV"], 1)
        runs.append({"size": size, **seconds, "ratio": ratio})
    return runs


def time_slots(runs):
    return {"times": runs}


def shown(gap):
    """Return the mean and 95 % interval of a difference as text, in points."""
    mean, low, high = (100 * value for value in (gap.mean, *gap.interval()))
    return f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]"


def peers(cells, names):
    """Return the peers, sorted by mean balanced accuracy on these data, the best first."""
    # The best peer is chosen on the test data themselves, which favours the peer.
    names_of_peers = [name for name in methods() if name != OURS]
    return sorted(names_of_peers, key=lambda m: -np.mean([cells[n, m]["accuracy"] for n in names]))


def comparison(cells, names):
    """Return a row that compares with the best peer, on all real tables or on one simulation."""
    best = peers(cells, names)[0]
    is_real = names[0] in TABLES
    gaps = []
    for name in names:
        ours, other = cells[name, OURS], cells[name, best]
        # Splits of a table have subjects in common, but simulated cohorts are independent.
        overlap = ours["n_test"] / ours["n_train"] if is_real else 0.0
        gaps.append(estimate(np.subtract(ours["accuracy"], other["accuracy"]), overlap))
    label = "real tables" if is_real else names[0]
    return [label, best, shown(average(gaps)), *log_losses(cells, names)]


def log_losses(cells, names):
    """Return the mean log-losses of ours and of the calibrated peers over these data sets."""
    means = [
        np.mean([np.mean(cells[n, method]["log_loss"]) for n in names])
        for method in (OURS, *CALIBRATED)
    ]
    return [f"{mean:.3f}" for mean in means]


def slots(runs):
    cells = {(run["data"], run["method"]): run for run in runs}
    names = values_of(runs, "data")
    tables = [name for name in names if name in TABLES]
    blocks = ([tables] if tables else []) + [[name] for name in names if name not in TABLES]

    def cell(name, method):
        run = cells[name, method]
        loss = f" / {np.mean(run['log_loss']):.3f}" if run["log_loss"] else ""
        return f"{100 * np.mean(run['accuracy']):.1f}{loss}"

    def row(method):
        mean = [f"{100 * np.mean([cells[n, method]['accuracy'] for n in tables]):.1f}"]
        return [method, *(cell(name, method) for name in names), *(mean if tables else [])]

    head = ["", *names, *(["mean of tables"] if tables else [])]
    against = [comparison(cells, block) for block in blocks]
    against.append(["all data sets", "", "", *log_losses(cells, names)])
    return {
        "last": COHORTS - 1,
        "scores": table(head, [row(name) for name in methods()]),
        "against": table(["", "best peer", "difference", OURS, *CALIBRATED], against),
    }


def main():
    parser = options(
        __doc__,
        ours={
            "action": "store_true",
            "help": f"run only {OURS}, and keep the stored results of the peers",
        },
        time={"action": "store_true", "help": "only measure the CPU time of fits"},
    )
    add_worker_options(parser, default=1)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.time:
        write_parts(given.out, "classifiers_time", SEED, [measure_times()], time_slots)
        return
    names = [OURS] if given.ours else list(methods())
    stored = stored_runs(given.out, "classifiers") if given.ours else []
    kept = [run for run in stored if run["method"] != OURS]
    data = {f"edges, n={n}": simulated(n) for n in SIZES}
    if data_folder() is not None:
        data = {name: real(name) for name in TABLES} | data
    with workers(given) as n_jobs:
        # Stored runs of the peers are added to ours: the report needs both for each column.
        parts = (
            measure(name, problems, n_jobs, names) + [run for run in kept if run["data"] == name]
            for name, problems in data.items()
        )
        write_parts(given.out, "classifiers", SEED, parts, slots)


if __name__ == "__main__":
    main()
