import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sgbn import CLSGBNClassifier, InputError, SGBNClassifier, simulate_cohort


@parametrize_with_checks([CLSGBNClassifier()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cohort():
    return simulate_cohort(60, regions=14)


def test_the_true_classes_become_likelier(cohort):
    start = SGBNClassifier(temperature=0.2).fit(cohort.values, cohort.group)
    moved = CLSGBNClassifier(temperature=0.2).fit(cohort.values, cohort.group)
    codes = (cohort.group == "patient").astype(int)
    losses = [
        -c.predict_log_proba(cohort.values)[np.arange(len(codes)), codes].mean()
        for c in (start, moved)
    ]
    assert losses[1] < losses[0]


def test_more_slack_moves_more(cohort):
    sizes = [
        np.abs(
            CLSGBNClassifier(slack=slack, temperature=1.0)
            .fit(cohort.values, cohort.group)
            .edge_changes()["difference"]
        ).sum()
        for slack in (0.001, 0.1)
    ]
    assert sizes[1] > 3 * sizes[0]


def test_sharpness_is_positive(cohort):
    with pytest.raises(InputError, match="sharpness=0"):
        CLSGBNClassifier(sharpness=0).fit(cohort.values, cohort.group)
