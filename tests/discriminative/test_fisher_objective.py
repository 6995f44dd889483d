import numpy as np
import pytest

from sgbn.paper import kl_sgbn
from sgbn.paper.fisher import FisherVectors
from sgbn.paper.fisher_svm import l2_svm, radius, total_scatter
from sgbn.paper.kl_sgbn import PairwiseFisherKernels


def bound(p, measure="scatter"):
    return PairwiseFisherKernels(p.likelihoods, 1.0, p.moves.u0, measure)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("measure", ["scatter", "ball"])
def test_gradients_equal_finite_differences(problem, n_classes, measure, assert_gradient):
    p = problem(n_classes)
    assert_gradient(bound(p, measure), p.moves)


def test_the_value_is_the_bound_on_the_kernel_of_the_fisher_vectors(problem):
    p = problem()
    vectors = FisherVectors(networks=list(p.networks.values())).fit(p.sample.values)
    K = vectors.kernel(p.sample.values)
    y = np.where(p.sample.codes == 0, -1.0, 1.0)
    n, C = len(K), len(K) / total_scatter(K)
    J0 = l2_svm(K, y, C).objective
    scatter = total_scatter(K) + (n - 1) / C
    assert bound(p)(p.moves.u0)[0] == pytest.approx(scatter * J0, rel=1e-8)
    ball = radius(K + np.eye(n) / C).squared
    assert bound(p, "ball")(p.moves.u0)[0] == pytest.approx(ball * J0, rel=1e-8)


def test_three_classes_are_three_pairs(problem):
    p = problem(3)
    whole = bound(p)
    assert len(whole.parts) == 3
    R = whole._residuals(p.moves.u0)
    parts = [part(R[where])[0] for part, where in whole.parts]
    assert whole(p.moves.u0)[0] == pytest.approx(sum(parts))


def test_without_the_kernel_value_and_gradient_are_the_same(problem, monkeypatch):
    """As with many rows, where only products with Fisher vectors are taken."""
    p = problem(3)
    value, gradient = bound(p)(p.moves.u0)
    monkeypatch.setattr(kl_sgbn, "MAX_DENSE_ROWS", 0)
    other, other_gradient = bound(p)(p.moves.u0)
    assert other == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(other_gradient, gradient, atol=1e-6 * np.abs(gradient).max())
