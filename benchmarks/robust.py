"""Measure what outlier rows, skewed columns and heavy tails do to a network, and what helps.

python benchmarks/robust.py     # writes benchmarks/results/robust.json and .md

`sgbn.paper.experiments.experiment` finds the real tables. Without them, their part of the report is
empty.
"""

import warnings

import numpy as np
from output import half_width, main, select, values_of

from sgbn.cohort.simulate import UNEQUAL_SD, random_weights
from sgbn.core.equivalence import compare_graphs
from sgbn.core.graph import random_dag
from sgbn.core.problems import DataWarning
from sgbn.learn.sgbn import SGBN
from sgbn.paper.experiments.experiment import COVARIATES, data_folder, read_neuro
from sgbn.prepare.outliers import OUTLIER_SD, TO_SD, far_rows, score_gain
from sgbn.prepare.pipeline import prepare
from sgbn.prepare.review import review

SEED = 17
M, DEGREE, SIZES, N_SETS = 40, 4.0, (1000, 200), 30
BAD_SHARE = 0.02  # share of outlier rows
SETTINGS = {
    "keep": {"outliers": "keep"},
    "trim": {},
    "normal scores": {"outliers": "keep", "column_transform": "normal-scores"},
    "trim, normal scores": {"column_transform": "normal-scores"},
}
NOISES = {
    "t noise, 3 degrees of freedom": lambda rng, shape: rng.standard_t(3, shape) / np.sqrt(3),
    "t noise, 5 degrees of freedom": lambda rng, shape: rng.standard_t(5, shape) / np.sqrt(5 / 3),
    "exponential noise": lambda rng, shape: rng.exponential(size=shape) - 1,
    "lognormal noise": lambda rng, shape: np.exp(rng.standard_normal(shape)),
}
SKEWED = {"exp(x / 4) of every column": 0.25, "exp(x / 2)": 0.5, "exp(x)": 1.0}
# Outlier rows: number of shifted regions, shift in standard deviations, and whether all rows have
# the same shifted regions.
BAD = {
    "3 regions, 5 SD": (3, 5.0, False),
    "5 regions, 5 SD": (5, 5.0, False),
    "5 regions, 8 SD": (5, 8.0, False),
    "the same 5 regions, 5 SD": (5, 5.0, True),
    "the same 5 regions, 10 SD": (5, 10.0, True),
}
CLEAN = "clean Gaussian"
FACTORS = ((1000, 100), (1000, 10), (200, 40), (50, 20))  # rows and columns of data with a factor


def gaussian(rng, shape):
    return rng.standard_normal(shape)


def simulate(rng, n, draw=gaussian):
    """Return rows of a random network with the given noise, and its weights."""
    graph = random_dag(M, DEGREE, rng)
    weights = random_weights(graph, rng)
    sd = rng.uniform(*UNEQUAL_SD, M)
    # A row of a linear model is the noise, multiplied by the effects along all paths.
    return (draw(rng, (n, M)) * sd) @ np.linalg.inv(np.eye(M) - weights), weights


def with_bad_rows(rng, X, regions, sd, same):
    """Shift some regions of some rows. Return all rows, and the places of shifted rows."""
    rows = rng.choice(len(X), round(BAD_SHARE * len(X)), replace=False)
    chosen = rng.choice(M, regions, replace=False)
    # Shifts are in units of the clean column, because outliers increase the spread.
    Y, size = X.copy(), sd * X.std(axis=0)
    for row in rows:
        where = chosen if same else rng.choice(M, regions, replace=False)
        # Shifts in one direction move the mean and look like a common cause. Random signs do not.
        Y[row, where] += size[where] * (1 if same else rng.choice([-1, 1]))
    return Y, rows


def data_sets(n, number):
    """Yield condition, rows, weights and shifted rows, for one random network."""

    def rng():
        # Every noise gets the same network, so that conditions are paired.
        return np.random.default_rng([SEED, n, number])

    X, weights = simulate(rng(), n)
    none = np.array([], int)
    yield CLEAN, X, weights, none
    for name, (regions, sd, same) in BAD.items():
        # A separate stream is used, so that the other rows are those of the clean data set.
        Y, rows = with_bad_rows(np.random.default_rng([SEED, n, number, 1]), X, regions, sd, same)
        yield f"{BAD_SHARE:.0%} of rows: {name}", Y, weights, rows
    for name, factor in SKEWED.items():
        yield name, np.exp(factor * (X - X.mean(axis=0)) / X.std(axis=0)), weights, none
    for name, draw in NOISES.items():
        yield name, *simulate(rng(), n, draw), none


