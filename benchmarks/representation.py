"""Measure how well networks represent one group, by the log-likelihood of held-out subjects.

    python benchmarks/representation.py     # writes benchmarks/results/representation.json and .md

Figures are mean log-likelihoods per variable over five folds, standardised on the training part
(higher is better). Tables are looked for in the same folder as for `sgbn reproduce`. ``--tables``
runs some of them, and keeps the stored results of the others.
"""

import warnings

import numpy as np
from graphical_lasso import ConvergedGraphicalLassoCV
from order_lassos import VARIANTS, searched_order
from output import number, options, real_data, stored_runs, table, write_parts
from scipy.stats import multivariate_normal
from sklearn.covariance import OAS, GraphicalLassoCV, LedoitWolf
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from sgbn.learn.sgbn import SGBN
from sgbn.paper.experiments.experiment import most_different, read_neuro
from sgbn.paper.or_sgbn import ORSGBN

FOLDS = 5  # four fifths are for training: about 50 of COBRE's controls
REGIONS = 40
LEARNERS = {
    "SGBN lasso": lambda: SGBN(weights="lasso"),
    # The values are functions, so that each fold has a new learner.
    "SGBN": lambda: SGBN(),
    "SGBN gamma=0.5": lambda: SGBN(gamma=0.5),
    "ORSGBN cv_likelihood": lambda: ORSGBN(alpha="cv_likelihood"),
    "LedoitWolf": lambda: LedoitWolf(),
    "OAS": lambda: OAS(),
    "GraphicalLassoCV": lambda: GraphicalLassoCV(),
    "graphical lasso, converged": lambda: ConvergedGraphicalLassoCV(),
}
# Estimates of the covariance without an order, with which networks are compared.
PEERS = ("LedoitWolf", "OAS", "GraphicalLassoCV", "graphical lasso, converged")
TABLES = {  # table and group -> how often it is split into folds at random
    "cobre-40 CTR": 4,
    "abide-NYU-40 CTR": 4,
    "ixi OLD": 1,
    "abide CTR": 1,
}
OTHER_TABLES = {  # groups that were not looked at while variants were made
    "cobre-40 SCZ": 4,
    "abide-NYU-40 ASD": 4,
    "ixi YOUNG": 1,
    "abide ASD": 1,
}


def read(name):
    """Return the rows of one group."""
    name, group = name.split()
    file = {"cobre": "cobre_scz", "ixi": "ixi_age"}.get(name.split("-")[0], "abide1_asd")
    cohort = read_neuro(real_data(), file)
    if "NYU" in name:
        cohort = cohort.subset(cohort.site == "NYU")
    if "NYU" in name or file == "cobre_scz":
        cohort = most_different(cohort, REGIONS)
    return cohort.of_group(group)


def log_density(learner, rows):
    """Return the log-likelihood of every row."""
    if hasattr(learner, "score_samples"):
        return learner.score_samples(rows)
    # `score` would give the mean, but differences are paired by subject.
    precision = learner.get_precision()  # scikit-learn's `score` uses it too
    constant = np.linalg.slogdet(precision)[1] - len(precision) * np.log(2 * np.pi)
    return (constant - learner.mahalanobis(rows)) / 2


def densities(train, test):
    """Yield each method, its log-likelihoods per variable, and whether it did not converge."""
    mean, sd = train.mean(axis=0), train.std(axis=0)
    Z, rest = (train - mean) / sd, (test - mean) / sd
    for name, make in LEARNERS.items():
        with warnings.catch_warnings(record=True) as caught:
            # Otherwise a warning that was shown once would not be caught again.
            warnings.simplefilter("always")
            learner = make().fit(Z)
        gave_up = any(issubclass(w.category, ConvergenceWarning) for w in caught)
        yield name, log_density(learner, rest) / Z.shape[1], gave_up
    # All variants have the same searched order, and differ only in the weights.
    order = searched_order(Z)
    for name, covariance in VARIANTS.items():
        normal = multivariate_normal(cov=covariance(Z, order))
        yield name, normal.logpdf(rest) / Z.shape[1], False


def measure(name, splits, seed):
    """Yield one record per method: its score, and the paired difference to the best peer."""
    X = read(name)
    densities_of = {method: np.zeros((splits, len(X))) for method in (*LEARNERS, *VARIANTS)}
    gave_up = dict.fromkeys(densities_of, 0)
    for split in range(splits):
        for train, test in KFold(FOLDS, shuffle=True, random_state=seed + split).split(X):
            for method, density, has_given_up in densities(X[train], X[test]):
                densities_of[method][split, test] = density
                gave_up[method] += has_given_up
    # The best peer is chosen on the held-out rows themselves, which favours the peer.
    peer = max(PEERS, key=lambda method: densities_of[method].mean())
    size = {"n_train": len(X) * (FOLDS - 1) // FOLDS, "m": X.shape[1], "splits": splits}
    for method, density in densities_of.items():
        # The mean over splits is taken first, so that each subject counts once.
        difference = (density - densities_of[peer]).mean(axis=0)
        yield {
            "table": name,
            **size,
            "method": method,
            "score": round(density.mean(), 5),
            "by_split": density.mean(axis=1).round(5).tolist(),
            "to_best_peer": round(difference.mean(), 5),
            "standard_error": round(difference.std(ddof=1) / np.sqrt(len(X)), 5),
            "gave_up": gave_up[method],
        }


def scores_table(runs, tables, methods, text):
    """Return the lines of a table with one row per method and one column per group."""
    cells = {(run["table"], run["method"]): run for run in runs if run["table"] in tables}
    names = [name for name in tables if (name, methods[0]) in cells]
    sizes = [cells[name, methods[0]] for name in names]
    header = [f"{run['table']} ({run['n_train']} x {run['m']})" for run in sizes]
    lines = [[method, *(text(cells[name, method]) for name in names)] for method in methods]
    return table(["", *header], lines)


def score(run):
    return f"{run['score']:.3f}" + (f" ({run['gave_up']})" if run["gave_up"] else "")


def difference(run):
    return f"{run['to_best_peer']:+.4f} ± {run['standard_error']:.4f}"


def slots(runs):
    methods, tried = list(LEARNERS), ["SGBN lasso", *VARIANTS]
    return {
        "scores": scores_table(runs, TABLES, methods, score),
        "tried": scores_table(runs, TABLES, tried, difference),
        "other_scores": scores_table(runs, OTHER_TABLES, methods, score),
        "other_tried": scores_table(runs, OTHER_TABLES, tried, difference),
    }


def main():
    tables = TABLES | OTHER_TABLES
    chosen = {"nargs": "*", "metavar": "TABLE", "default": list(tables)}
    given = options(__doc__, seed=number(0), tables=chosen).parse_args()
    kept = stored_runs(given.out, "representation", given.seed)
    kept = [run for run in kept if run["table"] not in given.tables]
    # The parts are generators, so that results are written before the next table is measured.
    # An empty --tables writes the report of the stored runs again, with the current text.
    parts = [measure(name, tables[name], given.seed) for name in given.tables] or [[]]
    write_parts(given.out, "representation", given.seed, parts, slots, kept)


if __name__ == "__main__":
    main()
