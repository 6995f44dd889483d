"""CPU time of the learners, as ratios to what they are made of, in one run.

    python benchmarks/speed.py            # writes benchmarks/results/speed.json and speed.md

n = 1000, random DAGs of degree 4, alpha = 0.1, one thread, warm. "Base" is X'X plus one lasso
pass: all m columns solved from zero, without an order, to the same tolerance.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from sgbn import HSGBN, ORSGBN, random_dag, simulate_sem
from sgbn.moments import moments_of
from sgbn.runs import versions
from sgbn.solvers.lasso import lasso_gram
from sgbn.solvers.order import order_cost, solve_order

N, DEGREE, ALPHA = 1000, 4, 0.1
RESULTS = Path(__file__).parent / "results"


def cpu(function, seconds=1.0):
    """Median CPU seconds of a call, over as many calls as fit, three at least, after one."""
    function()
    times = []
    while len(times) < 3 or (sum(times) < seconds and len(times) < 200):
        begin = time.process_time()
        function()
        times.append(time.process_time() - begin)
    return float(np.median(times))


def measure_learners(m, seed):
    rng = np.random.default_rng([seed, m])
    X, _ = simulate_sem(random_dag(m, DEGREE, rng), N, random_state=rng)
    R = moments_of(X, [f"x{k}" for k in range(m)]).R
    prices = np.full((m, m), ALPHA)
    row = {
        "m": m,
        "gram": cpu(lambda: X.T @ X),
        "lasso_pass": cpu(lambda: lasso_gram(R, prices)),
        "literal": cpu(lambda: ORSGBN(ALPHA, path="literal").fit(X)),
        "homotopy": cpu(lambda: ORSGBN(ALPHA).fit(X)),
    }
    if m <= 400:
        row["hsgbn"] = cpu(lambda: HSGBN(ALPHA).fit(X))
    return row


def measure_order(m, seed):
    """First order step of a fit against scipy's HiGHS on the same edges."""
    rng = np.random.default_rng([seed, m, 1])
    X, _ = simulate_sem(random_dag(m, DEGREE, rng), N, random_state=rng)
    R = moments_of(X, [f"x{k}" for k in range(m)]).R
    W = np.abs(lasso_gram(R, np.full((m, m), ALPHA)).x.T)
    tails, heads = np.nonzero(W)
    weights = W[tails, heads]
    n_edges = len(weights)
    edge = np.arange(n_edges)
    values = np.concatenate([np.ones(n_edges), -np.ones(2 * n_edges)])
    places = (np.tile(edge, 3), np.concatenate([tails, heads, m + edge]))
    A = csr_array((values, places), shape=(n_edges, m + n_edges))
    costs = np.concatenate([np.zeros(m), weights])
    bounds = [(0, m)] * m + [(0, None)] * n_edges

    def linear_program():
        return linprog(costs, A_ub=A, b_ub=-np.ones(n_edges), bounds=bounds, method="highs")

    program = linear_program()
    highs = cpu(linear_program)
    ours = cpu(lambda: solve_order(tails, heads, weights, m))
    order = solve_order(tails, heads, weights, m).x
    difference = abs(order_cost(tails, heads, weights, order) - program.fun) / program.fun
    return {"m": m, "edges": n_edges, "ours": ours, "highs": highs, "difference": difference}


def measure_first_call():
    """Wall seconds of a new process that fits all learners, with an empty and a full cache."""
    program = (
        "import time; begin = time.perf_counter()\n"
        "import numpy as np; from sgbn import HSGBN, ORSGBN\n"
        "X = np.random.default_rng(0).standard_normal((100, 20))\n"
        "ORSGBN().fit(X); ORSGBN(path='literal').fit(X); HSGBN().fit(X)\n"
        "print(time.perf_counter() - begin)\n"
    )
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"NUMBA_CACHE_DIR": cache}
        return [
            float(
                subprocess.run(
                    [sys.executable, "-c", program],
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=True,
                ).stdout
            )
            for _ in range(2)
        ]


def table(results):
    lines = [
        "# Speed",
        "",
        f"`{results['command']}`, seed {results['seed']}; n = {N}, random DAGs of degree {DEGREE}, "
        f"alpha = {ALPHA}, one thread, warm; CPU milliseconds. Base = X'X + one lasso pass.",
        "",
        "| m | X'X | lasso pass | ORSGBN literal | / base | ORSGBN homotopy | / base "
        "| HSGBN | / homotopy |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in results["learners"]:
        base = row["gram"] + row["lasso_pass"]
        cells = [row["gram"], row["lasso_pass"], row["literal"]]
        text = [f"{1e3 * cell:.2f}" for cell in cells]
        text += [f"**{row['literal'] / base:.1f}**", f"{1e3 * row['homotopy']:.2f}"]
        text += [f"**{row['homotopy'] / base:.1f}**"]
        if "hsgbn" in row:
            text += [f"{1e3 * row['hsgbn']:.1f}", f"**{row['hsgbn'] / row['homotopy']:.1f}**"]
        else:
            text += ["-", "-"]
        lines.append(f"| {row['m']} | " + " | ".join(text) + " |")
    lines += [
        "",
        "Order step (the first of a fit) against scipy's HiGHS. The aim at m = 1000 was 500 times:",
        "",
        "| m | edges | ours | HiGHS | HiGHS / ours | relative difference of the optima |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['m']} | {row['edges']} | {1e3 * row['ours']:.2f} | {1e3 * row['highs']:.0f} "
        f"| **{row['highs'] / row['ours']:.0f}** | {row['difference']:.0e} |"
        for row in results["order"]
    ]
    cold, warm = results["first_call_seconds"]
    lines += [
        "",
        f"First fits of a new process, imports included: {cold:.1f} s with an empty numba cache, "
        f"{warm:.1f} s from the disk cache (wall).",
        "",
        "Versions: " + ", ".join(f"{k} {v}" for k, v in results["versions"].items()) + ".",
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sizes", type=int, nargs="+", default=[40, 100, 200, 400, 1000])
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # random DAGs have tied pairs
    results = {
        "command": "python benchmarks/speed.py",
        "seed": arguments.seed,
        "versions": versions(),
        "machine": platform.machine(),
        "learners": [measure_learners(m, arguments.seed) for m in arguments.sizes],
        "order": [measure_order(m, arguments.seed) for m in arguments.sizes],
        "first_call_seconds": measure_first_call(),
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "speed.json").write_text(json.dumps(results, indent=1) + "\n")
    text = table(results)
    (arguments.out / "speed.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
