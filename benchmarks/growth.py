"""How the CPU time of SGBN grows with the variables, the samples and the edges.

    python benchmarks/growth.py     # writes benchmarks/results/growth.json, .md and .png

Random DAGs with the weights of Exp-II, three simulations each, one thread, warm. One of m, n and
the degree changes, the others stay at m = 200, n = 1000, degree 4.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import time
import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np
from flopsearch import flop
from output import RESULTS, write
from peers.adapters.flop import PENALTY
from peers.studies import warm_up_data

from sgbn import SGBN, random_dag, simulate_sem
from sgbn.experiments.markdown import table

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
FIXED = (ONE_START, KICKS, FLOP)  # the same effort at all sizes: one power of the size makes sense
STYLES = {
    "default": ("#0072B2", "o", "-"),
    "fast": ("#D55E00", "s", "--"),
    KICKS: ("#009E73", "^", ":"),
    FLOP: ("#777777", "x", "-."),
}
NOTE = """## Why

The moments cost n m^2. All else sees n only through the trees of parent sets
(`sgbn.search.parent_trees`), which keep all that was computed; two thirds of a search is to make
their nodes. A search begins with strong dependences alone (a rough order, as if there were 100
samples), from which the trees of the real search stay small: at m = 100 and degree 10 it made
80,000 nodes in place of 600,000.

- **Samples**: with more of them weaker dependences are worth a parent, paths are longer, nodes list
  more children.
- **Variables**: each has its tree, a new node costs a row of at most m candidates, and to place a
  variable is to look at all others. From 500 on, candidates are screened (if n >= m).
- **Degree**: paths are longer, and more variables improve each of them.

FLOP (`flopsearch`, 1 restart) needs more samples than variables; at m = 1000 there are no more.
Times are of a shared machine on which other work ran at the same time: with one simulation of each
point, they and the exponents are rough."""


def simulate(m, n, degree, sim, seed):
    rng = np.random.default_rng([seed, m, n, degree, sim])
    X, _ = simulate_sem(random_dag(m, degree, rng), n, random_state=rng)
    return X


def measure(axis, value, sim, seed):
    """Yield one record per setting, and one of FLOP."""
    point = CENTRE | {axis: value}
    X = simulate(**point, sim=sim, seed=seed)
    for name, setting in SETTINGS.items():
        begin = time.process_time()
        learner = SGBN(**setting).fit(X)
        cpu = time.process_time() - begin
        edges = learner.network_.n_edges
        yield {"axis": axis, "setting": name, **point, "sim": sim, "cpu": cpu, "edges": edges}
    cpu, edges = flop_time(X)
    if np.isnan(cpu):
        return
    yield {"axis": axis, "setting": FLOP, **point, "sim": sim, "cpu": cpu, "edges": edges}


def flop_time(X):
    """CPU seconds and edges of FLOP; it needs more samples than variables."""
    if len(X) <= X.shape[1]:
        return np.nan, 0
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    begin = time.process_time()
    found = flop(Z, PENALTY, restarts=1) != 0
    return time.process_time() - begin, int((found | found.T).sum()) // 2


def curve(runs, axis, setting):
    """Values along an axis and median CPU seconds."""
    own = [run for run in runs if (run["axis"], run["setting"]) == (axis, setting)]
    values = sorted({run[axis] for run in own})
    seconds = [np.median([run["cpu"] for run in own if run[axis] == value]) for value in values]
    return np.array(values, float), np.array(seconds)


def exponent(values, seconds):
    """Slope of a line on log-log axes, by least squares."""
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
        panel.tick_params(axis="x", which="minor", labelbottom=False)
        fixed = ", ".join(f"{key} = {CENTRE[key]}" for key in CENTRE if key != axis)
        panel.set_title(fixed, fontsize=10)
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("CPU seconds per fit")
    lines, labels = panels[0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def report(runs):
    n_sims = 1 + max(run["sim"] for run in runs)
    lines = [
        "# How the time of a fit grows",
        "",
        f"Random DAGs with the weights of Exp-II, medians of simulations ({n_sims}), one thread, "
        "warm; CPU seconds. Where it is not the one that changes, m = 200, n = 1000, degree 4. "
        "Default: `SGBN()`; fast: `n_kicks=0`. Starts, kicks and tables of both depend on m, n and "
        "on whether starts agree; so exponents (slopes on log-log axes) are of fixed efforts.",
        "",
        "![CPU seconds over m, n and degree](growth.png)",
    ]
    for axis, grid in GRID.items():
        rows = []
        for name in (*SETTINGS, FLOP):
            values, seconds = curve(runs, axis, name)
            slope = f"**{exponent(values, seconds):.2f}**" if name in FIXED else "-"
            at = dict(zip(values, seconds, strict=True))  # FLOP lacks values: samples are too few
            rows.append([name, *(f"{at[v]:.3g}" if v in at else "-" for v in grid), slope])
        header = [AXES[axis], *(f"{value:,}" for value in grid), "exponent"]
        lines += ["", *table(header, rows)]
    return [*lines, "", *NOTE.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sims", type=int, default=SIMS, help="simulations of each point")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    SGBN().fit(warm_up_data())
    runs = [
        run | {"cpu": round(run["cpu"], 4)}
        for axis, grid in GRID.items()
        for value in grid
        for sim in range(arguments.sims)
        for run in measure(axis, value, sim, arguments.seed)
    ]
    words = ["benchmarks/growth.py", "--sims", str(arguments.sims)]
    write(arguments.out, "growth", {"seed": arguments.seed, "runs": runs}, report(runs), words)
    draw(runs, arguments.out / "growth.png")


if __name__ == "__main__":
    main()
