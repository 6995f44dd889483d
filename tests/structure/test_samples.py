import numpy as np
import pytest

from sgbn import Cohort
from sgbn.cohort.design import Sample, group_sample, takes_effects_out
from sgbn.core.exceptions import DataWarning

GROUP = np.repeat(["a", "b"], 40)
SITE = np.tile(["one", "two", "three", "four"], 20)


def cohort_of(**more):
    values = np.random.default_rng(0).standard_normal((80, 4))
    return Cohort(values, ["p", "q", "r", "s"], range(80), group=GROUP, **more)


def test_persons_and_families_count_once():
    persons, families = np.arange(40) // 2, np.arange(40) // 4
    sample = Sample(np.zeros((40, 2)), ["a", "b"], np.empty((40, 0)), None, persons, families)
    assert sample.n_units == 10
    assert sample.repeats(np.arange(6)) == 3
    assert sample.take(np.arange(6)).blocks.tolist() == [0, 0, 0, 0, 1, 1]


def test_a_sample_holds_the_rows_of_a_group_and_their_labels():
    family = np.arange(80) // 4
    cohort = cohort_of(site=SITE, person=np.arange(80) // 2, block=family)
    found = group_sample(cohort, "b")
    np.testing.assert_array_equal(found.values, cohort.values[40:])
    assert found.names == list(cohort.regions)
    assert found.strata.tolist() == SITE[40:].tolist()
    assert found.persons.tolist() == cohort.person[40:].tolist()
    assert found.blocks.tolist() == cohort.units[40:].tolist()
    assert group_sample(cohort_of(), "b")[3:] == (None, None, None)


def test_nuisance_is_covariates_and_sites_of_the_group_without_its_mean():
    age = np.random.default_rng(1).normal(50, 10, 80)
    found = group_sample(cohort_of(covariates={"age": age}, site=SITE), "b").nuisance
    assert found.shape == (40, 4)  # age, and three of four sites
    np.testing.assert_allclose(found.sum(axis=0), 0, atol=1e-9)
    own = age[40:] - age[40:].mean()
    np.testing.assert_allclose(found @ (found.T @ own), own, atol=1e-9)
    assert group_sample(cohort_of(), "a").nuisance.shape == (40, 0)


def test_more_effects_than_halves_can_tell_are_left_with_a_warning():
    many = {f"c{k}": np.random.default_rng(k).standard_normal(80) for k in range(11)}
    with pytest.warns(DataWarning, match="group 'a' has 40 subjects, too few to take 11 effects"):
        assert group_sample(cohort_of(covariates=many), "a").nuisance.shape == (40, 0)


def test_it_can_be_asked_whether_effects_are_taken_out():
    many = {f"c{k}": np.random.default_rng(k).standard_normal(80) for k in range(11)}
    for more, wanted in (({"covariates": many}, False), ({"site": SITE}, True), ({}, False)):
        assert takes_effects_out(cohort_of(**more)) is wanted
