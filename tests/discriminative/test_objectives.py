import numpy as np
import pytest
from sklearn.metrics import log_loss

from sgbn.discriminative.objectives import (
    ConditionalLikelihood,
    MaxMarginObjective,
    exact_margin,
)

OBJECTIVES = {
    "margin": lambda p: MaxMarginObjective(p.likelihoods, 0.5, 0.3),
    "small share": lambda p: MaxMarginObjective(p.likelihoods, 0.1, 0.05),
    "likelihood": lambda p: ConditionalLikelihood(p.likelihoods, 0.2),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_gradients_equal_finite_differences(problem, name, n_classes, assert_gradient):
    p = problem(n_classes)
    assert_gradient(OBJECTIVES[name](p), p.moves)


@pytest.mark.parametrize("k", [10, 1000])
def test_likelihoods_are_those_of_the_networks(problem, k):
    """At the start, and where the networks have moved; with children that stay, and without."""
    p = problem(3, k=k)
    rng = np.random.default_rng(0)
    for u in (p.moves.u0, p.moves.u0 + rng.normal(size=len(p.moves.u0))):
        L = p.likelihoods.log_likelihoods(u)
        Xb = np.column_stack([p.sample.values, np.ones(len(p.sample.values))])
        for c, theta in enumerate(p.moves.thetas(u)):
            variance = p.sample.variances[c]
            squares = np.square(p.sample.values - Xb @ theta) / variance
            expected = -(squares + np.log(variance)).sum(axis=1) / 2 + p.sample.log_priors[c]
            np.testing.assert_allclose(L[c], expected, rtol=1e-9)


def test_conditional_likelihood_is_the_log_loss(problem):
    p = problem(3)
    L = p.likelihoods.log_likelihoods(p.moves.u0).T
    P = np.exp(0.2 * L) / np.exp(0.2 * L).sum(axis=1, keepdims=True)
    value, _ = ConditionalLikelihood(p.likelihoods, 0.2)(p.moves.u0)
    assert value == pytest.approx(log_loss(p.sample.codes, P))


def test_the_smoothed_margin_tends_to_the_exact_one(problem):
    p = problem(3)
    smoothed = MaxMarginObjective(p.likelihoods, 0.5, 1e-6)(p.moves.u0)[0]
    assert smoothed == pytest.approx(exact_margin(p.likelihoods, p.moves.u0, 0.5).value, abs=1e-6)
