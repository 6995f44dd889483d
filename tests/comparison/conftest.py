"""Cohorts that several tests of this folder read, and change in copies only."""

import numpy as np
import pytest

from sgbn import Cohort, simulate_cohort


@pytest.fixture(scope="session")
def small_cohort():
    """Two simulated groups of 40 subjects, 6 regions, a few edges that differ."""
    return simulate_cohort(40, regions=6, n_changed=2)


@pytest.fixture(scope="session")
def sites_cohort():
    """A chain of 6 regions of which one weight differs, at three sites, with an age and a gap."""
    rng = np.random.default_rng(0)
    group = np.repeat(["patient", "control"], 120)
    site, age = np.tile(["NYU", "KKI", "UCLA"], 80), rng.uniform(20, 60, 240)
    X = rng.normal(size=(240, 6))
    for j in range(1, 6):
        X[:, j] += np.where((group == "control") & (j == 3), 0.0, 0.9) * X[:, j - 1]
    X += 0.1 * age[:, None] + 3 * (site == "KKI")[:, None]
    X[5, 2] = np.nan
    names = [f"r{k}" for k in range(6)]
    ids = [f"s{k}" for k in range(240)]
    return Cohort(X, names, ids, group=group, site=site, covariates={"age": age})
