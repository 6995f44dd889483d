import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.svm import SVC

from sgbn.core.exceptions import InputError
from sgbn.paper import fisher_svm
from sgbn.paper.fisher_svm import MAX_NEWTON_STEPS, TOL, l2_svm, radius, total_scatter


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


def test_what_is_no_kernel_is_refused():
    with pytest.raises(InputError, match="not positive definite"):
        l2_svm(np.diag([-9.0, 2.0, 3.0]), np.array([1.0, -1.0, 1.0]), 1e3)


def test_the_radius_of_two_points_is_half_their_distance():
    X = np.array([[1.0, 1.0], [4.0, 5.0], [2.0, 3.0]])
    result = radius(X @ X.T)
    assert result.squared == pytest.approx(6.25)
    np.testing.assert_allclose(result.weights, [0.5, 0.5, 0], atol=1e-12)


def test_the_radius_of_a_simplex_is_that_through_its_corners():
    result = radius(np.eye(9))
    assert result.squared == pytest.approx(1 - 1 / 9)
    np.testing.assert_allclose(result.weights, 1 / 9)


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
