import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, clone
from sklearn.feature_selection import f_classif
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.codes import refused

from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.graph import is_dag, random_dag
from sgbn.learn.sgbn import SGBN
from sgbn.paper.fisher import (
    FisherVectors,
    NetworkScore,
    edge_scores,
    fisher_information,
    present_edges,
    select_edges,
)
from sgbn.paper.h_sgbn import HSGBN

OPTIONS = [
    {},
    {"edges": "present"},
    {"scaling": "information"},
    {"edges": "present", "scaling": "information", "variances": "pooled"},
    {"variances": "unit"},
]


@parametrize_with_checks([FisherVectors(**OPTIONS[3])])
def test_scikit_learns_contract(estimator, check):
    check(estimator)


def make_network(m, seed, names=None):
    rng = np.random.default_rng(seed)
    coef = random_dag(m, 3.0, rng) * rng.uniform(0.3, 1.0, (m, m))
    return GaussianNetwork(coef, rng.standard_normal(m), rng.uniform(0.5, 2.0, m), names)


@pytest.fixture(scope="module")
def networks():
    return {"MCI": make_network(7, 0), "NC": make_network(7, 1)}


@pytest.fixture(scope="module")
def groups():
    """Rows of two networks as a table, and their groups."""
    names = [f"r{k}" for k in range(7)]
    parts = [make_network(7, seed).sample(60, seed) for seed in (0, 1)]
    return pd.DataFrame(np.vstack(parts), columns=names), np.repeat(["MCI", "NC"], 60)


def rows_of(networks, n, seed=5):
    return next(iter(networks.values())).sample(n, seed)


def test_every_component_is_parent_times_residual_over_variance(networks):
    X = rows_of(networks, 4)
    vectors = FisherVectors(networks=networks).fit(X)
    table = pd.DataFrame(vectors.transform(X), columns=vectors.get_feature_names_out())
    assert table.shape == (4, 2 * 7**2)
    for label, network in networks.items():
        R = network.residuals(X) / network.noise_variance
        for j in range(7):
            np.testing.assert_allclose(table[f"{label}: bias -> x{j}"], R[:, j])
            for i in set(range(7)) - {j}:
                np.testing.assert_allclose(table[f"{label}: x{i} -> x{j}"], X[:, i] * R[:, j])


def test_present_edges_are_a_part_of_all(networks):
    X = rows_of(networks, 4)
    every = FisherVectors(networks=networks).set_output(transform="pandas").fit_transform(X)
    present = FisherVectors(networks=networks, edges="present").fit(X)
    names = present.get_feature_names_out()
    assert len(names) == sum(network.n_edges + 7 for network in networks.values())
    np.testing.assert_array_equal(present.transform(X), every[names])


