import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from sgbn.core.exceptions import InputError
from sgbn.paper.fisher_svm import _line_minimum, l2_svm, l2_svm_cg, l2_svm_features, l2_svm_primal


def two_classes(n, p, seed, shift=0.3, share=0.5):
    """Points of two overlapping classes; the first two samples are of different ones."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < share, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return rng.standard_normal((n, p)) + shift * y[:, None], y


def primal(Phi, y, C, w, b):
    slack = np.maximum(1 - y * (Phi @ w + b), 0)
    return 0.5 * w @ w + 0.5 * C * slack @ slack


@pytest.mark.parametrize("C", [1e-6, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize(("n", "p", "share"), [(80, 3, 0.5), (200, 40, 0.5), (300, 20, 0.05)])
def test_equals_the_solver_on_the_kernel(n, p, share, C):
    Phi, y = two_classes(n, p, seed=n + p, share=share)
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
    Phi, y = two_classes(60, p, seed=p)
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


def test_inputs_stay_and_results_repeat():
    Phi, y = two_classes(50, 4, seed=3)
    before = Phi.copy(), y.copy()
    Phi.setflags(write=False)
    y.setflags(write=False)
    first, second = (l2_svm_primal(Phi, y, 1.0) for _ in range(2))
    np.testing.assert_array_equal(first.beta, second.beta)
    np.testing.assert_array_equal(Phi, before[0])
    np.testing.assert_array_equal(y, before[1])


def test_a_penalty_beyond_working_precision():
    Phi, y = two_classes(50, 1, seed=3)
    with pytest.raises(InputError, match=r"C = 1e\+40 .*smaller C"):
        l2_svm_primal(np.hstack([Phi, Phi]), y, 1e40)


def test_a_solver_that_is_stopped_says_so():
    Phi, y = two_classes(200, 5, seed=1)
    assert not l2_svm_primal(Phi, y, 1.0, max_iter=1).converged


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
