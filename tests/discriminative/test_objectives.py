import numpy as np
import pytest

from sgbn.paper.descent import max_margin
from sgbn.paper.moved import exact_margin


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


def test_the_exact_margin_is_that_of_the_likelihoods(problem):
    p = problem(3)
    L = p.likelihoods.log_likelihoods(p.moves.u0).T
    own = L[np.arange(len(L)), p.sample.codes]
    others = np.where(np.eye(3, dtype=bool)[p.sample.codes], -np.inf, L).max(axis=1)
    expected = max_margin(own - others, 0.3).value
    assert exact_margin(p.likelihoods, p.moves.u0, 0.3).value == pytest.approx(expected)
