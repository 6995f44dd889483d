from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from tests.codes import warned

from sgbn.core.equivalence import consistent_extension, cpdag, orient_known
from sgbn.core.graph import is_dag
from sgbn.learn import orient
from sgbn.learn.orient import (
    Residuals,
    bends,
    bent_residual,
    curvature,
    decide_directions,
    density_gain,
    spacing_gain,
)
from sgbn.learn.sgbn import SGBN

NOISE = {
    "t": lambda rng, shape: rng.standard_t(5, shape),
    "exponential": lambda rng, shape: rng.exponential(size=shape),
    "uniform": lambda rng, shape: rng.uniform(-1.7, 1.7, shape),
    "normal": lambda rng, shape: rng.standard_normal(shape),
}


def sem(graph, n, noise, seed, bend=lambda x: x):
    """Rows of a model on a graph whose nodes are in topological order."""
    rng = np.random.default_rng(seed)
    X = NOISE[noise](rng, (n, len(graph)))
    for j in range(len(graph)):
        X[:, j] += bend(X) @ (0.8 * graph[:, j])
    return X


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


CHAIN = np.eye(4, k=1).astype(bool)
TRIANGLE = np.triu(np.ones((3, 3), bool), 1)


@pytest.mark.parametrize("noise", ["t", "exponential", "uniform"])
@pytest.mark.parametrize("graph", [CHAIN, TRIANGLE])
def test_non_gaussian_noise_decides_the_direction(noise, graph):
    Z = standardised(sem(graph, 4000, noise, 3))
    assert np.array_equal(decide_directions(Residuals(Z), cpdag(graph)), graph)


@pytest.mark.parametrize("n_samples", [15, pytest.param(60, marks=pytest.mark.long)])
def test_gaussian_noise_decides_nothing(n_samples):
    n_decided = n_wrong = 0
    for seed in range(n_samples):
        Z = standardised(sem(CHAIN, 200, "normal", seed))
        decided = decide_directions(Residuals(Z), cpdag(CHAIN))
        n_decided += decided.sum()
        n_wrong += (decided & ~CHAIN).sum()
    assert n_decided <= 0.1 * n_samples * 3
    assert n_wrong <= 0.05 * n_samples * 3


@pytest.mark.parametrize("n_samples", [15, pytest.param(30, marks=pytest.mark.long)])
def test_bent_relations_are_left_alone(n_samples, monkeypatch):
    pair = np.eye(2, k=1).astype(bool)

    def wrong():
        return sum(
            decide_directions(
                Residuals(standardised(sem(pair, 2000, "normal", seed, np.tanh))), cpdag(pair)
            )[1, 0]
            for seed in range(n_samples)
        )

    assert wrong() <= 1
    monkeypatch.setattr(Residuals, "is_curved", lambda *_: False)
    monkeypatch.setattr(orient, "MIN_Z_BENT", -np.inf)
    assert wrong() >= n_samples / 3  # what the guard is for


def test_a_curve_in_non_gaussian_data_is_seen():
    pair = np.eye(2, k=1).astype(bool)
    Z = standardised(sem(pair, 2000, "exponential", 0, np.square))
    assert not decide_directions(Residuals(Z), cpdag(pair)).any()


def gain(Z, A):
    """Gain of each row for a DAG, by its definition."""
    total = np.zeros(len(Z))
    for j in range(len(A)):
        X = Z[:, A[:, j]]
        r = Z[:, j] - X @ np.linalg.lstsq(X, Z[:, j], rcond=None)[0]
        total += density_gain(r / r.std())
    return total


@pytest.mark.parametrize("seed", range(3))
def test_a_single_round_is_what_all_members_say(seed, monkeypatch):
    """Brute force over the orders of a component of four nodes, without the guard."""
    monkeypatch.setattr(Residuals, "is_curved", lambda *_: False)
    monkeypatch.setattr(orient, "MIN_Z_BENT", -np.inf)
    rng = np.random.default_rng(seed)
    tail = CHAIN.copy()  # a triangle, and a node that hangs on its last
    tail[0, 2] = True
    graph = [CHAIN, np.triu(np.ones((4, 4), bool), 1), tail][seed % 3]
    Z = standardised(sem(graph, 250, "t", int(rng.integers(1000))))
    P = cpdag(graph)
    members = {}
    for order in permutations(range(4)):
        place = np.argsort(order)
        A = (graph | graph.T) & (place[:, None] < place)
        if np.array_equal(cpdag(A), P):
            members[A.tobytes()] = A
    gains = {key: gain(Z, A) for key, A in members.items()}
    best = max(members, key=lambda key: gains[key].sum())
    expected = set()
    for i, j in np.argwhere(members[best] & P & P.T).tolist():
        rival = max(
            (key for key, A in members.items() if A[j, i]), key=lambda key: gains[key].sum()
        )
        d = gains[best] - gains[rival]
        if d.sum() > 1.64 * d.std() * len(d) ** 0.5:
            expected.add((i, j))
    found = orient._sure_arrows(Residuals(Z), P, list(range(4)))
    assert set(found) == expected


