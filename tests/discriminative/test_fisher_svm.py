import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.exceptions import InputError
from sgbn.learn.classifier import SGBNClassifier
from sgbn.learn.sgbn import SGBN
from sgbn.paper.classifier_cv import SGBNClassifierCV
from sgbn.paper.densities import MixtureMeans
from sgbn.paper.fisher import FisherVectors, edge_scores, select_edges
from sgbn.paper.fisher_svm import FisherSVMClassifier, l2_svm, standardised, total_scatter
from sgbn.paper.kl_sgbn import KLSGBNClassifier
from sgbn.paper.mm_sgbn import CLSGBNClassifier, MMSGBNClassifier


@parametrize_with_checks([FisherSVMClassifier(SGBNClassifier(variances="unit"), components=5)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cohort():
    return simulate_cohort(60, differ="edges", regions=8)


@pytest.fixture(scope="module")
def fitted(cohort):
    return {
        k: FisherSVMClassifier(components=k).fit(cohort.values, cohort.group) for k in (None, 10)
    }


def by_hand(cohort, classifier):
    """Networks of the standardised rows, these rows, and their Fisher vectors."""
    Z = StandardScaler().fit_transform(cohort.values)
    networks = clone(classifier).fit(Z, cohort.group).networks_
    return networks, Z, FisherVectors(networks=networks).fit(Z)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_in_full_it_is_an_l2_svm_on_the_fisher_kernel(cohort, C):
    inner = SGBNClassifier(temperature=1.0)
    _, Z, vectors = by_hand(cohort, inner)
    K = vectors.kernel(Z)
    side = np.where(cohort.group == np.unique(cohort.group)[1], 1.0, -1.0)
    plane = l2_svm(K, side, C * len(K) / total_scatter(K))
    svm = FisherSVMClassifier(inner, C=C).fit(cohort.values, cohort.group)
    np.testing.assert_allclose(svm.beta_[0], plane.beta, rtol=1e-6, atol=1e-9)
    expected = K @ plane.beta + plane.intercept
    np.testing.assert_allclose(svm.decision_function(cohort.values), expected, atol=1e-6)
    assert svm.coef_.shape == (1, 2 * 8**2)
    np.testing.assert_allclose(svm.coef_[0], vectors.transform(Z).T @ plane.beta, atol=1e-7)


def test_the_best_components_are_those_of_edge_selection_and_not_standardised(cohort, fitted):
    networks, Z, vectors = by_hand(cohort, SGBNClassifier(temperature=1.0))
    names = [*cohort.regions, "bias"]
    labels = list(networks)
    expected = {
        f"{labels[c]}: {names[i]} -> {names[j]}"
        for c, i, j in select_edges(edge_scores(Z, cohort.group, networks), 10)
    }
    table = pd.DataFrame(cohort.values, columns=cohort.regions)
    svm = FisherSVMClassifier(components=10).fit(table, cohort.group)
    assert set(svm.components_) == expected
    Phi = pd.DataFrame(vectors.transform(Z), columns=vectors.get_feature_names_out())
    Phi = Phi[fitted[10].components_].to_numpy()
    K = Phi @ Phi.T
    side = np.where(cohort.group == svm.classes_[1], 1.0, -1.0)
    plane = l2_svm(K, side, len(K) / total_scatter(K))
    np.testing.assert_allclose(fitted[10].coef_[0], Phi.T @ plane.beta, atol=1e-7)
    assert fitted[10].intercept_[0] == pytest.approx(plane.intercept, abs=1e-7)


def test_all_components_by_the_kernel_or_one_by_one_are_the_same_plane(cohort, fitted):
    explicit = FisherSVMClassifier(components=10_000).fit(cohort.values, cohort.group)
    np.testing.assert_array_equal(explicit.components_, fitted[None].components_)
    np.testing.assert_allclose(explicit.coef_, fitted[None].coef_, atol=1e-8)
    few = simulate_cohort(100, differ="edges", regions=4)  # 32 components, fewer than rows
    one = FisherSVMClassifier().fit(few.values, few.group)
    _, Z, vectors = by_hand(few, SGBNClassifier(temperature=1.0))
    K = vectors.kernel(Z)
    plane = l2_svm(K, np.where(few.group == one.classes_[1], 1.0, -1.0), len(K) / total_scatter(K))
    np.testing.assert_allclose(one.beta_[0], plane.beta, atol=1e-7)


@pytest.mark.parametrize("components", [None, 10])
@pytest.mark.parametrize("inner", [SGBNClassifier(), KLSGBNClassifier(), MMSGBNClassifier()])
def test_units_do_not_matter(cohort, components, inner):
    rng = np.random.default_rng(0)
    units, origin = np.exp(rng.normal(size=8)), 10 * rng.normal(size=8)
    svm = FisherSVMClassifier(inner, components=components)
    plain = svm.fit(cohort.values, cohort.group).decision_function(cohort.values)
    other = cohort.values * units + origin
    moved = svm.fit(other, cohort.group).decision_function(other)
    np.testing.assert_allclose(plain, moved, rtol=1e-3, atol=1e-3)


def test_networks_go_back_to_the_standardised_rows(cohort):
    networks, Z, _ = by_hand(cohort, SGBNClassifier(temperature=1.0))
    in_units = SGBNClassifier(temperature=1.0).fit(cohort.values, cohort.group).networks_
    back, scale = standardised(in_units, cohort.values)
    np.testing.assert_allclose(scale.standardise(cohort.values), Z)
    for label, network in networks.items():
        for field in ("coef", "intercept", "noise_variance"):
            np.testing.assert_allclose(
                getattr(back[label], field), getattr(network, field), atol=1e-10
            )


@pytest.mark.parametrize(
    "inner",
    [
        KLSGBNClassifier(edges=10, max_iter=20),
        MMSGBNClassifier(edges=10),
        CLSGBNClassifier(edges=10),
        SGBNClassifierCV(alphas=[0.1], pools=[0.0], slacks=[0.0]),
        FisherVectors(SGBN()),
    ],
)
@pytest.mark.parametrize("components", [None, 10])
def test_any_classifier_with_networks_will_do(cohort, inner, components):
    svm = FisherSVMClassifier(inner, components=components).fit(cohort.values, cohort.group)
    assert type(svm.classifier_) is type(inner)
    assert not hasattr(inner, "networks_")
    assert svm.score(cohort.values, cohort.group) > 0.6


def test_no_time_is_spent_on_a_temperature(cohort, monkeypatch):
    def refuse(*args):
        raise AssertionError("the temperature was cross-validated")

    monkeypatch.setattr(SGBNClassifier, "_unseen_likelihoods", refuse)
    inner = SGBNClassifier()
    svm = FisherSVMClassifier(inner).fit(cohort.values, cohort.group)
    assert inner.temperature == "cv"
    assert svm.classifier_.temperature_ == 1.0


class OneForAll(BaseEstimator):
    """The same network for every class, as the same object or as equal ones."""

    def __init__(self, equal=False):
        self.equal = equal

    def fit(self, X, y):
        made = [SGBN().fit(X).network_ for _ in range(2)]
        self.networks_ = {"a": made[0], "b": made[self.equal]}
        return self


@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize("components", [None, 5])
def test_a_network_of_all_classes_counts_once(cohort, equal, components):
    svm = FisherSVMClassifier(OneForAll(equal), components=components)
    svm.fit(cohort.values, np.where(cohort.group == cohort.group[0], "a", "b"))
    assert len(svm.components_) == (components or 8**2)
    assert all(":" not in name for name in svm.components_)
    if components is None:
        Z = StandardScaler().fit_transform(cohort.values)
        K = FisherVectors(networks=standardised(svm.classifier_.networks_, cohort.values)[0])
        K = K.fit(Z).kernel(Z)
        side = np.where(cohort.group == cohort.group[0], -1.0, 1.0)
        plane = l2_svm(K, side, len(K) / total_scatter(K))
        np.testing.assert_allclose(svm.beta_[0], plane.beta, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("components", [None, 30])
def test_several_classes_are_planes_of_one_against_the_rest(components):
    ten = simulate_cohort(30, groups=tuple("abcdefghij"), differ="means", regions=6)
    svm = FisherSVMClassifier(components=components).fit(ten.values, ten.group)
    decision = svm.decision_function(ten.values)
    p = components or 10 * 6**2
    assert decision.shape == (300, 10)
    assert (svm.coef_.shape, svm.intercept_.shape, svm.beta_.shape) == ((10, p), (10,), (10, 300))
    np.testing.assert_array_equal(svm.predict(ten.values), svm.classes_[decision.argmax(axis=1)])
    assert svm.score(ten.values, ten.group) > 0.2
    for c, label in enumerate(svm.classes_):
        own = ten.group == label
        assert svm.beta_[c][own].min() >= 0
        assert svm.beta_[c][~own].max() <= 0


def test_differences_in_edges_alone_are_found(cohort):
    X = np.vstack([network.sample(1000, 7) for network in cohort.networks.values()])
    y = np.repeat(list(cohort.networks), 1000)
    svm = FisherSVMClassifier(components=10).fit(cohort.values, cohort.group)
    lda = LinearDiscriminantAnalysis().fit(cohort.values, cohort.group)
    assert svm.score(X, y) > lda.score(X, y) + 0.05


def test_labels_that_mean_nothing_are_not_predicted(cohort):
    """Components chosen in the training part only: other rows stay at chance."""
    rng = np.random.default_rng(0)
    accuracy = []
    for _ in range(20):
        y = rng.permutation(cohort.group)
        svm = FisherSVMClassifier(SGBNClassifier(SGBN(n_kicks=0)), components=10)
        accuracy.append(svm.fit(cohort.values[::2], y[::2]).score(cohort.values[1::2], y[1::2]))
    assert abs(np.mean(accuracy) - 0.5) < 0.05


def test_many_rows_form_no_square_matrix():
    many = simulate_cohort(2000, regions=5)
    svm = FisherSVMClassifier(SGBNClassifier(SGBN(n_kicks=0)), components=20)
    tracemalloc.start()
    svm.fit(many.values, many.group).predict(many.values)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.1 * 8 * 4000**2


@pytest.mark.parametrize("components", [None, 6])
def test_other_densities_with_a_score_function(components):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 2)) + 2 * rng.choice([-1, 1], (80, 1)) * [1, 1]
    X[40:, 1] *= -1
    y = np.repeat(["same", "opposite"], 40)
    mixtures = {
        c: MixtureMeans.of(
            GaussianMixture(2, covariance_type="diag", random_state=0).fit(X[y == c])
        )
        for c in np.unique(y)
    }
    svm = FisherSVMClassifier(FisherVectors(networks=mixtures), components=components).fit(X, y)
    assert svm.score(X, y) > 0.9
    assert len(svm.components_) == (components or 8)
    assert svm.components_[-1].startswith("same: part 1: mean of x")
    one = FisherSVMClassifier(FisherVectors(networks=mixtures["same"])).fit(X, y)
    assert one.components_[0] == "part 0: mean of x0"


def test_inputs_stay_and_results_repeat(cohort, fitted):
    X, y = cohort.values.copy(), cohort.group.copy()
    X.setflags(write=False)
    again = FisherSVMClassifier(components=10).fit(X, y)
    np.testing.assert_array_equal(again.coef_, fitted[10].coef_)
    np.testing.assert_array_equal(X, cohort.values)
    np.testing.assert_array_equal(y, cohort.group)
    np.testing.assert_allclose(again.decision_function(X[:1]), again.decision_function(X)[:1])


def test_grid_search_reaches_the_networks(cohort):
    inner = SGBNClassifier(SGBN(n_kicks=0))
    grid = {"classifier__variances": ["unit", "class"], "components": [5, None]}
    search = GridSearchCV(FisherSVMClassifier(inner), grid, cv=2).fit(cohort.values, cohort.group)
    assert search.best_score_ > 0.5


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"components": 0}, "components is 0"),
        ({"components": 2.5}, "components is 2.5"),
        ({"components": "all"}, "components is 'all'"),
        ({"C": -1}, "C is -1; give a number above 0"),
        ({"classifier": LogisticRegression()}, "LogisticRegression has no networks_ after fit"),
    ],
)
def test_parameters_that_mean_nothing(cohort, parameters, message):
    with pytest.raises(InputError, match=message):
        FisherSVMClassifier(**parameters).fit(cohort.values, cohort.group)


def test_rows_that_no_plane_can_part(cohort):
    class Flat:
        score_names = ("nothing",)

        def scores(self, X):
            return np.ones((len(X), 1))

    with pytest.raises(InputError, match="the same for all rows"):
        FisherSVMClassifier(FisherVectors(networks=Flat())).fit(cohort.values, cohort.group)
