import numpy as np
import pytest
from scipy import stats
from tests.codes import refused, warned

from sgbn.core.moments import moments_of
from sgbn.paper.markov import IndependenceTest, exact_t_borders
from sgbn.paper.tc import TC, TCbw, separator_of_spouses


def t_test_p_values(X):
    """Two-sided p of every weight of the regression of each column on all others."""
    n, m = X.shape
    p = np.ones((m, m))
    for j in range(m):
        others = np.delete(np.arange(m), j)
        Z = np.column_stack([np.ones(n), X[:, others]])
        weights, rss = np.linalg.lstsq(Z, X[:, j])[:2]
        variance = rss[0] / (n - m) * np.linalg.inv(Z.T @ Z).diagonal()
        p[j, others] = 2 * stats.t.sf(np.abs(weights / np.sqrt(variance))[1:], n - m)
    return p


def test_the_moral_graph_is_that_of_the_t_tests_of_regressions(simulate):
    X, _ = simulate(12, 60, 60)
    p = t_test_p_values(X)
    assert np.array_equal(TC(0.01).fit(X).blankets_, p <= 0.01)
    assert np.array_equal(TC().fit(X).blankets_, p <= 2 / (12 * 11))
    assert np.any((p > 0.01) & (p <= 0.05))


@pytest.mark.long
def test_for_few_variables_the_level_is_one_in_twenty():
    rng = np.random.default_rng(61)
    joined = [TC().fit(rng.standard_normal((50, 2))).pdag_.any() for _ in range(400)]
    assert 0.02 < np.mean(joined) < 0.09


def test_a_pair_alone_is_tested_at_five_percent(simulate):
    X, _ = simulate(2, 50, 61)
    moments = moments_of(X, ["a", "b"])
    expected = exact_t_borders(50, 2, 0.05)  # 2 / (m (m - 1)) is 1, at which all is significant
    assert np.array_equal(TC()._test(moments).borders, expected)


def moral_test(coef, n=4000):
    rng = np.random.default_rng(62)
    m = len(coef)
    X = rng.standard_normal((n, m)) @ np.linalg.inv(np.eye(m) - coef)
    return IndependenceTest(np.corrcoef(X.T), exact_t_borders(n, m, 0.001))


def test_spouses_are_separated_by_what_is_not_their_child():
    """0 -> 3 <- 1 with a common cause 2 of both: the separating set is {2}, without the child."""
    coef = np.zeros((4, 4))
    coef[[0, 1, 2, 2], [3, 3, 0, 1]] = 0.7
    test = moral_test(coef)
    moral = ~np.eye(4, dtype=bool)
    moral[2, 3] = moral[3, 2] = False
    assert separator_of_spouses(test, moral, 0, 1) == {2}
    assert separator_of_spouses(test, moral, 0, 3) is None


def test_descendants_of_a_common_child_are_left_out_of_the_set():
    """0 -> 2 <- 1, 2 -> 3 and 0 -> 3, 1 -> 4, 3 -> 4: 3 and 4 descend from the child."""
    coef = np.zeros((5, 5))
    coef[[0, 1, 2, 0, 1, 3], [2, 2, 3, 3, 4, 4]] = 0.7
    moral = np.zeros((5, 5), bool)
    for i, j in ((0, 1), (0, 2), (1, 2), (2, 3), (0, 3), (1, 4), (3, 4), (1, 3)):
        moral[i, j] = moral[j, i] = True
    assert separator_of_spouses(moral_test(coef), moral, 0, 1) == set()


def test_links_outside_of_triangles_stay_without_a_test():
    moral = np.array([[0, 1], [1, 0]], bool)
    assert separator_of_spouses(moral_test(np.zeros((2, 2))), moral, 0, 1) is None


def test_too_few_samples_or_a_total_are_refused():
    X = np.random.default_rng(63).standard_normal((20, 20))
    for learner in (TC, TCbw):
        with refused("tc.singular"):
            learner().fit(X)
    TC().fit(X[:, :19])
    X[:, 5] = X[:, 0] + X[:, 1]
    with warned("columns.collinear"), refused("tc.singular"):
        TC().fit(X[:, :10])


def eliminated(test, target):
    """Backward elimination with every test made from scratch."""
    left = [k for k in range(len(test.R)) if k != target]
    while left:
        strengths = [test.strengths(target, [k for k in left if k != one])[one] for one in left]
        if min(strengths) >= 1:
            break
        left.pop(int(np.argmin(strengths)))
    return left


@pytest.mark.parametrize("seed", range(5))
def test_blankets_are_those_of_backward_elimination(seed, simulate):
    X, _ = simulate(12, 60, [70, seed])
    fitted = TCbw(0.05).fit(X)
    test = IndependenceTest(np.corrcoef(X.T), exact_t_borders(60, 12, 0.05))
    for target in range(12):
        assert np.flatnonzero(fitted.blankets_[target]).tolist() == eliminated(test, target)


def test_it_finds_links_that_tests_given_all_others_have_no_power_for():
    found = np.zeros(2, int)
    for seed in range(12):
        X = np.random.default_rng([71, seed]).standard_normal((30, 22))
        X[:, 1] += 0.9 * X[:, 0]
        found += [learner().fit(X).blankets_[0, 1] for learner in (TC, TCbw)]
    assert found[1] > 2 * found[0]
