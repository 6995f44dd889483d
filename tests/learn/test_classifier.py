import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.covariance import EmpiricalCovariance
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.codes import refused, warned

from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.problems import DataWarning, problem_of
from sgbn.learn.classifier import (
    Scale,
    SGBNClassifier,
    best_temperature,
    blended_rows,
    default_learner,
    explain_ratio,
    learn_networks,
    log_likelihoods,
    posterior_scores,
    warn_about_classes,
)
from sgbn.learn.ensemble import SGBNEnsemble
from sgbn.learn.sgbn import SGBN
from sgbn.paper.classifier_cv import SGBNClassifierCV
from sgbn.paper.kl_sgbn import KLSGBNClassifier
from sgbn.paper.or_sgbn import ORSGBN


@parametrize_with_checks([SGBNClassifier(ORSGBN(0.1), pool=0.3, variances="pooled")])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cohort():
    return simulate_cohort(150, differ="edges", regions=20)


def fresh(cohort, n=1000):
    values = [network.sample(n, 7) for network in cohort.networks.values()]
    return np.vstack(values), np.repeat(list(cohort.networks), n)


def test_networks_that_differ_in_edges_alone_are_told_apart(cohort):
    X, y = fresh(cohort)
    found = SGBNClassifier().fit(cohort.values, cohort.group)
    truth = np.column_stack([net.log_likelihood(X) for net in cohort.networks.values()])
    bayes = np.mean(np.array(list(cohort.networks))[truth.argmax(axis=1)] == y)
    assert bayes > 0.65
    assert found.score(X, y) > bayes - 0.08
    lda = LinearDiscriminantAnalysis().fit(cohort.values, cohort.group)
    assert found.score(X, y) > lda.score(X, y) + 0.05


