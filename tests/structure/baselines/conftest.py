"""What the tests of the baselines share: bnlearn's answers as matrices, and populations."""

from typing import NamedTuple

import numpy as np
import pytest

from sgbn.core.moments import Moments
from sgbn.paper.markov import blanket_matrix


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
