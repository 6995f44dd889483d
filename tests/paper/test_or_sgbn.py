import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array
from sklearn.linear_model import Lasso
from tests.codes import warned

from sgbn.cohort.simulate import simulate_sem
from sgbn.core.graph import certifies_dag, is_dag, levels, random_dag, upsilon
from sgbn.core.moments import moments_of
from sgbn.learn.lasso import TOL, lasso_gram
from sgbn.paper.or_sgbn import ORSGBN, order_cost, solve_order

VARIANTS = [
    ORSGBN(0.1),
    ORSGBN(0.1, path="literal"),
    ORSGBN(0.1, init="l1mb"),
    ORSGBN(0.1, init="ols", path="literal"),
]


def variant_name(learner):
    return f"{learner.path}-{learner.init}"


def assert_same_up_to_order(first, second, back, scale=1.0):
    coef = second.coef_std_[np.ix_(back, back)]
    assert np.array_equal(first.coef_std_ != 0, coef != 0)
    np.testing.assert_allclose(first.coef_std_, coef, atol=1e-8)
    np.testing.assert_allclose(first.coef_ * scale, second.coef_[np.ix_(back, back)], rtol=1e-8)
    assert np.array_equal(first.order_, second.order_[back])


@pytest.mark.parametrize(
    ("block", "n_permutations"),
    [(0, 8), (1, 8), *(pytest.param(k, 100, marks=pytest.mark.long) for k in range(10))],
)
def test_column_permutations_change_nothing(block, n_permutations, simulate):
    X, _ = simulate(20, 70, [10, block])
    learner = VARIANTS[block % 2]
    original = learner.fit(X)
    names = ("coef_", "coef_std_", "order_", "intercept_", "noise_variance_")
    kept = {name: getattr(original, name) for name in names}
    rng = np.random.default_rng(block)
    for _ in range(n_permutations):
        order = rng.permutation(20)
        back = np.argsort(order)
        permuted = ORSGBN(**learner.get_params()).fit(X[:, order])
        for name, value in kept.items():
            place = np.ix_(*[back] * value.ndim)
            assert np.array_equal(value, getattr(permuted, name)[place]), name


@pytest.mark.parametrize("learner", VARIANTS, ids=variant_name)
def test_rescaling_and_permuting_columns_changes_units_only(learner, simulate):
    X, _ = simulate(25, 60, 11)
    original = ORSGBN(**learner.get_params()).fit(X)
    rng = np.random.default_rng(0)
    for _ in range(6):
        order = rng.permutation(25)
        back = np.argsort(order)
        scale = 10 ** rng.uniform(-2.5, 2.5, 25)
        shift = rng.uniform(-10, 10, 25) * scale
        changed = ORSGBN(**learner.get_params()).fit((X * scale + shift)[:, order])
        assert_same_up_to_order(original, changed, back, scale / scale[:, None])


def test_permuting_columns_changes_nothing_where_all_edges_are_penalised_in_raw_units(simulate):
    X, _ = simulate(15, 60, 12)
    X = X * np.linspace(0.5, 3, 15) + 1.0
    for learner in (
        ORSGBN(0.2, standardize=False),
        ORSGBN(0.2, standardize=False, penalize_intercept=True),
    ):
        original = learner.fit(X).coef_
        for seed in range(4):
            order = np.random.default_rng(seed).permutation(15)
            back = np.argsort(order)
            coef = ORSGBN(**learner.get_params()).fit(X[:, order]).coef_
            assert np.array_equal(original, coef[np.ix_(back, back)])


def spoil(X, kind, rng):
    """Make the columns awkward in one of several ways, none of them constant."""
    if kind == "rounded" and len(X) > 10:
        return np.round(X, 1)
    if kind == "total" and X.shape[1] > 2:
        X[:, 0] = X[:, 1] + X[:, 2]
    elif kind == "copy":
        X[:, -1] = 1 - 3 * X[:, 0]
    elif kind == "near copy":
        X[:, -1] = X[:, 0] + 10 ** rng.uniform(-9, -3) * rng.standard_normal(len(X))
    return X


