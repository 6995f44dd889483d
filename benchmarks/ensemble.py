"""How near ensemble and posterior come to known networks, beside one search, and at what cost.

python benchmarks/ensemble.py    # writes benchmarks/results/ensemble.json and .md

The nine networks of Exp-II, standardised, columns shuffled; the simulations are those of
benchmarks/peers/race.py (seed 0). Settings were chosen on other simulations (seed 1).
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from output import RESULTS, write
from sklearn.metrics import average_precision_score

sys.path.insert(0, str(Path(__file__).parent / "peers"))
from metrics import measure
from studies import Case, make_data

from sgbn import SGBN, NetworkPosterior, SGBNEnsemble, random_dag, simulate_sem
from sgbn.comparison import Settings
from sgbn.datasets.benchmarks import NETWORKS
from sgbn.experiments.data import data_folder
from sgbn.experiments.markdown import table

SEED = 0
SIZES = (100, 1000)
SLOW = ("Gadget (sumu)",)  # one simulation of each network only
BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1.0)


def sgbn(X):
    learner = SGBN().fit(X)
    strength = np.abs(learner.coef_std_)
    return learner.coef_ != 0, strength + strength.T, None, None


def ensemble(X):
    learner = SGBNEnsemble().fit(X)
    return learner.coef_ != 0, learner.adjacency_, learner.arrow_, learner.supported_


def posterior(X):
    learner = NetworkPosterior().fit(X)
    arrows = learner.arrow_probability_
    return learner.coef_ != 0, arrows + arrows.T, arrows, None


def flop(X, restarts):
    """Return its equivalence class; it ranks nothing."""
    from adapters.flop import search

    return search(X, restarts), None, None, None


def gadget(X):
    """Return the best of the networks drawn, and the share of each arrow."""
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
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learn, returns = METHODS[method]
        graph, ranking, arrows, supported = learn(X)
    facts = {"cpu": round(time.process_time() - begin, 3)}
    found = measure(graph, truth, returns)
    facts |= {key: found[key] for key in ("errors", "shd")}
    i, j = np.triu_indices(len(truth), 1)
    joined = (truth | truth.T)[i, j]
    if ranking is not None:
        facts["precision"] = round(float(average_precision_score(joined, ranking[i, j])), 4)
    if arrows is not None:
        facts["pairs"] = binned((arrows + arrows.T)[i, j], joined)
        off = ~np.eye(len(truth), dtype=bool)
        facts["arrows"] = binned(arrows[off], truth[off])
    if supported is not None:
        facts["supported"] = [int(supported.sum()), int((supported & truth).sum())]
    return {"method": method, "network": network, "n": n, "sim": sim, **facts}


def binned(share, is_true):
    """Count and number of true ones in each bin."""
    place = np.clip(np.digitize(share, BINS) - 1, 0, len(BINS) - 2)
    return [[int((place == b).sum()), int(is_true[place == b].sum())] for b in range(len(BINS) - 1)]


def costs():
    """CPU seconds of a fit on one core, at the defaults and with the counts of ``--quick``."""
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
            begin = time.process_time()
            fit(**how)
            yield {"shape": label, "which": which, "cpu": round(time.process_time() - begin, 1)}


def cost_lines(found):
    shapes = dict.fromkeys(run["shape"] for run in found)
    cpu = {(run["shape"], run["which"]): run["cpu"] for run in found}
    rows = [[shape, cpu[shape, "default"], cpu[shape, "--quick"]] for shape in shapes]
    head = ["variables x rows", "default, CPU s", "as `--quick`, CPU s"]
    return ["## Cost of `SGBNEnsemble` on one core", "", *table(head, rows), ""]


def lines(runs):
    found = [run for run in runs if "shape" in run]
    runs = [run for run in runs if "shape" not in run]
    return study_lines(runs) + (cost_lines(found) if found else [])


def study_lines(runs):
    text = ["# Ensemble and posterior on known networks", "", __doc__.split("\n\n")[2], ""]
    for n in SIZES:
        rows = []
        for method in METHODS:
            own = [run for run in runs if run["method"] == method and run["n"] == n]
            if own:
                sims = len({run["sim"] for run in own})
                sums = [sum(run[key] for run in own) / sims for key in ("errors", "shd", "cpu")]
                precision = [run["precision"] for run in own if "precision" in run]
                precision = f"{np.mean(precision):.3f}" if precision else "-"
                counts = np.sum([run.get("supported", [0, 0]) for run in own], axis=0)
                right = f"{counts[1]} of {counts[0]}" if counts[0] else "-"
                rows.append([method, *(f"{one:.1f}" for one in sums), precision, right])
        names = ["wrong arrows", "SHD of the class", "CPU s", "average precision of pairs"]
        text += [f"## n = {n}: sums over the networks", ""]
        text += [*table(["", *names, "supported arrows that are true"], rows), ""]
    for key in ("pairs", "arrows"):
        text += [f"## Share or probability of {key}, and how many are true", ""]
        cells = {}
        for method in ("SGBNEnsemble", "NetworkPosterior", "Gadget (sumu)"):
            for n in SIZES:
                own = [run[key] for run in runs if run["method"] == method and run["n"] == n]
                if own:
                    cells[f"{method}, n = {n}"] = np.sum(own, axis=0)
        rows = []
        for b in range(len(BINS) - 1):
            shown = [
                f"{t / c:.2f} ({c})" if c else "-" for c, t in (one[b] for one in cells.values())
            ]
            rows.append([f"{BINS[b]:g} to {BINS[b + 1]:g}", *shown])
        text += [*table(["", *cells], rows), ""]
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sims", type=int, default=5)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    runs = []
    for n in SIZES:
        for network in NETWORKS:
            for sim in range(arguments.sims):
                methods = [one for one in arguments.methods if sim == 0 or one not in SLOW]
                runs += [run(method, network, n, sim) for method in methods]
        if n == SIZES[-1]:
            runs += costs()
        write(arguments.out, "ensemble", {"seed": SEED, "runs": runs}, lines(runs))


if __name__ == "__main__":
    main()
