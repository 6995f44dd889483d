"""Test whether statistics averaged over several orders find more than those of one order.

python benchmarks/averaging.py --workers 2

A single order is learned from all pooled rows. Several orders are each learned from a random 85 %
of the rows. A pair is tested if any order joins it. Its statistic is the mean over the orders that
join it. Pairs are in the same class if the answers to two questions agree: did the pooled rows of
any order choose the pair, and do most orders join it?
"""

from dataclasses import replace

import numpy as np
from calibration_parts.cohorts import Setting, draw
from calibration_parts.score import LEVEL, N_PERMUTATIONS, quiet, same_weights
from output import main, number

from sgbn.cohort.rows import rows_of_groups
from sgbn.inference.differences import problem_of
from sgbn.inference.joint import SharedOrder
from sgbn.inference.permutations import Permuted, discovery_rates, ranked
from sgbn.learn.sgbn import SGBN
from sgbn.runs.tasks import parallel

SEED = 181  # the cohorts differ from those of calibration.py
PART = 0.85  # share of the rows from which each of several orders is learned
ORDERS = (1, 5)  # numbers of orders
SETTINGS = {
    f"{name}n = {n}": Setting((n, n), changed=10, removed=bool(name))
    for name in ("", "edges removed, ")
    for n in (60, 100)
}


def problems_of(pair, n_orders, rng):
    """Return one problem per order, over the same rows."""
    rows = rows_of_groups(pair.values, pair.codes)
    whole = problem_of(rows, SGBN(n_kicks=0), True, "two-sided")
    if n_orders == 1:
        return [whole]
    n = len(whole.residuals)
    parts = [whole.residuals[rng.permutation(n)[: int(PART * n)]] for _ in range(n_orders)]
    orders = [SharedOrder(part - part.mean(axis=0), SGBN(n_kicks=0), rows.names) for part in parts]
    return [replace(whole, shared=order) for order in orders]


def averaged(problems, residuals):
    """Return the pairs, their statistics and classes, and the parents of each order."""
    m = residuals.shape[1]
    total, count, pooled = np.zeros((m, m)), np.zeros((m, m)), np.zeros((m, m), bool)
    fits = [problem.fit(residuals) for problem in problems]
    for fit in fits:
        # Ends are sorted: one order may have i -> j, another j -> i, and both are the same pair.
        ends = tuple(np.sort(fit.edges, axis=1).T)
        total[ends] += fit.weights.statistic((0, 1))
        count[ends] += 1
        pooled[ends] |= fit.in_pool
    pairs = np.nonzero(count)
    statistic = np.abs(total[pairs]) / count[pairs]
    # There are four classes: pairs are compared with permuted pairs of the same class.
    classes = pooled[pairs] + 2 * (count[pairs] > len(problems) / 2)
    return pairs, statistic, classes.astype(np.intp), [fit.parents for fit in fits]


def figures(pair, n_orders, seed):
    """Return the number of tested pairs, the recall, and shares of false finds, by q."""
    rng = np.random.default_rng(seed)
    problems = problems_of(pair, n_orders, rng)
    first = problems[0]
    pairs, statistic, classes, graphs = averaged(problems, first.residuals)
    exchange = first.design.exchange()
    null = []
    for _ in range(N_PERMUTATIONS):
        # As in the tests, nuisance effects that the exchange brings in are removed again.
        rows = first.nuisance.residuals(first.residuals[exchange.draw(rng)])
        null.append(averaged(problems, rows)[1:3])
    values, kinds = (np.concatenate(parts) for parts in zip(*null, strict=True))
    counts = np.array([len(statistics) for statistics, _ in null])
    rates = discovery_rates(ranked(Permuted(statistic, classes, values, kinds, counts)).p)
    is_find = rates <= LEVEL
    # Weights are equal if they are equal given the parents in every order that joins the pair.
    same = np.all([same_weights(pair, graph) | ~graph for graph in graphs], axis=0)
    equal, changed = (same & same.T)[pairs], (pair.changed | pair.changed.T)[pairs]
    return {
        "tested": len(is_find),
        "recall": (is_find & changed).sum() / pair.changed.sum(),
        "false": (is_find & equal).sum() / max(is_find.sum(), 1),
        "beside": (is_find & ~changed).sum() / max(is_find.sum(), 1),
    }


def score(task):
    """Return the figures of one cohort, with one order and with several."""
    setting, cohort = task
    pair = draw(setting, cohort, SEED)
    # Both have the same cohort and seed, so that only the number of orders differs.
    return quiet(lambda: {str(k): figures(pair, k, [SEED, cohort]) for k in ORDERS})


def measure(given):
    """Yield the figures of all cohorts, by setting and number of orders."""
    for name, setting in SETTINGS.items():
        scores = parallel(score, [(setting, k) for k in range(given.cohorts)], given.workers)
        for k, orders in enumerate(ORDERS):
            yield {"setting": name, "orders": orders} | {
                figure: [float(of_cohort[figure][k]) for of_cohort in scores]
                for figure in ("tested", "recall", "false", "beside")
            }


def slots(runs):
    figures = [[shown(x) if isinstance(x, list) else x for x in run.values()] for run in runs]
    return {"cohorts": len(runs[0]["recall"]), "figures": figures}


def shown(values):
    """Return the mean and its standard error as text."""
    return f"{np.mean(values):.3g} +- {np.std(values, ddof=1) / np.sqrt(len(values)):.2g}"


if __name__ == "__main__":
    main(measure, slots, cohorts=number(40), workers=number(1))
