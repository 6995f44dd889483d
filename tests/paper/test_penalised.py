import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, LeaveOneOut
from tests.codes import refused, warned

from sgbn.core.graph import is_dag
from sgbn.core.moments import moments_of
from sgbn.learn.base import fit_weights
from sgbn.learn.lasso import alpha_grid, alpha_max, lasso_gram, penalty_units
from sgbn.learn.sgbn import SGBN
from sgbn.paper.h_sgbn import HSGBN
from sgbn.paper.or_sgbn import ORSGBN
from sgbn.paper.penalised import ABOVE_BOUND, initial_weights, penalty_path, strongest_penalty

LEARNERS = [ORSGBN, HSGBN]


@pytest.mark.parametrize("learner", LEARNERS)
def test_refit_keeps_the_edges_and_fits_better(learner, simulate):
    X, _ = simulate(10, 100, 2)
    lasso, refitted = learner(0.15).fit(X), learner(0.15, refit=True).fit(X)
    assert np.array_equal(lasso.coef_ != 0, refitted.coef_ != 0)
    assert refitted.score(X) > lasso.score(X)


def test_stopping_early_warns_and_is_still_a_dag(simulate):
    X, _ = simulate(40, 200, 5)
    with warned("order.not-fixed", kind=ConvergenceWarning):
        fitted = HSGBN(0.05, max_iter=1).fit(X)
    assert is_dag(fitted.coef_)


def test_a_lasso_that_did_not_converge_warns_with_its_violation(simulate, monkeypatch):
    X, _ = simulate(6, 50, 7)
    learn = ORSGBN.learn_weights
    monkeypatch.setattr(ORSGBN, "learn_weights", lambda *a: learn(*a)._replace(violation=1e-3))
    with warned("lasso.not-optimal", kind=ConvergenceWarning):
        ORSGBN().fit(X)


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_objective_path_has_a_step_an_iteration(learner, simulate):
    X, _ = simulate(8, 60, 8)
    fitted = learner("bic").fit(X)
    assert fitted.n_iter_ == len(fitted.objective_path_)


def moments(X, bias=False):
    return moments_of(X, [f"x{k}" for k in range(X.shape[1])], bias)


def test_the_bound_is_enough_for_any_order_in_whole_numbers(simulate):
    """Theta solved for an arbitrary integral order has no weight that breaks it."""
    rng = np.random.default_rng(0)
    for seed in range(30):
        X, _ = simulate(8, 40, [30, seed])
        R = moments(X).R
        alpha = rng.uniform(0.01, 0.3)
        mu = strongest_penalty(np.ones(8), alpha)
        o = rng.integers(0, 5, 8)
        shortfall = np.maximum(0, 1 - (o[:, None] - o[None, :]))  # [j, k]: of k -> j
        B = lasso_gram(R, alpha + mu * shortfall).x
        assert not np.any(B[shortfall > 0])
        assert is_dag(B)


