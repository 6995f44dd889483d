import numpy as np
import pytest
from scipy.special import comb

from sgbn.core.moments import moments_of
from sgbn.learn.search.plan import SearchProblem, default_gamma, ebic_prices, inverse_correlation

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
