"""CPU time of the learners, as ratios to what they are made of, in one run.

    python benchmarks/speed.py            # writes benchmarks/results/speed.json and speed.md

n = 1000, random DAGs of degree 4, alpha = 0.1, one thread, warm. "Base" is X'X plus one lasso
pass: all m columns solved from zero, without an order, to the same tolerance.
"""

import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
from output import options, table, timed, write
from scipy.optimize import linprog
from scipy.sparse import csr_array

from sgbn import HSGBN, ORSGBN, random_dag, simulate_sem
from sgbn.moments import moments_of
from sgbn.solvers.lasso import lasso_gram
from sgbn.solvers.order import order_cost, solve_order

N, DEGREE, ALPHA = 1000, 4, 0.1


def cpu(function, seconds=1.0):
    """Median CPU seconds of a call, over as many calls as fit, three at least, after one."""
    # Compiles, and fills the caches.
    function()
    times = []
    # Short calls need many repetitions, and long ones few.
    while len(times) < 3 or (sum(times) < seconds and len(times) < 200):
        times.append(timed(function)[1])
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
    # For each edge: place of the tail + 1 - place of the head <= excess.
    values = np.concatenate([np.ones(n_edges), -np.ones(2 * n_edges)])
    places = (np.tile(edge, 3), np.concatenate([tails, heads, m + edge]))
    A = csr_array((values, places), shape=(n_edges, m + n_edges))
    # Places cost nothing, and the excess of an edge its weight.
    costs = np.concatenate([np.zeros(m), weights])
    bounds = [(0, m)] * m + [(0, None)] * n_edges

    def linear_program():
        return linprog(costs, A_ub=A, b_ub=-np.ones(n_edges), bounds=bounds, method="highs")

    program = linear_program()
    highs = cpu(linear_program)
    ours = cpu(lambda: solve_order(tails, heads, weights, m))
    order = solve_order(tails, heads, weights, m).x
    # Optima, not orders: several orders may be equally good.
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
        # First empty, then full: the second process finds what the first compiled.
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


def learner_row(row):
    # What no learner of this kind can do without.
    base = row["gram"] + row["lasso_pass"]
    cells = [f"{1e3 * row[key]:.2f}" for key in ("gram", "lasso_pass", "literal")]
    cells += [f"**{row['literal'] / base:.1f}**", f"{1e3 * row['homotopy']:.2f}"]
    cells += [f"**{row['homotopy'] / base:.1f}**"]
    if "hsgbn" not in row:
        return [row["m"], *cells, "-", "-"]
    ratio = f"**{row['hsgbn'] / row['homotopy']:.1f}**"
    return [row["m"], *cells, f"{1e3 * row['hsgbn']:.1f}", ratio]


def order_row(row):
    times = f"{1e3 * row['ours']:.2f}", f"{1e3 * row['highs']:.0f}"
    ratio = f"**{row['highs'] / row['ours']:.0f}**"
    return [row["m"], row["edges"], *times, ratio, f"{row['difference']:.0e}"]


def slots(results):
    heads = ["m", "X'X", "lasso pass", "ORSGBN literal", "/ base", "ORSGBN homotopy", "/ base"]
    order = ["m", "edges", "ours", "HiGHS", "HiGHS / ours", "relative difference of the optima"]
    cold, warm = results["first_call_seconds"]
    return {
        **{"n": N, "degree": DEGREE, "alpha": ALPHA, "cold": cold, "warm": warm},
        "learners": table([*heads, "HSGBN", "/ homotopy"], map(learner_row, results["runs"])),
        "order": table(order, map(order_row, results["order"])),
    }


def main():
    parser = options(__doc__, 0)
    parser.add_argument("--sizes", type=int, nargs="+", default=[40, 100, 200, 400, 1000])
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # random DAGs have tied pairs
    results = {
        "seed": given.seed,
        "runs": [measure_learners(m, given.seed) for m in given.sizes],
        "order": [measure_order(m, given.seed) for m in given.sizes],
        "first_call_seconds": measure_first_call(),
    }
    write(given.out, "speed", results, slots(results))


if __name__ == "__main__":
    main()
