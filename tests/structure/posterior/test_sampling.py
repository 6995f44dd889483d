import numpy as np

from sgbn.core.moments import moments_of
from sgbn.learn.knowledge import read_knowledge
from sgbn.learn.posterior import ChainPlan, arrow_prices, sample_networks
from sgbn.learn.sgbn import SGBN


def test_every_arrow_costs_the_same():
    price = arrow_prices(100, 11, 0.75)
    assert np.allclose(np.diff(price), np.log(100) + 1.5 * np.log(10))


def test_arrows_of_chains_average_to_the_arrows():
    X = np.random.default_rng(0).standard_normal((60, 4))
    X[:, 1] += X[:, 0]
    names = list("abcd")
    knowledge = read_knowledge(None, None, None, names)
    plan = ChainPlan(3, 3, 10, 20, 1.0)
    sampled = sample_networks(moments_of(X, names), knowledge, SGBN(), plan, 0)
    assert sampled.arrows_of_chains.shape == (3, 4, 4)
    assert np.allclose(sampled.arrows, sampled.arrows_of_chains.mean(axis=0))
    counted = np.mean([sampled.graph(c, k) for c in range(3) for k in range(20)], axis=0)
    assert np.allclose(sampled.arrows, counted)
