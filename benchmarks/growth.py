"""Measure how the CPU time of SGBN grows with the numbers of variables, samples and edges.

    python benchmarks/growth.py     # writes benchmarks/results/growth.json, .md and .png

The data come from random DAGs with the weights of Exp-II, with three simulations each, on one
thread, with all code compiled. One of m, n and the degree changes. The others stay at m = 200,
n = 1000 and degree 4.
"""

import warnings
from itertools import product

import matplotlib as mpl
import numpy as np
from output import main, number, select, table, timed, values_of
from peers.studies import warm_up_data

from sgbn.cohort.simulate import simulate_sem
from sgbn.core.graph import random_dag
from sgbn.learn.sgbn import SGBN

# Figures are drawn without a display. This must come before pyplot is imported.
mpl.use("Agg")
import matplotlib.pyplot as plt

SIMS = 3
CENTRE = {"m": 200, "n": 1000, "degree": 4}
GRID = {
    "m": (50, 100, 200, 400, 1000),
    "n": (100, 300, 1000, 3000, 10_000),
    "degree": (2, 3, 4, 6, 8, 10),
}
AXES = {"m": "variables m", "n": "samples n", "degree": "mean degree"}
ONE_START, KICKS = "1 start, no kicks", "2 starts, 10 kicks"
SETTINGS = {
    "default": {},
    "fast": {"n_kicks": 0},
    ONE_START: {"n_starts": 1, "n_kicks": 0},
    KICKS: {"n_starts": 2, "n_kicks": 10},
}
FLOP = "FLOP, 1 restart"
FIXED = (ONE_START, KICKS, FLOP)  # the same effort at all sizes, so that an exponent makes sense
STYLES = {
    "default": ("#0072B2", "o", "-"),
    "fast": ("#D55E00", "s", "--"),
    KICKS: ("#009E73", "^", ":"),
    FLOP: ("#777777", "x", "-."),
}


def simulate(m, n, degree, sim, seed):
    rng = np.random.default_rng([seed, m, n, degree, sim])
    X, _ = simulate_sem(random_dag(m, degree, rng), n, random_state=rng)
    return X


def measure_point(axis, value, sim, seed):
    """Yield one record per setting, and one of FLOP if it can run."""
    point = CENTRE | {axis: value}
    X = simulate(**point, sim=sim, seed=seed)
    learners = {name: SGBN(**setting).fit for name, setting in SETTINGS.items()}
    if len(X) > X.shape[1]:  # FLOP needs more samples than variables
        learners[FLOP] = run_flop
    for name, learn in learners.items():
        learned, cpu = timed(learn, X)
        edges = learned if name == FLOP else learned.network_.n_edges
        record = {"axis": axis, "setting": name, **point, "sim": sim}
        yield record | {"cpu": round(cpu, 4), "edges": edges}


def run_flop(X):
    """Return the number of edges that FLOP finds."""
    from peers.adapters.flop import search  # needs the extra "peers"

    graph = search(X, restarts=1)
    # Together with the transpose, each edge counts twice, whether it is directed or not.
    return int((graph | graph.T).sum()) // 2


def curve(runs, axis, setting):
    """Return the values along an axis and the median CPU seconds."""
    chosen = select(runs, axis=axis, setting=setting)
    values = sorted(values_of(chosen, axis))
    # The median is used, because the search of one simulation may be much longer.
    seconds = [
        np.median([run["cpu"] for run in select(chosen, **{axis: value})]) for value in values
    ]
    return np.array(values, float), np.array(seconds)


def exponent(values, seconds):
    """Return the slope of a line on log-log axes, by least squares."""
    return float(np.polyfit(np.log(values), np.log(seconds), 1)[0])


def draw(runs, path):
    figure, panels = plt.subplots(1, 3, figsize=(10, 3.6), sharey=True, layout="constrained")
    for panel, axis in zip(panels, GRID, strict=True):
        for name, (colour, marker, line) in STYLES.items():
            values, seconds = curve(runs, axis, name)
            panel.loglog(
                values, seconds, line, color=colour, marker=marker, markersize=4, label=name
            )
        panel.set_xlabel(AXES[axis])
        panel.set_xticks(GRID[axis], [f"{value:,}" for value in GRID[axis]], minor=False)
        # Only the sizes that were measured have labels: minor ticks would add others.
        panel.tick_params(axis="x", which="minor", labelbottom=False)
        fixed = ", ".join(f"{key} = {CENTRE[key]}" for key in CENTRE if key != axis)
        panel.set_title(fixed, fontsize=10)
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("CPU seconds per fit")
    lines, labels = panels[0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def slots(runs):
    tables = []
    for axis, grid in GRID.items():
        rows = []
        for name in (*SETTINGS, FLOP):
            values, seconds = curve(runs, axis, name)
            slope = f"**{exponent(values, seconds):.2f}**" if name in FIXED else "-"
            # FLOP lacks values if there are too few samples.
            at = dict(zip(values, seconds, strict=True))
            rows.append([name, *(f"{at[v]:.3g}" if v in at else "-" for v in grid), slope])
        header = [AXES[axis], *(f"{value:,}" for value in grid), "exponent"]
        tables += ["", *table(header, rows)]
    return {"sims": 1 + max(run["sim"] for run in runs), "tables": tables[1:]}


def measure(given):
    warnings.simplefilter("ignore")
    # Compiles.
    SGBN().fit(warm_up_data())
    for axis, grid in GRID.items():
        for value, sim in product(grid, range(given.sims)):
            yield from measure_point(axis, value, sim, given.seed)


if __name__ == "__main__":
    given, results = main(
        measure, slots, seed=number(0), sims=number(SIMS, "simulations of each point")
    )
    draw(results["runs"], given.out / "growth.png")
