import numpy as np
import pytest
from scipy.special import comb

from sgbn.core.moments import moments_of
from sgbn.learn.search.plan import (
    CLEAR_SAMPLES_PER_VARIABLE,
    LARGE_SAMPLES_PER_VARIABLE,
    LARGE_VARIABLES,
    MAX_EXACT_VARIABLES,
    MAX_EXACT_VARIABLES_THOROUGH,
    MAX_KICKED_VARIABLES,
    MAX_TUCKS,
    MIN_SAMPLES_PER_VARIABLE,
    MIN_SCREENED_VARIABLES,
    MIN_TABLE_SAMPLES,
    ROUGH_MAX_TUCKS,
    ROUGH_SAMPLES,
    ROUGH_SAMPLES_PER_VARIABLE,
    ROUGH_Z,
    SCREENING_Z,
    STANDARD,
    THOROUGH,
    THOROUGH_KICKS,
    SearchPlan,
    SearchProblem,
    default_gamma,
    ebic_prices,
    inverse_correlation,
    most_parents,
)

for_size = SearchPlan.for_size


def test_parents_are_at_most_a_third_of_the_samples():
    assert most_parents(30, 50) == 10
    assert most_parents(30, 5) == 4
    assert most_parents(30, 50, 2) == 2
    assert most_parents(2, 50) == 1


def test_what_is_given_wins():
    for effort in ("fast", "standard", "thorough"):
        plan = for_size(200, 40, effort, 3, 7)
        assert (plan.n_starts, plan.n_kicks) == (3, 7)
    assert for_size(200, 40, n_kicks=7).tables is None
    tables = for_size(200, 40, "thorough", n_kicks=7).tables
    assert tables == THOROUGH._replace(steps=40 * THOROUGH.steps)


def test_efforts_differ_in_what_follows_the_local_searches():
    fast, standard, thorough = (
        for_size(200, 40, effort) for effort in ("fast", "standard", "thorough")
    )
    assert fast.n_kicks == 0
    assert fast.tables is None
    assert standard.tables == STANDARD
    assert thorough.tables.n_islands == THOROUGH.n_islands


def test_few_variables_are_compared_in_all_networks():
    exact = {
        effort: [m for m in range(2, 30) if for_size(200, m, effort).is_exact]
        for effort in ("fast", "standard", "thorough")
    }
    assert exact["fast"] == []
    assert exact["standard"] == list(range(2, MAX_EXACT_VARIABLES + 1))
    assert exact["thorough"] == list(range(2, MAX_EXACT_VARIABLES_THOROUGH + 1))


@pytest.mark.parametrize(
    ("m", "n"), [(LARGE_VARIABLES + 1, 5 * LARGE_VARIABLES), (MAX_KICKED_VARIABLES + 1, 100)]
)
def test_large_problems_get_one_start_without_kicks(m, n):
    plan = for_size(n, m)
    assert (plan.n_starts, plan.n_kicks, plan.tables) == (1, 0, None)


def test_a_given_number_of_starts_leaves_the_kicks_to_the_size():
    assert for_size(200, 40, n_starts=3).n_kicks == 30
    assert for_size(500, 40, n_starts=3).n_kicks == 10
    assert for_size(500, MAX_KICKED_VARIABLES + 1, n_starts=3).n_kicks == 0


def test_few_samples_get_no_tables():
    for effort in ("standard", "thorough"):
        plan = for_size(MIN_TABLE_SAMPLES - 1, 40, effort)
        assert plan.tables is None
        assert not for_size(MIN_TABLE_SAMPLES - 1, 5, effort).is_exact
        assert plan.n_kicks >= 30
        assert for_size(MIN_TABLE_SAMPLES, 40, effort).tables is not None


@pytest.mark.parametrize("why", [{"equal_noise": True}, {"n_required": STANDARD.n_candidates + 1}])
def test_without_tables_trees_are_searched_as_long_as_ever(why):
    for effort, n, kicks in (("fast", 200, 0), ("standard", 200, 30), ("standard", 500, 10)):
        plan = for_size(n, 40, effort, **why)
        assert (plan.n_starts, plan.n_kicks, plan.tables) == (2, kicks, None)
        assert not for_size(n, 5, effort, **why).is_exact
    thorough = for_size(200, 40, "thorough", **why)
    assert (thorough.n_kicks, thorough.tables) == (THOROUGH_KICKS, None)


def test_tables_have_room_for_some_required_parents():
    assert for_size(200, 40, n_required=STANDARD.n_candidates) == for_size(200, 40)


def test_many_variables_are_screened_if_samples_are_no_fewer():
    m = MIN_SCREENED_VARIABLES
    assert for_size(m, m).candidate_z == SCREENING_Z
    assert for_size(m, m, equal_noise=True).candidate_z == SCREENING_Z
    assert for_size(m - 1, m).candidate_z is None
    assert for_size(m, m - 1).candidate_z is None


