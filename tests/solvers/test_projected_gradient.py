import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from sgbn.core.exceptions import InputError
from sgbn.paper.descent import project_balls, spg

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
    with pytest.raises(InputError, match=r"x0 is not finite.*another point"):
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


@given(st.lists(st.floats(-100, 100), min_size=7, max_size=7), st.floats(0, 50), st.floats(0, 50))
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