@settings(max_examples=settings.default.max_examples // 4)
@given(
    m=st.integers(2, 20),
    n=st.integers(2, 80),
    alpha=st.floats(0.001, 0.9),
    which=st.integers(0, len(VARIANTS) - 1),
    standardize=st.booleans(),
    kind=st.sampled_from(["plain", "rounded", "total", "copy", "near copy"]),
    seed=st.integers(0, 10_000),
)
@pytest.mark.filterwarnings("ignore")
def test_always_a_certified_dag_whose_objective_never_rises(
    m, n, alpha, which, standardize, kind, seed
):
    rng = np.random.default_rng(seed)
    X, _ = simulate_sem(random_dag(m, 3, rng), n, noise="unequal", random_state=rng)
    X = spoil(X, kind, rng)
    learner = ORSGBN(**VARIANTS[which].get_params())
    learner.set_params(alpha=alpha, standardize=standardize).fit(X)
    assert is_dag(learner.coef_)
    assert certifies_dag(learner.coef_, learner.order_)
    steps = learner.objective_path_
    for penalty in np.unique(steps["penalty"]):
        values = steps["objective"][steps["penalty"] == penalty]
        assert np.all(np.diff(values) <= 1e-10 * np.abs(values[:-1]))


@pytest.mark.parametrize("learner", VARIANTS, ids=variant_name)
def test_at_the_end_every_column_is_the_lasso_on_its_predecessors(learner, simulate):
    """KKT conditions, and an independent solver, for the order that the fit ends with."""
    X, _ = simulate(12, 80, 13)
    learner = ORSGBN(**learner.get_params()).fit(X)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    gradient = Z.T @ (Z @ learner.coef_std_ - Z) / len(Z)
    allowed = upsilon(learner.order_) == 0
    np.fill_diagonal(allowed, False)
    coef = learner.coef_std_
    violation = np.where(
        coef != 0,
        np.abs(gradient + 0.1 * np.sign(coef)),
        np.maximum(np.abs(gradient) - 0.1, 0),
    )
    assert violation[allowed].max() <= 10 * TOL
    for j in range(12):
        parents = np.flatnonzero(allowed[:, j])
        if parents.size:
            lasso = Lasso(0.1, fit_intercept=False, tol=1e-14, max_iter=10**6)
            expected = lasso.fit(Z[:, parents], Z[:, j]).coef_
            np.testing.assert_allclose(coef[parents, j], expected, atol=1e-8)


def test_two_variables_alone_stay_unjoined_whatever_their_order_or_units():
    """The stated rule for ties: the lowest level that an optimal order allows."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        X = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 2)) * rng.uniform(0.1, 10, 2)
        if abs(np.corrcoef(X.T)[0, 1]) <= 0.05:
            continue
        for learner in (ORSGBN(0.05), ORSGBN(0.05, path="literal")):
            with warned("edges.tied"):
                learner.fit(X)
            assert learner.network_.n_edges == 0


@pytest.mark.filterwarnings("ignore::sgbn.DataWarning")
def test_copies_in_other_units_are_resolved_by_name():
    rng = np.random.default_rng(4)
    X, _ = simulate_sem(random_dag(8, 3, rng), 60, random_state=rng)
    X = np.column_stack([X, X[:, :3]])
    table = pd.DataFrame(X, columns=[f"region{k}" for k in range(11)])
    first = ORSGBN(0.05).fit(table)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        order = rng.permutation(11)
        changed = (table * rng.uniform(0.1, 10, 11) + rng.uniform(-5, 5, 11)).iloc[:, order]
        back = np.argsort(order)
        coef = ORSGBN(0.05).fit(changed).coef_std_[np.ix_(back, back)]
        assert np.array_equal(first.coef_std_ != 0, coef != 0)
        np.testing.assert_allclose(first.coef_std_, coef, atol=1e-8)


def test_duplicated_structure_gives_duplicated_networks():
    """Two copies of a sample side by side in independent rows: equal up to round-off."""
    rng = np.random.default_rng(1)
    A = random_dag(6, 3, rng)
    X, _ = simulate_sem(A, 60, random_state=rng)
    X -= X.mean(axis=0)
    Z = np.block([[X, np.zeros_like(X)], [np.zeros_like(X), X]])
    fitted = ORSGBN(0.05).fit(Z)
    first, second = fitted.coef_std_[:6, :6], fitted.coef_std_[6:, 6:]
    assert np.array_equal(first != 0, second != 0)
    np.testing.assert_allclose(first, second, atol=1e-10)
    assert not np.any(fitted.coef_[:6, 6:])


def test_the_papers_counter_example_to_its_own_bound_is_solved():
    """Two variables with correlation 0.9: the paper's penalty leaves a cycle, ours does not."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((100, 2))
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    X[:, 1] -= X[:, 0] * (X[:, 0] @ X[:, 1]) / 100
    X[:, 1] /= X[:, 1].std()
    X[:, 1] = 0.9 * X[:, 0] + np.sqrt(1 - 0.81) * X[:, 1]
    assert np.corrcoef(X.T)[0, 1] == pytest.approx(0.9)
    with warned("edges.tied"):
        learner = ORSGBN(10 / 200, path="literal").fit(X)
    assert is_dag(learner.coef_)


def test_raw_units_change_the_penalty_as_scikit_learns_lasso_does(simulate):
    X, _ = simulate(6, 100, 14)
    X = X * [1, 5, 0.2, 3, 1, 2]
    fitted = ORSGBN(0.3, standardize=False).fit(X)
    centred = X - X.mean(axis=0)
    allowed = upsilon(fitted.order_) == 0
    for j in range(6):
        parents = np.flatnonzero(allowed[:, j] & (np.arange(6) != j))
        if parents.size:
            lasso = Lasso(0.3, tol=1e-14, max_iter=10**6)
            expected = lasso.fit(centred[:, parents], centred[:, j]).coef_
            np.testing.assert_allclose(fitted.coef_[parents, j], expected, atol=1e-8)


def test_a_penalised_intercept_is_one_more_lasso_weight(simulate):
    X, _ = simulate(5, 80, 15)
    X = X / X.std(axis=0) + [0.05, 0.5, -0.3, 0.0, 1.0]
    fitted = ORSGBN(0.2, standardize=False, penalize_intercept=True).fit(X)
    allowed = upsilon(fitted.order_) == 0
    for j in range(5):
        parents = np.flatnonzero(allowed[:, j] & (np.arange(5) != j))
        design = np.column_stack([X[:, parents], np.ones(80)])
        lasso = Lasso(0.2, fit_intercept=False, tol=1e-14, max_iter=10**6)
        expected = lasso.fit(design, X[:, j]).coef_
        np.testing.assert_allclose(fitted.coef_[parents, j], expected[:-1], atol=1e-8)
        assert fitted.intercept_[j] == pytest.approx(expected[-1], abs=1e-8)
    free = ORSGBN(0.2, standardize=False).fit(X)
    assert np.abs(fitted.intercept_).sum() < np.abs(free.intercept_).sum()


@pytest.mark.parametrize("n_samples", [6, pytest.param(20, marks=pytest.mark.long)])
def test_homotopy_reaches_a_lower_objective_than_literal(n_samples, simulate):
    better = 0
    for seed in range(n_samples):
        X, _ = simulate(25, 200, [16, seed])
        final = [
            ORSGBN(0.1, path=path).fit(X).objective_path_["objective"][-1]
            for path in ("homotopy", "literal")
        ]
        better += final[0] < final[1]
    assert better >= 0.8 * n_samples


def test_more_alpha_gives_fewer_edges_and_none_at_its_maximum(simulate):
    from sgbn.learn.lasso import alpha_max

    X, _ = simulate(15, 100, 17)
    largest = alpha_max(X)
    edges = [ORSGBN(a).fit(X).network_.n_edges for a in (0.02, 0.1, 0.3, largest)]
    assert edges == sorted(edges, reverse=True)
    assert edges[-1] == 0


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
