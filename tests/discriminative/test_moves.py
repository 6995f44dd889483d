import numpy as np
import pytest
from scipy.optimize import minimize

from sgbn.paper.moved import fitting_error, moves_of, theta_of


def rows(problem, c):
    return problem.sample.values[problem.sample.codes == c]


@pytest.mark.parametrize("anchor", ["fit", "start"])
def test_the_start_is_inside_and_comes_back(problem, anchor):
    p = problem(anchor=anchor)
    u0 = p.moves.u0
    np.testing.assert_array_equal(p.moves.project(u0), u0)
    for theta, network in zip(p.moves.thetas(u0), p.networks.values(), strict=True):
        np.testing.assert_allclose(theta, theta_of(network), atol=1e-10)


def test_the_fitting_error_is_a_ball(problem):
    p = problem()
    rng = np.random.default_rng(1)
    u = rng.normal(size=len(p.moves.u0))
    for c, (moves, part) in enumerate(zip(p.moves.classes, p.moves.split(u), strict=True)):
        lowest = fitting_error(rows(p, c), moves.theta(np.zeros(len(part))))
        error = fitting_error(rows(p, c), moves.theta(part))
        assert error == pytest.approx(lowest + part @ part, rel=1e-8)
        assert moves.limit == pytest.approx(lowest + moves.radius**2, rel=1e-8)


@pytest.mark.parametrize("n", [40, 6])
def test_no_point_of_the_ball_exceeds_the_limit(problem, n):
    """Also with fewer rows than moving weights, where the Gram matrix is singular."""
    p = problem(n=max(n, 40))
    theta, own = p.moves.classes[0].start, rows(p, 0)[:n]
    parents, children = np.nonzero(~np.eye(9, 8, dtype=bool))
    moves = moves_of(own, theta, parents, children, slack=0.05)
    rng = np.random.default_rng(0)
    for _ in range(20):
        u = rng.normal(size=len(moves.u0))
        u *= moves.radius / np.linalg.norm(u)
        assert fitting_error(own, moves.theta(u)) <= moves.limit * (1 + 1e-8)


def test_the_centre_is_least_squares_on_what_moves(problem):
    p = problem(k=3)
    moves = p.moves.classes[0]

    def error(weights):
        theta = moves.start.copy()
        theta[moves.parents, moves.children] = weights
        return fitting_error(rows(p, 0), theta)

    best = minimize(error, moves.centre + 0.1).x
    np.testing.assert_allclose(best, moves.centre, atol=1e-4)


def test_around_the_start_the_ball_has_the_size_of_the_slack(problem):
    for moves in problem(anchor="start", slack=0.04).moves.classes:
        assert moves.radius == pytest.approx(0.2 * np.sqrt(moves.error))
        assert not moves.u0.any()


def test_around_the_start_the_limit_is_what_the_ball_allows(problem):
    p = problem(anchor="start", slack=0.04)
    moves, own = p.moves.classes[0], rows(p, 0)
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(300):
        u = rng.normal(size=len(moves.u0))
        errors.append(fitting_error(own, moves.theta(moves.radius * u / np.linalg.norm(u))))
    assert moves.error < max(errors) <= moves.limit * (1 + 1e-8)
    fit = moves_of(own, moves.start, moves.parents, moves.children, slack=0.04)
    worst = moves.radius * fit.u0 / np.linalg.norm(fit.u0)  # away from least squares
    assert fitting_error(own, moves.theta(worst)) == pytest.approx(moves.limit, rel=1e-8)


def test_a_class_without_moving_weights_stays(problem):
    p = problem()
    none = np.empty(0, np.intp)
    still = moves_of(rows(p, 0), p.moves.classes[0].start, none, none, slack=0.01)
    assert still.u0.shape == (0,)
    np.testing.assert_array_equal(still.theta(np.empty(0)), still.start)
