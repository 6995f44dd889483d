"""Two groups of a chain of regions, in which one weight differs."""

import numpy as np
import pandas as pd
import pytest


def make_groups(n=60, m=6, change=1.2, seed=0):
    """A chain in which one weight differs."""
    rng = np.random.default_rng(seed)
    y = np.repeat(["NC", "MCI"], n)
    X = rng.normal(size=(2 * n, m))
    for j in range(1, m):
        X[:, j] += 0.7 * X[:, j - 1]
    X[:, 3] += change * (y == "MCI") * X[:, 2]
    return pd.DataFrame(X + 3 * (y == "MCI")[:, None], columns=[f"r{k}" for k in range(m)]), y


@pytest.fixture(scope="session")
def two_groups():
    """Function (n, m, change, seed) -> table and groups."""
    return make_groups


@pytest.fixture(scope="session")
def data():
    return make_groups()
