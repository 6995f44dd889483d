import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.exceptions import InputError
from sgbn.learn.classifier import SGBNClassifier
from sgbn.paper.mm_sgbn import MMSGBNClassifier
from sgbn.paper.or_sgbn import ORSGBN


@parametrize_with_checks([MMSGBNClassifier(temperature=1.0)])  # "cv" is that of SGBNClassifier
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def worst(classifier, cohort, share):
    """Mean of the worst margins, in log-likelihood of standardised data."""
    ratio = classifier.decision_function(cohort.values) / classifier.temperature_
    margins = np.sort(np.where(cohort.group == "patient", ratio, -ratio))
    return margins[: int(share * len(margins))].mean()


@pytest.mark.parametrize("nu", [0.5, 0.8])
def test_the_worst_margins_grow(cohort, nu):
    start = SGBNClassifier(variances="unit", temperature=1.0).fit(cohort.values, cohort.group)
    moved = MMSGBNClassifier(nu=nu, temperature=1.0).fit(cohort.values, cohort.group)
    assert worst(moved, cohort, nu) > worst(start, cohort, nu)


def test_a_margin_that_collapses_is_said_with_a_remedy():
    null = simulate_cohort(60, regions=8, differ="nothing")
    with pytest.warns(match="the margin collapsed to zero.* Raise nu"):
        MMSGBNClassifier(nu=0.01, temperature=1.0).fit(null.values, null.group)


def test_nu_is_a_share(cohort):
    with pytest.raises(InputError, match="nu is 2"):
        MMSGBNClassifier(nu=2).fit(cohort.values, cohort.group)


def test_networks_that_start_the_same_are_moved_apart(cohort):
    """As where a penalty on the biases leaves nothing of either class."""
    empty = ORSGBN(2.0, standardize=False, penalize_intercept=True)
    moved = MMSGBNClassifier(empty, nu=0.9, temperature=1.0).fit(cohort.values, cohort.group)
    assert moved.score(cohort.values, cohort.group) > 0.6
