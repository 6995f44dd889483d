from functools import partial
from importlib import import_module

import numpy as np
import pytest

from sgbn import Cohort, Settings, compare
from sgbn.cohort.simulate import simulate_cohort
from sgbn.comparison.compare import group_network
from sgbn.core.exceptions import InputError
from sgbn.learn.ensemble import SGBNEnsemble
from sgbn.learn.series import SeriesSGBN
from sgbn.learn.sgbn import SGBN


@pytest.fixture(scope="module")
def cohort():
    """Two groups with all that must not become a region, and with gaps."""
    return simulate_cohort(60, regions=6, covariates=["age", "sex"], n_sites=2, missing=0.02)


def test_the_network_is_that_of_a_comparison(cohort):
    learner = SGBN()
    compared = compare(cohort, Settings.networks_only(), learner=learner)
    for group in cohort.groups:
        found = group_network(cohort, group, learner)
        assert found is not learner
        assert found.network_.names == cohort.regions
        np.testing.assert_array_equal(found.coef_, compared.learners[group].coef_)


def test_the_default_learner_is_that_of_a_comparison(cohort, monkeypatch):
    few = partial(Settings, n_pairs=2)  # by default 50, which take seconds
    monkeypatch.setattr(import_module("sgbn.comparison.compare"), "Settings", few)
    compared = compare(cohort, Settings.networks_only(n_pairs=2)).learners["patient"]
    found = group_network(cohort, "patient")
    assert isinstance(found, SGBNEnsemble)
    assert repr(found) == repr(compared)
    np.testing.assert_array_equal(found.coef_, compared.coef_)


def test_the_network_of_series_is_that_of_a_comparison(chains_of_series, compared_series):
    found = group_network(chains_of_series, "patient", SeriesSGBN(n_pairs=4))
    np.testing.assert_array_equal(found.coef_, compared_series.learners["patient"].coef_)
    alone = chains_of_series.subset(groups=["patient"])
    again = group_network(alone, "patient", SeriesSGBN(n_pairs=0))
    np.testing.assert_array_equal(again.coef_, found.coef_)


def test_one_group_is_enough(cohort):
    alone = cohort.subset(groups=["control"])
    assert group_network(alone, "control", SGBN()).network_.names == cohort.regions


def test_what_stands_in_the_way_is_said(cohort):
    with pytest.raises(InputError, match=r"no group is called 'contrl'. Did you mean 'control'"):
        group_network(cohort, "contrl")
    with pytest.raises(InputError, match="a Cohort is needed, not a list"):
        group_network([[1.0]], "control")
    alone = Cohort(cohort.values, cohort.regions, cohort.ids)
    with pytest.raises(InputError, match="no group column"):
        group_network(alone, "control")
    copies = np.repeat(np.arange(30), 2)
    copied = Cohort(
        np.nan_to_num(cohort.values[copies]), cohort.regions, range(60), group=["control"] * 60
    )
    with pytest.raises(InputError, match=r"copies|same"):
        group_network(copied, "control", SGBN())
    assert group_network(copied, "control", SGBN(), rows_are_subjects=True).network_.m == 6
