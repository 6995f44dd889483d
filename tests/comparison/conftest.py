"""Cohorts and comparisons that several tests of this folder read, and change in copies only."""

from typing import NamedTuple

import numpy as np
import pytest

from sgbn import Cohort
from sgbn.cohort.simulate import simulate_cohort
from sgbn.comparison.compare import compare
from sgbn.comparison.result import Comparison
from sgbn.comparison.settings import Settings
from sgbn.learn.sgbn import SGBN

TESTS = Settings.networks_only(n_permutations=39)


@pytest.fixture(scope="session")
def small_cohort():
    """Two simulated groups of 40 subjects, 6 regions, a few edges that differ."""
    return simulate_cohort(40, regions=6, n_changed=2)


@pytest.fixture(scope="session")
def cohort():
    """Two simulated groups of 80 subjects, controls first, and 8 regions."""
    return simulate_cohort(80, regions=8)


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


class Run(NamedTuple):
    """A comparison, what was handed over on the way, and what was announced."""

    comparison: Comparison
    first: Comparison
    steps: list[str]


@pytest.fixture(scope="session")
def run(cohort):
    """All steps of a comparison, with little of each, from patients to controls."""
    settings = Settings(
        reference="patient",
        n_permutations=20,
        n_pairs=2,
        n_folds=2,
        n_repeats=1,
        refinements=("CL-SGBN",),
        peers=False,
    )
    steps, handed_over = [], []

    def on_found(comparison):
        handed_over.append(comparison)
        steps.append("handed over")

    comparison = compare(cohort, settings, on_step=steps.append, on_found=on_found)
    (first,) = handed_over
    return Run(comparison, first, steps)


@pytest.fixture(scope="session")
def whole(run):
    """The comparison of `run`."""
    return run.comparison


@pytest.fixture(scope="session")
def networks_alone(cohort):
    """The same cohort, of which nothing but networks was asked for."""
    return compare(cohort, Settings.networks_only(), learner=SGBN())


@pytest.fixture(scope="session")
def odd_names():
    """Tests of two groups and a chain whose first edge is one of the first group only.

    Names have marks of HTML and of TeX.
    """
    values = np.random.default_rng(0).normal(size=(120, 4))
    values[:60, 1] += 2 * values[:60, 0]
    for j in (2, 3):
        values[:, j] += values[:, j - 1]
    group = np.repeat(["<b>ill", "well"], 60)
    return compare(
        Cohort(values, ["a", "b$x$", "c", "d"], range(120), group=group), TESTS, learner=SGBN()
    )


@pytest.fixture(scope="session")
def three_groups():
    """Tests of groups a, b and c; the edge of v and w has another sign in c."""
    values = np.random.default_rng(0).normal(size=(180, 5))
    values[:, 1] += np.repeat([1.0, 1.0, -1.0], 60) * values[:, 0]
    values[:, 2] += values[:, 1]
    cohort = Cohort(values, list("vwxyz"), range(180), group=np.repeat(list("abc"), 60))
    return compare(cohort, TESTS, learner=SGBN(1.0))
