import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from scipy.special import log_softmax
from tests.codes import refused

from sgbn.paper.descent import (
    LinearResiduals,
    MaxMargin,
    likelihoods_at,
    log_loss,
    margins,
    max_margin,
    minimise_log_loss,
    minimise_margin,
    project_balls,
    pull,
    residuals_at,
    smooth_margins,
    soft_margin,
    spg,
)

OFFSETS = np.array([0, 4, 10])
RADII = np.array([0.5, 1.5])


BALLS = OFFSETS, RADII


def free(d):
    """One ball without a limit."""
    return np.array([0, d]), np.array([np.inf])


def in_balls(x, offsets=OFFSETS, radii=RADII):
    nearest = np.array(x, float)
    project_balls(nearest, offsets, radii)
    return nearest


def quadratic(seed, d=10, condition=1e3):
    """1/2 x'Ax - c'x with the given condition number."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.standard_normal((d, d)))
    A = (Q * np.geomspace(1, 1 / condition, d)) @ Q.T
    c = rng.standard_normal(d)
    return lambda x: (0.5 * x @ A @ x - c @ x, A @ x - c)


@pytest.mark.parametrize("seed", range(8))
def test_a_quadratic_over_two_balls_equals_slsqp(seed):
    f = quadratic(seed)
    result = spg(f, *BALLS, np.zeros(10), tol=1e-9, max_iter=2000)
    blocks = [slice(0, 4), slice(4, 10)]
    inside = [
        {"type": "ineq", "fun": lambda x, b=b, r=r: r**2 - x[b] @ x[b]}
        for b, r in zip(blocks, RADII, strict=True)
    ]
    options = {"ftol": 1e-15, "maxiter": 1000}
    peer = minimize(f, np.zeros(10), jac=True, method="SLSQP", constraints=inside, options=options)
    assert result.converged
    assert f(result.x)[0] == pytest.approx(peer.fun, rel=1e-8)
    np.testing.assert_allclose(in_balls(result.x), result.x, atol=1e-14)


def test_the_violation_is_that_of_the_returned_point():
    f = quadratic(3)
    result = spg(f, *BALLS, np.ones(10), tol=1e-6, max_iter=500)
    x = result.x
    assert result.violation == np.abs(in_balls(x - f(x)[1]) - x).max()
    assert result.violation <= 1e-6


def test_a_far_target_lands_on_the_sphere():
    target = np.arange(1.0, 11.0)
    result = spg(
        lambda x: (0.5 * (x - target) @ (x - target), x - target),
        *BALLS,
        np.zeros(10),
        tol=1e-10,
        max_iter=100,
    )
    np.testing.assert_allclose(result.x, in_balls(target), atol=1e-9)


@pytest.mark.parametrize("power", [-40, -3, 7, 40])
def test_the_path_does_not_depend_on_the_scale_of_f(power):
    """Scaling by a power of two is exact in floating point: so must the path be."""

    def path(scale):
        f, points = quadratic(4), []

        def recorded(x):
            points.append(x.copy())
            return scale * f(x)[0], scale * f(x)[1]

        spg(recorded, *BALLS, np.ones(10), tol=0.0, max_iter=20)
        return np.array(points)

    np.testing.assert_array_equal(path(2.0**power), path(1.0))


def test_two_runs_agree_and_the_start_is_not_changed():
    x0 = np.ones(10)
    runs = [spg(quadratic(5), *BALLS, x0, tol=1e-8, max_iter=500) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].x, runs[1].x)
    assert runs[0].n_iter == runs[1].n_iter
    np.testing.assert_array_equal(x0, np.ones(10))


def test_an_ill_conditioned_non_convex_valley_is_followed():
    def rosenbrock(x):
        a, b = 1 - x[0], x[1] - x[0] ** 2
        return a * a + 100 * b * b, np.array([-2 * a - 400 * x[0] * b, 200 * b])

    result = spg(rosenbrock, *free(2), np.array([-1.2, 1.0]), tol=1e-8, max_iter=2000)
    assert result.converged
    np.testing.assert_allclose(result.x, 1, atol=1e-6)


def test_it_steps_back_from_values_that_are_not_finite():
    def barrier(x):
        with np.errstate(invalid="ignore", divide="ignore"):
            return 10 * x[0] - np.log(x[0]), 10 - 1 / x

    result = spg(barrier, *free(1), np.array([50.0]), tol=1e-9, max_iter=200)
    assert result.converged
    assert result.x[0] == pytest.approx(0.1)


def test_a_start_that_is_not_finite_is_refused():
    with refused("descent.start"):
        spg(lambda x: (np.nan, x), *free(2), np.ones(2), tol=1e-8, max_iter=10)


def test_a_kink_ends_the_search_near_it_and_is_not_called_converged():
    weights = np.array([1.0, 3.0, 0.2])
    target = np.array([0.3, -0.2, 0.1])

    def kinked(x):
        return weights @ np.abs(x - target), weights * np.sign(x - target)

    result = spg(kinked, *free(3), np.ones(3), tol=1e-8, max_iter=300)
    assert not result.converged
    assert kinked(result.x)[0] < 0.1 * kinked(np.ones(3))[0]


def test_the_lowest_point_seen_is_returned():
    seen = []
    f = quadratic(6, condition=1e6)

    def recorded(x):
        seen.append(f(x)[0])
        return f(x)

    result = spg(recorded, *BALLS, np.ones(10), tol=0.0, max_iter=15)
    assert f(result.x)[0] == min(seen)
    assert result.n_iter == 15
    assert not result.converged


def test_a_stall_stops_early_at_nearly_the_same_value():
    f = quadratic(8)
    tol = 1e-6  # f is about 1e3 here, so that round-off hides steps of gradients below 1e-7
    full = spg(f, *free(10), np.ones(10), tol=tol, max_iter=5000)
    early = spg(f, *free(10), np.ones(10), tol=tol, max_iter=5000, stall=1e-4)
    assert full.converged
    assert early.n_iter < full.n_iter
    assert f(early.x)[0] == pytest.approx(f(full.x)[0], rel=1e-2)


def test_an_optimal_start_needs_no_move():
    result = spg(lambda x: (x @ x, 2 * x), *BALLS, np.zeros(10), tol=1e-12, max_iter=10)
    assert (result.n_iter, result.violation, result.converged) == (0, 0.0, True)


ANY_RADIUS = st.just(0.0) | st.floats(1e-9, 50)  # squares of smaller ones lose digits


@given(st.lists(st.floats(-100, 100), min_size=7, max_size=7), ANY_RADIUS, ANY_RADIUS)
def test_the_projection_on_balls_is_the_nearest_point(x, first, second):
    x, offsets, radii = np.array(x), np.array([0, 3, 3, 7]), np.array([first, 1.0, second])
    p = in_balls(x, offsets, radii)
    for c, radius in enumerate(radii):
        block, near = x[offsets[c] : offsets[c + 1]], p[offsets[c] : offsets[c + 1]]
        assert np.linalg.norm(near) <= radius * (1 + 1e-14)
        distance = max(np.linalg.norm(block) - radius, 0)  # of a point from a ball
        assert np.linalg.norm(block - near) == pytest.approx(distance, abs=1e-10)


def test_an_infinite_ball_leaves_its_block():
    x = np.array([1e6, -3.0, 4.0])
    p = in_balls(x, np.array([0, 1, 3]), np.array([np.inf, 1.0]))
    np.testing.assert_allclose(p, [1e6, -0.6, 0.8])


BLOCK_OFFSETS, BLOCK_RADII = np.array([0, 3, 5, 6]), np.array([1.0, 0.5, 2.0])


@pytest.fixture
def P():
    """Three classes with 2, 1 and 1 blocks of 1, 2, 2 and 1 parameters; 25 rows."""
    rng = np.random.default_rng(0)
    return LinearResiduals(
        rng.normal(size=(6, 25)),
        rng.normal(size=(4, 25)),
        np.array([0, 1, 3, 5, 6]),
        np.array([0, 0, 1, 2]),
        rng.normal(size=(3, 25)),
        np.arange(25) % 3,
    )


def dense(P, u):
    """Residuals and log-likelihoods by the definition."""
    blocks = np.repeat(np.arange(4), np.diff(P.starts))
    R = P.A - np.array([(u[blocks == b, None] * P.D[blocks == b]).sum(axis=0) for b in range(4)])
    L = P.rest - 0.5 * np.array([np.square(R[P.owner == c]).sum(axis=0) for c in range(3)])
    return R, L


def test_residuals_and_likelihoods_are_as_defined(P):
    u = np.random.default_rng(1).normal(size=6)
    R, L = np.empty((4, 25)), np.empty((3, 25))
    likelihoods_at(P, u, R, L)
    for found, expected in zip((R, L), dense(P, u), strict=True):
        np.testing.assert_allclose(found, expected)


def test_pull_is_the_transpose_of_the_residuals(P):
    rng = np.random.default_rng(1)
    W, g, R, R0 = rng.normal(size=(4, 25)), np.empty(6), np.empty((4, 25)), np.empty((4, 25))
    pull(P, W, g)
    residuals_at(P, np.zeros(6), R0)
    for q, unit in enumerate(np.eye(6)):
        residuals_at(P, unit, R)
        assert g[q] == pytest.approx(((R - R0) * W).sum())


def test_the_rival_is_the_strongest_other_class():
    L = np.array([[1.0, 5.0], [3.0, 0.0], [2.0, 4.0]])
    found, rivals = margins(L, np.array([0, 0]))
    assert found.tolist() == [-2.0, 1.0]
    assert rivals.tolist() == [1, 2]


def test_values_are_those_of_the_likelihoods(P):
    u, g = np.random.default_rng(1).normal(size=6), np.empty(6)
    _, L = dense(P, u)
    expected, _ = smooth_margins(margins(L, P.codes)[0], 0.4, 0.3, np.empty(25))
    assert soft_margin(P, u, 0.4, 0.3, g) == pytest.approx(expected)
    posterior = log_softmax(0.7 * L, axis=0)[P.codes, np.arange(25)]
    assert log_loss(P, u, 0.7, g) == pytest.approx(-posterior.mean())


@pytest.mark.parametrize(("f", "arguments"), [(soft_margin, (0.4, 0.3)), (log_loss, (0.7,))])
def test_gradients_equal_finite_differences(P, f, arguments):
    u, g, spare = np.random.default_rng(1).normal(size=6), np.empty(6), np.empty(6)
    f(P, u, *arguments, g)
    steps = 1e-6 * np.eye(6)
    numeric = [
        (f(P, u + e, *arguments, spare) - f(P, u - e, *arguments, spare)) / 2e-6 for e in steps
    ]
    np.testing.assert_allclose(g, numeric, atol=1e-7)


@pytest.mark.parametrize(
    ("minimise", "f", "arguments"),
    [(minimise_margin, soft_margin, (0.4, 0.3)), (minimise_log_loss, log_loss, (0.7,))],
)
def test_no_point_of_the_balls_is_lower_nearby(P, minimise, f, arguments):
    u, _, violation = minimise(
        P, BLOCK_OFFSETS, BLOCK_RADII, np.zeros(6), *arguments, 1e-8, 500, 0.0
    )
    assert violation <= 1e-8
    lowest = f(P, u, *arguments, np.empty(6))
    assert lowest < f(P, np.zeros(6), *arguments, np.empty(6))
    rng = np.random.default_rng(2)
    for _ in range(200):
        near = u + 0.05 * rng.normal(size=6)
        for c, radius in enumerate(BLOCK_RADII):
            block = near[BLOCK_OFFSETS[c] : BLOCK_OFFSETS[c + 1]]
            block *= min(1.0, radius / np.linalg.norm(block))
        assert f(P, near, *arguments, np.empty(6)) >= lowest - 1e-9


def smoothed_max_margin(g, nu, delta):
    weights = np.empty(g.size)
    value, r = smooth_margins(g, nu, delta, weights)
    return MaxMargin(value, weights, r)


def by_linear_programming(g, nu):
    """Value over (r, xi), as the paper writes it.

    HiGHS lets constraints be violated by its tolerance: rounded margins keep away from it.
    """
    n = g.size
    cost = np.append(-1.0, np.full(n, 1 / (nu * n)))
    rows = np.hstack([np.ones((n, 1)), -np.eye(n)])  # r - xi_i <= g_i
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(cost, rows, g, bounds=[(0, None)] * (n + 1), method="highs", options=tight)
    assert found.success
    return found.fun


def definition(g, nu, r):
    return -r + np.maximum(0, r - g).sum() / (nu * g.size)


max_margin_margins = st.lists(st.floats(-5, 5), min_size=1, max_size=30).map(np.array)
shares = st.floats(0.02, 1.0)


@settings(max_examples=25)
@given(g=max_margin_margins, nu=shares)
def test_the_exact_value_equals_a_linear_program(g, nu):
    g = np.round(g, 3)
    result = max_margin(g, nu)
    assert result.value == pytest.approx(by_linear_programming(g, nu), abs=1e-9)
    assert definition(g, nu, result.r) == pytest.approx(result.value, abs=1e-12)


@given(g=max_margin_margins, h=max_margin_margins, nu=shares)
def test_the_exact_weights_are_a_subgradient(g, h, nu):
    h = np.resize(h, g.size)
    result = max_margin(g, nu)
    assert result.weights.min() >= 0
    assert result.weights.max() <= (1 + 1e-12) / (nu * g.size)
    # F is convex: no plane that touches it lies above it.
    assert max_margin(h, nu).value >= result.value - result.weights @ (h - g) - 1e-12


@given(g=max_margin_margins, nu=shares)
def test_weights_add_up_to_one_unless_the_margins_collapsed(g, nu):
    for result in (max_margin(g, nu), smoothed_max_margin(g, nu, 0.7)):
        if result.collapsed:
            assert result.r == 0
            assert result.weights.sum() >= 0
        else:
            assert result.weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("worst", [1, 3, 10, 20])
def test_it_is_minus_the_mean_of_the_worst_share_while_their_last_is_positive(worst):
    g = np.random.default_rng(worst).uniform(0.1, 3, 20)
    result = max_margin(g, worst / 20)
    assert result.value == pytest.approx(-np.sort(g)[:worst].mean())
    assert result.r >= np.sort(g)[worst - 1] - 1e-12


def test_margins_below_zero_count_as_long_as_the_quantile_is_not_among_them():
    g = np.array([-2.0, 1.0, 3.0, 5.0])
    result = max_margin(g, 0.5)
    assert not result.collapsed
    assert result.value == pytest.approx(0.5)
    np.testing.assert_allclose(result.weights, [0.5, 0.5, 0, 0])


def test_a_negative_quantile_is_a_collapse():
    g = np.array([-2.0, -1.0, 0.0, 5.0])
    result = max_margin(g, 0.25)
    assert result.collapsed
    assert result.value == pytest.approx(3.0)  # sum of what is below zero, over nu n
    np.testing.assert_allclose(result.weights, [1, 1, 0, 0])
    assert smoothed_max_margin(g, 0.25, 0.1).collapsed


def test_ties_share_the_weight():
    result = max_margin(np.array([1.0, 2.0, 2.0, 2.0, 7.0]), 0.4)
    np.testing.assert_allclose(result.weights, np.array([3, 1, 1, 1, 0]) / 6)


@settings(max_examples=25)
@given(
    n=st.integers(1, 40),
    nu=shares,
    delta=st.floats(0.05, 5),
    mean=st.floats(-2, 3),
    seed=st.integers(0, 10_000),
)
def test_the_smoothed_weights_are_minus_the_gradient(n, nu, delta, mean, seed):
    rng = np.random.default_rng(seed)
    g, v = rng.standard_normal(n) + mean, rng.standard_normal(n)
    step = 1e-7
    up, down = (smoothed_max_margin(g + s * v, nu, delta).value for s in (step, -step))
    weights = smoothed_max_margin(g, nu, delta).weights
    room = max(1e-6, step * v @ v / (nu * n * delta))  # the gradient has kinks
    assert (up - down) / (2 * step) == pytest.approx(-weights @ v, abs=room)


@settings(max_examples=25)
@given(g=max_margin_margins, nu=shares, delta=st.floats(1e-9, 10))
def test_the_smoothed_r_is_optimal(g, nu, delta):
    def value_at(r):
        z = r - g
        inner = (z + delta / 2) ** 2 / (2 * delta)
        hinge = np.where(np.abs(z) <= delta / 2, inner, np.maximum(z, 0))
        return -r + hinge.sum() / (nu * g.size)

    result = smoothed_max_margin(g, nu, delta)
    assert result.value == pytest.approx(value_at(result.r), abs=1e-12)
    others = np.append(np.linspace(0, 6 + delta, 200), np.maximum(result.r + 1e-3 * delta, 0))
    assert result.value <= min(map(value_at, others)) + 1e-12 / nu


@given(g=max_margin_margins, nu=shares, delta=st.floats(1e-9, 10))
def test_the_smoothed_value_lies_a_little_above_the_exact_one(g, nu, delta):
    gap = smoothed_max_margin(g, nu, delta).value - max_margin(g, nu).value
    assert -1e-12 / nu <= gap <= delta / (8 * nu) + 1e-12 / nu


def test_without_width_the_smoothed_form_becomes_the_exact_one():
    g = np.random.default_rng(0).standard_normal(51) + 1
    exact = max_margin(g, 0.31)
    for delta in (1e-3, 1e-6, 1e-9):
        smooth = smoothed_max_margin(g, 0.31, delta)
        assert smooth.value == pytest.approx(exact.value, abs=delta)
        assert smooth.r == pytest.approx(exact.r, abs=delta)
    np.testing.assert_allclose(smooth.weights, exact.weights, atol=1e-6)


def test_a_hundred_thousand_samples_with_far_outliers():
    rng = np.random.default_rng(1)
    g = rng.standard_t(1.5, 100_000) + 2
    exact, smooth = max_margin(g, 0.3), smoothed_max_margin(g, 0.3, 0.01)
    assert exact.value == pytest.approx(-np.sort(g)[:30_000].mean())
    assert 0 <= smooth.value - exact.value <= 0.01 / (8 * 0.3)
    assert smooth.weights.sum() == pytest.approx(1, abs=1e-10)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_margins_that_are_not_finite_have_no_value(bad):
    g = np.array([1.0, bad, 2.0])
    assert np.isnan(max_margin(g, 0.5).value)
    assert np.isnan(smoothed_max_margin(g, 0.5, 0.1).value)


def test_inputs_are_checked_and_not_changed():
    g = np.array([3.0, 1.0, 2.0])
    g.setflags(write=False)
    max_margin(g, 0.5)
    for nu in (0.0, 1.1, np.nan):
        with refused("argument"):
            max_margin(g, nu)
    with refused("margins.none"):
        max_margin(np.empty(0), 0.5)
