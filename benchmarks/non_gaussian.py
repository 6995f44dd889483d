"""Measure what directions by non-Gaussian residuals gain, and what they cost on other data.

python benchmarks/non_gaussian.py     # writes benchmarks/results/non_gaussian.json and .md
"""

import numpy as np
from output import half_width, main

from sgbn.cohort.simulate import NETWORKS, load_network, random_weights
from sgbn.core.equivalence import compare_graphs
from sgbn.core.graph import topological_order
from sgbn.learn.sgbn import SGBN

SEED = 0  # thresholds were chosen on the seeds 5, 8 and 21
SIMS = 20
SAMPLES = (200, 1000)
# All noises have variance 1, so that only the shape differs.
NOISES = {
    "t, 5 df": lambda rng, shape: rng.standard_t(5, shape) * np.sqrt(3 / 5),
    "exponential": lambda rng, shape: rng.exponential(size=shape) - 1,
    "uniform": lambda rng, shape: rng.uniform(-np.sqrt(3), np.sqrt(3), shape),
    "Gaussian": lambda rng, shape: rng.standard_normal(shape),
    # Gaussian noise with effects that are not linear may mislead a rule for linear models.
    "tanh, Gaussian": lambda rng, shape: rng.standard_normal(shape),
}


def make_data(name, n, noise, sim):
    """Return rows with shuffled columns, and the true graph."""
    # Network and noise are part of the seed.
    rng = np.random.default_rng([SEED, sim, n, *f"{name} {noise}".encode()])
    graph = load_network(name).graph != 0
    coef = random_weights(graph, rng)
    X = NOISES[noise](rng, (n, len(coef)))
    # Parents come before children. Until its turn, a column of X is noise.
    for j in topological_order(graph):
        parents = np.tanh(X) if noise.startswith("tanh") else X
        X[:, j] += parents @ coef[:, j]
    order = rng.permutation(len(coef))
    return X[:, order], graph[np.ix_(order, order)]


def counts(name, n, noise, sim):
    """Return the counts of one data set, for the default and for `non_gaussian="orient"`."""
    X, true = make_data(name, n, noise, sim)
    ignored, oriented = SGBN().fit(X), SGBN(non_gaussian="orient").fit(X)
    before, after = ignored.coef_ != 0, oriented.coef_ != 0
    # Only edges whose direction the equivalence class leaves open may be decided.
    is_open = ignored.cpdag_ & ignored.cpdag_.T
    decided = np.zeros_like(after)
    # Kinds are in the order of the edges, row by row, like the entries of a mask.
    decided[after] = oriented.edge_kinds_ == "non-Gaussian"
    return {
        "open": (before & is_open & (true | true.T)).sum(),
        "wrong": (before & is_open & true.T).sum(),
        "wrong_oriented": (after & is_open & true.T).sum(),
        "decided_right": (decided & true).sum(),
        "decided_wrong": (decided & true.T).sum(),
        "errors": compare_graphs(before, true).errors,
        "errors_oriented": compare_graphs(after, true).errors,
    }


def summary(n, noise):
    """Return means over simulations of the sums over networks, and the change of errors."""
    runs = [[counts(name, n, noise, sim) for name in NETWORKS] for sim in range(SIMS)]
    sums = {key: [int(sum(r[key] for r in run)) for run in runs] for key in runs[0][0]}
    change = np.subtract(sums["errors_oriented"], sums["errors"])
    # Simulations are independent, so that the plain t interval is valid.
    half = float(half_width(change))
    means = {key: round(float(np.mean(values)), 2) for key, values in sums.items()}
    change = float(change.mean())
    return {"n": n, "noise": noise, **means, "change": [change, change - half, change + half]}


def slots(runs):
    def shares(run):
        fewer = 1 - run["wrong_oriented"] / run["wrong"]
        return run | {"more": -100 * fewer, "wrongly": 100 * run["decided_wrong"] / run["open"]}

    return {"counts": list(map(shares, runs))}


def measure(_):
    return (summary(n, noise) for n in SAMPLES for noise in NOISES)


if __name__ == "__main__":
    main(measure, slots)
