import numpy as np
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
    """Function (cohort) -> what is found in it, as text."""
    return lambda cohort: [str(finding) for finding in review(cohort).findings]


@pytest.fixture
def only():
    """Function (cohort) -> the one thing that is found in it."""

    def one(cohort):
        (finding,) = review(cohort).findings
        return finding

    return one
