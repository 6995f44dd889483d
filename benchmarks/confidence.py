"""Measure how reliable the frequencies of `edge_confidence` are, and what they cost.

python benchmarks/confidence.py     # writes benchmarks/results/confidence.json and .md
"""

from functools import partial

import numpy as np
from output import cpu_times, main, table

from sgbn.cli.options import add_worker_options, workers
from sgbn.cohort.simulate import simulate_sem
from sgbn.core.equivalence import compare_graphs, skeleton
from sgbn.core.graph import random_dag
from sgbn.inference.confidence import edge_confidence
from sgbn.learn.sgbn import SGBN

SEED = 11
# The number of regions is that of the paper's experiments.
M, DEGREE, SIZES = 40, 3.0, (60, 100, 200)
N_NETWORKS, N_PAIRS = 20, 50
N_FULL = 5  # networks for which the full search is run as well
BINS = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
LEARNERS = {"fast": SGBN(n_kicks=0), "full": SGBN()}


def make_data(n, which):
    rng = np.random.default_rng([SEED, n, which])
    return simulate_sem(random_dag(M, DEGREE, rng), n, noise="unequal", random_state=rng)


def pair_records(confidence, truth):
    """Return four columns, with one row per pair that any half joins.

    They are the frequency, the share of the direction, whether the pair is joined in truth, and
    whether it has this direction in truth.
    """
    place = {name: k for k, name in enumerate(confidence.names)}
    edges = confidence.edges()
    i, j = (np.array([place[name] for name in edges[end]]) for end in ("source", "target"))
    true = truth.coef != 0
    return np.column_stack([edges.adjacency, edges.direction, skeleton(true)[i, j], true[i, j]])


def reliability(records, column, value):
    """Return the count, and the share of `value`, in bins of `column`: the reliability curve."""
    # The small constant allows for round-off: a share of 0.3 is in the bin that begins there.
    bins = np.clip(np.digitize(records[:, column] + 1e-9, BINS) - 1, 0, len(BINS) - 2)
    return [
        (
            int((bins == b).sum()),
            float(records[bins == b, value].mean()) if (bins == b).any() else None,
        )
        for b in range(len(BINS) - 1)
    ]


def quality(n, learner, n_networks, n_jobs):
    """Return the records of all pairs, and mean results of halves, consensus and single fits."""
    records, outcomes = [], []
    for which in range(n_networks):
        X, truth = make_data(n, which)
        confidence = edge_confidence(X, learner, n_pairs=N_PAIRS, n_jobs=n_jobs)
        records.append(pair_records(confidence, truth))
        true = skeleton(truth.coef)
        single = compare_graphs(truth.coef, SGBN().fit(X).coef_)
        agreed = compare_graphs(truth.coef, confidence.consensus())
        outcomes.append(
            [
                # Each pair is in the matrix twice.
                confidence.adjacency_[true].sum() / 2,
                confidence.adjacency_[~true].sum() / 2,
                true.sum() / 2,
                single.errors,
                single.shd_cpdag,
                agreed.errors,
                agreed.shd_cpdag,
            ]
        )
    return np.concatenate(records), np.mean(outcomes, axis=0).round(2).tolist()


def cost():
    """Return the cost of 200 halves at n = 100, in single fits: the median of five networks."""
    ratios = {name: [] for name in LEARNERS}
    for which in range(5):
        X, _ = make_data(100, which)
        fit = min(cpu_times(partial(SGBN().fit, X), 3))
        for name, learner in LEARNERS.items():
            [halves] = cpu_times(partial(edge_confidence, X, learner, n_pairs=100), 1)
            ratios[name].append(halves / fit)
    return {name: round(float(np.median(values)), 1) for name, values in ratios.items()}


def curve_table(runs, key):
    head = [key, *(f"n = {run['n']}" for run in runs)]
    rows = []
    for b, low in enumerate(BINS[:-1]):
        cells = [run[key][b] for run in runs]
        if any(count for count, _ in cells):
            shown = [f"{share:.2f} ({count})" if count else "-" for count, share in cells]
            rows.append([f"{low:.1f} to {BINS[b + 1]:.1f}", *shown])
    return table(head, rows)


def measure_size(n, n_jobs):
    """Return curves, consensus and searches with samples of n rows."""
    records, consensus = quality(n, LEARNERS["fast"], N_NETWORKS, n_jobs)
    # Only pairs that are joined often and in truth: other pairs have no true direction.
    frequent = records[(records[:, 0] >= 0.5) & (records[:, 2] == 1)]
    # The fast search is repeated on the same few networks, so that both have the same data.
    _, fast = quality(n, LEARNERS["fast"], N_FULL, n_jobs)
    _, full = quality(n, LEARNERS["full"], N_FULL, n_jobs)
    return {
        "n": n,
        "adjacent": reliability(records, 0, 2),
        "adjacent, true direction": reliability(records, 0, 3),
        "direction": reliability(frequent, 1, 3),
        "found": consensus,
        "fast": fast,
        "full": full,
    }


def measure(given):
    SGBN().fit(make_data(60, 0)[0])  # compiles
    costs = cost()
    with workers(given) as n_jobs:
        return {"cost": costs, "runs": [measure_size(n, n_jobs) for n in SIZES]}


def slots(results):
    runs = results["runs"]
    curves = {
        "adjacent": "adjacent",
        "directed": "adjacent, true direction",
        "direction": "direction",
    }
    tables = {slot: curve_table(runs, key) for slot, key in curves.items()}
    return tables | {"sizes": runs, "cost": results["cost"]}


if __name__ == "__main__":
    main(measure, slots, partial(add_worker_options, default=1))