@settings(max_examples=settings.default.max_examples // 10)
@given(seed=st.integers(0, 10**6), noise=st.sampled_from(sorted(NOISE)))
def test_always_a_dag_of_the_class_that_keeps_to_prior_knowledge(seed, noise):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(3, 9))
    X = sem(np.triu(rng.random((m, m)) < 2 / m, 1), 150, noise, seed)
    tiers = [list(range(m // 2)), list(range(m // 2, m))]
    given_tiers = tiers if seed % 2 else None
    plain = SGBN(tiers=given_tiers).fit(X)
    learner = SGBN(tiers=given_tiers, non_gaussian="orient").fit(X)
    assert is_dag(learner.coef_)
    assert np.array_equal(cpdag(learner.coef_), cpdag(plain.coef_))
    assert learner.score_ == plain.score_
    if given_tiers:
        assert not learner.coef_[m // 2 :, : m // 2].any()
    closed = learner.cpdag_
    assert consistent_extension(closed) is not None
    assert not (closed & ~plain.cpdag_).any()  # only ever fewer ways
    kinds = np.full((m, m), "", dtype=object)
    kinds[learner.coef_ != 0] = learner.edge_kinds_
    one_way = closed & ~closed.T & plain.cpdag_.T
    assert np.array_equal(kinds == "non-Gaussian", one_way)
    assert np.array_equal(kinds == "reversible", closed & closed.T & (learner.coef_ != 0))


@settings(max_examples=settings.default.max_examples // 16)
@given(seed=st.integers(0, 10**6))
def test_columns_in_another_order_give_the_same_to_the_bit(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(3, 10))
    X = sem(np.triu(rng.random((m, m)) < 0.3, 1), 200, "exponential", seed)
    order = rng.permutation(m)
    one, other = (SGBN(non_gaussian="orient").fit(data) for data in (X, X[:, order]))
    assert np.array_equal(other.coef_, one.coef_[np.ix_(order, order)])
    assert np.array_equal(other.cpdag_, one.cpdag_[np.ix_(order, order)])
    scale = 10.0 ** rng.uniform(-3, 3, m)
    rescaled = SGBN(non_gaussian="orient").fit(X * scale + 5)
    assert np.array_equal(rescaled.coef_ != 0, one.coef_ != 0)
    assert np.array_equal(rescaled.edge_kinds_, one.edge_kinds_)


def test_knowledge_comes_before_residuals():
    X = sem(CHAIN, 2000, "exponential", 0)
    free = SGBN(non_gaussian="orient").fit(X)
    assert np.array_equal(free.coef_ != 0, CHAIN)
    assert free.edge_kinds_.tolist() == ["non-Gaussian"] * 3
    learner = SGBN(non_gaussian="orient", forbidden=[(0, 1)]).fit(X)
    kinds = dict(zip(map(tuple, np.argwhere(learner.coef_)), learner.edge_kinds_, strict=True))
    assert kinds[1, 0] == "prior knowledge"


def test_the_lasso_keeps_the_directions():
    X = sem(CHAIN, 500, "exponential", 2)
    learner = SGBN(non_gaussian="orient", weights="lasso", alpha=0.05).fit(X)
    assert learner.coef_[np.triu_indices(4)].any()
    assert not learner.coef_[np.tril_indices(4)].any()
    assert set(learner.edge_kinds_) <= {"non-Gaussian", "order only"}


def test_a_column_that_others_determine_decides_nothing():
    rng = np.random.default_rng(0)
    x = rng.exponential(size=200)
    with warned("columns.copies"):
        learner = SGBN(non_gaussian="orient").fit(np.column_stack([x, 2 * x]))
    assert is_dag(learner.coef_)


def test_a_class_with_too_many_members_stays_open(monkeypatch):
    monkeypatch.setattr(orient, "best_each_way", lambda *_: None)
    Z = standardised(sem(CHAIN, 200, "exponential", 0))
    assert not decide_directions(Residuals(Z), cpdag(CHAIN)).any()


def test_decided_arrows_have_a_member_in_common():
    rng = np.random.default_rng(5)
    for seed in range(10):
        graph = np.triu(rng.random((8, 8)) < 0.3, 1)
        Z = standardised(sem(graph, 150, "t", seed))
        P = cpdag(graph)
        before = P.copy()
        decided = decide_directions(Residuals(Z), P)
        assert np.array_equal(P, before)
        assert not (decided & ~(P & P.T)).any()
        assert consistent_extension(orient_known(P, decided)) is not None


DRAW = {
    "t": lambda rng, n: rng.standard_t(5, n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "uniform": lambda rng, n: rng.uniform(size=n),
    "normal": lambda rng, n: rng.standard_normal(n),
}


def residual_density_standardised(name, n, seed):
    u = DRAW[name](np.random.default_rng(seed), n)
    return (u - u.mean()) / u.std()


def functions(u):
    bell = np.exp(-(u**2) / 2)
    return np.array([u * bell, bell, np.log1p(u**2), np.tanh(u)])


@pytest.mark.parametrize("name", ["exponential", "normal"])
def test_the_density_is_the_penalised_maximum_likelihood_one(name):
    """An independent optimiser, and Gauss's points in place of the grid."""
    u = residual_density_standardised(name, 150, 0)
    x, weight = np.polynomial.hermite_e.hermegauss(150)
    weight /= weight.sum()
    mean = functions(x) @ weight
    sd = np.sqrt((functions(x).T - mean).T ** 2 @ weight)

    def exponent(theta, x):
        return theta @ ((functions(x).T - mean) / sd).T

    def gain(theta):
        return exponent(theta, u) - np.log(np.exp(exponent(theta, x)) @ weight)

    def loss(theta):
        return -gain(theta).mean() + theta @ theta / 2 / len(u)

    best = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(density_gain(u), gain(best.x), atol=1e-3)


@pytest.mark.parametrize("gain", [density_gain, spacing_gain])
def test_gains_are_large_where_values_are_not_normal(gain):
    means = {name: gain(residual_density_standardised(name, 1000, 1)).mean() for name in DRAW}
    for name in ("t", "exponential", "uniform"):
        assert means[name] > means["normal"] + 0.005


@pytest.mark.parametrize("gain", [density_gain, spacing_gain])
def test_gains_belong_to_their_values(gain):
    u = residual_density_standardised("exponential", 100, 2)
    order = np.random.default_rng(0).permutation(100)
    np.testing.assert_allclose(gain(u[order]), gain(u)[order], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(density_gain(-u).sum(), density_gain(u).sum(), rtol=1e-6)


def test_spacings_estimate_the_entropy():
    u = residual_density_standardised("uniform", 5000, 3)
    entropy = -(spacing_gain(u) - u**2 / 2).mean()
    assert entropy == pytest.approx(np.log(np.sqrt(12)), abs=0.03)
    assert np.isfinite(spacing_gain(np.zeros(20))).all()  # ties


@pytest.mark.parametrize("noise", ["t", "exponential"])
def test_curvature_is_standard_normal_without_a_curve(noise):
    found = []
    for seed in range(200):
        X = np.column_stack(
            [residual_density_standardised(noise, 200, (seed, k)) for k in range(2)]
        )
        y = X @ [0.8, -0.5] + residual_density_standardised(noise, 200, (seed, 2))
        found.append(curvature(bent_residual_without_bends(y, X), X))
    t = np.array(found)
    assert 0.8 < t.std() < 1.15
    assert (np.abs(t) > 2.58).mean() < 0.03


def bent_residual_without_bends(y, X):
    design = np.column_stack([np.ones(len(X)), X])
    return y - design @ np.linalg.lstsq(design, y, rcond=None)[0]


def test_curvature_sees_a_bend_and_the_bent_residual_is_free_of_it():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((2000, 2))
    noise = rng.standard_normal(2000)
    y = np.tanh(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.3 * noise
    linear = bent_residual_without_bends(y, X)
    t = curvature(linear, X)
    assert np.abs(t[2]) > 8  # the third power of the first column
    assert np.abs(t[[1, 3]]).max() < 4
    bent = bent_residual(y, X)
    assert bent.var() < 0.8 * linear.var()
    np.testing.assert_allclose(X.T @ bent, 0, atol=1e-8)
    assert bends(X).shape == (2000, 4)
    np.testing.assert_allclose(bent_residual(y, X[:, :0]), y - y.mean())
