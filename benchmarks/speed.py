"""Compare the CPU time of the learners with the time of their basic steps, in one run.

    python benchmarks/speed.py            # writes benchmarks/results/speed.json and speed.md

The data have n = 1000 rows of random DAGs of degree 4; alpha = 0.1, one thread, all code compiled.
"Base" is X'X plus one lasso pass, in which all m columns are solved from zero, without an order, to
the same tolerance.
"""

import sys
import tempfile
import warnings

import numpy as np
from output import main, number, timed, timed_process
from scipy.optimize import linprog
from scipy.sparse import csr_array

from sgbn.cohort.simulate import simulate_sem
from sgbn.core.graph import random_dag
from sgbn.core.moments import moments_of
from sgbn.learn.lasso import lasso_gram
from sgbn.paper.h_sgbn import HSGBN
from sgbn.paper.or_sgbn import ORSGBN, order_cost, solve_order

N, DEGREE, ALPHA = 1000, 4, 0.1


def cpu(function, seconds=1.0):
    """Return the median CPU seconds of at least three calls, after a first one to warm up."""
    # The first call compiles and fills the caches.
    function()
    times = []
    # Short calls need many repetitions, long calls only a few.
    while len(times) < 3 or (sum(times) < seconds and len(times) < 200):
        times.append(timed(function)[1])
    return float(np.median(times))


def simulate(m, seed):
    """Return rows of a random DAG, and their correlations."""
    rng = np.random.default_rng(seed)
    X, _ = simulate_sem(random_dag(m, DEGREE, rng), N, random_state=rng)
    return X, moments_of(X, [f"x{k}" for k in range(m)]).R


def measure_learners(m, seed):
    X, R = simulate(m, [seed, m])
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
    """Measure the first order step of a fit, and scipy's HiGHS on the same edges."""
    _, R = simulate(m, [seed, m, 1])
    W = np.abs(lasso_gram(R, np.full((m, m), ALPHA)).x.T)
    tails, heads = np.nonzero(W)
    weights = W[tails, heads]
    n_edges = len(weights)
    edge = np.arange(n_edges)
    # The constraint of an edge: place of the tail + 1 - place of the head <= excess.
    values = np.concatenate([np.ones(n_edges), -np.ones(2 * n_edges)])
    places = (np.tile(edge, 3), np.concatenate([tails, heads, m + edge]))
    A = csr_array((values, places), shape=(n_edges, m + n_edges))
    # Places cost nothing. The excess of an edge costs its weight.
    costs = np.concatenate([np.zeros(m), weights])
    bounds = [(0, m)] * m + [(0, None)] * n_edges

    def linear_program():
        return linprog(costs, A_ub=A, b_ub=-np.ones(n_edges), bounds=bounds, method="highs")

    program = linear_program()
    highs = cpu(linear_program)
    ours = cpu(lambda: solve_order(tails, heads, weights, m))
    order = solve_order(tails, heads, weights, m).x
    # Optima are compared, not orders, because several orders may be equally good.
    difference = abs(order_cost(tails, heads, weights, order) - program.fun) / program.fun
    return {"m": m, "edges": n_edges, "ours": ours, "highs": highs, "difference": difference}


def measure_first_call():
    """Return wall seconds of a new process that fits all learners, with empty and full cache."""
    program = (
        "import time; begin = time.perf_counter()\n"
        "import numpy as np; from sgbn import HSGBN, ORSGBN\n"
        "X = np.random.default_rng(0).standard_normal((100, 20))\n"
        "ORSGBN().fit(X); ORSGBN(path='literal').fit(X); HSGBN().fit(X)\n"
        "print(time.perf_counter() - begin)\n"
    )
    with tempfile.TemporaryDirectory() as cache:
        # The second process finds the code that the first one compiled.
        words = [sys.executable, "-c", program]
        return [float(timed_process(words, NUMBA_CACHE_DIR=cache)[0]) for _ in range(2)]


def learner_row(row):
    """Return the milliseconds of one size, and ratios."""
    # Every learner of this kind needs at least these two steps.
    base = row["gram"] + row["lasso_pass"]
    ratios = {f"{name}_ratio": row[name] / base for name in ("literal", "homotopy")}
    if "hsgbn" in row:
        ratios["hsgbn_ratio"] = f"**{row['hsgbn'] / row['homotopy']:.1f}**"
    # `check_fields` needs these fields even if no size has them.
    gaps = {"hsgbn": None, "hsgbn_ratio": None}
    return gaps | {name: 1e3 * value for name, value in row.items()} | {"m": row["m"]} | ratios


def order_row(row):
    times = {name: 1e3 * row[name] for name in ("ours", "highs")}
    return row | times | {"ratio": row["highs"] / row["ours"]}


def slots(results):
    return {
        "learners": list(map(learner_row, results["runs"])),
        "order": list(map(order_row, results["order"])),
        "seconds": tuple(results["first_call_seconds"]),
    }


def measure(given):
    warnings.simplefilter("ignore")  # random DAGs have tied pairs
    return {
        "runs": [measure_learners(m, given.seed) for m in given.sizes],
        "order": [measure_order(m, given.seed) for m in given.sizes],
        "first_call_seconds": measure_first_call(),
    }


if __name__ == "__main__":
    sizes = {"type": int, "nargs": "+", "default": [40, 100, 200, 400, 1000]}
    main(measure, slots, seed=number(0), sizes=sizes)
