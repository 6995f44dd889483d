import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats
from scipy.stats import ttest_1samp
from tests.codes import refused

from sgbn import Cohort
from sgbn.cohort.rows import Rows, residual_rows
from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.problems import CycleError
from sgbn.inference.intervals import (
    MIN_GAIN_PER_REPEAT,
    NARROW_HALF_WIDTH,
    Estimate,
    average,
    estimate,
    fixed_weights,
    gain_of_repeat,
    interval,
    relative_width,
    repeats_for,
    resampled_weights,
    resamples,
    residual_checks,
    weight_intervals,
)
from sgbn.learn.base import fit_weights
from sgbn.learn.sgbn import SGBN


def test_weights_of_a_resample_are_those_of_a_fit_to_its_rows(simulate):
    X, truth = simulate(8, 50, 0)
    X = X * np.geomspace(1e-3, 1e3, 8) + 10
    support = truth.coef != 0
    counts = resamples(residual_rows(X), 5, [1])
    drawn = resampled_weights(X, support, counts)
    assert drawn.shape == (5, support.sum())
    for count, weights in zip(counts.astype(int), drawn, strict=True):
        fitted = fit_weights(np.repeat(X, count, axis=0), support)
        np.testing.assert_allclose(weights, fitted.coef[support], rtol=1e-7)


def test_resamples_have_as_many_rows_and_depend_on_the_seed_only():
    rows = residual_rows(np.eye(30))
    counts = resamples(rows, 200, [0])
    assert (counts.sum(axis=1) == 30).all()
    assert np.abs(counts.mean(axis=0) - 1).max() < 0.4
    np.testing.assert_array_equal(counts, resamples(rows, 200, [0]))
    assert not np.array_equal(counts, resamples(rows, 200, [1]))


def test_a_parent_that_is_constant_in_a_resample_gets_the_smallest_weight():
    X = np.random.default_rng(0).standard_normal((6, 2))
    X[1:, 0] = 3.0
    counts = np.array([[0.0, 2, 1, 1, 1, 1]])
    drawn = resampled_weights(X, np.array([[False, True], [False, False]]), counts)
    assert np.isfinite(drawn).all()
    sd = X.std(axis=0)
    assert abs(drawn[0, 0]) * sd[0] / sd[1] < 5


@pytest.mark.parametrize(
    ("n", "n_samples", "tolerance"),
    [
        (25, 40, 0.08),
        pytest.param(25, 300, 0.03, marks=pytest.mark.long),
        pytest.param(80, 300, 0.03, marks=pytest.mark.long),
    ],
)
def test_intervals_cover_at_their_level(n, n_samples, tolerance):
    """Of many samples, the share of intervals of six weights that hold the true one."""
    rng = np.random.default_rng(n)
    coef = np.triu(np.full((4, 4), 0.5), 1)
    network = GaussianNetwork(coef, noise_variance=[1, 0.3, 2, 1])
    inside = []
    for _ in range(n_samples):
        found = weight_intervals(network.sample(n, rng), coef, n_resamples=400, level=0.9)
        inside.append((found.low < 0.5) & (found.high > 0.5))
    # three standard errors: the six weights of a sample are nearly independent
    assert abs(np.mean(inside) - 0.9) < tolerance


def test_interval_is_wider_than_plain_percentiles_and_approaches_them():
    drawn = np.random.default_rng(0).standard_normal(100_000)
    low, high = interval(drawn, 10**6, 2, 0.95)
    np.testing.assert_allclose([low, high], np.quantile(drawn, [0.025, 0.975]), atol=1e-3)
    assert interval(drawn, 10, 3, 0.95)[1] > 1.25 * high


