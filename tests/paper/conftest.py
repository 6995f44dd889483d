"""What the tests of the baselines share: bnlearn's answers as matrices, and populations.

Classes with networks, ready to be moved.
"""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.moments import Moments
from sgbn.learn.classifier import learn_networks
from sgbn.paper.markov import blanket_matrix
from sgbn.paper.moved import Moves, MovingLikelihoods, Sample, moves_of, theta_of
from sgbn.paper.or_sgbn import ORSGBN


class Case(NamedTuple):
    X: np.ndarray
    blankets: dict
    learned: dict


def as_list(names):
    """A vector of one element was written to the file as that element."""
    return [names] if isinstance(names, str) else names


@pytest.fixture(scope="session")
def cases(bnlearn, adjacency):
    """The references' six samples; blankets and graphs, by method, in the order of the columns."""

    def make(case):
        columns = case["columns"]
        blankets = {
            method: blanket_matrix(
                [[columns.index(v) for v in as_list(found[target])] for target in columns]
            )
            for method, found in case["blankets"].items()
        }
        learned = {
            method: adjacency(graph, columns)
            for method, graph in case["learned"].items()
            if method != "hc_bic"
        }
        return Case(np.array(case["data"]), blankets, learned)

    return [make(case) for case in bnlearn["cases"]]


@pytest.fixture(scope="session")
def population():
    """Function network -> moments of so many samples that tests cannot err."""

    def make(network):
        scale = np.sqrt(np.diag(network.covariance))
        R = network.covariance / np.outer(scale, scale)
        m = len(scale)
        return Moments(10**10, np.zeros(m), scale, scale, R, np.arange(m))

    return make


@pytest.fixture(scope="session")
def true_blankets():
    """Function DAG -> blankets: parents, children, and the children's other parents."""

    def make(A):
        children = A.astype(int)
        related = A | A.T | (children @ children.T > 0)
        np.fill_diagonal(related, False)
        return related

    return make


@pytest.fixture(scope="session")
def cohort():
    """Two simulated groups of 60 subjects with 14 regions; a test that changes it copies."""
    return simulate_cohort(60, regions=14)


@pytest.fixture
def problem():
    """Function (classes, edges per class, ...) -> sample, moves, networks and likelihoods."""

    def make(n_classes=2, k=10, anchor="fit", slack=0.01, n=40, regions=8):
        cohort = simulate_cohort(n, regions=regions, groups=tuple("abcdefghij"[:n_classes]))
        Z = (cohort.values - cohort.values.mean(axis=0)) / cohort.values.std(axis=0)
        codes = np.unique(cohort.group, return_inverse=True)[1]
        networks = learn_networks(ORSGBN(0.1), Z, cohort.group, cohort.regions)
        rng = np.random.default_rng(0)
        parts = []
        for c, network in enumerate(networks.values()):
            theta = theta_of(network)
            parents, children = np.nonzero(theta)
            kept = rng.permutation(len(parents))[:k]
            moved = parents[kept], children[kept]
            parts.append(moves_of(Z[codes == c], theta, *moved, slack=slack, anchor=anchor))
        variances = np.array([network.noise_variance for network in networks.values()])
        sample = Sample(Z, codes, variances, np.log(np.full(n_classes, 1 / n_classes)))
        moves = Moves(tuple(parts))
        likelihoods = MovingLikelihoods.of(sample, moves)
        return SimpleNamespace(
            sample=sample, moves=moves, networks=networks, likelihoods=likelihoods
        )

    return make


@pytest.fixture
def assert_gradient():
    """Function (objective, moves): its gradient must equal finite differences."""

    def check(objective, moves):
        rng = np.random.default_rng(0)
        u = moves.project(moves.u0 + 0.3 * rng.normal(size=len(moves.u0)))
        steps = 1e-5 * np.eye(len(u))
        numeric = [(objective(u + e)[0] - objective(u - e)[0]) / 2e-5 for e in steps]
        np.testing.assert_allclose(objective(u)[1], numeric, atol=1e-6 * np.abs(numeric).max())

    return check
