import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar
from sklearn.base import BaseEstimator, clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.codes import refused

from sgbn.cohort.simulate import simulate_cohort
from sgbn.learn.classifier import SGBNClassifier
from sgbn.learn.sgbn import SGBN
from sgbn.paper import fisher_svm
from sgbn.paper.classifier_cv import SGBNClassifierCV
from sgbn.paper.densities import MixtureMeans
from sgbn.paper.fisher import FisherVectors, edge_scores, select_edges
from sgbn.paper.fisher_svm import (
    MAX_NEWTON_STEPS,
    TOL,
    FisherSVMClassifier,
    _line_minimum,
    l2_svm,
    l2_svm_cg,
    l2_svm_features,
    l2_svm_primal,
    radius,
    standardised,
    total_scatter,
)
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


def test_rows_that_no_plane_can_part(cohort):
    class Flat:
        score_names = ("nothing",)

        def scores(self, X):
            return np.ones((len(X), 1))

    with refused("scores.constant"):
        FisherSVMClassifier(FisherVectors(networks=Flat())).fit(cohort.values, cohort.group)


def two_classes(n, p, seed, shift=0.5, share=0.5):
    """Points of two overlapping classes; the first two samples are of different ones."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < share, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return rng.standard_normal((n, p)) + shift * y[:, None], y


def kkt_violation(K, y, C, result):
    """From the definition, with the caller's kernel, and alpha measured against the largest."""
    alpha = result.beta * y
    margins = y * (K @ result.beta + result.beta / C + result.intercept)
    uneven = np.where(alpha > 0, np.abs(margins - 1), np.maximum(1 - margins, 0)).max()
    largest = max(alpha.max(), 1e-300)
    return max(uneven, -alpha.min() / largest, abs(result.beta.sum()) / largest)


def dual_by_slsqp(K, y, C):
    """Largest value of the dual, with its variables scaled to the order of one."""
    centre = np.eye(y.size) - 1 / y.size  # beta adds up to zero; near-constant kernels upset SLSQP
    A = (centre @ K @ centre + np.eye(y.size) / C) * np.outer(y, y)
    unit = 1.0 / A.diagonal().mean()
    A = A * unit
    optimum = minimize(
        lambda a: (0.5 * a @ A @ a - a.sum(), A @ a - 1),
        np.zeros(y.size),
        jac=True,
        method="SLSQP",
        bounds=[(0, None)] * y.size,
        constraints=[{"type": "eq", "fun": lambda a: a @ y, "jac": lambda a: y}],
        options={"ftol": 1e-14, "maxiter": 2000},
    )
    return -optimum.fun * unit


@pytest.mark.parametrize("C", [1e-6, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize(("n", "p"), [(30, 50), (50, 5), (40, 2)])
def test_equals_scikit_learns_hard_margin(n, p, C):
    X, y = two_classes(n, p, seed=n + p, shift=0.5 if C <= 1e3 else 3.0)
    K = X @ X.T
    result = l2_svm(K, y, C)
    peer = SVC(C=1e10, kernel="precomputed", tol=1e-10).fit(K + np.eye(n) / C, y)
    beta = np.zeros(n)
    beta[peer.support_] = peer.dual_coef_[0]
    # Not half the sum of its alphas, which is right only to first order in its tolerance.
    objective = beta @ y - 0.5 * beta @ (K @ beta + beta / C)
    assert result.converged
    assert result.objective == pytest.approx(objective, rel=1e-6)
    np.testing.assert_allclose(result.beta, beta, atol=1e-3 * np.abs(beta).max())
    assert result.intercept == pytest.approx(peer.intercept_[0], abs=1e-3)


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e3])
@pytest.mark.parametrize("seed", range(3))
def test_equals_slsqp_on_the_dual(seed, C):
    X, y = two_classes(12, 3, seed)
    K = X @ X.T
    assert l2_svm(K, y, C).objective == pytest.approx(dual_by_slsqp(K, y, C), rel=1e-6)


def test_the_objective_is_the_primal_one_and_half_the_sum_of_alpha():
    X, y = two_classes(60, 4, seed=1)
    C = 0.7
    result = l2_svm(X @ X.T, y, C)
    w = X.T @ result.beta
    slack = np.maximum(1 - y * (X @ w + result.intercept), 0)
    assert result.objective == pytest.approx(0.5 * w @ w + 0.5 * C * slack @ slack, rel=1e-10)
    assert result.objective == pytest.approx(0.5 * np.abs(result.beta).sum(), rel=1e-10)


