import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import f_classif

from sgbn.core.exceptions import InputError
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.graph import random_dag
from sgbn.paper.fisher import FisherVectors, NetworkScore, edge_scores, present_edges, select_edges


def make_network(m, seed, names=None):
    rng = np.random.default_rng(seed)
    coef = random_dag(m, 3.0, rng) * rng.uniform(0.3, 1.0, (m, m))
    return GaussianNetwork(coef, rng.standard_normal(m), rng.uniform(0.5, 2.0, m), names)


@pytest.fixture
def data():
    """Rows of three networks, their classes, and the networks."""
    networks = [make_network(6, seed) for seed in range(3)]
    X = np.vstack([net.sample(25 + 5 * k, k) for k, net in enumerate(networks)])
    return X, np.repeat(["a", "b", "c"], [25, 30, 35]), networks


def in_place(vectors, m):
    """Components of one network as (n, m + 1, m)."""
    places = np.vstack([~np.eye(m, dtype=bool), np.ones(m, dtype=bool)])
    full = np.zeros((len(vectors), m + 1, m))
    full[:, places] = vectors
    return full


@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_two_classes_give_the_pearson_correlation(offset, data):
    X, y, networks = data
    X, y, networks = X[:55] + offset, y[:55], networks[:2]
    label = np.where(y == "b", 1.0, -1.0)
    signed = edge_scores(X, y, networks, signed=True)
    assert signed.shape == (2, 7, 6)
    for network, scores in zip(networks, signed, strict=True):
        G = NetworkScore(network).scores(X)
        expected = [np.corrcoef(g, label)[0, 1] for g in G.T]
        np.testing.assert_allclose(scores, in_place(np.array([expected]), 6)[0], rtol=0, atol=1e-10)
    np.testing.assert_array_equal(edge_scores(X, y, networks), np.abs(signed))
    np.testing.assert_allclose(
        edge_scores(X, np.where(y == "b", 0, 1), networks, signed=True), -signed, atol=1e-12
    )


def test_several_classes_give_the_correlation_ratio(data):
    X, y, networks = data
    scores = edge_scores(X, y, networks)
    for network, own in zip(networks, scores, strict=True):
        G = in_place(NetworkScore(network).scores(X), 6)
        means = np.array([G[y == c].mean(axis=0) for c in "abc"])
        between = np.tensordot([25, 30, 35], (means - G.mean(axis=0)) ** 2, 1)
        total = ((G - G.mean(axis=0)) ** 2).sum(axis=0)
        expected = np.sqrt(between / np.where(total > 0, total, 1))
        np.testing.assert_allclose(own, expected, rtol=0, atol=1e-10)
    assert scores.max() <= 1
    with pytest.raises(InputError, match="3 classes"):
        edge_scores(X, y, networks, signed=True)


def test_the_ranking_is_that_of_an_analysis_of_variance(data):
    X, y, networks = data
    F = f_classif(FisherVectors(networks=networks).fit_transform(X), y)[0]
    best = select_edges(edge_scores(X, y, networks), 10)
    places = np.concatenate(
        [np.insert(np.argwhere(NetworkScore(n).taken), 0, c, 1) for c, n in enumerate(networks)]
    )
    np.testing.assert_array_equal(best, places[np.argsort(-F)[:10]])


def test_scores_do_not_depend_on_noise_variances_or_units(data):
    X, y, networks = data
    units = np.geomspace(1e-4, 1e4, 6)
    rescaled = [
        GaussianNetwork(net.coef * units / units[:, None], net.intercept * units, np.ones(6))
        for net in networks
    ]
    np.testing.assert_allclose(
        edge_scores(X, y, networks), edge_scores(X * units, y, rescaled), atol=1e-10
    )