def measure_size(n):
    """Yield a record per data set and condition: the SHD of each setting, and the marked rows."""
    for number in range(N_SETS):
        for condition, X, weights, bad in data_sets(n, number):
            far = far_rows(X)
            record = {"n": n, "set": number, "condition": condition}
            for name, setting in SETTINGS.items():
                learned = SGBN(**setting).fit(X).coef_
                record[name] = int(compare_graphs(learned, weights).shd_cpdag)
            # The share of good rows that are left out without need.
            record["left_out"] = float(np.delete(far, bad).mean())
            record["found"] = float(far[bad].mean()) if len(bad) else None
            record["scores_help"] = bool(score_gain(X[~far]).helps)
            yield record


def interval(values):
    """Return the mean and its 95 % interval as text."""
    mean, half = np.mean(values), half_width(values)
    return f"{mean:.1f} ({mean - half:.1f} to {mean + half:.1f})"


def lines_of(runs, n):
    """Yield the rows of the table of one sample size."""
    clean = np.array([r["keep"] for r in select(runs, n=n, condition=CLEAN)])
    for condition in values_of(runs, "condition"):
        chosen = select(runs, n=n, condition=condition)
        shifted = [r["found"] for r in chosen if r["found"] is not None]
        yield [
            condition,
            *(interval([r[name] for r in chosen]) for name in SETTINGS),
            # The difference is paired by data set, so that it is more precise than two means.
            interval(np.array([r["trim"] for r in chosen]) - clean),
            1000 * np.mean([r["left_out"] for r in chosen]),
            f"{np.mean(shifted):.0%}" if shifted else "",
            np.mean([r["scores_help"] for r in chosen]),
        ]


def by_root_mean_square(X):
    """Mark rows by the plain root mean square of their robust z. SGBN does not use this rule."""
    z = X - np.median(X, axis=0)
    # Outliers hardly change the median and the MAD. TO_SD converts a MAD to a standard deviation.
    z /= TO_SD * np.median(np.abs(z), axis=0)
    size = np.sqrt(np.square(z).mean(axis=1))
    size -= np.median(size)
    return size > OUTLIER_SD * TO_SD * np.median(np.abs(size))


def rules():
    """Yield the shares of clean rows with a common factor, and of shifted rows, that rules mark."""
    both = (far_rows, by_root_mean_square)
    for n, m in FACTORS:
        marked = []
        for number in range(N_SETS):
            rng = np.random.default_rng([SEED, n, m, number])
            X = rng.standard_normal((n, 1)) + rng.standard_normal((n, m))
            marked.append([rule(X).mean() for rule in both])
        shares = [f"{1000 * share:.2f} ‰" for share in np.mean(marked, axis=0)]
        yield [f"clean, one common factor, {n} x {m}", *shares]
    for n in SIZES:
        for name, shift in BAD.items():
            marked = []
            for number in range(N_SETS):
                rng = np.random.default_rng([SEED, n, number, 1])
                Y, rows = with_bad_rows(rng, simulate(rng, n)[0], *shift)
                marked.append([rule(Y)[rows].mean() for rule in both])
            shares = [f"{share:.0%}" for share in np.mean(marked, axis=0)]
            yield [f"shifted, n = {n}: {name}", *shares]


def real_tables():
    """Yield table, group, size, number of outlier subjects, and gain by normal scores."""
    folder = data_folder()
    for name in COVARIATES if folder else ():
        prepared = prepare(review(read_neuro(folder, name)).require())
        for label in prepared.groups:
            X = prepared.of_group(label)
            far = far_rows(X)
            gain = score_gain(X[~far])
            yield [name, label, "{} x {}".format(*X.shape), int(far.sum()), f"{gain.share:+.1%}"]


def slots(results):
    by_size = {f"n_{n}": list(lines_of(results["runs"], n)) for n in SIZES}
    return by_size | {"rules": results["rules"], "real": results["real"]}


def measure(_):
    warnings.simplefilter("ignore", DataWarning)
    runs = [record for n in SIZES for record in measure_size(n)]
    return {"rules": [*rules()], "real": [*real_tables()], "runs": runs}


if __name__ == "__main__":
    main(measure, slots)