def test_records_follow_the_graph_and_hold_the_fitted_weight(simulate):
    X, truth = simulate(5, 60, 1)
    found = weight_intervals(X, truth, n_resamples=200)
    fitted = fit_weights(X, truth)
    assert found[["source", "target"]].tolist() == [
        (f"x{i}", f"x{j}") for i, j in np.argwhere(truth.coef)
    ]
    np.testing.assert_allclose(found.weight, fitted.coef[fitted.coef != 0], rtol=1e-9)
    assert ((found.low < found.weight) & (found.weight < found.high)).all()
    assert len(weight_intervals(X, np.zeros((5, 5)))) == 0


def test_a_learner_and_its_network_will_do(simulate):
    X, _ = simulate(5, 60, 1)
    learner = SGBN().fit(X)
    by_learner, by_network = (
        weight_intervals(X, graph, n_resamples=50) for graph in (learner, learner.network_)
    )
    np.testing.assert_array_equal(by_learner, by_network)


def test_graphs_that_do_not_fit_are_refused(simulate):
    X, truth = simulate(5, 60, 1)
    with pytest.raises(CycleError):
        weight_intervals(X[:, :2], [[0, 1], [1, 0]])
    table = pd.DataFrame(truth.coef, columns=list("abcde"), index=list("abcde"))
    assert len(weight_intervals(X, table, n_resamples=5)) == truth.n_edges  # X has no names
    with refused("graph.columns"):
        weight_intervals(pd.DataFrame(X, columns=list("edcba")), table)
    full = np.triu(np.ones((5, 5)), 1)
    with refused("parents.many"):
        fixed_weights(residual_rows(X[:5]), full)
    with refused("graph.type"):
        weight_intervals(X, "graph")


@pytest.mark.parametrize(
    ("n_samples", "tolerance"),  # three standard errors
    [(120, 0.08), pytest.param(400, 0.04, marks=pytest.mark.long)],
)
def test_intervals_cover_with_sites_and_covariates(n_samples, tolerance):
    """Six of 24 rows' degrees of freedom go to five sites and two covariates, beside the mean."""
    rng = np.random.default_rng(3)
    site = np.repeat(["A", "B", "C", "D", "E"], [5, 5, 5, 5, 4])
    shift = 4.0 * rng.standard_normal(5)[np.unique(site, return_inverse=True)[1]]
    ids = [str(k) for k in range(24)]
    inside = []
    for _ in range(n_samples):
        covariates = {"age": rng.normal(70, 8, 24), "icv": rng.normal(0, 1, 24)}
        values = rng.standard_normal((24, 2)) + (shift + 0.3 * covariates["age"])[:, None]
        values[:, 1] += 0.5 * (values[:, 0] - shift - 0.3 * covariates["age"])
        cohort = Cohort(values, ("a", "b"), ids, site=site, covariates=covariates)
        (found,) = weight_intervals(cohort, [[0, 1], [0, 0]], n_resamples=400, level=0.9)
        inside.append(found.low < 0.5 < found.high)
    assert abs(np.mean(inside) - 0.9) < tolerance


def test_sites_leave_fewer_rows_for_the_weights():
    rng = np.random.default_rng(0)
    site = np.repeat(["A", "B", "C", "D"], 2)
    cohort = Cohort(rng.standard_normal((8, 5)), list("abcde"), list("stuvwxyz"), site=site)
    with refused("parents.many"):
        weight_intervals(cohort, np.triu(np.ones((5, 5)), 1))


def test_persons_are_resampled_whole_and_their_copies_add_nothing(monkeypatch):
    units = np.array([0, 1, 1, 2, 0])
    rows = Rows.of(Cohort(np.eye(5), tuple("abcde"), tuple("stuvw"), person=units))
    three = residual_rows(np.eye(3))
    counts = resamples(rows, 50, [0])
    np.testing.assert_array_equal(counts, resamples(three, 50, [0])[:, units])
    # Persons are drawn by the order of the rows, so that this must be the same for both.
    monkeypatch.setattr("sgbn.cohort.rows.row_order", lambda values, *_: np.arange(len(values)))
    drawn = simulate_cohort(40, regions=3).subset(groups=["control"])
    twice = np.repeat(np.arange(40), 2)
    several = Cohort(
        drawn.values[twice], drawn.regions, range(80), person=[f"p{k:02}" for k in twice]
    )
    graph = np.triu(np.ones((3, 3)), 1)
    one, two = (weight_intervals(cohort, graph, n_resamples=200) for cohort in (drawn, several))
    np.testing.assert_allclose(one["low"], two["low"])
    np.testing.assert_allclose(one["high"], two["high"])


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
    with refused("rows.few"):
        residual_checks(values[:10], CHAIN)


