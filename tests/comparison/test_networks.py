import numpy as np
import pytest

from sgbn import Cohort
from sgbn.cohort.design import group_sample
from sgbn.comparison.settings import Settings
from sgbn.comparison.steps.networks import (
    default_ensemble,
    fast_learner,
    learn_ensemble,
    searcher_of,
    steps_of,
)
from sgbn.learn.ensemble import SGBNEnsemble
from sgbn.learn.sgbn import SGBN
from sgbn.paper.h_sgbn import HSGBN
from sgbn.paper.or_sgbn import ORSGBN
from sgbn.prepare.pipeline import prepare, regions_table
from sgbn.runs.study import Study

GROUP = np.repeat(["a", "b"], 40)
SITE = np.tile(["one", "two", "three", "four"], 20)


def cohort_of(**more):
    values = np.random.default_rng(0).standard_normal((80, 4))
    values[:, 1] += values[:, 0]
    return Cohort(values, ["p", "q", "r", "s"], range(80), group=GROUP, **more)


@pytest.mark.parametrize(
    ("settings", "n_pairs", "n_chains"),
    [
        (Settings(), 50, 100),
        (Settings.quick(), 17, 34),
        (Settings(n_pairs=400), 400, 100),
        (Settings(n_pairs=0), 0, 100),
    ],
)
def test_chains_go_with_the_pairs(settings, n_pairs, n_chains):
    ensemble = default_ensemble(settings)
    assert (ensemble.n_pairs, ensemble.n_chains) == (n_pairs, n_chains)


def test_the_seed_and_gamma_are_handed_on():
    ensemble = default_ensemble(Settings(seed=7), 0.5)
    assert (ensemble.random_state, ensemble.gamma) == (7, 0.5)


def test_other_steps_have_an_sgbn_in_place_of_an_ensemble():
    labels = np.repeat([0, 1], [1000, 10])
    assert searcher_of(SGBNEnsemble(), labels).gamma == 1.5  # of the largest group
    knowing = SGBNEnsemble(0.3, max_parents=3, forbidden=[(0, 1)], tiers=[[0], [1]])
    found = searcher_of(knowing, labels)
    assert found.gamma == 1.5  # an ensemble's gamma is that of its prior
    assert (found.max_parents, found.forbidden) == (3, [(0, 1)])
    assert found.tiers == [[0], [1]]
    given = HSGBN()
    assert searcher_of(given, labels) is given


def test_an_ensemble_has_no_step_of_its_own_for_the_confidence():
    settings = Settings.networks_only(n_pairs=3)
    assert steps_of(settings) == steps_of(settings, SGBNEnsemble()) == ("networks",)
    assert steps_of(settings, SGBN()) == ("networks", "confidence")


def test_the_fit_of_a_group_equals_that_of_the_ensemble_itself(tmp_path):
    cohort = prepare(cohort_of(site=SITE))
    ensemble = SGBNEnsemble(n_chains=3, n_pairs=2)
    found = learn_ensemble(ensemble, cohort, "b", Study(tmp_path / "x", n_jobs=1))
    own = GROUP == "b"
    by_hand = SGBNEnsemble(n_chains=3, n_pairs=2).fit(
        regions_table(cohort)[own], nuisance=group_sample(cohort, "b").nuisance, strata=SITE[own]
    )
    np.testing.assert_array_equal(found.arrow_, by_hand.arrow_)
    np.testing.assert_array_equal(found.coef_, by_hand.coef_)
    assert any((tmp_path / "x").iterdir())
    assert found.n_jobs is None


def test_a_small_group_has_a_network_without_confidence(recwarn):
    cohort = prepare(cohort_of().subset(rows=np.r_[0:18, 40:80]))
    found = learn_ensemble(SGBNEnsemble(n_chains=2, n_pairs=2), cohort, "a", Study())
    assert found.confidence_ is None
    assert found.n_pairs == 2
    assert not any("confidence_" in str(one.message) for one in recwarn)


def test_a_fast_learner_is_sgbn_without_kicks_and_tables_and_no_other_is_changed():
    given = SGBN(0.7, max_parents=3)
    fast = fast_learner(given)
    assert (fast.gamma, fast.max_parents) == (0.7, 3)
    assert (fast.effort, fast.n_kicks) == ("fast", 0)
    assert given.effort == "standard"
    other = ORSGBN()
    assert fast_learner(other) is other
    assert fast_learner(None) is None
