import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from sgbn.core.exceptions import InputError
from sgbn.inference.intervals import residual_checks

CHAIN = np.eye(6, k=1)


def chain(n=200, seed=0, noise=None, bend=0.0):
    """x0 -> x1 -> ... with unit noise."""
    rng = np.random.default_rng(seed)
    draw = rng.standard_normal if noise is None else noise
    values = np.empty((n, 6))
    values[:, 0] = rng.standard_normal(n)
    for j in range(1, 6):
        values[:, j] = 0.7 * values[:, j - 1] + draw(n)
        if j == 3:
            values[:, 3] += bend * np.square(values[:, 2])
    return values


def test_gaussian_chains_pass_at_their_level():
    checks = [residual_checks(chain(seed=seed), CHAIN) for seed in range(80)]
    assert np.mean([one.p_gaussian.min() <= 0.05 for one in checks]) < 0.1
    assert np.mean([one.p_curved.min() <= 0.05 for one in checks]) < 0.1
    assert np.mean([one.n_far for one in checks]) < 5 * checks[0].expected_far


def test_a_bend_is_seen_at_its_edge_only():
    found = residual_checks(chain(bend=0.4), CHAIN)
    assert found.edges.tolist() == [[j, j + 1] for j in range(5)]
    assert (found.p_curved <= 0.05).tolist() == [False, False, True, False, False]


def test_p_of_a_bend_is_near_that_of_a_quadratic_regression():
    values = chain(bend=0.03, n=2000)
    x = values[:, 2]
    design = sm.add_constant(np.column_stack([x, np.square(x)]))
    expected = sm.OLS(values[:, 3], design).fit(cov_type="HC3").tvalues[2]
    p = residual_checks(values, CHAIN).p_curved[2]
    t = stats.norm.isf(p / 10)  # the smallest of five, two-sided
    assert t == pytest.approx(expected, rel=0.25)


def test_skewed_noise_and_heavy_tails_are_named():
    rng = np.random.default_rng(0)
    found = residual_checks(chain(noise=lambda n: rng.exponential(size=n) - 1), CHAIN)
    assert (found.p_gaussian <= 0.05).tolist() == [False, *[True] * 5]
    assert found.skewness[1:].min() > 1
    found = residual_checks(chain(noise=lambda n: rng.standard_t(3, size=n)), CHAIN)
    assert found.kurtosis[1:].max() > 2
    assert found.n_far > 3 * found.expected_far + 3


def test_half_a_column_of_one_value_does_not_make_the_others_far():
    values = chain(100)
    values[:, 5] = np.repeat([0.0, -1.0, 1.0], [60, 20, 20])
    found = residual_checks(values, np.zeros((6, 6)))
    assert found.n_far == residual_checks(values[:, :5], np.zeros((5, 5))).n_far
    values[99, 5] = 100.0
    assert residual_checks(values, np.zeros((6, 6))).n_far == found.n_far + 1


def test_without_edges_and_with_too_few_rows():
    values = chain(40)
    found = residual_checks(values, np.zeros((6, 6)))
    assert len(found.edges) == len(found.p_curved) == 0
    np.testing.assert_allclose(found.skewness, stats.skew(values))
    with pytest.raises(InputError, match="need 20 or more"):
        residual_checks(values[:10], CHAIN)
