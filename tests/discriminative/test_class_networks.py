import warnings

import numpy as np
import pytest
from sklearn.covariance import EmpiricalCovariance

from sgbn.core.exceptions import DataWarning, InputError
from sgbn.learn.classifier import (
    Scale,
    blended_rows,
    default_learner,
    learn_networks,
    log_likelihoods,
    warn_about_classes,
)
from sgbn.learn.ensemble import SGBNEnsemble
from sgbn.learn.sgbn import SGBN
from sgbn.paper.or_sgbn import ORSGBN


@pytest.fixture
def two_classes(simulate):
    first, _ = simulate(5, 60, 0)
    second, _ = simulate(5, 140, 1)
    return np.vstack([first, second + 2]), np.repeat(["a", "b"], [60, 140])


def test_a_network_of_standardised_rows_is_that_of_the_rows(two_classes):
    X, y = two_classes
    X = X * [1, 10, 0.1, 3, 1e4] + 7
    scale = Scale.of(X)
    plain = learn_networks(ORSGBN(0.1), X, y, list("abcde"))
    there = learn_networks(ORSGBN(0.1), scale.standardise(X), y, list("abcde"))
    for label, network in plain.items():
        back = scale.in_units(there[label])
        np.testing.assert_allclose(back.coef, network.coef, rtol=1e-8)
        np.testing.assert_allclose(back.intercept, network.intercept, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(back.noise_variance, network.noise_variance, rtol=1e-8)


@pytest.mark.parametrize("pool", [0.0, 0.25, 1.0])
def test_blended_rows_have_the_blended_covariance(two_classes, pool):
    X, y = two_classes
    own, other = np.cov(X[:60].T, bias=True), np.cov(X[60:].T, bias=True)
    pooled = (60 * own + 140 * other) / 200
    rows, n = blended_rows(X, y, "a", pool)
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(rows.T @ rows / 200, (1 - pool) * own + pool * pooled)
    assert n == {0.0: 60, 1.0: 200}.get(pool, n)
    assert 60 <= n <= 200


def test_rows_and_labels_are_not_changed(two_classes):
    X, y = two_classes
    before = X.copy()
    learn_networks(SGBN(), X, y, list("abcde"), pool=0.5)
    assert np.array_equal(X, before)


def test_without_a_blend_each_network_is_that_of_its_rows(two_classes):
    X, y = two_classes
    networks = learn_networks(ORSGBN(0.1), X, y, list("vwxyz"))
    for label, network in networks.items():
        alone = ORSGBN(0.1).fit(X[y == label]).network_
        assert np.array_equal(network.coef, alone.coef)
        assert network.names == tuple("vwxyz")


def test_a_little_blend_changes_little_and_the_mean_not_at_all(two_classes):
    X, y = two_classes
    plain = learn_networks(ORSGBN(0.1), X, y, list("abcde"))["a"]
    blend = learn_networks(ORSGBN(0.1), X, y, list("abcde"), pool=1e-9)["a"]
    np.testing.assert_allclose(blend.coef, plain.coef, atol=1e-6)
    np.testing.assert_allclose(blend.mean, X[:60].mean(axis=0))


def test_one_gamma_for_all_classes(two_classes):
    _, y = two_classes
    assert default_learner(y).gamma == max(1.0, np.log10(140) / 2)


def test_log_likelihoods_have_a_column_a_class(two_classes):
    X, y = two_classes
    networks = learn_networks(SGBN(), X, y, list("abcde"))
    L = log_likelihoods(networks, X)
    assert L.shape == (200, 2)
    np.testing.assert_array_equal(L[:, 1], networks["b"].log_likelihood(X))


@pytest.mark.parametrize("pool", [0.0, 0.3])
def test_few_rows_and_copied_columns_warn_with_a_blend_as_without(two_classes, pool):
    X, y = two_classes
    few = np.r_[:8, 60:200]
    with pytest.warns(DataWarning, match="only 8 samples of 5 columns"):
        learn_networks(SGBN(), X[few], y[few], list("abcde"), pool=pool)
    X = np.column_stack([X, 2 * X[:, 0]])
    with pytest.warns(DataWarning, match="are copies of each other"):
        learn_networks(SGBN(), X, y, list("abcdef"), pool=pool)


def test_rows_enough_do_not_warn(two_classes, recwarn):
    X, y = two_classes
    warn_about_classes(X, y, 0.3, list("abcde"))
    warn_about_classes(X[55:], y[55:], 1.0, list("abcde"))  # the class of 5 is that of all
    classes = np.arange(7) % 3  # 7 rows less 3 means span 4 dimensions: no column is to blame
    warn_about_classes(X[:7], classes, 1.0, list("abcde"))
    assert not [w for w in recwarn if issubclass(w.category, DataWarning)]


def test_a_blend_needs_a_learner_that_works_on_moments(two_classes):
    X, y = two_classes
    with pytest.raises(InputError, match="needs a learner of sgbn, not EmpiricalCovariance"):
        learn_networks(EmpiricalCovariance(), X, y, list("abcde"), pool=0.5)
    literal = ORSGBN(0.1, standardize=False, penalize_intercept=True)
    with pytest.raises(InputError, match="cannot go with a penalised intercept"):
        learn_networks(literal, X, y, list("abcde"), pool=0.5)


def test_a_column_that_does_not_vary_in_a_class_is_named():
    X = np.random.default_rng(0).standard_normal((60, 3))
    X[:30, 1] = 2.0
    with pytest.warns(DataWarning, match="class 'a': 'y' does not vary"):
        warn_about_classes(X, np.repeat(["a", "b"], 30), 0.0, ["x", "y", "z"])


@pytest.mark.parametrize("learner", [SGBN(), ORSGBN(0.1), SGBNEnsemble(n_chains=4, n_pairs=2)])
def test_warnings_of_the_learner_name_the_columns(two_classes, learner):
    X, y = two_classes
    X[:, 4] = 2 * X[:, 3]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learn_networks(learner, X, y, list("abcde"))
    messages = [str(one.message) for one in caught]
    assert any("columns 'd' and 'e' are copies" in text for text in messages)
    assert not any("'x" in text for text in messages)


def test_prior_knowledge_is_about_the_columns(two_classes):
    X, y = two_classes
    found = learn_networks(SGBN(forbidden=[("a", "b"), ("b", "a")]), X, y, list("abcde"))
    assert all(network.coef[0, 1] == network.coef[1, 0] == 0 for network in found.values())
