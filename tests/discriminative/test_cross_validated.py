import numpy as np
import pytest
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

from sgbn import InputError, SGBNClassifier, SGBNClassifierCV, simulate_cohort

SMALL = {"alphas": (0.1, 0.3), "pools": (0.0, 0.5), "slacks": (0.0, 0.01)}


@parametrize_with_checks([SGBNClassifierCV(**SMALL)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cohort():
    return simulate_cohort(60, regions=14)


def fresh(cohort, n=2000):
    values = [network.sample(n, 7) for network in cohort.networks.values()]
    return np.vstack(values), np.repeat(list(cohort.networks), n)


def test_what_is_chosen_is_among_what_was_offered_and_calibrated(cohort):
    X, y = fresh(cohort)
    found = SGBNClassifierCV(**SMALL).fit(cohort.values, cohort.group)
    assert found.alpha_ in SMALL["alphas"]
    assert found.pool_ in SMALL["pools"]
    assert found.slack_ in SMALL["slacks"]
    assert log_loss(y, found.predict_proba(X)) < np.log(2)


def test_classes_that_differ_in_means_alone_are_pooled():
    """One covariance for both: with few subjects the pooled one is better known."""
    null = simulate_cohort(40, regions=14, differ="means", mean_shift=1.5)
    found = SGBNClassifierCV(slacks=(0.0,)).fit(null.values, null.group)
    assert found.pool_ >= 0.6


def test_with_nothing_to_choose_from_it_is_the_plain_classifier(cohort):
    from sgbn import ORSGBN

    one = SGBNClassifierCV(alphas=(0.2,), pools=(0.3,), slacks=(0.0,))
    one.fit(cohort.values, cohort.group)
    plain = SGBNClassifier(ORSGBN(0.2), pool=0.3).fit(cohort.values, cohort.group)
    np.testing.assert_allclose(
        one.predict_proba(cohort.values), plain.predict_proba(cohort.values), rtol=1e-6
    )


def test_too_few_rows_to_choose_by_take_the_first_of_each(simulate):
    X, _ = simulate(4, 8, 0)
    found = SGBNClassifierCV(**SMALL).fit(X, [0] * 5 + [1] * 3)
    assert (found.alpha_, found.pool_, found.slack_, found.temperature_) == (0.1, 0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"alphas": ()}, "alphas="), ({"pools": (2,)}, "pools="), ({"slacks": 1}, "slacks=1")],
)
def test_grids_that_mean_nothing_are_refused(cohort, parameters, message):
    with pytest.raises(InputError, match=message):
        SGBNClassifierCV(**parameters).fit(cohort.values, cohort.group)
