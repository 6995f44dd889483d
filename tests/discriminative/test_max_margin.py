import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from sgbn.core.exceptions import InputError
from sgbn.paper.descent import MaxMargin, max_margin, smooth_margins


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


margins = st.lists(st.floats(-5, 5), min_size=1, max_size=30).map(np.array)
shares = st.floats(0.02, 1.0)


@settings(max_examples=25)
@given(g=margins, nu=shares)
def test_the_exact_value_equals_a_linear_program(g, nu):
    g = np.round(g, 3)
    result = max_margin(g, nu)
    assert result.value == pytest.approx(by_linear_programming(g, nu), abs=1e-9)
    assert definition(g, nu, result.r) == pytest.approx(result.value, abs=1e-12)


@given(g=margins, h=margins, nu=shares)
def test_the_exact_weights_are_a_subgradient(g, h, nu):
    h = np.resize(h, g.size)
    result = max_margin(g, nu)
    assert result.weights.min() >= 0
    assert result.weights.max() <= (1 + 1e-12) / (nu * g.size)
    # F is convex: no plane that touches it lies above it.
    assert max_margin(h, nu).value >= result.value - result.weights @ (h - g) - 1e-12


@given(g=margins, nu=shares)
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
@given(g=margins, nu=shares, delta=st.floats(1e-9, 10))
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


@given(g=margins, nu=shares, delta=st.floats(1e-9, 10))
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
        with pytest.raises(InputError, match="nu = "):
            max_margin(g, nu)
    with pytest.raises(InputError, match="g is empty"):
        max_margin(np.empty(0), 0.5)
