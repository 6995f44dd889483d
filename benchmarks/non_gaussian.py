"""Directions by non-Gaussian residuals: what they gain, and what they cost where they should not.

python benchmarks/non_gaussian.py     # writes benchmarks/results/non_gaussian.json and .md
"""

import numpy as np
from output import half_width, main

from sgbn import SGBN, compare_graphs
from sgbn.datasets import load_network
from sgbn.datasets.benchmarks import NETWORKS
from sgbn.datasets.sem import random_weights
from sgbn.graph import topological_order

SEED = 0  # thresholds were chosen on 5, 8 and 21
SIMS = 20
SAMPLES = (200, 1000)
# All have variance 1, so that only the shape differs.
NOISES = {
    "t, 5 df": lambda rng, shape: rng.standard_t(5, shape) * np.sqrt(3 / 5),
    "exponential": lambda rng, shape: rng.exponential(size=shape) - 1,
    "uniform": lambda rng, shape: rng.uniform(-np.sqrt(3), np.sqrt(3), shape),
    "Gaussian": lambda rng, shape: rng.standard_normal(shape),
    # Gaussian noise, but effects that are not linear: a rule for linear models may be misled.
    "tanh, Gaussian": lambda rng, shape: rng.standard_normal(shape),
}


def make_data(name, n, noise, sim):
    """Return rows with shuffled columns, and the true graph."""
    # Own numbers per network and noise.
    rng = np.random.default_rng([SEED, sim, n, *f"{name} {noise}".encode()])
    graph = load_network(name).graph != 0
    coef = random_weights(graph, rng)
    X = NOISES[noise](rng, (n, len(coef)))
    # Parents before children: X holds noise until its turn.
    for j in topological_order(graph):
        parents = np.tanh(X) if noise.startswith("tanh") else X
        X[:, j] += parents @ coef[:, j]
    order = rng.permutation(len(coef))
    return X[:, order], graph[np.ix_(order, order)]


def counts(name, n, noise, sim):
    """Count in one data set: open, wrong (both), decided right and wrong, errors (both)."""
    X, true = make_data(name, n, noise, sim)
    ignored, oriented = SGBN().fit(X), SGBN(non_gaussian="orient").fit(X)
    before, after = ignored.coef_ != 0, oriented.coef_ != 0
    # Edges of the class that no arrow is known of: only there non-Gaussian residuals may decide.
    is_open = ignored.cpdag_ & ignored.cpdag_.T
    decided = np.zeros_like(after)
    # Kinds are listed by edge, row by row, as a mask picks them.
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
    """Means over simulations of the sums over networks, and the change of errors."""
    runs = [[counts(name, n, noise, sim) for name in NETWORKS] for sim in range(SIMS)]
    sums = {key: [int(sum(r[key] for r in run)) for run in runs] for key in runs[0][0]}
    change = np.subtract(sums["errors_oriented"], sums["errors"])
    # Simulations are independent: the plain t interval.
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
