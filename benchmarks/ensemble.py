"""Measure how near ensemble, posterior and one search come to known networks, and their cost.

python benchmarks/ensemble.py    # writes benchmarks/results/ensemble.json and .md

The data come from the nine networks of Exp-II, standardised and with shuffled columns. The
simulations are those of benchmarks/peers/race.py (seed 0). Settings were chosen on other
simulations (seed 1).
"""

import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from output import number, options, select, table, timed, values_of, write_parts
from sklearn.metrics import average_precision_score

sys.path.insert(0, str(Path(__file__).parent / "peers"))
from metrics import measure
from studies import Case, make_data

from sgbn.cohort.simulate import NETWORKS, simulate_sem
from sgbn.comparison.settings import Settings
from sgbn.core.graph import random_dag
from sgbn.learn.ensemble import SGBNEnsemble
from sgbn.learn.posterior import NetworkPosterior
from sgbn.learn.sgbn import SGBN
from sgbn.paper.experiments.experiment import data_folder

SEED = 0
# A small number of rows, for which directions are uncertain, and the number of Exp-II.
SIZES = (100, 1000)
SLOW = ("Gadget (sumu)",)  # methods that run on one simulation of each network only
WHICH = ("default", "--quick")
# Bins are narrow near 1, where claims are made.
BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1.0)


def sgbn(X):
    learner = SGBN().fit(X)
    strength = np.abs(learner.coef_std_)
    # The ranking is of pairs, so that both directions are added.
    return learner.coef_ != 0, strength + strength.T, None, None


def ensemble(X):
    learner = SGBNEnsemble().fit(X)
    return learner.coef_ != 0, learner.adjacency_, learner.arrow_, learner.supported_


def posterior(X):
    learner = NetworkPosterior().fit(X)
    arrows = learner.arrow_probability_
    return learner.coef_ != 0, arrows + arrows.T, arrows, None


def flop(X, restarts):
    """Return the equivalence class that FLOP finds. FLOP has no ranking of pairs or arrows."""
    from adapters.flop import search

    return search(X, restarts), None, None, None


def gadget(X):
    """Return the best of the sampled networks, and the shares of pairs and arrows."""
    from adapters.gadget import drawn_networks

    graphs, scores = drawn_networks(X)
    arrows = graphs.mean(axis=0)
    return graphs[scores.argmax()], arrows + arrows.T, arrows, None


METHODS = {
    "SGBN": (sgbn, "dag"),
    "SGBNEnsemble": (ensemble, "dag"),
    "NetworkPosterior": (posterior, "dag"),
    "Gadget (sumu)": (gadget, "dag"),
    "FLOP, 20 restarts": (partial(flop, restarts=20), "pdag"),
    "FLOP, 100 restarts": (partial(flop, restarts=100), "pdag"),
}


def run(method, network, n, sim):
    X, truth = make_data(Case("networks", "", network, n, sim), SEED)
    learn, returns = METHODS[method]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (graph, ranking, arrows, supported), seconds = timed(learn, X)
    outcome = measure(graph, truth, returns)
    facts = {"cpu": round(seconds, 3)} | {key: outcome[key] for key in ("errors", "shd")}
    # Each pair is counted once.
    i, j = np.triu_indices(len(truth), 1)
    joined = (truth | truth.T)[i, j]
    if ranking is not None:
        facts["precision"] = round(float(average_precision_score(joined, ranking[i, j])), 4)
    if arrows is not None:
        facts["pairs"] = binned((arrows + arrows.T)[i, j], joined)
        # Each pair has two possible arrows. The diagonal is left out.
        off = ~np.eye(len(truth), dtype=bool)
        facts["arrows"] = binned(arrows[off], truth[off])
    if supported is not None:
        facts["supported"] = [int(supported.sum()), int((supported & truth).sum())]
    return {"method": method, "network": network, "n": n, "sim": sim, **facts}