@settings(max_examples=settings.default.max_examples // 2)
@given(
    n=st.integers(1, 40),
    p=st.integers(1, 60),
    C=st.floats(-6, 6),
    scale=st.floats(-1, 1),
    shift=st.floats(0, 4),
    share=st.floats(0.02, 0.98),
    copies=st.booleans(),
    whole=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_always_converges(n, p, C, scale, shift, share, copies, whole, seed):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < share, 1.0, -1.0)
    X = 10**scale * (rng.standard_normal((n, p)) + shift * y[:, None])
    X = X[rng.integers(0, n, n)] if copies else X
    X = np.round(X) if whole else X
    K, C = X @ X.T, 10**C
    result = l2_svm(K, y, C)
    assert result.converged
    rounded = 1e-14 * K.diagonal().max() * np.abs(result.beta).sum()  # of a margin
    assert result.violation <= max(TOL, rounded)
    if result.objective > 1e-12 and C * rounded <= 1e-9 * np.abs(result.beta).max():
        assert kkt_violation(K, y, C, result) <= 1e-6


DEGENERATE = {
    "one sample": (np.ones((1, 1)), [1.0]),
    "one class": (np.random.default_rng(0).random((5, 2)), [-1.0] * 5),
    "two samples": (np.array([[0.0], [3.0]]), [1.0, -1.0]),
    "two equal samples of different classes": (np.ones((2, 3)), [1.0, -1.0]),
    "all samples equal": (np.full((7, 2), 1e3), [1.0, -1.0, -1.0, 1.0, 1.0, 1.0, 1.0]),
    "no features": (np.zeros((4, 1)), [1.0, -1.0, -1.0, 1.0]),
    "one against many": (np.random.default_rng(1).random((60, 2)), [1.0] + [-1.0] * 59),
    "a whole class of copies": (np.repeat(np.eye(2), 6, axis=0), [1.0] * 6 + [-1.0] * 6),
    "far from the origin": (1e4 + np.random.default_rng(2).random((20, 3)), [1.0, -1.0] * 10),
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
def test_degenerate_problems_are_solved(name, C):
    X, y = DEGENERATE[name]
    K, y = X @ X.T, np.array(y)
    result = l2_svm(K, y, C)
    assert result.converged
    one_class = abs(y.sum()) == y.size
    if one_class:
        assert result.objective == pytest.approx(0.0, abs=1e-12)
        assert result.intercept == pytest.approx(y[0])
    elif C < 1e6:
        assert result.objective == pytest.approx(dual_by_slsqp(K, y, C), rel=1e-6)


def test_two_samples_in_closed_form():
    # The plane between two points at distance 3: ||w|| = 2 / 3 and J_0 = 2 / (9 + 2 / C).
    result = l2_svm(np.array([[0.0, 0.0], [0.0, 9.0]]), np.array([1.0, -1.0]), C=4.0)
    assert result.objective == pytest.approx(2 / 9.5)
    np.testing.assert_allclose(result.beta, [2 / 9.5, -2 / 9.5])


@pytest.mark.parametrize("start", [[], [3], [0, 1, 2], np.arange(50) % 2 == 0, slice(0, 50)])
def test_the_start_does_not_change_the_answer(start):
    X, y = two_classes(50, 3, seed=5)
    K = X @ X.T
    cold = l2_svm(K, y, 10.0)
    start = np.arange(50)[start] if isinstance(start, slice) else np.array(start)
    start = start.astype(int) if start.size == 0 else start
    warm = l2_svm(K, y, 10.0, start)
    assert warm.converged
    np.testing.assert_allclose(warm.beta, cold.beta, atol=1e-9)


def test_its_own_support_as_start_needs_one_system():
    X, y = two_classes(100, 3, seed=6)
    K = X @ X.T
    cold = l2_svm(K, y, 10.0)
    warm = l2_svm(K, y, 10.0, cold.support)
    assert cold.n_iter > 1
    assert warm.n_iter == 1
    np.testing.assert_array_equal(warm.support, cold.support)


@pytest.mark.parametrize("start", [None, np.array([0, 1])])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
def test_the_active_set_method_alone_finds_the_same(monkeypatch, C, start):
    X, y = two_classes(60, 3, seed=7)
    K = X @ X.T
    newton = l2_svm(K, y, C)
    monkeypatch.setattr(fisher_svm, "MAX_NEWTON_STEPS", 1)
    alone = l2_svm(K, y, C, start)
    assert alone.converged
    np.testing.assert_allclose(alone.beta, newton.beta, atol=1e-8 * np.abs(newton.beta).max())


def test_the_active_set_method_takes_over_where_newton_cycles():
    # Found by search: seven points, separable, a large C.
    rng = np.random.default_rng(43)
    y = np.where(rng.random(7) < 0.5, 1.0, -1.0)
    X = rng.standard_normal((7, 3)) + 2.0 * y[:, None]
    K = X @ X.T
    assert not l2_svm(K, y, 1e4, max_iter=MAX_NEWTON_STEPS - 1).converged
    result = l2_svm(K, y, 1e4)
    assert MAX_NEWTON_STEPS < result.n_iter < 3 * MAX_NEWTON_STEPS
    assert kkt_violation(K, y, 1e4, result) <= 1e-6


def test_too_few_iterations_are_reported():
    X, y = two_classes(100, 3, seed=6)
    result = l2_svm(X @ X.T, y, 10.0, max_iter=1)
    assert not result.converged
    assert result.violation > TOL
    assert not l2_svm_primal(X, y, 1.0, max_iter=1).converged


def test_scaling_the_kernel_is_scaling_c():
    X, y = two_classes(40, 4, seed=8)
    K = X @ X.T
    result, scaled = l2_svm(K, y, 3.0), l2_svm(100 * K, y, 0.03)
    np.testing.assert_allclose(scaled.beta, result.beta / 100, rtol=1e-8, atol=1e-12)
    assert scaled.objective == pytest.approx(result.objective / 100)


def test_permuting_samples_permutes_beta_and_inputs_stay():
    X, y = two_classes(40, 4, seed=9)
    K = X @ X.T
    K.setflags(write=False)
    y.setflags(write=False)
    order = np.random.default_rng(0).permutation(40)
    result = l2_svm(K, y, 3.0)
    permuted = l2_svm(K[np.ix_(order, order)], y[order], 3.0)
    np.testing.assert_allclose(permuted.beta, result.beta[order], atol=1e-10)


def test_moving_the_origin_changes_nothing_but_the_intercept():
    X, y = two_classes(40, 4, seed=10)
    near, far = l2_svm(X @ X.T, y, 3.0), l2_svm((X + 100) @ (X + 100).T, y, 3.0)
    np.testing.assert_allclose(far.beta, near.beta, atol=1e-8)
    expected = near.intercept - 100 * (X.T @ near.beta).sum()
    assert far.intercept == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("X", "squared", "weights"),
    [
        (np.array([[1.0, 1.0], [4.0, 5.0], [2.0, 3.0]]), 6.25, [0.5, 0.5, 0]),
        (np.eye(9), 1 - 1 / 9, np.full(9, 1 / 9)),
    ],
)
def test_the_radius_of_two_points_and_of_a_simplex_in_closed_form(X, squared, weights):
    result = radius(X @ X.T)
    assert result.squared == pytest.approx(squared)
    np.testing.assert_allclose(result.weights, weights, atol=1e-12)


def test_points_on_a_circle_and_on_a_line_have_a_known_ball():
    angle = np.linspace(0, 2 * np.pi, 41)
    circle = np.column_stack([np.cos(angle), np.sin(angle)]) + 5
    assert radius(circle @ circle.T).squared == pytest.approx(1.0)
    line = np.arange(30.0)[:, None]
    assert radius(line @ line.T).squared == pytest.approx(14.5**2)


@settings(max_examples=80)
@given(
    n=st.integers(1, 50),
    p=st.integers(1, 40),
    scale=st.floats(-3, 3),
    origin=st.floats(0, 2),
    copies=st.booleans(),
    whole=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_the_ball_holds_all_points_and_is_no_larger_than_need_be(
    n, p, scale, origin, copies, whole, seed
):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X = X[rng.integers(0, n, n)] if copies else X
    X = np.round(X) if whole else X
    X = 10**scale * (X + origin)
    result = radius(X @ X.T)
    assert result.converged
    rounded = 1e-9 * (X * X).sum(axis=1).max()
    distances = ((X - result.weights @ X) ** 2).sum(axis=1)
    assert distances.max() <= result.squared * (1 + 1e-8) + rounded  # holds all
    assert distances @ result.weights == pytest.approx(result.squared, rel=1e-8, abs=rounded)
    assert result.weights.min() >= 0
    assert result.weights.sum() == pytest.approx(1)


def test_a_ball_warm_started_or_not_is_the_same():
    X, _ = two_classes(60, 10, seed=11)
    K = X @ X.T
    cold = radius(K)
    for start in (cold.weights, np.full(60, 1 / 60), np.eye(60)[3]):
        warm = radius(K, start)
        assert warm.converged
        assert warm.squared == pytest.approx(cold.squared, rel=1e-9)
    assert radius(K, cold.weights).n_iter == 0


def test_the_radius_reports_its_derivative_and_non_convergence():
    X, _ = two_classes(20, 4, seed=12)
    E = np.random.default_rng(0).standard_normal(X.shape)
    p = radius(X @ X.T).weights
    change = E @ X.T + X @ E.T
    expected = p @ change.diagonal() - p @ change @ p
    steps = [radius((X + t * E) @ (X + t * E).T).squared for t in (1e-6, -1e-6)]
    assert (steps[0] - steps[1]) / 2e-6 == pytest.approx(expected, rel=1e-6)
    assert not radius(X @ X.T, max_iter=1).converged


def test_total_scatter_is_the_sum_of_squared_distances_from_the_mean():
    X, _ = two_classes(30, 4, seed=13)
    K, scatter = X @ X.T, ((X - X.mean(axis=0)) ** 2).sum()
    assert total_scatter(K) == pytest.approx(scatter)
    assert total_scatter(K + np.eye(30) / 0.5) == pytest.approx(scatter + 29 / 0.5)
    assert total_scatter(np.full((5, 5), 3.0)) == 0.0


def primal(Phi, y, C, w, b):
    slack = np.maximum(1 - y * (Phi @ w + b), 0)
    return 0.5 * w @ w + 0.5 * C * slack @ slack


@pytest.mark.parametrize("C", [1e-6, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize(("n", "p", "share"), [(80, 3, 0.5), (200, 40, 0.5), (300, 20, 0.05)])
def test_equals_the_solver_on_the_kernel(n, p, share, C):
    Phi, y = two_classes(n, p, seed=n + p, shift=0.3, share=share)
    plane, expected = l2_svm_primal(Phi, y, C), l2_svm(Phi @ Phi.T, y, C)
    assert plane.converged
    assert plane.objective == pytest.approx(expected.objective, rel=1e-8)
    assert plane.intercept == pytest.approx(expected.intercept, abs=1e-8)
    scale = np.abs(expected.beta).max()
    np.testing.assert_allclose(plane.beta, expected.beta, atol=1e-8 * scale)
    np.testing.assert_array_equal(plane.support, expected.support)


@settings(max_examples=80, deadline=None)
@given(
    n=st.integers(2, 60),
    p=st.integers(1, 6),
    seed=st.integers(0, 10_000),
    C=st.floats(-4, 4).map(lambda e: 10.0**e),
    copies=st.booleans(),
)
def test_no_other_plane_is_better(n, p, seed, C, copies):
    """Also with the same points over and over, and with more features than points."""
    Phi, y = two_classes(n, p, seed, shift=1.0)
    if copies:
        Phi = np.round(Phi)
    plane = l2_svm_primal(Phi, y, C)
    w, b = Phi.T @ plane.beta, plane.intercept
    assert plane.converged
    assert primal(Phi, y, C, w, b) == pytest.approx(plane.objective, rel=1e-6, abs=1e-12)
    assert plane.objective == pytest.approx(l2_svm(Phi @ Phi.T, y, C).objective, rel=1e-7)


@pytest.mark.parametrize("p", [5, 80])
def test_the_smaller_problem_is_solved_and_the_plane_is_the_same(p):
    Phi, y = two_classes(60, p, seed=p, shift=0.3)
    Phi += 1e4  # far from the origin, where a kernel alone has lost digits
    plane = l2_svm_features(Phi, y, 0.5)
    near = l2_svm((Phi - 1e4) @ (Phi - 1e4).T, y, 0.5)
    np.testing.assert_allclose(plane.beta, near.beta, atol=1e-8)
    expected = (Phi - 1e4) @ ((Phi - 1e4).T @ near.beta) + near.intercept
    centre = Phi.mean(axis=0)
    w = Phi.T @ plane.beta
    np.testing.assert_allclose(
        (Phi - centre) @ w + (centre @ w + plane.intercept), expected, atol=1e-6
    )


def test_ten_thousand_samples_need_no_square_matrix(monkeypatch):
    Phi, y = two_classes(10_000, 20, seed=0, shift=0.05)

    def refuse(*args):
        raise AssertionError("the kernel was formed")

    monkeypatch.setattr("sgbn.paper.fisher_svm.l2_svm", refuse)
    plane = l2_svm_features(Phi, y, 1e-3)
    assert plane.converged
    w = Phi.T @ plane.beta
    gradient = w - 1e-3 * Phi.T @ (y * np.maximum(1 - y * (Phi @ w + plane.intercept), 0))
    assert np.abs(gradient).max() < 1e-9
    assert abs(plane.beta.sum()) < 1e-9 * np.abs(plane.beta).sum()


@pytest.mark.parametrize("seed", range(10))
def test_the_line_is_searched_exactly(seed):
    rng = np.random.default_rng(seed)
    w, slack, change = rng.standard_normal(3), rng.standard_normal(20), rng.standard_normal(20)
    slack[:3] = 0.0
    change[4] = 0.0
    uphill = 2.0 * (np.maximum(slack, 0) * change).sum()
    move = -w * (max(uphill, 0.0) + 1.0) / (w @ w)  # so that t = 0 is on the way down

    def value(t):
        hinges = np.maximum(slack + t * change, 0)
        return 0.5 * np.sum((w + t * move) ** 2) + hinges @ hinges

    step = _line_minimum(w, move, slack, change, 2.0)
    best = minimize_scalar(value, bounds=(0, 5), method="bounded", options={"xatol": 1e-12})
    assert value(step) <= best.fun + 1e-12


def test_inputs_stay_and_results_repeat_svm_primal():
    Phi, y = two_classes(50, 4, seed=3, shift=0.3)
    before = Phi.copy(), y.copy()
    Phi.setflags(write=False)
    y.setflags(write=False)
    first, second = (l2_svm_primal(Phi, y, 1.0) for _ in range(2))
    np.testing.assert_array_equal(first.beta, second.beta)
    np.testing.assert_array_equal(Phi, before[0])
    np.testing.assert_array_equal(y, before[1])


ALTERNATING = np.resize([1.0, -1.0], 50)


@pytest.mark.parametrize(
    ("solve", "given", "C", "code"),
    [
        (l2_svm, np.diag([-9.0, 2.0, 3.0]), 1e3, "svm.indefinite"),
        (l2_svm_primal, np.repeat(two_classes(50, 1, 3)[0], 2, 1), 1e40, "svm.indefinite-primal"),
    ],
)
def test_what_has_no_solution_in_working_precision_is_refused(solve, given, C, code):
    with refused(code):
        solve(given, ALTERNATING[: len(given)], C)


class Dense:
    """Features that are known in full, as the truncated method asks for them."""

    def __init__(self, Phi):
        self.Phi, self.shape = Phi, Phi.shape

    def matvec(self, w):
        return self.Phi @ w

    def rmatvec(self, v):
        return self.Phi.T @ v

    def subset(self, rows):
        return Dense(self.Phi[rows].astype(np.float32))


@pytest.mark.parametrize("seed", range(4))
def test_truncated_newton_steps_find_the_same_plane(seed):
    rng = np.random.default_rng(seed)
    Phi, y = rng.normal(size=(60, 25)), np.where(rng.random(60) < 0.5, -1.0, 1.0)
    exact = l2_svm(Phi @ Phi.T, y, 0.3)
    plane, _ = l2_svm_cg(Dense(Phi), y, 0.3, tol=1e-8)
    assert plane.converged
    assert plane.objective == pytest.approx(exact.objective, rel=1e-8)
    np.testing.assert_allclose(plane.beta, exact.beta, atol=1e-6)
    assert plane.intercept == pytest.approx(exact.intercept, abs=1e-6)


def test_the_solution_of_a_similar_problem_is_a_good_start():
    rng = np.random.default_rng(0)
    Phi, y = rng.normal(size=(60, 25)), np.where(np.arange(60) % 2, -1.0, 1.0)
    first, start = l2_svm_cg(Dense(Phi), y, 0.3)
    again, _ = l2_svm_cg(Dense(Phi), y, 0.3, start)
    assert again.n_iter == 1 < first.n_iter