VALUES = np.array([0.61, 0.55, 0.7, 0.64, 0.58])


def test_independent_cohorts_have_the_interval_of_the_t_test():
    usual = ttest_1samp(VALUES, 0.0).confidence_interval(0.95)
    assert estimate(VALUES, 0.0).interval() == pytest.approx((usual.low, usual.high))


def test_overlapping_splits_have_the_corrected_variance():
    plain, corrected = estimate(VALUES, 0.0), estimate(VALUES, 0.5)
    assert corrected.mean == plain.mean
    assert corrected.error**2 == pytest.approx(VALUES.var(ddof=1) * (1 / 5 + 0.5))


def test_the_corrected_interval_covers_where_the_plain_one_does_not():
    """Means of random test parts of one small sample, whose true mean is 0."""
    covered = {0.0: 0, 0.5: 0}
    for seed in range(200):
        rng = np.random.default_rng(seed)
        table = rng.standard_normal(60)
        splits = np.array([rng.permutation(table)[:20].mean() for _ in range(30)])
        for overlap in covered:
            low, high = estimate(splits, overlap).interval()
            covered[overlap] += low <= 0 <= high
    assert covered[0.0] < 120
    assert covered[0.5] > 180


def test_failures_are_left_out():
    assert estimate(np.append(VALUES, np.nan), 0.5) == estimate(VALUES, 0.5)
    assert np.isnan(estimate(np.array([0.5]), 0.5).error)
    assert np.isnan(estimate(np.array([np.nan]), 0.5).mean)


def test_estimates_of_different_data_are_averaged():
    assert average([Estimate(1.0, 3.0, 9), Estimate(2.0, 4.0, 7)]) == Estimate(1.5, 2.5, 7)


def test_the_relative_width_is_that_of_an_estimate():
    scores = np.random.default_rng(0).standard_normal(20)
    scores = (scores - scores.mean()) / scores.std(ddof=1)
    low, high = estimate(scores, 1 / 4).interval()
    assert relative_width(5, 4) == pytest.approx((high - low) / 2)


def test_repeats_end_where_the_interval_needs_no_more():
    assert repeats_for([63, 61], 5) == 4
    assert gain_of_repeat(5, 4) < MIN_GAIN_PER_REPEAT <= gain_of_repeat(5, 3)
    assert repeats_for([2500, 2500], 5) == 1
    between_folds = 0.5 / np.sqrt(5000 / 5)
    assert between_folds * relative_width(5, 1) <= NARROW_HALF_WIDTH
    assert repeats_for([200, 3800], 5) == 4  # the small group decides
    assert repeats_for([5, 5], 2) >= repeats_for([5, 5], 5)


@pytest.mark.parametrize(("n_folds", "most"), [(2, 5), (3, 4), (5, 4), (10, 3), (100, 3)])
def test_no_group_is_so_small_that_repeats_go_on(n_folds, most):
    assert repeats_for([2, 2], n_folds) == repeats_for([2, 2, 2], n_folds) == most


def test_folds_of_a_balanced_accuracy_vary_as_expected():
    rng, sizes, n_folds = np.random.default_rng(0), np.array([40, 400]), 5
    in_a_fold = sizes // n_folds
    shares = rng.binomial(in_a_fold, 0.5, (20_000, 2)) / in_a_fold
    expected = 0.5 * np.sqrt((n_folds / sizes).sum()) / 2
    assert shares.mean(axis=1).std() == pytest.approx(expected, rel=0.02)