@pytest.mark.parametrize("options", OPTIONS)
def test_the_kernel_is_the_inner_product_of_the_vectors(options, networks):
    X, Z = rows_of(networks, 20), rows_of(networks, 9, seed=6)
    vectors = FisherVectors(networks=networks, **options).fit(X)
    G, H = vectors.transform(X), vectors.transform(Z)
    np.testing.assert_allclose(vectors.kernel(X, Z), G @ H.T, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(vectors.kernel(X), G @ G.T, rtol=1e-10, atol=1e-10)
    assert np.array_equal(vectors.kernel(X), vectors.kernel(X).T)
    np.testing.assert_array_equal(vectors.kernel(X[:1], Z).shape, (1, 9))


@pytest.mark.parametrize("options", OPTIONS[:4])
def test_the_kernel_takes_the_memory_of_the_rows_not_of_the_vectors(options):
    network = make_network(60, 3)
    X = network.sample(50, 0)
    vectors = FisherVectors(networks=[network], **options).fit(X)
    tracemalloc.start()
    vectors.kernel(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.3 * 8 * 50 * 60**2


def test_information_does_not_depend_on_the_units_of_the_network(networks):
    X = rows_of(networks, 10)
    units = np.geomspace(1e-3, 1e3, 7)
    rescaled = {
        c: GaussianNetwork(
            net.coef * units / units[:, None], net.intercept * units, net.noise_variance * units**2
        )
        for c, net in networks.items()
    }
    one, other = (
        FisherVectors(networks=nets, scaling="information").fit_transform(rows)
        for nets, rows in ((networks, X), (rescaled, X * units))
    )
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_variances(networks):
    X = rows_of(networks, 6)
    R = {c: net.residuals(X) for c, net in networks.items()}
    pooled = (networks["MCI"].noise_variance + networks["NC"].noise_variance) / 2
    for variances, noise in (("unit", np.ones(7)), ("pooled", pooled)):
        vectors = FisherVectors(networks=networks, variances=variances)
        table = vectors.set_output(transform="pandas").fit_transform(X)
        for c in networks:
            np.testing.assert_allclose(table[f"{c}: bias -> x2"], R[c][:, 2] / noise[2])


def test_pooled_variances_weigh_classes_by_their_sizes(groups):
    X, y = groups
    X, y = X[:90], y[:90]
    vectors = FisherVectors(variances="pooled").set_output(transform="pandas").fit(X, y)
    first, second = vectors.networks_.values()
    noise = (60 * first.noise_variance + 30 * second.noise_variance) / 90
    np.testing.assert_allclose(
        vectors.transform(X)["NC: bias -> r3"], second.residuals(X)[:, 3] / noise[3]
    )


def test_one_network_a_class_by_the_learner_given(groups):
    X, y = groups
    vectors = FisherVectors(HSGBN(alpha=0.2)).fit(X, y)
    assert list(vectors.networks_) == ["MCI", "NC"]
    for label, network in vectors.networks_.items():
        expected = HSGBN(alpha=0.2).fit(X[y == label]).network_
        np.testing.assert_array_equal(network.coef, expected.coef)
        assert network.names == tuple(X.columns)
    again = FisherVectors(networks=vectors.networks_).fit(X)
    np.testing.assert_array_equal(again.transform(X), vectors.transform(X))
    np.testing.assert_array_equal(again.get_feature_names_out(), vectors.get_feature_names_out())


def test_three_classes_and_none(groups):
    X, _ = groups
    y = np.arange(120) % 3
    assert FisherVectors().fit_transform(X, y).shape == (120, 3 * 49)
    alone = FisherVectors().fit(X)
    assert alone.transform(X).shape == (120, 49)
    assert alone.get_feature_names_out()[[0, -1]].tolist() == ["r0 -> r1", "bias -> r6"]


def test_columns_in_another_order_give_the_same_components(groups):
    X, y = groups
    p = np.random.default_rng(0).permutation(7)
    one, other = (
        FisherVectors(scaling="information").set_output(transform="pandas").fit_transform(T, y)
        for T in (X, X.iloc[:, p])
    )
    assert set(one) == set(other)
    np.testing.assert_allclose(one, other[one.columns], rtol=1e-9, atol=1e-9)


def test_given_networks_find_the_columns_of_a_table_by_name():
    names = ["a", "b", "c", "d"]
    network = make_network(4, 2, names)
    X = pd.DataFrame(network.sample(10, 0), columns=names)
    table = FisherVectors(networks=network).set_output(transform="pandas")
    one, other = table.fit_transform(X), table.fit_transform(X[["c", "a", "d", "b"]])
    np.testing.assert_allclose(one, other[one.columns], rtol=1e-12, atol=1e-12)


def test_results_repeat_and_inputs_stay(groups):
    X, y = groups
    values, labels = X.to_numpy().copy(), y.copy()
    first = FisherVectors().fit(values, labels)
    one, K = first.transform(values), first.kernel(values)
    np.testing.assert_array_equal(FisherVectors().fit_transform(values, labels), one)
    np.testing.assert_array_equal(first.kernel(values), K)
    np.testing.assert_array_equal(values, X)
    np.testing.assert_array_equal(labels, y)
    values.setflags(write=False)
    np.testing.assert_array_equal(first.transform(values), one)


def test_clone_pipeline_and_grid_search(groups, networks):
    X, y = groups
    pipeline = make_pipeline(
        StandardScaler(), FisherVectors(SGBN(n_kicks=0)), StandardScaler(), LinearSVC(C=0.001)
    )
    grid = {"fishervectors__edges": ["all", "present"], "fishervectors__learner__gamma": [0, 1]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.8
    copy = clone(FisherVectors(networks=networks, edges="present"))
    assert copy.edges == "present"
    assert copy.fit(rows_of(networks, 3)).networks_["NC"].n_edges == networks["NC"].n_edges


def test_the_kernel_serves_a_support_vector_machine(groups):
    X, y = groups
    X = X.to_numpy()
    vectors = FisherVectors().fit(X, y)
    by_kernel = SVC(kernel=vectors.kernel, C=1e-3).fit(X, y)
    by_vectors = SVC(kernel="linear", C=1e-3).fit(vectors.transform(X), y)
    np.testing.assert_allclose(
        by_kernel.decision_function(X),
        by_vectors.decision_function(vectors.transform(X)),
        atol=1e-2,
    )


class Mixture(BaseEstimator):
    """Two Gaussians of unit covariance in equal parts; their means are the parameters."""

    def __init__(self, means=((-1.0, 0.0), (1.0, 0.5))):
        self.means = means

    def log_density(self, X, means):
        return -0.5 * ((X[:, None] - means) ** 2).sum(axis=2)

    def log_likelihood(self, X, means):
        return logsumexp(self.log_density(X, means), axis=1) - np.log(4 * np.pi)

    def fit(self, X, y=None):
        X = np.asarray(X)
        means = np.array(self.means, dtype=float)
        for _ in range(20):
            share = np.exp(self.log_density(X, means))
            share /= share.sum(axis=1, keepdims=True)
            means = share.T @ X / share.sum(axis=0)[:, None]
        self.means_ = means
        return self

    @property
    def score_names(self):
        return [f"mean {k} of x{j}" for k in range(2) for j in range(2)]

    def scores(self, X):
        share = np.exp(self.log_density(X, self.means_))
        share /= share.sum(axis=1, keepdims=True)
        return (share[:, :, None] * (X[:, None] - self.means_)).reshape(len(X), -1)


def test_any_density_with_a_score_function_will_do():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2)) + np.repeat([[0, 0], [1, 2]], 40, axis=0)
    y = np.repeat(["a", "b"], 40)
    vectors = FisherVectors(Mixture()).fit(X, y)
    G = vectors.transform(X)
    step = 1e-5
    for c, mixture in enumerate(vectors.networks_.values()):
        for k in range(4):
            bump = np.zeros(4)
            bump[k] = step
            up, down = (
                mixture.log_likelihood(X, mixture.means_ + sign * bump.reshape(2, 2))
                for sign in (1, -1)
            )
            np.testing.assert_allclose(G[:, 4 * c + k], (up - down) / (2 * step), atol=1e-6)
    assert vectors.get_feature_names_out()[5] == "b: mean 0 of x1"
    np.testing.assert_allclose(vectors.kernel(X, X[:3]), G @ G[:3].T)
    mixed = {"a": vectors.networks_["a"], "b": make_network(2, 0)}
    np.testing.assert_array_equal(FisherVectors(networks=mixed).fit_transform(X)[:, :4], G[:, :4])


def test_a_region_called_bias_is_not_taken_for_the_bias():
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((40, 3)), columns=["a", "b", "bias"])
    names = FisherVectors().fit(X, np.repeat([0, 1], 20)).get_feature_names_out()
    assert len(set(names)) == len(names)
    assert "0: (bias) -> a" in names