def test_plentiful_samples_of_many_variables_get_a_rough_order_first():
    m = LARGE_VARIABLES + 1
    plan = for_size(MIN_SAMPLES_PER_VARIABLE * m, m)
    assert plan.n_rough == ROUGH_SAMPLES_PER_VARIABLE * m
    assert (plan.candidate_z, plan.n_tucks) == (ROUGH_Z, ROUGH_MAX_TUCKS)
    usual = for_size(MIN_SAMPLES_PER_VARIABLE * m - 1, m)
    assert (usual.n_rough, usual.candidate_z, usual.n_tucks) == (ROUGH_SAMPLES, None, MAX_TUCKS)
    assert not for_size(MIN_SAMPLES_PER_VARIABLE * m, m, equal_noise=True).n_rough
    assert for_size(MIN_SAMPLES_PER_VARIABLE * (m - 1), m - 1).n_rough == ROUGH_SAMPLES


@pytest.mark.parametrize("effort", ["fast", "standard"])
def test_a_rough_order_comes_first_where_samples_suffice(effort):
    enough = 2 * ROUGH_SAMPLES
    assert for_size(enough, 20, effort).n_rough == ROUGH_SAMPLES
    assert for_size(enough - 1, 19, effort).n_rough == 0
    assert for_size(enough, 20, effort, equal_noise=True).n_rough == 0
    assert for_size(enough, 20, "thorough").n_rough == 0
    assert for_size(CLEAR_SAMPLES_PER_VARIABLE * 93 - 1, 93, effort).n_rough == 0
    assert for_size(LARGE_SAMPLES_PER_VARIABLE * 200, 200, effort).n_rough == ROUGH_SAMPLES


def test_kicks_before_tables_need_starts_that_disagree():
    assert not for_size(200, 40).kick_agreed
    assert for_size(200, 40, n_kicks=7).kick_agreed
    assert for_size(200, 40, "thorough").kick_agreed


M = 7
ALL, NONE = ~np.eye(M, dtype=bool), np.zeros((M, M), bool)


def test_prices_are_those_of_the_extended_bic_and_never_fall():
    price = ebic_prices(50, 9, 0.7)
    assert price[3] == pytest.approx(3 * np.log(50) + 1.4 * np.log(comb(8, 3)))
    assert (np.diff(price) > 0).all()


def test_gamma_grows_with_the_logarithm_of_the_samples():
    assert default_gamma(20) == default_gamma(100) == 1.0
    assert default_gamma(1000) == pytest.approx(1.5)


def test_the_inverse_is_that_of_the_matrix_where_rows_are_plenty(simulate):
    X, _ = simulate(8, 300, 0)
    R = np.corrcoef(X, rowvar=False)
    np.testing.assert_allclose(inverse_correlation(R, 300) @ R, np.eye(8), atol=1e-12)


def test_few_rows_and_copies_of_a_column_have_a_finite_inverse(simulate):
    X, _ = simulate(8, 5, 0)
    copies = np.corrcoef(np.column_stack([X, X]), rowvar=False)
    for n in (5, 1000):
        inverse = inverse_correlation(copies, n)
        assert np.isfinite(inverse).all()
        assert np.array_equal(inverse, inverse.T)


def test_neighbours_in_a_chain_are_joined_and_few_others():
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.standard_normal((2000, M)), axis=1)
    problem = SearchProblem.of(moments_of(X, [""] * M), (ALL, NONE), 1.0, 3)
    is_joined = problem.to_user(problem.partly_correlated(3.0))
    chain = np.abs(np.subtract.outer(np.arange(M), np.arange(M))) == 1
    assert is_joined[chain].all()
    assert is_joined[~chain & ALL].mean() < 0.05
    assert np.array_equal(is_joined, problem.to_user(problem.partial > 3.0 / 2000**0.5))


def test_variables_come_by_rising_variance_inflation_with_all_that_is_known(simulate):
    X, _ = simulate(M, 100, 3)
    X = X * np.arange(1, M + 1)
    required = NONE.copy()
    required[2, 5] = True
    allowed = ALL & ~required.T
    problem = SearchProblem.of(
        moments_of(X, [""] * M), (allowed, required), 1.0, 3, equal_noise=True
    )
    order = problem.columns
    inverse = inverse_correlation(np.corrcoef(X, rowvar=False), 100)
    assert (np.diff(np.diag(inverse)[order]) > 0).all()
    np.testing.assert_allclose(problem.precision, inverse[np.ix_(order, order)], atol=1e-9)
    np.testing.assert_allclose(problem.R, np.corrcoef(X[:, order], rowvar=False), atol=1e-12)
    np.testing.assert_allclose(problem.variance, X.var(axis=0)[order])
    assert np.array_equal(problem.to_user(problem.required), required)
    assert np.array_equal(problem.to_user(problem.allowed), allowed)


def test_the_problem_does_not_depend_on_the_order_of_columns_and_names_break_ties():
    X = np.random.default_rng(0).standard_normal((60, M))
    X[:, 4] = X[:, 1]  # the same content and inflation
    names = np.array(list("gfedcba"))
    order = np.random.default_rng(1).permutation(M)
    first, second = (
        SearchProblem.of(moments_of(X[:, p], names[p]), (ALL, NONE), 1.0, 3, names[p])
        for p in (np.arange(M), order)
    )
    assert np.array_equal(first.R, second.R)
    assert np.array_equal(first.columns, order[second.columns])
    place = first.columns.tolist()
    assert place.index(4) < place.index(1)  # "c" before "f"
