import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sgbn import HSGBN, ORSGBN, InputError, certifies_dag
from sgbn.graph import is_dag

LEARNERS = [ORSGBN, HSGBN]


@parametrize_with_checks([ORSGBN(), ORSGBN(path="literal", init="l1mb"), HSGBN()])
def test_scikit_learns_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("learner", LEARNERS)
def test_fitted_attributes_fit_together(learner, simulate):
    X, _ = simulate(10, 120, 0)
    X = 5 + X * np.linspace(0.1, 100, 10)
    fitted = learner(alpha=0.1).fit(X)
    np.testing.assert_allclose(
        fitted.coef_std_, fitted.coef_ * X.std(axis=0)[:, None] / X.std(axis=0), rtol=1e-10
    )
    residual = X - X @ fitted.coef_ - fitted.intercept_
    np.testing.assert_allclose(residual.mean(axis=0), 0, atol=1e-9 * X.std(axis=0).max())
    k = np.count_nonzero(fitted.coef_, axis=0) + 1
    np.testing.assert_allclose(
        fitted.noise_variance_, (residual**2).sum(axis=0) / (120 - k), rtol=1e-8
    )
    assert is_dag(fitted.coef_)
    assert certifies_dag(fitted.coef_, fitted.order_)
    assert fitted.score(X) == pytest.approx(fitted.network_.log_likelihood(X).mean())
    assert np.array_equal(fitted.sample(3, 1), fitted.network_.sample(3, 1))
    assert fitted.to_networkx().number_of_edges() == fitted.network_.n_edges
    assert fitted.n_iter_ == len(fitted.objective_path_)


@pytest.mark.parametrize("learner", LEARNERS)
def test_names_come_from_the_table(learner, simulate):
    X, _ = simulate(4, 60, 1)
    regions = ["G&S_frontomargin", "lh insula", "x", "Amygdala_R"]
    fitted = learner().fit(pd.DataFrame(X, columns=regions))
    assert fitted.network_.names == tuple(regions)
    assert fitted.feature_names_in_.tolist() == regions
    assert learner().fit(X).network_.names == ("x0", "x1", "x2", "x3")


@pytest.mark.parametrize("learner", LEARNERS)
def test_refit_keeps_the_edges_and_fits_better(learner, simulate):
    X, _ = simulate(10, 100, 2)
    lasso, refitted = learner(0.15).fit(X), learner(0.15, refit=True).fit(X)
    assert np.array_equal(lasso.coef_ != 0, refitted.coef_ != 0)
    assert refitted.score(X) > lasso.score(X)


@pytest.mark.parametrize("learner", LEARNERS)
def test_pipeline_grid_search_and_clone(learner, simulate):
    X, _ = simulate(6, 90, 3)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), learner()),
        {f"{learner.__name__.lower()}__alpha": [0.02, 0.1, 0.8]},
        cv=3,
    ).fit(X)
    assert search.best_params_[f"{learner.__name__.lower()}__alpha"] < 0.8
    assert clone(learner(0.3)).get_params()["alpha"] == 0.3


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0.0}, "alpha is 0.0; it must be a positive number"),
        ({"alpha": -1}, "must be a positive number"),
        ({"alpha": np.nan}, "must be a positive number"),
        ({"alpha": "aic"}, "alpha is 'aic'; give a number or one of"),
        ({"init": "ridge"}, "init is 'ridge'; give 'lasso', 'ols' or 'l1mb'"),
        ({"max_iter": 0}, "max_iter is 0"),
        ({"penalize_intercept": True}, "together with standardize=False"),
        ({"alpha": "bic", "alphas": [-1]}, "alphas must be a list of positive numbers"),
    ],
)
def test_bad_parameters_are_named(learner, parameters, message, simulate):
    X, _ = simulate(4, 40, 4)
    with pytest.raises(InputError, match=message):
        learner(**parameters).fit(X)


def test_stopping_early_warns_and_is_still_a_dag(simulate):
    X, _ = simulate(40, 200, 5)
    with pytest.warns(ConvergenceWarning, match="Increase max_iter"):
        fitted = HSGBN(0.05, max_iter=1).fit(X)
    assert is_dag(fitted.coef_)


def test_a_lasso_that_did_not_converge_warns_with_its_violation(simulate, monkeypatch):
    X, _ = simulate(6, 50, 7)
    learn = ORSGBN._learn
    monkeypatch.setattr(ORSGBN, "_learn", lambda *a: learn(*a)._replace(violation=1e-3))
    with pytest.warns(ConvergenceWarning, match=r"KKT violation of 1\.0e-03"):
        ORSGBN().fit(X)


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_callers_table_is_not_changed(learner, simulate):
    X, _ = simulate(5, 40, 6)
    X.setflags(write=False)
    copy = X.copy()
    learner(alpha="bic").fit(X)
    assert np.array_equal(X, copy)