def bumped(network, parent, child, step):
    coef, intercept = np.array(network.coef), np.array(network.intercept)
    if parent == network.m:
        intercept[child] += step
    else:
        coef[parent, child] += step
    return coef, intercept


def test_gradients_are_those_of_the_log_likelihood():
    network = make_network(6, 0)
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
    network = make_network(7, 1)
    X = network.sample(30, 5)
    score = NetworkScore(network)
    coef, intercept = network.gradient(X)
    expected = np.vstack([coef, intercept])[score.taken]
    np.testing.assert_allclose(score.scores(X).sum(axis=0), expected, rtol=1e-10, atol=1e-10)


def test_information_is_the_mean_square_under_the_network():
    network = make_network(4, 4)
    draws = network.sample(200_000, 0)
    score = NetworkScore(network)
    squares = (score.scores(draws) ** 2).mean(axis=0)
    np.testing.assert_allclose(fisher_information(network)[score.taken], squares, rtol=0.05)
    scaled = NetworkScore(network, scaling="information").scores(draws)
    np.testing.assert_allclose((scaled**2).mean(axis=0), 1, rtol=0.05)


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


NAMED = make_network(4, 2, list("abcd"))
TABLE = pd.DataFrame(NAMED.sample(10, 0), columns=list("aBcd"))
SCORES = np.zeros((3, 7, 6))


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda X, y, nets: edge_scores(X[:25], y[:25], nets), "classes.one"),
        (lambda X, y, nets: edge_scores(X, y, [object()]), "density.no-network"),
        (lambda X, y, nets: edge_scores(X, y, nets, signed=True), "signed.classes"),
        *((lambda X, y, nets, k=k: select_edges(SCORES, k), "argument") for k in (0, 2.5, True)),
        (lambda X, y, nets: select_edges(SCORES[0], 3), "scores.shape"),
        (lambda X, y, nets: select_edges(SCORES, 3, np.ones((2, 6, 6))), "present.shape"),
        (lambda X, y, nets: select_edges(SCORES * np.nan, 3), "scores.nan"),
        (lambda X, y, nets: FisherVectors(networks=nets[:1]).fit(X[:, :3]), "network.columns"),
        (lambda X, y, nets: FisherVectors(networks=NAMED).fit(TABLE), "network.names"),
        (lambda X, y, nets: FisherVectors().fit(X, [None, *y[1:]]), "labels.missing"),
        (lambda X, y, nets: FisherVectors().fit(X, ["AD", *y[1:]]), "part"),
        (
            lambda X, y, nets: FisherVectors(Mixture(), scaling="information").fit(X[:, :2], y),
            "density.no-options",
        ),
    ],
)
def test_what_cannot_be_used_is_refused(data, call, code):
    with refused(code):
        call(*data)


def test_labels_of_groups_are_not_continuous(data):
    with pytest.raises(ValueError, match="continuous"):
        FisherVectors().fit(data[0], data[0][:, 0])
