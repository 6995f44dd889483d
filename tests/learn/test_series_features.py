import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from tests.codes import refused

from sgbn.cohort.series import subject_moments
from sgbn.cohort.simulate_series import simulate_series
from sgbn.core.gaussian import GaussianNetwork
from sgbn.learn.series import SeriesSGBN, subject_weights
from sgbn.learn.series_features import (
    SeriesLikelihoods,
    SeriesWeights,
    common_graph,
    log_likelihoods,
    network_on,
    regressors,
    to_weights,
    whiten,
)


@pytest.fixture(scope="module")
def cohort():
    return simulate_series(12, regions=10, n_volumes=150, n_changed=5)


@pytest.fixture(scope="module")
def moments(cohort):
    return subject_moments(cohort)


def test_weights_are_those_of_each_subject_on_the_graph_of_all(cohort, moments):
    learner = SeriesSGBN(n_pairs=0).fit_moments(moments)
    found = SeriesWeights().fit(moments)
    np.testing.assert_array_equal(found.graph_, learner.coef_ != 0)
    sources, targets = np.nonzero(found.graph_)
    expected = subject_weights(moments, found.graph_)[:, sources, targets]
    np.testing.assert_array_equal(found.transform(moments), expected)
    names = [(cohort.regions[i], cohort.regions[j]) for i, j in zip(sources, targets, strict=True)]
    assert found.edges_ == names
    assert found.get_feature_names_out()[0] == " -> ".join(names[0])


def test_series_cohorts_and_arrays_give_what_their_moments_give(cohort, moments):
    expected = SeriesWeights().fit_transform(moments)
    np.testing.assert_array_equal(SeriesWeights().fit_transform(cohort), expected)
    np.testing.assert_array_equal(SeriesWeights().fit_transform(list(cohort.series)), expected)


@pytest.mark.parametrize("features", [SeriesWeights, SeriesLikelihoods])
def test_series_are_filtered_as_the_learner_does(cohort, features):
    learner = SeriesSGBN(lagged=True)
    found = features(learner).fit_transform(cohort, cohort.group)
    moments = subject_moments(cohort, lagged=True)
    expected = features().fit_transform(moments, cohort.group)
    np.testing.assert_array_equal(found, expected)
    fitted = features(learner).fit(cohort, cohort.group)
    np.testing.assert_array_equal(fitted.transform(cohort), fitted.transform(moments))


def test_weights_do_not_know_the_labels(cohort, moments):
    one = SeriesWeights().fit_transform(moments, cohort.group)
    other = SeriesWeights().fit_transform(moments, cohort.group[::-1])
    np.testing.assert_array_equal(one, other)


def test_a_graph_that_is_given_is_not_learned_again(moments):
    graph = np.zeros((10, 10), bool)
    graph[2, 5] = True
    found = SeriesWeights(graph=graph).fit_transform(moments)
    np.testing.assert_allclose(found, moments.R[:, 2, 5][:, None])


def test_the_learner_that_is_given_learns_the_graph(moments):
    sparse = SeriesWeights(SeriesSGBN(penalty=3.0)).fit(moments)
    assert len(sparse.edges_) < len(SeriesWeights().fit(moments).edges_)
    assert clone(sparse).learner.penalty == 3.0


def test_a_graph_without_edges_is_refused(moments):
    with refused("graph.empty"):
        SeriesWeights(graph=np.zeros((10, 10), bool)).fit(moments)


def test_the_likelihood_is_that_of_the_volumes(moments):
    coef = np.zeros((3, 3))
    coef[0, 1], coef[1, 2] = 0.6, 0.5
    network = GaussianNetwork(coef, np.zeros(3), [1, 0.64, 0.75], ["a", "b", "c"])
    rows = np.random.default_rng(0).standard_normal((100, 3))
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    own = subject_moments([rows, rows])
    own = type(own)(np.array([rows.T @ rows / 100] * 2), *list(vars(own).values())[1:])
    density = multivariate_normal(np.zeros(3), network.covariance)
    expected = density.logpdf(rows).mean()
    np.testing.assert_allclose(log_likelihoods(own, network), expected)


def test_the_network_of_a_class_has_the_mean_weights_of_its_subjects(cohort, moments):
    own = moments.take(cohort.group == "patient")
    learner = SeriesSGBN(n_pairs=0).fit_moments(own)
    network = network_on(own, learner.coef_ != 0)
    np.testing.assert_allclose(network.coef, learner.network_.coef)
    np.testing.assert_allclose(network.noise_variance, learner.network_.noise_variance)


