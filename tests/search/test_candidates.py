import numpy as np

from sgbn.search.candidates import inverse_correlation, partly_correlated


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
    X = np.cumsum(rng.standard_normal((2000, 10)), axis=1)
    found = partly_correlated(inverse_correlation(np.corrcoef(X, rowvar=False), 2000), 2000, 3.0)
    chain = np.abs(np.subtract.outer(np.arange(10), np.arange(10))) == 1
    assert found[chain].all()
    assert found[~chain & ~np.eye(10, dtype=bool)].mean() < 0.05
