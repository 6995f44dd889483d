"""A cohort of four subjects that all tests of this folder vary."""

import numpy as np
import pytest

from sgbn import Cohort
from sgbn.cohort.atlas import load_atlas

NAMES = ("lh_insula_thickness", "rh_insula_thickness", "something")


def make_cohort(**changes):
    fields = {
        "values": np.arange(12.0).reshape(4, 3),
        "regions": NAMES,
        "ids": ("a", "b", "c", "d"),
        "group": ["SCZ", "CTR", "CTR", "SCZ"],
        "covariates": {"age": [20, 30, np.nan, 50], "sex": ["F", "M", "", "M"]},
        "site": ["X", "X", "Y", "Y"],
        "atlas": load_atlas("desikan_killiany"),
        "provenance": {"file": "table.csv"},
    }
    return Cohort(**(fields | changes))


@pytest.fixture(scope="session")
def make():
    """Make the cohort, with other values of the fields that are given."""
    return make_cohort
