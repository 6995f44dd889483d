from itertools import chain, combinations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from sgbn.paper import markov
from sgbn.paper.markov import (
    IndependenceTest,
    exact_t_borders,
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


def test_at_a_level_of_bnlearns_p_a_correlation_is_its_border(bnlearn):
    n_tests = 0
    for case in bnlearn["cases"]:
        R, place = np.corrcoef(np.array(case["data"]).T), case["columns"].index
        for reference in case["pvalues"]:
            z = [reference["z"]] if isinstance(reference["z"], str) else reference["z"]
            given = [place(v) for v in z]
            (r,) = partial_correlations(R, place(reference["x"]), [place(reference["y"])], given)
            n, k = len(case["data"]), len(given)
            for borders, name in ((fisher_z_borders, "zf"), (exact_t_borders, "cor")):
                border = borders(n, k, reference[name][1])[k]
                np.testing.assert_allclose(abs(np.arctanh(r)), border, rtol=1e-8, atol=1e-12)
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
    assert exact_t_borders(4, 10, 0.05)[2] == np.inf
    assert fisher_z_borders(n, 10, 0.05)[k] == np.inf


def test_untestable_pairs_are_separated():
    R = np.full((4, 4), 0.99)
    np.fill_diagonal(R, 1.0)
    test = IndependenceTest(R, fisher_z_borders(5, 4, 0.05))
    assert test.strengths(0, []).max() > 1
    assert test.strengths(0, [1, 2]).max() == 0
    assert test.weakest(0, 3, [], fixed=[1, 2]).separated


def test_exact_t_rejects_as_often_as_it_should():
    rng = np.random.default_rng(3)
    r = [np.corrcoef(rng.standard_normal((2, 6)))[0, 1] for _ in range(1000)]
    for level in (0.05, 0.5):
        rejected = np.mean(np.abs(np.arctanh(r)) >= exact_t_borders(6, 0, level)[0])
        assert rejected == pytest.approx(level, abs=3 * np.sqrt(level * (1 - level) / 1000))


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
    for kernel in (markov._weakest, markov._partial_correlations):
        assert len(kernel.signatures) == 1
