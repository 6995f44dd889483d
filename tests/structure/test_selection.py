import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold, LeaveOneOut

from sgbn.core.exceptions import InputError
from sgbn.learn.base import fit_weights
from sgbn.learn.lasso import alpha_grid, alpha_max
from sgbn.learn.sgbn import SGBN
from sgbn.paper.h_sgbn import HSGBN
from sgbn.paper.or_sgbn import ORSGBN

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
    with pytest.raises(InputError, match=r"one fold: constant column: 'rare'.*more folds"):
        ORSGBN("cv_error").fit(table)


def test_a_number_after_a_criterion_leaves_no_stale_path(simulate):
    X, _ = simulate(5, 40, 10)
    learner = ORSGBN("bic").fit(X)
    learner.set_params(alpha=0.1).fit(X)
    assert not hasattr(learner, "alphas_")
    assert not hasattr(learner, "criterion_path_")


@pytest.mark.parametrize("function", [alpha_max, alpha_grid])
def test_helpers_refuse_what_they_cannot_use_by_name(function, simulate):
    X, _ = simulate(3, 30, 11)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    with pytest.raises(InputError, match="NaN: column 'b', row 2"):
        function(table.assign(b=table["b"].where(table.index != 2)))
    with pytest.raises(InputError, match="constant column: 'c'"):
        function(table.assign(c=1.0))
    with pytest.raises(InputError, match="at least two rows and two columns"):
        function(X[:, 0])
    with pytest.raises(InputError, match=r"column 1, row 0 .* holds 'n/a'"):
        function([[1.0, "n/a"], [2.0, 3.0]])


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
    with pytest.warns(UserWarning, match="only 4 samples"):
        ORSGBN("cv_error", cv=5).fit(X)


def test_columns_without_any_correlation_have_a_grid_and_no_edge():
    X = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]] * 5)
    assert (alpha_grid(X) > 0).all()
    assert not ORSGBN("bic").fit(X).coef_.any()
    assert not SGBN(weights="lasso").fit(X).coef_.any()
