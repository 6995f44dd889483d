"""Regressions, their errors, tests and intervals against statsmodels."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from sgbn.cohort.design import Design
from sgbn.cohort.rows import residual_rows
from sgbn.inference.deviation import NormativeDeviation
from sgbn.inference.difference_problem import UnitSums, group_columns, one_way
from sgbn.inference.intervals import estimate, resampled_weights, resamples
from sgbn.inference.joint import regressions
from sgbn.inference.power import wilson
from sgbn.learn.base import fit_weights
from sgbn.paper.markov import exact_t_borders, partial_correlations
from sgbn.paper.or_sgbn import ORSGBN
from sgbn.prepare.covariates import CovariateRegressor

sm = pytest.importorskip("statsmodels.api", reason="statsmodels comes with the test extra")

RTOL = 1e-8


@pytest.fixture
def network_data(simulate):
    """Rows in unlike units and with means, and the graph that made them."""
    X, network = simulate(8, 90, 0)
    return X * np.geomspace(0.01, 100, 8) + np.arange(8), network.coef != 0


def ols(X, j, regressors):
    return sm.OLS(X[:, j], sm.add_constant(X[:, regressors], has_constant="add")).fit()


def close(found, expected, atol=0.0):
    np.testing.assert_allclose(found, expected, rtol=RTOL, atol=atol)


def test_networks_of_a_given_graph_are_ordinary_least_squares(network_data):
    X, graph = network_data
    network = fit_weights(X, graph)
    for j in range(8):
        parents = np.flatnonzero(graph[:, j])
        peer = ols(X, j, parents)
        close(np.append(network.intercept[j], network.coef[parents, j]), peer.params, 1e-10)
        close(network.noise_variance[j], peer.scale)
        close(network.residuals(X)[:, j], peer.resid, 1e-10 * X[:, j].std())


def test_standard_errors_of_weights(network_data):
    X, graph = network_data
    B, V, noise = regressions(np.cov(X.T, ddof=0), len(X), len(X) - 1.0, graph)
    for j in range(8):
        parents = np.flatnonzero(graph[:, j])
        peer = ols(X, j, parents)
        close(B[parents, j], peer.params[1:])
        close(np.sqrt(V[parents, j]), peer.bse[1:])
        close(noise[j], peer.scale)


def test_partial_correlations_and_their_exact_p_are_those_of_a_coefficient(network_data):
    X, _ = network_data
    R = np.corrcoef(X.T)
    for i, j in combinations(range(5), 2):
        given = [5, 6, 7]
        (r,) = partial_correlations(R, i, [j], given)
        peer = ols(X, i, [j, *given])
        t = peer.tvalues[1]
        close(r, t / np.sqrt(t**2 + peer.df_resid))
        # at a level of the peer's p, the correlation is just significant
        border = exact_t_borders(len(X), len(given), peer.pvalues[1])[len(given)]
        close(abs(np.arctanh(r)), border)


def test_bic_differs_by_a_constant(simulate):
    """Of all networks of one table: statsmodels counts 2 pi, and the intercepts too."""
    X, _ = simulate(6, 70, 1)
    n = len(X)
    learner = ORSGBN("bic", refit=True).fit(X)
    differences = []
    for alpha, ours in zip(learner.alphas_, learner.criterion_path_, strict=True):
        graph = ORSGBN(alpha).fit(X).coef_ != 0
        peers = [ols(X, j, np.flatnonzero(graph[:, j])).bic for j in range(6)]
        differences.append(sum(peers) - ours)
    own = 6 * (n * np.log(2 * np.pi) + n + np.log(n)) + n * np.log(X.var(axis=0)).sum()
    close(differences, own)


def test_z_of_new_subjects_is_the_prediction_error_of_each_region(network_data):
    X, _ = network_data
    new = X[:20] + 0.5 * X.std(axis=0) * np.random.default_rng(0).standard_normal((20, 8))
    found = NormativeDeviation(random_state=0).fit(X)
    z = found.transform(new) * found.inflation_
    for j in range(8):
        parents = np.flatnonzero(found.network_.coef[:, j])
        peer = ols(X, j, parents)
        design = sm.add_constant(new[:, parents], has_constant="add")
        predicted = peer.get_prediction(design)
        t = (new[:, j] - predicted.predicted_mean) / predicted.se_obs
        close(z[:, j], stats.norm.isf(stats.t.sf(np.abs(t), peer.df_resid)) * np.sign(t), 1e-8)


def group_rows(network_data, n_groups):
    X, graph = network_data
    codes = np.arange(len(X)) % n_groups
    rows = Design(len(X), group=codes).nuisance().residuals(X)
    return rows, codes, graph


@pytest.mark.parametrize("n_groups", [2, 3])
def test_statistics_of_a_difference_of_weights(network_data, n_groups):
    """T is of two regressions; of more groups, its square is Cochran's Q of a meta-analysis."""
    from statsmodels.stats.meta_analysis import combine_effects

    rows, codes, graph = group_rows(network_data, n_groups)
    targets, sources = np.nonzero(graph.T)
    edges = np.column_stack([sources, targets])
    units = UnitSums.of(codes, None, 0)
    found = one_way(group_columns(rows, units), edges, units).statistic(range(n_groups))
    for (i, j), statistic in zip(edges.tolist(), found, strict=True):
        parents = np.flatnonzero(graph[:, j])
        peers = [
            sm.OLS(own[:, j], own[:, parents]).fit(cov_type="HC3")
            for own in (rows[codes == c] for c in range(n_groups))
        ]
        k = parents.tolist().index(i)
        effects = np.array([peer.params[k] for peer in peers])
        variances = np.array([peer.bse[k] ** 2 for peer in peers])
        close(statistic**2, combine_effects(effects, variances).q, 1e-10)
        if n_groups == 2:
            close(statistic, np.diff(effects)[0] / np.sqrt(variances.sum()), 1e-10)