def test_components_that_do_not_vary_score_zero():
    network = GaussianNetwork(np.zeros((3, 3)))
    X = np.random.default_rng(0).standard_normal((20, 3))
    X[:, 1] = 1 / 3
    scores = edge_scores(X, np.arange(20) % 2, network)[0]
    assert scores[3, 1] == 0  # the bias of the constant column
    assert scores[0, 2] > 0
    np.testing.assert_allclose(scores[1], [scores[3, 0], 0, scores[3, 2]])  # 1/3 is as good as 1
    assert not np.diag(scores).any()
    X[:, 1] = 0.7 * X[:, 0] + 1 / 3  # a residual that is constant but for round-off
    fitted = GaussianNetwork([[0, 0.7, 0], [0, 0, 0], [0, 0, 0]])
    assert edge_scores(X, np.arange(20) % 2, fitted)[0, 3, 1] == 0


def test_memory_is_not_that_of_the_vectors():
    network = make_network(60, 3)
    X = network.sample(400, 0)
    tracemalloc.start()
    edge_scores(X, np.arange(400) % 2, network)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.3 * 8 * 400 * 60**2


def test_columns_are_found_by_name_and_inputs_stay(data):
    X, y, networks = data
    names = list("uvwxyz")
    named = [GaussianNetwork(n.coef, n.intercept, n.noise_variance, names) for n in networks]
    table = pd.DataFrame(X, columns=names)
    p = np.array([3, 1, 5, 0, 2, 4])
    before = table.copy()
    scores = edge_scores(table, y, named)
    permuted = edge_scores(table.iloc[:, p], y, dict(zip("abc", named, strict=True)))
    np.testing.assert_allclose(permuted, scores[:, np.append(p, 6)][:, :, p], atol=1e-12)
    np.testing.assert_array_equal(scores, edge_scores(X, y, networks))
    pd.testing.assert_frame_equal(table, before)


def test_the_best_come_first_and_candidates_are_kept_to(data):
    X, y, networks = data
    scores = edge_scores(X, y, networks)
    every = select_edges(scores, 10_000)
    assert len(every) == 3 * 36
    assert not (every[:, 1] == every[:, 2]).any()
    assert np.all(np.diff(scores[tuple(every.T)]) <= 1e-10)
    np.testing.assert_array_equal(select_edges(scores, 7), every[:7])

    present = present_edges(networks)
    chosen = select_edges(scores, 10_000, present)
    assert len(chosen) == sum(net.n_edges + 6 for net in networks)
    assert present[tuple(chosen.T)].all()


def test_a_sign_does_not_count_and_ties_go_by_place():
    scores = np.zeros((2, 3, 2))
    scores[0, 0, 1], scores[1, 1, 0], scores[1, 2, 1] = -0.9, 0.5, 0.5 + 1e-14
    assert select_edges(scores, 3).tolist() == [[0, 0, 1], [1, 1, 0], [1, 2, 1]]
    assert select_edges(scores, 8).tolist()[3:6] == [[0, 1, 0], [0, 2, 0], [0, 2, 1]]


def test_the_edge_that_differs_is_found():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 5))
    y = np.repeat([0, 1], 200)
    X[:, 3] += np.where(y == 0, 0.8, -0.8) * X[:, 1]
    coef = np.zeros((2, 5, 5))
    coef[:, 1, 3] = 0.8, -0.8
    best = select_edges(edge_scores(X, y, [GaussianNetwork(B) for B in coef]), 4)
    assert {tuple(edge[1:]) for edge in best.tolist()} == {(1, 3), (3, 1)}


def test_what_cannot_be_scored_or_selected(data):
    X, y, networks = data
    with pytest.raises(InputError, match="one class, 'a'"):
        edge_scores(X[:25], y[:25], networks)
    with pytest.raises(InputError, match=r"object is .* GaussianNetwork"):
        edge_scores(X, y, [object()])
    scores = edge_scores(X, y, networks)
    for k in (0, 2.5, True):
        with pytest.raises(InputError, match=r"k is .*; give a whole number from 1 upwards"):
            select_edges(scores, k)
    with pytest.raises(InputError, match="shape"):
        select_edges(scores[0], 3)
    with pytest.raises(InputError, match="present has shape"):
        select_edges(scores, 3, np.ones((2, 6, 6)))
    with pytest.raises(InputError, match="NaN"):
        select_edges(scores * np.nan, 3)
