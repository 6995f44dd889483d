"""Test whether networks depend on the order and the units of the columns.

    python benchmarks/invariance.py     # writes benchmarks/results/invariance.json and .md

The data come from nine networks with n = 1000, as in the race with the peers. Each data set is
learned as it is, with its columns permuted at random, and with each column multiplied by 10^u, u
uniform on [-3, 3]. The score is the criterion that a learner minimises.
"""

import warnings

import numpy as np
from output import main, number, select
from peers.studies import cases, make_data, raw_data

from sgbn.learn.sgbn import SGBN
from sgbn.paper.or_sgbn import ORSGBN

SIMS = 5  # simulations per network; few, because each data set is learned eleven times
LOG10_UNITS = 3
TOL = 1e-8  # relative difference of scores in other units; round-off is about 1e-13
LEARNERS = {
    "SGBN()": lambda: SGBN(),
    "SGBN(n_kicks=0)": lambda: SGBN(n_kicks=0),
    'SGBN(noise="equal")': lambda: SGBN(noise="equal"),
    "ORSGBN(alpha=0.1)": lambda: ORSGBN(alpha=0.1),
}
# This learner makes an assumption about units: it gets raw data, and only permutations.
IN_UNITS = 'SGBN(noise="equal")'


def learn(name, X):
    """Return the learned edges, weights and score."""
    learner = LEARNERS[name]().fit(X)
    # A penalised learner has the path of its objective. The last value is the minimum.
    score = learner.score_ if hasattr(learner, "score_") else learner.objective_path_[-1][1]
    return learner.coef_ != 0, learner.coef_, float(score)


def compare(name, case, seed):
    """Learn one data set three times. Yield one record per change of the columns."""
    # Standardised data have no units, but the assumption of equal noise variances needs them.
    X, _ = (raw_data if name == IN_UNITS else make_data)(case, seed)
    m = X.shape[1]
    # The name of the network is part of the seed.
    rng = np.random.default_rng([seed, case.sim, *case.network.encode()])
    order = rng.permutation(m)
    units = 10 ** rng.uniform(-LOG10_UNITS, LOG10_UNITS, m)
    edges, coef, score = learn(name, X)
    record = {"learner": name, "network": case.network, "sim": case.sim}
    permuted = np.ix_(order, order)
    new_edges, weights, value = learn(name, X[:, order])
    yield record | {
        "columns": "permuted",
        "same_edges": bool(np.array_equal(new_edges, edges[permuted])),
        # Scores must be equal to the bit: the order of the sums must not matter.
        "same_score": value == score,
        "same_weights": bool(np.array_equal(weights, coef[permuted])),
        "difference": abs(value / score - 1),
    }
    if name == IN_UNITS:
        return
    new_edges, weights, value = learn(name, X * units)
    # A weight has the unit of the child per unit of the parent.
    close = np.allclose(weights, coef * units / units[:, None], rtol=TOL, atol=0)
    yield record | {
        "columns": "rescaled",
        "same_edges": bool(np.array_equal(new_edges, edges)),
        # Round-off differs in other units, so that scores are only nearly equal.
        "same_score": abs(value / score - 1) <= TOL,
        "same_weights": bool(close),
        "difference": abs(value / score - 1),
    }


def slots(runs):
    rows = []
    for name in LEARNERS:
        for change in ("permuted", "rescaled"):
            if chosen := select(runs, learner=name, columns=change):
                kept = ("same_edges", "same_score", "same_weights")
                counts = {key: sum(run[key] for run in chosen) for key in kept}
                largest = max(run["difference"] for run in chosen)
                rows.append(chosen[0] | counts | {"of": len(chosen), "largest": largest})
    return {"counts": rows}


def measure(given):
    warnings.simplefilter("ignore")  # tied pairs
    for case in cases("networks", SIMS):
        for name in LEARNERS:
            yield from compare(name, case, given.seed)


if __name__ == "__main__":
    main(measure, slots, seed=number(0))
