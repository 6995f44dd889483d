import numpy as np
import pytest
from sklearn.metrics import log_loss as sklearn_log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.codes import warned

from sgbn.cohort.simulate import simulate_cohort
from sgbn.learn.classifier import Scale, SGBNClassifier
from sgbn.paper.descent import log_loss
from sgbn.paper.mm_sgbn import CLSGBNClassifier, MMSGBNClassifier
from sgbn.paper.moved import Moves, MovingLikelihoods, Sample, moves_of, theta_of
from sgbn.paper.or_sgbn import ORSGBN


@parametrize_with_checks(  # the temperature "cv" is that of SGBNClassifier
    [MMSGBNClassifier(temperature=1.0), CLSGBNClassifier(temperature=1.0)]
)
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
    with warned("margin.collapsed"):
        MMSGBNClassifier(nu=0.01, temperature=1.0).fit(null.values, null.group)


def test_networks_that_start_the_same_are_moved_apart(cohort):
    """As where a penalty on the biases leaves nothing of either class."""
    empty = ORSGBN(2.0, standardize=False, penalize_intercept=True)
    moved = MMSGBNClassifier(empty, nu=0.9, temperature=1.0).fit(cohort.values, cohort.group)
    assert moved.score(cohort.values, cohort.group) > 0.6


def test_the_true_classes_become_likelier(cohort):
    start = SGBNClassifier(temperature=0.2).fit(cohort.values, cohort.group)
    moved = CLSGBNClassifier(temperature=0.2).fit(cohort.values, cohort.group)
    codes = (cohort.group == "patient").astype(int)
    losses = [
        -c.predict_log_proba(cohort.values)[np.arange(len(codes)), codes].mean()
        for c in (start, moved)
    ]
    assert losses[1] < losses[0]


def test_the_temperature_is_that_of_rows_which_the_moved_networks_have_not_seen(cohort):
    fitted = CLSGBNClassifier().fit(cohort.values, cohort.group)
    assert 0 < fitted.temperature_ < 1


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


def test_the_objective_is_the_log_loss_of_what_is_predicted(cohort):
    """Also with unequal priors, which the sharpness must not touch."""
    rows = np.r_[0:60, 60:75]
    X, y = cohort.values[rows], cohort.group[rows]
    fitted = CLSGBNClassifier(temperature=0.2, sharpness=0.2).fit(X, y)
    Z = Scale.of(X).standardise(X)
    codes = (y == "patient").astype(int)
    networks = fitted._learned.after.values()
    sample = Sample(
        Z, codes, np.array([net.noise_variance for net in networks]), fitted._log_priors()
    )
    none = np.empty(0, np.int64)
    parts = [
        moves_of(Z[codes == c], theta_of(n), none, none, slack=0) for c, n in enumerate(networks)
    ]
    still = MovingLikelihoods.of(sample, Moves(tuple(parts)))
    value = log_loss(still.residuals, np.empty(0), 0.2, np.empty(0))
    assert value == pytest.approx(sklearn_log_loss(y, fitted.predict_proba(X)))