def test_ratios_compare_each_class_with_the_first(moments):
    labels = np.tile(["a", "b", "c"], 8)
    graph = common_graph(moments)
    found = SeriesLikelihoods(graph=graph).fit(moments, labels)
    by_class = [
        log_likelihoods(moments, network_on(moments.take(labels == k), graph)) for k in "abc"
    ]
    expected = np.column_stack([by_class[1] - by_class[0], by_class[2] - by_class[0]])
    np.testing.assert_allclose(found.transform(moments), expected)
    assert found.get_feature_names_out().tolist() == ["b over a", "c over a"]


def test_a_training_subject_is_measured_by_networks_without_it(cohort, moments):
    labels = cohort.group
    graph = common_graph(moments)
    found = SeriesLikelihoods(graph=graph, n_folds=12).fit_transform(moments, labels)
    again = SeriesLikelihoods(graph=graph, n_folds=12).fit_transform(moments, labels)
    np.testing.assert_array_equal(found, again)
    fitted = SeriesLikelihoods(graph=graph).fit(moments, labels)
    sign = np.where(labels == "patient", 1, -1)
    # networks that know a subject speak for its class more than others do
    gain = sign * (fitted.transform(moments)[:, 0] - found[:, 0])
    assert gain.mean() > 3 * gain.std() / np.sqrt(24)


def test_persons_are_not_parted(cohort, moments):
    # two rows of each person: with the same series, networks of other folds know neither
    twice = moments.take(np.repeat(np.arange(24), 2))
    labels, persons = np.repeat(cohort.group, 2), np.repeat(np.arange(24), 2)
    graph = common_graph(moments)
    whole = SeriesLikelihoods(graph=graph).fit_transform(twice, labels, persons)
    np.testing.assert_array_equal(whole[::2], whole[1::2])


def test_ratios_tell_subjects_apart_that_the_networks_have_not_seen(cohort, moments):
    train = np.arange(24) % 2 == 0
    fitted = SeriesLikelihoods().fit(moments.take(train), cohort.group[train])
    found = fitted.transform(moments.take(~train))[:, 0]
    patient = cohort.group[~train] == "patient"
    assert found[patient].mean() > found[~patient].mean()


PARENTS = np.array([0, 2, 4, 1, 4])  # the last of five columns is the constant
STARTS = np.array([0, 3, 5])
CHILDREN = np.array([1, 3])


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(30, 4)), np.ones(30)])
    return X, rng.normal(size=(5, 4)) * 0.1


def error(X, theta, weights):
    moved = theta.copy()
    for b, child in enumerate(CHILDREN):
        own = slice(STARTS[b], STARTS[b + 1])
        moved[PARENTS[own], child] = weights[own]
    return np.square(X[:, CHILDREN] - X @ moved[:, CHILDREN]).sum()


def start(theta):
    return np.concatenate([theta[PARENTS[:3], 1], theta[PARENTS[3:], 3]])


def test_the_squared_error_is_a_ball_around_least_squares(data):
    X, theta = data
    factors, to_fit = whiten(X.T @ X, theta, PARENTS, CHILDREN, STARTS, 1e-12)
    centre = start(theta) + to_weights(factors, STARTS, to_fit)
    lowest = error(X, theta, centre)
    rng = np.random.default_rng(1)
    for _ in range(5):
        u = rng.normal(size=5)
        moved = centre + to_weights(factors, STARTS, u)
        assert error(X, theta, moved) == pytest.approx(lowest + u @ u, rel=1e-8)


def test_a_ridge_makes_the_ball_smaller_than_the_set(data):
    X, theta = data
    X[:, 2] = X[:, 0]  # no unique least squares
    factors, to_fit = whiten(X.T @ X, theta, PARENTS, CHILDREN, STARTS, 1e-2)
    before = error(X, theta, start(theta))
    rng = np.random.default_rng(1)
    for _ in range(5):
        u = rng.normal(size=5)
        moved = start(theta) + to_weights(factors, STARTS, to_fit + u)
        assert error(X, theta, moved) <= before - to_fit @ to_fit + u @ u + 1e-8


def test_regressors_are_what_a_unit_adds_to_the_child(data):
    X, theta = data
    factors, _ = whiten(X.T @ X, theta, PARENTS, CHILDREN, STARTS, 1e-12)
    sd = np.array([2.0, 0.5])
    D = np.empty((5, 30))
    regressors(factors, STARTS, np.ascontiguousarray(X.T), PARENTS, sd, D)
    for q, unit in enumerate(np.eye(5)):
        weights = to_weights(factors, STARTS, unit)
        b = int(q >= 3)
        own = slice(STARTS[b], STARTS[b + 1])
        np.testing.assert_allclose(D[q], X[:, PARENTS[own]] @ weights[own] / sd[b], atol=1e-12)
