import numpy as np
import pytest
from calibration_parts import peers
from calibration_parts.cohorts import Pair
from calibration_parts.peers import PEERS, debiased, partial_correlation, peer_figures

from sgbn.core.gaussian import GaussianNetwork

M = 8


@pytest.fixture(autouse=True)
def few_permutations(monkeypatch):
    monkeypatch.setattr(peers, "N_PERMUTATIONS", 39)  # two of 40 are 5 %


def pair_of(n, change, seed=0):
    """A chain in which the weight of 2 -> 3 is changed."""
    first = np.diag([0.8] * (M - 1), 1)
    second = first.copy()
    second[2, 3] += change
    networks = GaussianNetwork(first), GaussianNetwork(second)
    rng = np.random.default_rng(seed)
    codes = np.repeat([0, 1], n)
    rows = np.vstack([network.sample(n, rng) for network in networks])
    return Pair(rows, codes, networks, first != second, {"groups": codes}, seed)


OWN = [name for name in PEERS if "(" not in name]  # others need their packages


@pytest.mark.parametrize("method", OWN)
def test_a_large_change_is_found(method):
    found = PEERS[method](pair_of(150, -1.6))
    assert (found.edges | found.edges.T)[2, 3]
    assert not found.edges.diagonal().any()


@pytest.mark.parametrize("method", OWN[1:])
def test_without_a_change_little_is_found(method):
    hits = [PEERS[method](pair_of(60, 0.0, seed)).edges.any() for seed in range(12)]
    assert np.mean(hits) <= 0.25  # 99.7 % of binomial draws at 5 %


def test_what_is_equal_in_the_population_is_known():
    pair = pair_of(60, -1.6)
    partial = PEERS["partial correlations"](pair).equal
    assert sorted(map(tuple, np.argwhere(np.triu(~partial, 1)))) == [(2, 3)]
    marginal = PEERS["correlations"](pair).equal
    different = np.argwhere(np.triu(~marginal, 1))
    assert {(i <= 2 < j) for i, j in different.tolist()} == {True}
    assert len(different) == 15  # all pairs with the changed edge between them
    assert PEERS["difference of two networks"](pair).equal is None


def test_partial_correlations_need_more_subjects_than_regions():
    assert partial_correlation(pair_of(M + 1, 0.0)) is None
    assert partial_correlation(pair_of(M + 2, 0.0)) is not None


def test_the_debiased_precision_comes_near_to_the_true_one():
    pair = pair_of(4000, 0.0)
    T, variance = debiased(pair.values)
    truth = np.linalg.inv(pair.networks[0].covariance)
    assert (np.abs(T - truth) < 5 * np.sqrt(variance)).all()


def test_figures_of_peers_know_the_changed_pair():
    found = peer_figures(pair_of(150, -1.6))
    assert set(OWN) <= set(found)
    assert {found[name]["recall"] for name in OWN} == {1.0}
    assert found["partial correlations"]["false_share"] <= 0.5