def test_the_bound_is_tight():
    """Just below it, a nearly perfect correlation still pays for an edge that breaks the order."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 2))
    X[:, 1] = X[:, 0] + 1e-4 * X[:, 1]
    R = moments(X).R
    mu = strongest_penalty(np.ones(2), 0.1) / ABOVE_BOUND
    assert not np.any(lasso_gram(R, np.full((2, 2), 0.1 + ABOVE_BOUND * mu)).x)
    assert np.any(lasso_gram(R, np.full((2, 2), 0.1 + 0.999 * mu)).x)


def test_in_raw_units_the_two_largest_scales_count():
    units = 1 / np.array([1.0, 4.0, 10.0, 2.0])
    assert strongest_penalty(units, 0.5) == pytest.approx(ABOVE_BOUND * (40.0 - 0.5))
    assert strongest_penalty(units, 1000.0) > 0


def test_units(simulate):
    X, _ = simulate(4, 30, 31)
    X = X * [1, 2, 3, 4]
    assert penalty_units(moments(X), True).tolist() == [1.0] * 4
    m = moments(X)
    np.testing.assert_allclose(penalty_units(m, False), 1 / X.std(axis=0)[m.columns])
    assert penalty_units(moments(X, bias=True), False)[-1] == 1.0


def test_penalties_rise_to_the_strongest():
    path = penalty_path(3.0)
    assert np.all(np.diff(path) > 0)
    assert path[-1] == pytest.approx(3.0)


def test_least_squares_start_is_the_regression_on_all_others(simulate):
    X, _ = simulate(6, 50, 32)
    m = moments(X)
    B = initial_weights("ols", m, np.ones(6), 0.1).x
    Z = ((X - m.mean) / m.scale)[:, m.columns]
    for j in range(6):
        others = np.delete(np.arange(6), j)
        expected = np.linalg.lstsq(Z[:, others], Z[:, j], rcond=None)[0]
        np.testing.assert_allclose(B[j, others], expected, atol=1e-10)
    assert np.all(np.diag(B) == 0)


def test_least_squares_start_fits_perfectly_where_there_are_more_columns_than_rows(simulate):
    X, _ = simulate(12, 8, 33)
    m = moments(X)
    B = initial_weights("ols", m, np.ones(12), 0.1).x
    Z = ((X - m.mean) / m.scale)[:, m.columns]
    assert ((Z - Z @ B.T) ** 2).mean(axis=0).max() < 1e-4


CRITERIA = ["bic", "ebic", "cv_error", "cv_likelihood"]


@pytest.mark.parametrize("learner", [ORSGBN, HSGBN])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_criterion_chooses_the_best_of_its_grid(learner, criterion, simulate):
    X, _ = simulate(6, 80, 0)
    fitted = learner(criterion).fit(X)
    assert fitted.alpha_ == fitted.alphas_[np.argmin(fitted.criterion_path_)]
    assert fitted.alphas_[0] == pytest.approx(alpha_max(X))
    assert len(fitted.criterion_path_) == len(fitted.alphas_) == 20
    assert fitted.alphas_[-1] <= fitted.alpha_ < fitted.alphas_[0]
    again = learner(fitted.alpha_).fit(X)
    assert np.array_equal(again.coef_, fitted.coef_)


def test_the_choice_does_not_depend_on_the_number_of_processes(simulate):
    X, _ = simulate(8, 60, 1)
    first, second = (ORSGBN("cv_error", n_jobs=n_jobs).fit(X) for n_jobs in (1, 2))
    assert np.array_equal(first.criterion_path_, second.criterion_path_)
    assert np.array_equal(first.coef_, second.coef_)


def test_bic_is_that_of_the_refitted_network(simulate):
    X, _ = simulate(7, 90, 2)
    fitted = ORSGBN("bic", alphas=[0.2]).fit(X)
    network = fit_weights(X, fitted.coef_)
    n = len(X)
    rss = (network.residuals(X) ** 2).sum(axis=0)
    share = rss / (n * X.var(axis=0))
    expected = n * np.log(share).sum() + np.log(n) * network.n_edges
    assert fitted.criterion_path_[0] == pytest.approx(expected, rel=1e-8)
    extended = ORSGBN("ebic", alphas=[0.2]).fit(X).criterion_path_[0]
    assert extended == pytest.approx(expected + np.log(7) * network.n_edges, rel=1e-8)


def test_cross_validated_criteria_are_those_of_the_held_out_rows(simulate):
    X, _ = simulate(6, 50, 3)
    splitter = KFold(4)
    chosen = ORSGBN("cv_likelihood", alphas=[0.15], cv=splitter).fit(X)
    scores = [ORSGBN(0.15).fit(X[train]).score(X[test]) for train, test in splitter.split(X)]
    assert chosen.criterion_path_[0] == pytest.approx(-np.mean(scores))
    chosen = ORSGBN("cv_error", alphas=[0.15], cv=splitter).fit(X)
    errors = []
    for train, test in splitter.split(X):
        residuals = ORSGBN(0.15).fit(X[train]).network_.residuals(X[test])
        errors.append((residuals**2 / X.var(axis=0)).sum(axis=1).mean())
    assert chosen.criterion_path_[0] == pytest.approx(np.mean(errors))


def test_leave_one_out_error_of_the_refitted_network_as_in_huang_et_al(simulate):
    X, _ = simulate(5, 30, 4)
    fitted = HSGBN("cv_error", refit=True, cv=LeaveOneOut(), alphas=[0.05, 0.3, 0.9]).fit(X)
    assert fitted.alpha_ in (0.05, 0.3)


@pytest.mark.parametrize(("n", "m"), [(200, 8), (24, 40)])
def test_noise_gets_few_edges_even_with_fewer_rows_than_columns(n, m):
    X = np.random.default_rng(5).standard_normal((n, m))
    assert ORSGBN("ebic").fit(X).network_.n_edges <= 0.7 * m
    if n < m:
        assert ORSGBN("cv_error").fit(X).network_.n_edges <= 0.2 * m


def test_a_column_that_is_constant_in_a_fold_is_named_with_the_remedy(simulate):
    X, _ = simulate(4, 30, 9)
    table = pd.DataFrame(X, columns=["a", "b", "c", "rare"])
    table["rare"] = 0.0
    table.loc[7, "rare"] = 1.0
    with refused("alpha.fold"):
        ORSGBN("cv_error").fit(table)


def test_a_number_after_a_criterion_leaves_no_stale_path(simulate):
    X, _ = simulate(5, 40, 10)
    learner = ORSGBN("bic").fit(X)
    learner.set_params(alpha=0.1).fit(X)
    assert not hasattr(learner, "alphas_")
    assert not hasattr(learner, "criterion_path_")


@pytest.mark.parametrize("function", [alpha_max, alpha_grid])
@pytest.mark.parametrize(
    ("table", "code"),
    [([[1.0, np.nan], [2.0, 3.0]], "cells.gaps"), (np.arange(5.0), "table.shape")],
)
def test_helpers_check_their_table(function, table, code):
    with refused(code):
        function(table)


def test_alpha_max_is_the_largest_correlation_or_covariance(simulate):
    X, _ = simulate(6, 40, 6)
    X = X * [1, 2, 3, 1, 2, 3]
    off = ~np.eye(6, dtype=bool)
    assert alpha_max(X) == pytest.approx(np.abs(np.corrcoef(X.T)[off]).max())
    covariance = np.cov(X.T, bias=True)
    assert alpha_max(X, standardize=False) == pytest.approx(np.abs(covariance[off]).max())


@pytest.mark.parametrize(("n", "share"), [(50, 0.5 / np.sqrt(50)), (4000, 0.01)])
def test_the_grid_falls_geometrically_to_where_noise_begins(n, share, simulate):
    X, _ = simulate(6, n, 8)
    grid = alpha_grid(X, 7)
    assert grid[0] == pytest.approx(alpha_max(X))
    assert grid[-1] == pytest.approx(share * grid[0])
    np.testing.assert_allclose(grid[1:] / grid[:-1], grid[1] / grid[0])
    np.testing.assert_allclose(ORSGBN("bic").fit(X).alphas_, alpha_grid(X))


def test_more_folds_than_rows_are_cut_down():
    X = np.random.default_rng(7).standard_normal((4, 3))
    with warned("rows.few-for-columns"):
        ORSGBN("cv_error", cv=5).fit(X)


def test_columns_without_any_correlation_have_a_grid_and_no_edge():
    X = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]] * 5)
    assert (alpha_grid(X) > 0).all()
    assert not ORSGBN("bic").fit(X).coef_.any()
    assert not SGBN(weights="lasso").fit(X).coef_.any()
