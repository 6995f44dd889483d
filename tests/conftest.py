"""Data that many tests use."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from sgbn.datasets import simulate_sem
from sgbn.graph import random_dag

# A first call compiles, so that no example has a deadline. CI repeats itself; a developer's runs
# search on.
settings.register_profile("sgbn", deadline=None, derandomize="CI" in os.environ)
settings.register_profile("long", deadline=None, max_examples=3000)  # .ci/long
settings.load_profile("sgbn")


@pytest.fixture(scope="session")
def bnlearn():
    """Frozen answers of R's bnlearn 4.9, made by references/bnlearn.R."""
    return json.loads((Path(__file__).parent / "references" / "bnlearn.json").read_text())


@pytest.fixture(scope="session")
def adjacency():
    """Function (graph of the references, order of its nodes) -> adjacency matrix."""

    def make(graph, nodes=None):
        place = {name: k for k, name in enumerate(nodes or graph["nodes"])}
        A = np.zeros((len(place), len(place)), bool)
        for source, target in graph["arcs"]:
            A[place[source], place[target]] = True
        return A

    return make


@pytest.fixture
def simulate():
    """Function (m, n, seed) -> rows from a random DAG of degree 4, and its network."""

    def make(m, n, seed, degree=4.0, noise="unequal"):
        rng = np.random.default_rng(seed)
        return simulate_sem(random_dag(m, degree, rng), n, noise=noise, random_state=rng)

    return make
