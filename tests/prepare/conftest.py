"""Simulated tables with covariates and sites as named columns."""

import numpy as np
import pandas as pd
import pytest

from sgbn import Cohort
from sgbn.cohort.atlas import load_atlas
from sgbn.prepare.review import review

N, REGIONS = 60, ("lh_insula", "rh_insula", "lh_cuneus", "rh_cuneus", "lh_lingual")


@pytest.fixture
def make():
    """Function (change) -> cohort without any oddity, but for what `change` does to its values."""

    def made(change=None, n=N, **given):
        values = np.random.default_rng(0).normal(2.5, 0.1, (n, len(REGIONS)))
        if change:
            change(values)
        ids = [f"sub-{k:02}" for k in range(n)]
        group = np.array(["CTR", "SCZ"])[np.arange(n) % 2]
        given = {"group": group, "atlas": load_atlas("desikan_killiany")} | given
        return Cohort(values, REGIONS, ids, **given)

    return made


@pytest.fixture
def found():
    """Function (cohort) -> what is found in it, by code."""
    return lambda cohort: {one.problem.code: one for one in review(cohort).findings}


SITES = ["BERN", "LYON", "OSLO", "ROMA"]


@pytest.fixture(scope="session")
def make_table():
    """Function (n, m, seed, shift) -> DataFrame of m regions, age, sex and site, and groups."""

    def make(n=80, m=6, seed=0, shift=1.0):
        rng = np.random.default_rng(seed)
        site = rng.permutation(np.resize(SITES, n))
        age = rng.uniform(20, 70, n).round(1)
        sex = rng.choice(["F", "M"], n)
        group = rng.permutation(np.resize(["CTR", "SCZ"], n))
        values = rng.normal(size=(n, m)) - 0.05 * age[:, None] + 0.5 * (sex == "M")[:, None]
        for name in SITES:
            mine = site == name
            values[mine] = shift * rng.normal(size=m) + values[mine] * np.exp(
                0.3 * shift * rng.normal(size=m)
            )
        X = pd.DataFrame(values, columns=[f"region{k}" for k in range(m)])
        X.insert(1, "sex", sex)
        X.insert(0, "age", age)
        X["site"] = site
        X.index = pd.Index([f"sub-{k:03d}" for k in range(n)], name="subject")
        return X, group

    return make


@pytest.fixture
def table(make_table):
    """80 subjects, 6 regions, 4 sites."""
    return make_table()
