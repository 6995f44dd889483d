"""Two groups of a chain of regions, in which one weight differs, and what tests show of them."""

import numpy as np
import pandas as pd
import pytest

from sgbn import Cohort
from sgbn.core.gaussian import GaussianNetwork
from sgbn.inference.differences import edge_differences

N_PERMUTATIONS = 39  # the fewest with which a p of 0.025 shows; nearly all of the time goes here


def make_groups(n=60, m=6, change=1.2, seed=0):
    """A chain in which one weight differs."""
    rng = np.random.default_rng(seed)
    y = np.repeat(["NC", "MCI"], n)
    X = rng.normal(size=(2 * n, m))
    for j in range(1, m):
        X[:, j] += 0.7 * X[:, j - 1]
    X[:, 3] += change * (y == "MCI") * X[:, 2]
    return pd.DataFrame(X + 3 * (y == "MCI")[:, None], columns=[f"r{k}" for k in range(m)]), y


def as_cohort(X, y, **more):
    return Cohort(X.to_numpy(), list(X.columns), [f"s{k}" for k in range(len(y))], group=y, **more)


@pytest.fixture(scope="session")
def two_groups():
    """Function (n, m, change, seed) -> table and groups."""
    return make_groups


@pytest.fixture(scope="session")
def make_cohort():
    """Function (table, groups, **more) -> cohort with the subjects s0, s1, ..."""
    return as_cohort


@pytest.fixture(scope="session")
def data():
    """Table and groups; tests that change them copy."""
    return make_groups()


@pytest.fixture(scope="session")
def n_permutations():
    return N_PERMUTATIONS


@pytest.fixture(scope="session")
def differences(data):
    """Tests of the differences between the groups of `data`."""
    return edge_differences(*data, n_permutations=N_PERMUTATIONS)


@pytest.fixture(scope="session")
def changed():
    """Cohort of three sites in which the weight from r2 to r3 changes its sign."""
    X, y = make_groups(n=120, change=-1.4)
    site = np.tile(["a", "b", "c"], 80)
    return as_cohort(X + 2.0 * (site == "b")[:, None], y, site=site)


@pytest.fixture(scope="session")
def chain():
    """Network r0 -> r1 -> ... -> r5."""
    return GaussianNetwork(np.diag([0.8] * 5, 1), names=[f"r{k}" for k in range(6)])
