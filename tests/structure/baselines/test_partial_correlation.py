from itertools import chain, combinations

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression

from sgbn.structure.baselines import partial_correlation as module
from sgbn.structure.baselines.partial_correlation import (
    IndependenceTest,
    exact_t,
    exact_t_borders,
    fisher_z,
    fisher_z_borders,
    partial_correlations,
)


def residual(X, v, Z):
    return X[:, v] - LinearRegression().fit(X[:, Z], X[:, v]).predict(X[:, Z])


def all_subsets(members):
    return chain.from_iterable(combinations(members, k) for k in range(len(members) + 1))


@pytest.fixture
def sample(simulate):
    """Correlation matrix, and the border of its tests at 5 %."""
    X, _ = simulate(9, 80, 0)
    return IndependenceTest(np.corrcoef(X.T), fisher_z_borders(80, 9, 0.05))


def test_statistics_and_p_values_equal_bnlearns(bnlearn):
    n_tests = 0
    for case in bnlearn["cases"]:
        R, place = np.corrcoef(np.array(case["data"]).T), case["columns"].index
        for one in case["pvalues"]:
            z = [one["z"]] if isinstance(one["z"], str) else one["z"]
            given = [place(v) for v in z]
            (r,) = partial_correlations(R, place(one["x"]), [place(one["y"])], given)
            n, k = len(case["data"]), len(given)
            np.testing.assert_allclose(fisher_z(r, n, k), one["zf"], rtol=1e-8, atol=1e-12)
            np.testing.assert_allclose(exact_t(r, n, k), one["cor"], rtol=1e-8, atol=1e-12)
            n_tests += 1
    assert n_tests == 60


def test_equal_to_correlations_of_residuals(simulate):
    X, _ = simulate(8, 60, 1)
    R = np.corrcoef(X.T)
    Z = [5, 2, 7]
    found = partial_correlations(R, 1, [0, 3, 4, 6], Z)
    expected = [np.corrcoef(residual(X, 1, Z), residual(X, j, Z))[0, 1] for j in (0, 3, 4, 6)]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(partial_correlations(R, 1, [0, 3], []), R[1, [0, 3]])


@pytest.mark.parametrize("seed", range(3))
def test_redundant_conditions_change_nothing_and_what_they_determine_is_independent(seed, simulate):
    X, _ = simulate(6, 60, [2, seed])
    X = np.column_stack([X, X[:, 0] + X[:, 1], X[:, 2]])
    R = np.corrcoef(X.T)
    once = partial_correlations(R, 3, [4, 5], [0, 1, 2])
    np.testing.assert_allclose(partial_correlations(R, 3, [4, 5], [0, 1, 6, 2, 7]), once, atol=1e-9)
    assert partial_correlations(R, 6, [3, 4], [0, 1]).tolist() == [0, 0]
    assert partial_correlations(R, 3, [6], [0, 1]).tolist() == [0]
    copies = IndependenceTest(R, fisher_z_borders(60, 8, 0.05)).strengths(2, [])
    assert np.isfinite(copies).all()
    assert np.argmax(copies) == 7


@pytest.mark.parametrize(("n", "k"), [(5, 2), (4, 9), (2, 0)])
def test_without_degrees_of_freedom_nothing_depends(n, k):
    assert fisher_z(0.9, n, k) == (0.0, 1.0)
    assert exact_t(0.9, 4, 2) == (0.9, 1.0)
    assert fisher_z_borders(n, 10, 0.05)[k] == np.inf


def test_untestable_pairs_are_separated():
    R = np.full((4, 4), 0.99)
    np.fill_diagonal(R, 1.0)
    test = IndependenceTest(R, fisher_z_borders(5, 4, 0.05))
    assert test.strengths(0, []).max() > 1
    assert test.strengths(0, [1, 2]).max() == 0
    assert test.weakest(0, 3, [], fixed=[1, 2]).separated


@pytest.mark.parametrize("test", [(fisher_z, fisher_z_borders), (exact_t, exact_t_borders)])
def test_at_the_border_p_is_the_significance(test):
    p_value, borders = test
    for k, border in enumerate(borders(20, 12, 0.03)):
        assert p_value(np.tanh(border), 20, k).p_value == pytest.approx(0.03, rel=1e-9)


def test_exact_t_rejects_as_often_as_it_should():
    rng = np.random.default_rng(3)
    p = [exact_t(np.corrcoef(rng.standard_normal((2, 6)))[0, 1], 6, 0)[1] for _ in range(1000)]
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_the_weakest_link_is_the_minimum_over_all_subsets(sample):
    n_separated = 0
    for i, j in combinations(range(9), 2):
        fixed, *optional = (k for k in range(9) if k not in (i, j))
        weakest = sample.weakest(i, j, optional[:4], fixed=[fixed])
        given = [[fixed, *some] for some in all_subsets(optional[:4])]
        strengths = [sample.strengths(i, Z)[j] for Z in given]
        assert weakest.separated == (min(strengths) < 1)
        assert sample.strengths(i, weakest.given)[j] == pytest.approx(weakest.strength, rel=1e-9)
        if weakest.separated:  # the first that separates, from small sets to large
            n_separated += 1
            first = next(Z for Z, s in zip(given, strengths, strict=True) if s < 1)
            assert weakest.given.tolist() == first
        else:
            assert weakest.strength == pytest.approx(min(strengths), rel=1e-9)
    assert 0 < n_separated < 36


def test_subsets_of_one_size_alone(sample):
    link = sample.weakest(0, 1, range(2, 9), size=2)
    assert link.given.size == 2
    best = min(sample.strengths(0, Z)[1] for Z in combinations(range(2, 9), 2))
    assert link.separated == (best < 1)
    assert sample.weakest(0, 1, [2], size=0).given.size == 0


def test_inputs_are_not_changed_and_kernels_are_compiled_once(sample):
    R = sample.R.copy()
    Z = np.array([3, 4])
    for optional in (Z, [3, 4], (3, 4), range(3, 5), np.array([3, 4], np.int32)):
        sample.weakest(0, np.int64(1), optional)
        sample.strengths(0, optional)
    assert np.array_equal(R, sample.R)
    assert Z.tolist() == [3, 4]
    for kernel in (module._weakest, module._partial_correlations):
        assert len(kernel.signatures) == 1