def test_nuisance_effects_taken_out_are_residuals_of_a_regression(network_data):
    X, _ = network_data
    rng = np.random.default_rng(0)
    codes, age, site = rng.integers(0, 2, 90), rng.normal(60, 8, 90), rng.integers(0, 3, 90)
    nuisance = Design(90, group=codes, site=site, covariates={"age": age}).nuisance()
    design = np.column_stack([np.ones(90), codes, age, site == 1, site == 2]).astype(float)
    assert nuisance.rank == np.linalg.matrix_rank(design)
    left = nuisance.residuals(X)
    for j in range(8):
        close(left[:, j], sm.OLS(X[:, j], design).fit().resid, 1e-9 * X[:, j].std())


def test_slopes_of_covariates(network_data):
    X, _ = network_data
    rng = np.random.default_rng(1)
    table = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    table["age"], table["sex"] = rng.normal(60, 8, 90), rng.choice(["F", "M"], 90)
    found = CovariateRegressor(["age", "sex"]).fit(table)
    design = sm.add_constant(np.column_stack([table["age"], table["sex"] == "M"]).astype(float))
    for k, region in enumerate("abc"):
        close(found.coef_[:, k], sm.OLS(table[region], design).fit().params.to_numpy()[1:])


def test_weights_of_a_resample_are_those_of_rows_weighted_by_their_counts(network_data):
    X, graph = network_data
    counts = resamples(residual_rows(X), 5, [0])
    drawn = resampled_weights(X, graph, counts)
    for place, (i, j) in enumerate(np.argwhere(graph)):
        parents = np.flatnonzero(graph[:, j])
        design = sm.add_constant(X[:, parents])
        for b in range(5):
            peer = sm.WLS(X[:, j], design, weights=counts[b]).fit()
            close(drawn[b, place], peer.params[1 + list(parents).index(i)])


def test_intervals_of_means_and_of_shares():
    from statsmodels.stats.proportion import proportion_confint
    from statsmodels.stats.weightstats import DescrStatsW

    values = np.random.default_rng(0).normal(0.7, 0.1, 12)
    close(estimate(values, 0.0).interval(0.95), DescrStatsW(values).tconfint_mean(0.05))
    for count, n in [(0, 20), (3, 20), (57, 400), (20, 20)]:
        close(wilson(count / n, n), proportion_confint(count, n, method="wilson"), 1e-12)
