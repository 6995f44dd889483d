"""Whether networks depend on the order and the units of the columns.

    python benchmarks/invariance.py     # writes benchmarks/results/invariance.json and .md

Nine networks, n = 1000, data as in the race with the peers. Each data set is learned as it is, with
its columns permuted at random, and with each column times 10^u, u uniform on [-3, 3]. The score is
the criterion that a learner minimises.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import warnings
from pathlib import Path

import numpy as np
from output import RESULTS, write
from peers.studies import cases, make_data, raw_data

from sgbn import ORSGBN, SGBN
from sgbn.experiments.markdown import table

SIMS = 5
LOG10_UNITS = 3
TOL = 1e-8  # relative difference of scores in other units: those of round-off are about 1e-13
LEARNERS = {
    "SGBN()": lambda: SGBN(),
    "SGBN(n_kicks=0)": lambda: SGBN(n_kicks=0),
    'SGBN(noise="equal")': lambda: SGBN(noise="equal"),
    "ORSGBN(alpha=0.1)": lambda: ORSGBN(alpha=0.1),
}
IN_UNITS = 'SGBN(noise="equal")'  # says something about units: raw data, and permutations only


def learn(name, X):
    """Edges, weights and score."""
    learner = LEARNERS[name]().fit(X)
    score = learner.score_ if hasattr(learner, "score_") else learner.objective_path_[-1][1]
    return learner.coef_ != 0, learner.coef_, float(score)


def compare(name, case, seed):
    """Learn one data set three times; yield a record a change of the columns."""
    X, _ = (raw_data if name == IN_UNITS else make_data)(case, seed)
    m = X.shape[1]
    rng = np.random.default_rng([seed, case.sim, *case.network.encode()])
    order = rng.permutation(m)
    units = 10 ** rng.uniform(-LOG10_UNITS, LOG10_UNITS, m)
    edges, coef, score = learn(name, X)
    record = {"learner": name, "network": case.network, "sim": case.sim}
    here = np.ix_(order, order)
    found, weights, value = learn(name, X[:, order])
    same = {
        "same_edges": bool(np.array_equal(found, edges[here])),
        "same_score": value == score,
        "same_weights": bool(np.array_equal(weights, coef[here])),
        "difference": abs(value / score - 1),
    }
    yield record | {"columns": "permuted"} | same
    if name == IN_UNITS:
        return
    found, weights, value = learn(name, X * units)
    close = np.allclose(weights, coef * units / units[:, None], rtol=TOL, atol=0)
    same = {
        "same_edges": bool(np.array_equal(found, edges)),
        "same_score": abs(value / score - 1) <= TOL,
        "same_weights": bool(close),
        "difference": abs(value / score - 1),
    }
    yield record | {"columns": "rescaled"} | same


def report(runs):
    rows = []
    for name in LEARNERS:
        for change in ("permuted", "rescaled"):
            own = [run for run in runs if (run["learner"], run["columns"]) == (name, change)]
            if own:
                counts = [
                    f"{sum(run[key] for run in own)} of {len(own)}"
                    for key in ("same_edges", "same_score", "same_weights")
                ]
                largest = max(run["difference"] for run in own)
                rows.append([f"`{name}`", change, *counts, f"{largest:.0e}"])
    header = ["learner", "columns", "same edges", "same score", "same weights"]
    return [
        "# The same network for any order and units of the columns",
        "",
        f"Nine networks x {SIMS} simulations, n = 1000, standardised columns (raw ones for "
        f"`{IN_UNITS}`, which says something about units). Permuted: at random, same to the bit. "
        f"Rescaled: each column times 10^u, u uniform on [-{LOG10_UNITS}, {LOG10_UNITS}], same to "
        f"{TOL:g} of its size. Score: the criterion that the learner minimises.",
        "",
        *table([*header, "largest difference of scores, relative"], rows),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # tied pairs
    runs = [
        run
        for case in cases("networks", SIMS)
        for name in LEARNERS
        for run in compare(name, case, arguments.seed)
    ]
    write(arguments.out, "invariance", {"seed": arguments.seed, "runs": runs}, report(runs))


if __name__ == "__main__":
    main()
