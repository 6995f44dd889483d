"""Measure what the tests and an oracle find of known changes, and the cost of the tests."""

import numpy as np
from output import cpu_times, timed

from sgbn.inference.differences import edge_differences
from sgbn.learn.sgbn import SGBN

from .cohorts import demo, draw
from .peers import discoveries
from .score import EQUAL, against_truth, as_arrays, quiet, score_tests

DEMO = "demo"


def score_power(design, cohort, seed):
    """Score one cohort with changed edges: the tests, and the oracle on the same rows."""
    return quiet(
        lambda: power_figures(demo(cohort) if design == DEMO else draw(design, cohort, seed))
    )


def power_figures(pair):
    """Return the figures of the tests and of both oracles."""
    # The union is used, so that an edge that one group lacks is tested as well.
    graph = (pair.networks[0].coef != 0) | (pair.networks[-1].coef != 0)
    scores = score_tests(pair)
    for name, robust in {"oracle": False, "oracle, HC3": True}.items():
        finds = discoveries(oracle_z(pair.rows, graph, robust), graph)
        scores[name] = oracle_figures(pair, finds)
    return scores


def oracle_figures(pair, finds):
    """Compare the oracle's finds with the weights of the networks."""
    first, last = pair.networks[0].coef, pair.networks[-1].coef
    # Given the true parents, the weights of the population are those of the network.
    false = finds & (np.abs(first - last) < EQUAL)
    return against_truth(pair, finds) | {"false_share": false.sum() / max(finds.sum(), 1)}


def oracle_z(rows, graph, robust):
    """Return Wald's z of each edge's difference between two groups, given the true parents."""
    z = np.zeros(graph.shape)
    for j in np.flatnonzero(graph.any(axis=0)):
        parents = np.flatnonzero(graph[:, j])
        (b1, v1), (b2, v2) = (least_squares(group, parents, j, robust) for group in rows)
        # Groups are independent, so that variances add up.
        z[parents, j] = (b2 - b1) / np.sqrt(v1 + v2)
    return z


def least_squares(rows, parents, j, robust):
    """Return the weights of a region's parents and their variances (HC3 if `robust`)."""
    X = rows - rows.mean(axis=0)
    A, n = X[:, parents], len(rows)
    G = np.linalg.inv(A.T @ A)
    weights = G @ A.T @ X[:, j]
    residuals = X[:, j] - A @ weights
    if not robust:
        return weights, np.diag(G) * (residuals @ residuals) / (n - 1 - len(parents))
    # 1 / n is the leverage of the mean, which was subtracted.
    leverage = 1 / n + np.einsum("ij,jk,ik->i", A, G, A)
    part = A @ G * (residuals / (1 - leverage))[:, None]
    return weights, np.square(part).sum(axis=0)


def score_cost(design, cohort, seed):
    """Return the CPU seconds of one fit on the pooled rows, and of the tests, in one process."""
    setting, permutations = design
    pair = draw(setting, cohort, seed)
    SGBN().fit(pair.values)  # compiles
    edge_differences(pair.values, pair.codes, n_permutations=19)
    fit = np.median(cpu_times(lambda: SGBN().fit(pair.values), 5))
    _, tests = timed(edge_differences, pair.values, pair.codes, n_permutations=permutations)
    return as_arrays({"tests": {"fit": fit, "seconds": tests, "fits": tests / fit}})
