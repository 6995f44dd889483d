import numpy as np
import pytest
from sklearn.metrics import log_loss

from sgbn.discriminative.fisher import fisher_kernel
from sgbn.discriminative.objectives import (
    ConditionalLikelihood,
    FisherKernelObjective,
    MaxMarginObjective,
    margins_of,
)

OBJECTIVES = {
    "margin": lambda sample: MaxMarginObjective(sample, 0.5, 0.3),
    "small share": lambda sample: MaxMarginObjective(sample, 0.1, 0.05),
    "likelihood": lambda sample: ConditionalLikelihood(sample, 0.2),
    "kernel": lambda sample: FisherKernelObjective(sample, 1e-3),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_gradients_equal_finite_differences(problem, name, n_classes):
    if name == "kernel" and n_classes > 2:
        pytest.skip("an SVM has two classes")
    p = problem(n_classes)
    objective = OBJECTIVES[name](p.sample)
    rng = np.random.default_rng(0)
    u = p.moves.project(p.moves.u0 + 0.3 * rng.normal(size=len(p.moves.u0)))

    def value(v):
        return objective(p.moves.thetas(v))[0]

    gradient = p.moves.pull(objective(p.moves.thetas(u))[1])
    numeric = [(value(u + 1e-5 * e) - value(u - 1e-5 * e)) / 2e-5 for e in np.eye(len(u))]
    np.testing.assert_allclose(gradient, numeric, atol=1e-6 * np.abs(numeric).max())


def test_likelihoods_are_those_of_the_networks(problem):
    p = problem(3)
    L, _ = p.sample.likelihoods(p.moves.thetas(p.moves.u0))
    expected = [net.log_likelihood(p.sample.values) for net in p.networks.values()]
    constant = L - np.column_stack(expected)
    np.testing.assert_allclose(constant, constant[0, 0], atol=1e-8)


def test_conditional_likelihood_is_the_log_loss(problem):
    p = problem(3)
    thetas = p.moves.thetas(p.moves.u0)
    L, _ = p.sample.likelihoods(thetas)
    P = np.exp(0.2 * L) / np.exp(0.2 * L).sum(axis=1, keepdims=True)
    value, _ = ConditionalLikelihood(p.sample, 0.2)(thetas)
    assert value == pytest.approx(log_loss(p.sample.codes, P))


def test_the_kernel_is_that_of_the_fisher_vectors(problem):
    p = problem()
    K, _ = FisherKernelObjective(p.sample, 1.0).kernel(p.moves.thetas(p.moves.u0))
    expected = fisher_kernel(p.sample.values, networks=list(p.networks.values()))
    np.testing.assert_allclose(K, expected, rtol=1e-8)


def test_the_rival_is_the_strongest_other_class():
    L = np.array([[1.0, 3.0, 2.0], [5.0, 0.0, 4.0]])
    margins, rivals = margins_of(L, np.array([0, 0]))
    assert margins.tolist() == [-2.0, 1.0]
    assert rivals.tolist() == [1, 2]