def runs_of_size(n, sims, methods):
    """Yield the runs with samples of n rows, of all networks."""
    for network in NETWORKS:
        for sim in range(sims):
            for method in methods:
                if sim == 0 or method not in SLOW:
                    yield run(method, network, n, sim)


def binned(share, is_true):
    """Count the entries of each bin, and those of them that are true."""
    # A share of exactly 1 belongs to the last bin.
    place = np.clip(np.digitize(share, BINS) - 1, 0, len(BINS) - 2)
    return [[int((place == b).sum()), int(is_true[place == b].sum())] for b in range(len(BINS) - 1)]


def costs():
    """Yield CPU seconds of a fit on one core, by default and with the numbers of ``--quick``."""
    import replication

    quick = Settings.quick().n_pairs
    counts = {"default": {}, "--quick": {"n_chains": 2 * quick, "n_pairs": quick}}
    X, _ = simulate_sem(random_dag(40, 4.0, SEED), 100, random_state=SEED)
    shapes = {"40 x 100, simulated": lambda **how: SGBNEnsemble(**how).fit(X)}
    if data_folder() is not None:
        for name in ("abide1_asd", "cobre_scz"):
            rows = replication.read(name, "CTR")
            label = "{1} x {0}, ".format(*rows.regions.shape) + name
            shapes[label] = partial(replication.ensemble, rows)
    for label, fit in shapes.items():
        for which, how in counts.items():
            yield {"shape": label, "which": which, "cpu": round(timed(fit, **how)[1], 1)}


def cost_lines(costs):
    rows = [
        [shape, *(select(costs, shape=shape, which=which)[0]["cpu"] for which in WHICH)]
        for shape in values_of(costs, "shape")
    ]
    head = ["variables x rows", "default, CPU s", "as `--quick`, CPU s"]
    return ["## Cost of `SGBNEnsemble` on one core", "", *table(head, rows)]


def method_row(runs):
    """Return the row of a method at one size: sums over networks of means over simulations."""
    # A slow method has only one simulation of each network.
    sims = len(values_of(runs, "sim"))
    sums = [sum(run[key] for run in runs) / sims for key in ("errors", "shd", "cpu")]
    precision = [run["precision"] for run in runs if "precision" in run]
    # Only the ensemble has supported arrows.
    counts = np.sum([run.get("supported", [0, 0]) for run in runs], axis=0)
    return [
        *(runs[0]["method"], *sums, np.mean(precision) if precision else None),
        f"{counts[1]} of {counts[0]}" if counts[0] else None,
    ]


def share_table(runs, key):
    """Return a table of the share of true pairs or arrows in each bin of the probability."""
    cells = {}
    for method in ("SGBNEnsemble", "NetworkPosterior", "Gadget (sumu)"):
        for n in SIZES:
            if chosen := select(runs, method=method, n=n):
                cells[f"{method}, n = {n}"] = np.sum([run[key] for run in chosen], axis=0)
    rows = []
    for b in range(len(BINS) - 1):
        counts = (of_method[b] for of_method in cells.values())
        shown = [f"{true / count:.2f} ({count})" if count else "-" for count, true in counts]
        rows.append([f"{BINS[b]:g} to {BINS[b + 1]:g}", *shown])
    return table(["", *cells], rows)


def slots(runs):
    costs = [run for run in runs if "shape" in run]
    of_sizes = {n: [select(runs, method=method, n=n) for method in METHODS] for n in SIZES}
    sums = {f"sums_{n}": [method_row(part) for part in of if part] for n, of in of_sizes.items()}
    shares = {key: share_table(runs, key) for key in ("pairs", "arrows")}
    return sums | shares | {"costs": cost_lines(costs) if costs else ""}


def main():
    given = options(
        __doc__,
        sims=number(5),
        methods={"nargs": "+", "choices": METHODS, "default": list(METHODS)},
    ).parse_args()
    parts = [*(runs_of_size(n, given.sims, given.methods) for n in SIZES), costs()]
    write_parts(given.out, "ensemble", SEED, parts, slots)


if __name__ == "__main__":
    main()
