import numpy as np

from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.graph import is_dag, random_dag
from sgbn.paper.fisher import NetworkScore, fisher_information


def network_of(m, seed):
    rng = np.random.default_rng(seed)
    coef = random_dag(m, 3.0, rng) * rng.uniform(0.3, 1.0, (m, m))
    return GaussianNetwork(coef, rng.standard_normal(m), rng.uniform(0.5, 2.0, m))


def bumped(network, parent, child, step):
    coef, intercept = np.array(network.coef), np.array(network.intercept)
    if parent == network.m:
        intercept[child] += step
    else:
        coef[parent, child] += step
    return coef, intercept


def test_gradients_are_those_of_the_log_likelihood():
    network = network_of(6, 0)
    X = network.sample(5, 5)
    score = NetworkScore(network)
    scores, step, checked = score.scores(X), 1e-5, 0
    for k, (parent, child) in enumerate(np.argwhere(score.taken)):
        ends = [bumped(network, parent, child, change) for change in (step, -step)]
        if not is_dag(ends[0][0]):
            continue  # an edge that closes a cycle: no network to take the difference of
        up, down = (
            GaussianNetwork(coef, intercept, network.noise_variance).log_likelihood(X)
            for coef, intercept in ends
        )
        np.testing.assert_allclose(scores[:, k], (up - down) / (2 * step), rtol=1e-6, atol=1e-6)
        checked += 1
    assert checked > 20


def test_the_sum_over_rows_is_the_networks_gradient():
    network = network_of(7, 1)
    X = network.sample(30, 5)
    score = NetworkScore(network)
    coef, intercept = network.gradient(X)
    expected = np.vstack([coef, intercept])[score.taken]
    np.testing.assert_allclose(score.scores(X).sum(axis=0), expected, rtol=1e-10, atol=1e-10)


def test_information_is_the_mean_square_under_the_network():
    network = network_of(4, 4)
    draws = network.sample(200_000, 0)
    score = NetworkScore(network)
    squares = (score.scores(draws) ** 2).mean(axis=0)
    np.testing.assert_allclose(fisher_information(network)[score.taken], squares, rtol=0.05)
    scaled = NetworkScore(network, scaling="information").scores(draws)
    np.testing.assert_allclose((scaled**2).mean(axis=0), 1, rtol=0.05)
