"""Which gamma, and which form of the price of parents, finds equivalence classes best.

python benchmarks/gamma.py     # writes benchmarks/results/gamma.json and .md
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
from output import RESULTS, write
from peers.studies import GAUSSIAN, cases, make_data

from sgbn import SGBN, compare_graphs
from sgbn.experiments.markdown import table
from sgbn.search import problem as module

SEEDS = (3, 21, 22)  # other than the race's
GAMMAS = (0.5, 1.0, 1.2, 1.35, 1.5, 1.65)
CONSTANT = "constant price, gamma 1"
INTRODUCTION = """# Choice of gamma

CPDAG SHD of `SGBN(gamma)`; the nine networks: sum of the means over 10 simulations, and its range
over three seeds, and errors; the others: means. The default is max(1, log10(n) / 2): 1.5 at n =
1000, 1 at n = 60 and 100. "Constant price": every parent costs log n + 2 log m, instead of the
binomial, with which further parents of a variable cost less."""


def constant_price(n, m, gamma):
    return np.arange(module.MOST_PARENTS + 2) * (np.log(n) + 2 * gamma * np.log(m))


def measure(study, gamma, seed):
    """Yield network, n, SHD and errors of every data set of a study."""
    for case in cases(study, 10):
        X, truth = make_data(case, seed)
        found = compare_graphs(SGBN(gamma).fit(X).coef_, truth)
        yield case.network, case.n, found.shd_cpdag, found.errors


def row(label, gamma):
    """Record of one setting."""
    runs = [
        (seed, *run)
        for seed in SEEDS
        for study in ("networks", "gaussian", "small")
        for run in measure(study, gamma, seed)
    ]
    nine = [
        np.sum([r[3:] for r in runs if r[0] == seed and r[1] not in (*GAUSSIAN, "random-40")], 0)
        / 10
        for seed in SEEDS
    ]
    record = {"setting": label, "nine": np.mean(nine, axis=0).round(1).tolist()}
    record["nine_range"] = [min(n[0] for n in nine), max(n[0] for n in nine)]
    for name, n in [*((name, n) for name in GAUSSIAN for n in (1000, 100)), ("random-40", 60)]:
        shd = [r[3] for r in runs if r[1:3] == (name, n)]
        record[f"{name}, n = {n}"] = round(float(np.mean(shd)), 1)
    return record


def main():
    records = [row(f"gamma {gamma}", gamma) for gamma in GAMMAS]
    binomial, module.ebic_prices = module.ebic_prices, constant_price
    records.append(row(CONSTANT, 1.0))
    module.ebic_prices = binomial
    others = list(records[0])[3:]
    lines = [
        [r["setting"], r["nine"][0], "{} to {}".format(*r["nine_range"]), r["nine"][1]]
        + [r[name] for name in others]
        for r in records
    ]
    head = ["", "nine networks", "range", "errors", *others]
    text = [*INTRODUCTION.splitlines(), "", *table(head, lines)]
    write(RESULTS, "gamma", {"seed": list(SEEDS), "runs": records}, text)


if __name__ == "__main__":
    main()
