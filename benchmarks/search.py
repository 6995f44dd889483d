"""Measure how often SGBN finds the best known network, and whether seeds agree on real tables.

    python benchmarks/search.py         # writes benchmarks/results/search.json and search.md

Random problems have 10 to 60 variables, 2 to 8 neighbours per variable, 100 to 1,000 samples
(uniform in their logarithm), and unequal noise variances. The best known score of a problem is the
smallest score of all methods here. In real tables, age, sex and site are regressed out, and no rows
are left out.
"""

import warnings
from functools import partial

import numpy as np
import tables
from output import main, number, select, table, timed

from sgbn.cohort.simulate import simulate_sem
from sgbn.core.equivalence import consistent_extension
from sgbn.core.graph import random_dag
from sgbn.learn.search.plan import default_gamma, ebic_prices
from sgbn.learn.sgbn import SGBN
from sgbn.paper.experiments.experiment import data_folder

HIT = 0.01  # scores with a smaller difference are equal up to round-off
RESTARTS = 20  # of FLOP
SIZES = ((10, 16), (17, 25), (26, 40), (41, 60))
TABLES = {"IXI OLD": ("ixi_age", "OLD"), "ABIDE controls": ("abide1_asd", "CTR")}
METHODS = {
    '`SGBN(effort="fast")`': lambda X: sgbn(X, effort="fast"),
    # If n_starts or n_kicks is given, the search uses only trees, without tables of scores.
    "trees alone, `SGBN(n_starts=2)`": lambda X: sgbn(X, n_starts=2),
    "trees alone, `SGBN(n_kicks=300)`": lambda X: sgbn(X, n_kicks=300),
    "`SGBN()`": lambda X: sgbn(X),
    "`SGBN()`, best of 10 other seeds": lambda X: min(
        sgbn(X, random_state=s) for s in range(1, 11)
    ),
    '`SGBN(effort="thorough")`': lambda X: sgbn(X, effort="thorough"),
    f"FLOP, {RESTARTS} restarts": lambda X: flop_score(X),
}


def sgbn(X, **parameters):
    # FLOP has no rule for outliers, so that all methods get all rows.
    return float(SGBN(outliers="keep", **parameters).fit(X).score_)


def flop_score(X):
    """Return our score of FLOP's network. Its penalty per parent is ours for a third parent."""
    from flopsearch import flop

    n, m = X.shape
    # price[k] is the price of k parents.
    price = ebic_prices(n, m, default_gamma(n))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    pdag = flop(Z, price[3] / (3 * np.log(n)), restarts=RESTARTS)
    return ebic(Z, consistent_extension(pdag != 0), price)


def ebic(Z, graph, price):
    R, n = np.corrcoef(Z, rowvar=False), len(Z)
    total = 0.0
    for v in range(len(R)):
        P = np.flatnonzero(graph[:, v])
        explained = R[v, P] @ np.linalg.solve(R[np.ix_(P, P)], R[P, v]) if len(P) else 0.0
        total += n * np.log(1 - explained) + price[len(P)]
    return float(total)


def problem(seed, number):
    rng = np.random.default_rng([seed, number])
    m = int(rng.integers(10, 61))
    degree = rng.uniform(2, 8)
    n = round(10 ** rng.uniform(2, 3))
    # A variable has at most m - 1 neighbours.
    graph = random_dag(m, min(degree, m - 1), rng)
    X, _ = simulate_sem(graph, n, noise="unequal", random_state=rng)
    return X, {"problem": number, "m": m, "degree": round(degree, 1), "n": n}


def measured(method, X):
    score, cpu = timed(method, X)
    return {"score": score, "cpu": cpu}


def run_problem(seed, number):
    X, record = problem(seed, number)
    return record | {name: measured(method, X) for name, method in METHODS.items()}


def compile_kernels():
    for m in (12, 18, 24):
        rng = np.random.default_rng(m)
        X, _ = simulate_sem(random_dag(m, 2.0, rng), 100, random_state=rng)
        for method in METHODS.values():
            method(X)


def real_table(name, group):
    """Return the regions of a group, with age, sex and site regressed out."""
    rows = tables.read(name, group)
    X, nuisance = (
        rows.regions.to_numpy(float),
        np.column_stack([np.ones(len(rows.site)), rows.nuisance]),
    )
    return X - nuisance @ np.linalg.lstsq(nuisance, X, rcond=None)[0]


def run_tables(folder, n_seeds):
    for name, (file, group) in TABLES.items():
        if folder is None:
            yield {"table": name, "skipped": "the folder of real tables (SGBN_DATA) was not found"}
            continue
        X = real_table(file, group)
        for effort, seeds in (("fast", 1), ("standard", n_seeds), ("thorough", n_seeds)):
            for seed in range(seeds):
                fit = partial(sgbn, effort=effort, random_state=seed)
                record = {"table": name, "shape": X.shape, "effort": effort, "seed": seed}
                yield record | measured(fit, X)
                print(name, effort, seed, flush=True)


def report_problems(runs):
    best = np.array([min(run[name]["score"] for name in METHODS) for run in runs])
    sizes = np.array([run["m"] for run in runs])
    rows = []
    for name in METHODS:
        score = np.array([run[name]["score"] for run in runs])
        cpu = np.array([run[name]["cpu"] for run in runs])
        hit = score < best + HIT
        parts = [hit[(sizes >= low) & (sizes <= high)] for low, high in SIZES]
        cells = [f"{100 * part.mean():.0f} %" if len(part) else "-" for part in parts]
        rows.append([name, 100 * hit.mean(), *cells, (score - best).mean(), 1e3 * cpu.mean()])
    return rows


def report_tables(runs):
    lines = []
    for name in TABLES:
        of_table = select(runs, table=name)
        if "skipped" in of_table[0]:
            lines += ["", f"{name}: skipped, {of_table[0]['skipped']}."]
            continue
        rows = []
        for effort in ("fast", "standard", "thorough"):
            chosen = select(of_table, effort=effort)
            score = np.sort([run["score"] for run in chosen])
            cpu = np.mean([run["cpu"] for run in chosen])
            scores = ", ".join(f"{value:.1f}" for value in score)
            rows.append([effort, scores, f"{np.ptp(score):.1f}", f"{cpu:.1f}"])
        n, m = of_table[0]["shape"]
        lines += ["", f"{name}, {m} regions of {n} subjects:", ""]
        lines += table(["effort", "scores of seeds", "largest difference", "CPU, s"], rows)
    return lines


def slots(runs):
    problems = [run for run in runs if "problem" in run]
    return {
        "n_problems": len(problems),
        "problems": report_problems(problems),
        "tables": report_tables([run for run in runs if "table" in run]),
    }


def measure(given):
    warnings.simplefilter("ignore")  # tied pairs
    compile_kernels()
    for number_of_problem in range(given.problems):
        yield run_problem(given.seed, number_of_problem)
        if number_of_problem % 25 == 24:
            print(number_of_problem + 1, "problems", flush=True)
    yield from run_tables(data_folder(), given.seeds)


if __name__ == "__main__":
    seeds = number(5, "of the real tables")
    main(measure, slots, seed=number(0), problems=number(500), seeds=seeds)
