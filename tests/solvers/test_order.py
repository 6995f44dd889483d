import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array

from sgbn.core.graph import levels, random_dag
from sgbn.core.moments import moments_of
from sgbn.learn.lasso import lasso_gram
from sgbn.paper.or_sgbn import order_cost, solve_order


def solve(W):
    i, j = np.nonzero(W)
    return solve_order(i, j, W[i, j], len(W)).x


def cost(W, o):
    i, j = np.nonzero(W)
    return order_cost(i, j, W[i, j], np.asarray(o))


def highs(W):
    """Optimum of the linear program in o and Upsilon (Eq. 4.2 for fixed Theta), by HiGHS."""
    m = len(W)
    i, j = np.nonzero(W)
    n_edges = len(i)
    row = np.arange(n_edges)
    values = np.concatenate([np.ones(n_edges), -np.ones(2 * n_edges)])
    A = csr_array(
        (values, (np.tile(row, 3), np.concatenate([i, j, m + row]))), shape=(n_edges, m + n_edges)
    )
    c = np.concatenate([np.zeros(m), W[i, j]])
    bounds = [(0, m)] * m + [(0, None)] * n_edges
    return linprog(c, A_ub=A, b_ub=-np.ones(n_edges), bounds=bounds, method="highs").fun


def random_weights(rng):
    m = int(rng.integers(2, 25))
    W = rng.exponential(size=(m, m)) * (rng.random((m, m)) < rng.uniform(0.05, 1))
    np.fill_diagonal(W, 0)
    W[0, 1] = 1.0
    return W


BLOCKS = [0, *(pytest.param(block, marks=pytest.mark.long) for block in range(1, 10))]


@pytest.mark.parametrize("block", BLOCKS)
def test_equals_the_optimum_of_highs_on_random_weights(block):
    rng = np.random.default_rng(block)
    for _ in range(50):
        W = random_weights(rng)
        assert cost(W, solve(W)) == pytest.approx(highs(W), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("block", BLOCKS)
def test_equals_highs_on_weights_that_a_lasso_learned(block, simulate):
    for seed in range(10):
        X, _ = simulate(12, 60, [block, seed])
        R = moments_of(X, [f"x{k}" for k in range(12)]).R
        W = np.abs(lasso_gram(R, np.full((12, 12), 0.05)).x.T)
        assert cost(W, solve(W)) == pytest.approx(highs(W), rel=1e-7, abs=1e-9)


def brute_force(W):
    """All optimal orders with whole levels from 0 to m - 1."""
    m = len(W)
    orders = np.stack(np.meshgrid(*[np.arange(m)] * m, indexing="ij"), -1).reshape(-1, m)
    costs = np.array([cost(W, o) for o in orders])
    return orders[costs <= costs.min() + 1e-9]


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), whole=st.booleans())
def test_is_the_least_of_all_optimal_orders(seed, whole):
    rng = np.random.default_rng(seed)
    W = rng.exponential(size=(4, 4)) * (rng.random((4, 4)) < 0.7)
    if whole:  # many ties
        W = np.ceil(W)
    np.fill_diagonal(W, 0)
    optimal = brute_force(W)
    assert solve(W).tolist() == optimal.min(axis=0).tolist()


@given(m=st.integers(1, 40), seed=st.integers(0, 1000))
def test_a_dag_gets_its_levels_at_no_cost(m, seed):
    rng = np.random.default_rng(seed)
    W = random_dag(m, 3, rng) * rng.uniform(1e-14, 1, (m, m))
    o = solve(W)
    assert np.array_equal(o, levels(W))
    assert cost(W, o) == 0


@pytest.mark.parametrize("noise", [0.0, 1e-16, -1e-16, 3e-15, -3e-15])
def test_weights_equal_but_for_round_off_stay_on_one_level(noise):
    W = np.array([[0, 0.5], [0.5 + noise, 0]])
    assert solve(W).tolist() == [0, 0]
    assert solve(W.T).tolist() == [0, 0]


@pytest.mark.parametrize("noise", [1e-16, 1e-15])
def test_duplicated_structure_is_ordered_alike_whatever_the_last_bits(noise):
    rng = np.random.default_rng(0)
    for _ in range(50):
        W = rng.exponential(size=(6, 6)) * (rng.random((6, 6)) < 0.6)
        W = W + W.T * rng.choice([1, 1, 0.7], (6, 6))
        np.fill_diagonal(W, 0)
        twice = np.kron(np.eye(2), W)
        shaken = twice * (1 + noise * rng.standard_normal(twice.shape))
        o = solve(shaken)
        assert np.array_equal(o, np.tile(solve(W), 2))


@given(seed=st.integers(0, 10_000))
def test_relabelling_nodes_relabels_the_order(seed):
    rng = np.random.default_rng(seed)
    W = random_weights(rng)
    p = rng.permutation(len(W))
    assert np.array_equal(solve(W[np.ix_(p, p)]), solve(W)[p])


def test_a_clear_direction_is_taken():
    assert solve(np.array([[0, 0.6], [0.5, 0]])).tolist() == [0, 1]
    assert solve(np.array([[0, 0.5], [0.6, 0]])).tolist() == [1, 0]


def test_no_edges():
    assert solve(np.zeros((3, 3))).tolist() == [0, 0, 0]


def test_a_deep_cycle_is_cut_at_its_weakest_edge():
    m = 60
    W = np.zeros((m, m))
    W[np.arange(m), (np.arange(m) + 1) % m] = 1.0
    W[41, 42] = 0.01
    o = solve(W)
    assert o[42] == 0
    assert np.array_equal(np.roll(o, -42), np.arange(m))


def test_dust_beside_a_cycle_ends_and_changes_nothing():
    """Weights below the tie limit once made the levels rise for ever."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        m = int(rng.integers(3, 12))
        W = rng.exponential(size=(m, m)) * 10.0 ** -rng.integers(0, 18, (m, m))
        np.fill_diagonal(W, 0)
        i, j = np.nonzero(W)
        result = solve_order(i, j, W[i, j], m)
        assert result.converged
        assert result.x.max() < m
        assert cost(W, result.x) <= highs(W) * (1 + 1e-6) + 1e-8  # HiGHS is the less exact
