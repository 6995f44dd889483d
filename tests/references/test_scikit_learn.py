"""Classifiers and the support vector machine against scikit-learn.

Lassos, regressions and scores are compared with scikit-learn beside the modules that compute them.
"""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from sgbn.core.gaussian import GaussianNetwork
from sgbn.learn.classifier import SGBNClassifier, posterior_scores
from sgbn.learn.sgbn import SGBN
from sgbn.paper.fisher_svm import l2_svm, l2_svm_primal

RTOL = 1e-8
EVERY_PAIR = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
NO_PAIR = [(i, j) for i in range(4) for j in range(4) if i != j]


@pytest.fixture
def groups():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], [60, 80, 100])
    X = rng.standard_normal((240, 4)) @ rng.standard_normal((4, 4))
    X[y == "a"] *= [1, 2, 1, 0.5]
    X[y == "b"] += 0.7
    return X, y


def log_posterior(classifier, X, free, divisor):
    """Log-posterior up to a constant, of the same networks with residual variances over `divisor`.

    We divide by n - k (unbiased for each region), discriminant analysis by one number for all.
    """
    columns = []
    for label, network in classifier.networks_.items():
        k = np.count_nonzero(network.coef, axis=0) + 1
        variances = network.noise_variance * (free[label] - k) / divisor[label]
        own = GaussianNetwork(network.coef, network.intercept, variances)
        columns.append(own.log_likelihood(X))
    return posterior_scores(np.column_stack(columns), 1.0, classifier.priors_)


def log_odds(scores):
    return scores[:, 1:] - scores[:, :1]


def sizes_of(y):
    return dict(zip(*(a.tolist() for a in np.unique(y, return_counts=True)), strict=True))


def test_full_networks_are_quadratic_discriminant_analysis(groups):
    X, y = groups
    ours = SGBNClassifier(SGBN(required=EVERY_PAIR), temperature=1.0).fit(X, y)
    assert all(network.n_edges == 6 for network in ours.networks_.values())
    peer = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    n = sizes_of(y)  # releases of scikit-learn divide by n or n - 1: its own covariance says which
    divisor = {
        label: n[label] * X[y == label, 0].var() / covariance[0, 0]
        for label, covariance in zip(peer.classes_, peer.covariance_, strict=True)
    }
    found = log_posterior(ours, X, n, divisor)
    np.testing.assert_allclose(
        log_odds(found), log_odds(peer.decision_function(X)), rtol=RTOL, atol=RTOL
    )


def test_full_networks_wholly_pooled_are_linear_discriminant_analysis(groups):
    X, y = groups
    learner = SGBN(required=EVERY_PAIR)
    ours = SGBNClassifier(learner, pool=1.0, temperature=1.0).fit(X, y)
    assert all(network.n_edges == 6 for network in ours.networks_.values())
    everyone = dict.fromkeys(ours.networks_, len(y))
    found = log_posterior(ours, X, everyone, everyone)
    peer = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)  # covariance over n
    np.testing.assert_allclose(
        log_odds(found), log_odds(peer.decision_function(X)), rtol=RTOL, atol=RTOL
    )


def test_networks_without_edges_are_naive_bayes(groups):
    X, y = groups
    ours = SGBNClassifier(SGBN(forbidden=NO_PAIR), temperature=1.0).fit(X, y)
    assert all(network.n_edges == 0 for network in ours.networks_.values())
    n = sizes_of(y)
    found = log_posterior(ours, X, n, n)
    peer = GaussianNB(var_smoothing=0.0).fit(X, y)
    np.testing.assert_allclose(
        log_odds(found), log_odds(peer.predict_joint_log_proba(X)), rtol=RTOL, atol=RTOL
    )


@pytest.mark.parametrize("C", [0.01, 0.1, 1.0, 10.0])
def test_the_support_vector_machine_is_liblinears_where_the_bias_is_zero(C):
    """LinearSVC charges for the bias and we do not: points mirrored at zero have none."""
    rng = np.random.default_rng(1)
    half = rng.standard_normal((60, 5)) + 0.4
    Phi, y = np.vstack([half, -half]), np.repeat([1.0, -1.0], 60)
    # The dual solver: the primal one leaves errors of 1e-7, and a smaller tol is never reached.
    peer = LinearSVC(
        C=C / 2, dual=True, fit_intercept=False, tol=1e-10, max_iter=100_000, random_state=0
    ).fit(Phi, y)
    for found in (l2_svm_primal(Phi, y, C), l2_svm(Phi @ Phi.T, y, C)):
        assert abs(found.intercept) < 1e-10
        np.testing.assert_allclose(Phi.T @ found.beta, peer.coef_[0], rtol=RTOL, atol=1e-10)
