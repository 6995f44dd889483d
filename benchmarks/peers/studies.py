"""The data of the race. A case and a seed give shuffled, standardised columns."""

import csv
from typing import NamedTuple

import numpy as np

from sgbn.cohort.simulate import NETWORKS, load_network, simulate_sem
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.graph import random_dag
from sgbn.paper.experiments.experiment import data_folder

STUDIES = {"networks": 10, "gaussian": 10, "small": 20, "scale": 3}  # study -> simulations
GAUSSIAN = ("ecoli70", "magic-niab")
DEGREE = 4
SCALE_SIZES = (100, 200, 400, 1000)


class Case(NamedTuple):
    """One data set. Cases of the same `block` are in the same table of the report."""

    study: str
    block: str
    network: str
    n: int
    sim: int


def cases(study, sims):
    """Return all data sets of a study, small before large."""
    if study == "networks":
        groups = [("nine networks, n = 1000", name, 1000) for name in NETWORKS]
    elif study == "gaussian":
        groups = [(f"two networks, n = {n}", name, n) for n in (1000, 100) for name in GAUSSIAN]
    elif study == "small":
        groups = [("random DAGs, m = 40, n = 60", "random-40", 60)]
    else:
        groups = [(f"random DAGs, m = {m}, n = 1000", f"random-{m}", 1000) for m in SCALE_SIZES]
    return [Case(study, *group, sim) for group in groups for sim in range(sims)]


def make_data(case, seed):
    """Return the standardised data X and the true graph."""
    X, graph = raw_data(case, seed)
    # Without standardising, learners could infer the order from increasing variances.
    return np.ascontiguousarray((X - X.mean(axis=0)) / X.std(axis=0)), graph


def raw_data(case, seed):
    """Return X with shuffled columns, in the units of the simulation, and the true graph."""
    # The label is part of the seed, so that data sets of a study differ.
    label = f"{case.study} {case.network} {case.n}".encode()
    rng = np.random.default_rng([seed, case.sim, *label])
    if case.study == "gaussian":
        network = read_gaussian(case.network)
        X, graph = network.sample(case.n, rng), network.coef != 0
    else:
        graph = _graph(case.network, rng)
        X, _ = simulate_sem(graph, case.n, random_state=rng)
    # Published orders are often topological, which would help some learners.
    order = rng.permutation(len(graph))
    return X[:, order], graph[np.ix_(order, order)]


def warm_up_data():
    """Return rows of twenty variables, for the runs that are not timed."""
    rng = np.random.default_rng(0)
    X, _ = simulate_sem(random_dag(20, 3, rng), 200, random_state=rng)
    return np.ascontiguousarray((X - X.mean(axis=0)) / X.std(axis=0))


def read_gaussian(name):
    """Return a Gaussian network of the Bayesian Network Repository, with its weights and noise."""
    folder = data_folder()
    if folder is None:
        raise SystemExit("the study 'gaussian' needs a folder truth/gaussian/ in SGBN_DATA.")
    nodes, arcs = (
        _rows(folder / "truth" / "gaussian" / f"{name}{end}.csv") for end in ("_nodes", "")
    )
    place = {row["node"]: k for k, row in enumerate(nodes)}
    coef = np.zeros((len(nodes), len(nodes)))
    for row in arcs:
        coef[place[row["source"]], place[row["target"]]] = float(row["weight"])
    noise = [float(row["noise_variance"]) for row in nodes]
    return GaussianNetwork(coef, noise_variance=noise)


def _graph(name, rng):
    if name.startswith("random-"):
        return random_dag(int(name.removeprefix("random-")), DEGREE, rng)
    return load_network(name).graph


def _rows(path):
    return list(csv.DictReader(path.read_text().splitlines()))