def test_full_networks_of_each_class_are_quadratic_discriminant_analysis():
    """Every pair joined and class variances: the class covariances are fitted as they are."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3)) @ np.array([[2.0, 1, 1], [0, 2, 1], [0, 0, 1]])
    y = np.repeat(["a", "b", "c"], 200)
    X[:200] *= 2
    X[200:400] += 1
    every_pair = SGBN(required=[(0, 1), (0, 2), (1, 2)])
    full = SGBNClassifier(every_pair, temperature=1.0).fit(X, y)
    assert all(net.n_edges == 3 for net in full.networks_.values())
    qda = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    np.testing.assert_allclose(full.predict_proba(X), qda.predict_proba(X), atol=0.02)


def test_wholly_pooled_networks_differ_in_means_alone(cohort):
    pooled = SGBNClassifier(pool=1.0, temperature=1.0).fit(cohort.values, cohort.group)
    first, second = pooled.networks_.values()
    np.testing.assert_allclose(first.coef, second.coef)
    np.testing.assert_allclose(first.noise_variance, second.noise_variance)
    for network, group in ((first, "control"), (second, "patient")):
        np.testing.assert_allclose(network.mean, cohort.of_group(group).mean(axis=0))


@pytest.mark.parametrize("variances", ["class", "pooled", "unit"])
def test_variances_are_those_of_the_class_common_or_one(cohort, variances):
    found = SGBNClassifier(variances=variances, temperature=1.0).fit(cohort.values, cohort.group)
    first, second = (network.noise_variance for network in found.networks_.values())
    assert np.array_equal(first, second) == (variances != "class")
    assert np.allclose(first, cohort.values.var(axis=0)) == (variances == "unit")


def test_priors_shift_the_log_odds(cohort):
    X, y = cohort.values, cohort.group
    odds = {}
    for name, priors in {"equal": "equal", "given": {"control": 9, "patient": 1}}.items():
        odds[name] = SGBNClassifier(temperature=1.0, priors=priors).fit(X, y).decision_function(X)
    np.testing.assert_allclose(odds["given"] - odds["equal"], np.log(1 / 9))
    few = np.r_[:150, 150:200]
    fitted = SGBNClassifier(temperature=1.0).fit(X[few], y[few])
    assert fitted.priors_.tolist() == [0.75, 0.25]


def test_temperature_calibrates_what_is_too_sure(cohort):
    X, y = fresh(cohort)
    codes = (y == "patient").astype(int)
    losses = {}
    for temperature in ("cv", 1.0):
        small = cohort.subset(np.r_[:60, 150:210])
        found = SGBNClassifier(temperature=temperature).fit(small.values, small.group)
        losses[temperature] = -found.predict_log_proba(X)[np.arange(len(X)), codes].mean()
    assert losses["cv"] < min(losses[1.0], np.log(2) + 0.02)


def test_the_best_temperature_is_that_of_the_smallest_log_loss():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 400)
    likelihoods = 5 * (rng.normal(size=(400, 3)) + 1.0 * np.eye(3)[codes])
    priors = np.full(3, 1 / 3)
    best = best_temperature(likelihoods, codes, priors)
    grid = np.geomspace(0.01, 5, 400)
    loss = [
        -log_softmax(posterior_scores(likelihoods, t, priors), axis=1)[range(400), codes].mean()
        for t in grid
    ]
    assert best == pytest.approx(grid[int(np.argmin(loss))], rel=0.03)


def test_too_few_rows_for_folds_leave_the_temperature_at_one(simulate):
    X, _ = simulate(3, 8, 0)
    assert SGBNClassifier().fit(X, np.repeat([0, 1], 4)).temperature_ != 1.0
    assert SGBNClassifier().fit(X, [0] * 5 + [1] * 3).temperature_ == 1.0


def test_a_region_that_is_constant_in_a_fold_is_named(simulate):
    X, _ = simulate(4, 40, 0)
    X[:, 3] = np.arange(40) % 20 == 5  # one row of each class
    with refused("temperature.fold"):
        SGBNClassifier(SGBN(outliers="keep")).fit(X, np.repeat([0, 1], 20))
    assert SGBNClassifier(SGBN(outliers="keep"), temperature=1.0).fit(X, np.repeat([0, 1], 20))


def test_networks_that_say_nothing_of_unseen_rows_warn(cohort, recwarn):
    rows = np.r_[:4, 150:210]
    found = SGBNClassifier().fit(cohort.values[rows], cohort.group[rows])
    assert (found.predict(cohort.values) == "patient").all()
    low = [w.message.problem for w in recwarn if w.message.problem.code == "temperature.low"]
    assert [problem.values["label"] for problem in low] == ["control"]
    recwarn.clear()
    SGBNClassifier(temperature=1e-3).fit(cohort.values, cohort.group)  # as asked for
    SGBNClassifier().fit(cohort.values, cohort.group)
    assert not [w for w in recwarn if w.message.problem.code == "temperature.low"]


def test_few_rows_warn_once_and_not_again_in_folds(cohort):
    rows = np.r_[:8, 150:210]
    with warned("part") as caught:
        SGBNClassifier().fit(cohort.values[rows], cohort.group[rows])
    causes = [w.message.problem.values.get("cause") for w in caught]
    assert [cause.code for cause in causes if cause] == ["rows.few-for-columns"]


@pytest.mark.parametrize(
    "classifier", [SGBNClassifier(), SGBNClassifierCV(slacks=[0, 0.1]), KLSGBNClassifier()]
)
def test_columns_of_few_values_are_named_once(cohort, classifier):
    X = pd.DataFrame(cohort.values[:, :4], columns=list("abcd")).assign(b=np.resize([0, 1, 2], 300))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        classifier.fit(X, cohort.group)
    told = [problem_of(one.message) for one in caught]
    few = [one.values for one in told if one.code == "cells.few-values"]
    assert few == [{"columns": ["b"]}]


def test_priors_are_found_by_keys_that_equal_the_classes(cohort):
    y = (cohort.group == "patient").astype(float)
    for keys in ((0, 1), (0.0, 1.0), ("0.0", "1.0"), (False, True)):
        found = SGBNClassifier(temperature=1.0, priors=dict(zip(keys, (3, 1), strict=True)))
        assert found.fit(cohort.values, y).priors_.tolist() == [0.75, 0.25]


def test_probabilities_sum_to_one_and_agree_with_the_rest(cohort):
    found = SGBNClassifier(temperature=0.3).fit(cohort.values, cohort.group)
    P = found.predict_proba(cohort.values)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert (found.classes_[P.argmax(axis=1)] == found.predict(cohort.values)).all()
    np.testing.assert_allclose(
        found.decision_function(cohort.values), np.log(P[:, 1] / P[:, 0]), atol=1e-6
    )


def test_columns_in_another_order_and_other_units_give_the_same_classes(cohort):
    rng = np.random.default_rng(0)
    order, units = rng.permutation(20), np.exp(rng.normal(size=20))
    plain = SGBNClassifier().fit(cohort.values, cohort.group)
    other = SGBNClassifier().fit((cohort.values * units)[:, order], cohort.group)
    np.testing.assert_allclose(
        plain.decision_function(cohort.values),
        other.decision_function((cohort.values * units)[:, order]),
        rtol=1e-6,
        atol=1e-6,
    )


def test_ten_classes(simulate):
    X, _ = simulate(5, 600, 0)
    y = np.arange(600) % 10
    X = X + 3 * np.random.default_rng(1).normal(size=(10, 5))[y]
    assert SGBNClassifier(pool=0.5).fit(X, y).score(X, y) > 0.5


def test_it_works_in_searches_and_clones_and_keeps_names(cohort):
    X = pd.DataFrame(cohort.values, columns=cohort.regions)
    search = GridSearchCV(SGBNClassifier(temperature=1.0), {"pool": [0.0, 0.5]}, cv=3)
    best = search.fit(X, cohort.group).best_estimator_
    assert best.feature_names_in_.tolist() == list(cohort.regions)
    assert best.networks_["control"].names == cohort.regions
    assert cross_val_score(clone(best), X, cohort.group, cv=3).shape == (3,)


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"pool": 1.5}, "argument"),
        ({"priors": "flat"}, "argument"),
        ({"priors": [0.5, 0.5]}, "argument"),
        ({"priors": {"control": 1}}, "priors.shares"),
        ({"priors": {"control": 1, "patient": np.inf}}, "priors.shares"),
        ({"priors": {"control": 1, "patient": 1, "pateint": 3}}, "classes.unknown"),
        ({"temperature": "best"}, "argument"),
        ({"y": ["b"] + ["a"] * 299}, "classes.small"),
        ({"X": np.repeat(np.random.default_rng(0).random((151, 2)), [150, *[1] * 150], 0)}, "part"),
    ],
)
def test_parameters_and_classes_that_mean_nothing_are_refused(cohort, parameters, code):
    rows = {"X": cohort.values, "y": cohort.group} | parameters
    X, y = rows.pop("X"), rows.pop("y")
    with refused(code):
        SGBNClassifier(**rows).fit(X, y)


def test_a_ratio_is_of_two_classes():
    X = np.random.default_rng(0).standard_normal((60, 3))
    y = np.repeat(["a", "b", "c"], 20)
    fitted = SGBNClassifier(temperature=1.0).fit(X, y)
    plain = fitted.explain(X).ratio
    np.testing.assert_array_equal(fitted.explain(X, of="c").ratio, plain)
    np.testing.assert_array_equal(fitted.explain(X, against="a").ratio, plain)
    np.testing.assert_allclose(fitted.explain(X, of="a").ratio, -plain)
    np.testing.assert_allclose(fitted.explain(X, against="c").ratio, -plain)
    with refused("classes.same"):
        fitted.explain(X, of="b", against="b")


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
        np.testing.assert_allclose(network.coef, alone.coef, rtol=1e-9)
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
    with warned("part"):
        learn_networks(SGBN(), X[few], y[few], list("abcde"), pool=pool)
    X = np.column_stack([X, 2 * X[:, 0]])
    with warned("part"):
        learn_networks(SGBN(), X, y, list("abcdef"), pool=pool)


def test_rows_enough_do_not_warn(two_classes, recwarn):
    X, y = two_classes
    warn_about_classes(X, y, 0.3, list("abcde"))
    warn_about_classes(X[55:], y[55:], 1.0, list("abcde"))  # the class of 5 is that of all
    classes = np.arange(7) % 3  # 7 rows less 3 means span 4 dimensions: no column is to blame
    warn_about_classes(X[:7], classes, 1.0, list("abcde"))
    assert not [w for w in recwarn if issubclass(w.category, DataWarning)]


def test_a_blend_needs_a_learner_that_works_on_moments(two_classes):
    literal = ORSGBN(0.1, standardize=False, penalize_intercept=True)
    for learner in (EmpiricalCovariance(), literal):
        with refused("part"):
            learn_networks(learner, *two_classes, list("abcde"), pool=0.5)


def test_a_column_that_does_not_vary_in_a_class_is_named():
    X = np.random.default_rng(0).standard_normal((60, 3))
    X[:30, 1] = 2.0
    with warned("classes.constant"):
        warn_about_classes(X, np.repeat(["a", "b"], 30), 0.0, ["x", "y", "z"])


@pytest.mark.parametrize("learner", [SGBN(), ORSGBN(0.1), SGBNEnsemble(n_chains=4, n_pairs=2)])
def test_warnings_of_the_learner_name_the_columns(two_classes, learner):
    X, y = two_classes
    X[:, 4] = 2 * X[:, 3]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learn_networks(learner, X, y, list("abcde"))
    copies = [problem_of(one.message).values["cause"] for one in caught]
    named = [problem.values for problem in copies if problem.code == "columns.copies"]
    assert {(values["first"], values["second"]) for values in named} == {("d", "e")}


def test_prior_knowledge_is_about_the_columns(two_classes):
    X, y = two_classes
    found = learn_networks(SGBN(forbidden=[("a", "b"), ("b", "a")]), X, y, list("abcde"))
    assert all(network.coef[0, 1] == network.coef[1, 0] == 0 for network in found.values())


@pytest.fixture(scope="module")
def fitted():
    cohort = simulate_cohort(80, regions=12)
    X = pd.DataFrame(cohort.values, columns=cohort.regions)
    return SGBNClassifier(temperature=1.0, priors="equal").fit(X, cohort.group), X


def test_regions_and_edges_sum_to_the_log_likelihood_ratio(fitted):
    classifier, X = fitted
    parts = classifier.explain(X)
    np.testing.assert_allclose(parts.ratio, classifier.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(parts.own.sum(axis=1) + parts.edges.sum(axis=1), parts.ratio)
    np.testing.assert_allclose(parts.regions.sum(axis=1), parts.ratio)


def test_a_region_has_its_own_part_and_that_of_the_edges_into_it(fitted):
    classifier, X = fitted
    parts = classifier.explain(X)
    first, second = (classifier.networks_[name] for name in ("patient", "control"))
    for k, name in enumerate(parts.names):
        term = [
            -(net.residuals(X)[:, k] ** 2) / (2 * net.noise_variance[k])
            - np.log(2 * np.pi * net.noise_variance[k]) / 2
            for net in (first, second)
        ]
        np.testing.assert_allclose(parts.regions[:, k], term[0] - term[1], atol=1e-9)
        assert name == X.columns[k]


def test_edges_are_those_of_either_network(fitted):
    classifier, X = fitted
    parts = classifier.explain(X[:1])
    edges = set(zip(parts.sources, parts.targets, strict=True))
    for network in classifier.networks_.values():
        assert {(edge.source, edge.target) for edge in network.edges()} <= edges


def test_the_other_way_round_is_the_negative(fitted):
    classifier, X = fitted
    there = classifier.explain(X, of="patient", against="control")
    back = classifier.explain(X, of="control", against="patient")
    np.testing.assert_allclose(there.edges, -back.edges)
    with refused("classes.unknown"):
        classifier.explain(X, of="patients")


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), shift=st.floats(-100, 100))
def test_parts_do_not_depend_on_the_zero_of_the_units(seed, shift):
    rng = np.random.default_rng(seed)
    coef = np.triu(rng.normal(size=(4, 4)), 1)
    X = rng.normal(size=(3, 4))
    means = rng.normal(size=(2, 4))
    parts = []
    for move in (0.0, shift):
        moved = zip((coef, coef / 2), means + move, strict=True)
        networks = [GaussianNetwork(c, mean - mean @ c) for c, mean in moved]
        parts.append(explain_ratio(*networks, X + move))
    np.testing.assert_allclose(parts[0].edges, parts[1].edges, atol=1e-6)
    np.testing.assert_allclose(parts[0].own, parts[1].own, atol=1e-6)
