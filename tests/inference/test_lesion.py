import numpy as np
import pytest

from sgbn.core.exceptions import InputError
from sgbn.core.gaussian import GaussianNetwork
from sgbn.inference.effects import lesion
from sgbn.inference.joint import JointSGBN
from sgbn.learn.sgbn import SGBN


@pytest.fixture
def network(simulate):
    return simulate(7, 10, 3)[1]


def test_changes_are_those_of_samples_with_the_region_fixed(network):
    rng = np.random.default_rng(0)
    region, value = 2, 1.5
    noise = rng.standard_normal((50_000, 7)) * np.sqrt(network.noise_variance)
    before, after = np.zeros_like(noise), np.zeros_like(noise)
    for j in network.topological_order:
        before[:, j] = noise[:, j] + before @ network.coef[:, j]
        after[:, j] = value if j == region else noise[:, j] + after @ network.coef[:, j]
    found = lesion(network, "x2", value)
    np.testing.assert_allclose(found.mean_change, (after - before).mean(axis=0), atol=0.03)
    expected = np.cov(after.T) - np.cov(before.T)
    np.testing.assert_allclose(found.covariance_change, expected, atol=0.1)
    expected = after.var(axis=0) / before.var(axis=0) - 1
    np.testing.assert_allclose(found.variance_change, expected, atol=0.02)


def test_a_lesion_at_the_mean_moves_no_mean_and_only_descendants_vary_less(network):
    shifted = GaussianNetwork(network.coef, np.arange(7.0), network.noise_variance)
    found = lesion(shifted, "x2")
    np.testing.assert_allclose(found.mean_change, 0, atol=1e-12)
    descends = np.linalg.matrix_power(np.eye(7) + np.abs(network.coef), 7)[2] > 0
    np.testing.assert_allclose(found.variance_change[~descends], 0, atol=1e-12)
    assert found.variance_change[2] == -1


def test_ranking_by_divergence_of_two_normal_distributions(network):
    found = lesion(network, "x0", 2.0)
    ranking = found.ranking()
    assert sorted(ranking.region) == [f"x{k}" for k in range(1, 7)]
    assert (np.diff(ranking.divergence) <= 1e-12).all()
    row = ranking[0]
    k = int(row.region[1:])
    mean, variance = found.before.mean[k], found.before.covariance[k, k]
    new_mean, new_variance = found.after.mean[k], found.after.covariance[k, k]
    x = np.linspace(-40, 40, 400_001)
    p = np.exp(-((x - new_mean) ** 2) / (2 * new_variance)) / np.sqrt(2 * np.pi * new_variance)
    log_ratio = (
        (x - mean) ** 2 / variance
        - (x - new_mean) ** 2 / new_variance
        + np.log(variance / new_variance)
    ) / 2
    assert row.divergence == pytest.approx((p * log_ratio).sum() * (x[1] - x[0]), abs=1e-9)
    assert row.mean_change == pytest.approx((new_mean - mean) / np.sqrt(variance))


def test_what_loses_its_coupling_only_is_ranked_by_it():
    chain = GaussianNetwork([[0, 0, 0], [1, 0, 1], [0, 0, 0]])  # x0 <- x1 -> x2
    ranking = lesion(chain, "x1").ranking()
    np.testing.assert_allclose(ranking.coupling_change, 0.5)  # their correlation was 1/2
    np.testing.assert_allclose(ranking.variance_change, -0.5)


def test_a_learner_will_do_and_unknown_regions_are_refused(simulate):
    learner = SGBN().fit(simulate(4, 50, 0)[0])
    assert lesion(learner, "x1").before is learner.network_
    with pytest.raises(InputError, match="not fitted"):
        lesion(SGBN(), "x1")
    with pytest.raises(InputError, match="network is a JointSGBN"):
        lesion(JointSGBN(), "x1")
    with pytest.raises(InputError, match="no region is called 'hippocampus'"):
        lesion(learner, "hippocampus")
    with pytest.raises(InputError, match="'x1' has no noise"):
        lesion(learner.network_.do({"x1": 0.0}), "x2")
