import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sgbn.core.exceptions import InputError
from sgbn.core.graph import is_dag
from sgbn.paper.h_sgbn import HSGBN
from sgbn.paper.or_sgbn import ORSGBN

LEARNERS = [ORSGBN, HSGBN]


@pytest.mark.parametrize("learner", LEARNERS)
def test_refit_keeps_the_edges_and_fits_better(learner, simulate):
    X, _ = simulate(10, 100, 2)
    lasso, refitted = learner(0.15).fit(X), learner(0.15, refit=True).fit(X)
    assert np.array_equal(lasso.coef_ != 0, refitted.coef_ != 0)
    assert refitted.score(X) > lasso.score(X)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0.0}, "alpha is 0.0; give .* or a number above 0"),
        ({"alpha": -1}, "alpha is -1; give"),
        ({"alpha": np.nan}, "alpha is nan; give"),
        ({"alpha": "aic"}, "alpha is 'aic'; give 'bic', 'ebic', 'cv_error'"),
        ({"init": "ridge"}, "init is 'ridge'; give 'lasso', 'ols' or 'l1mb'"),
        ({"max_iter": 0}, "max_iter is 0; give a whole number from 1 upwards"),
        ({"max_iter": True}, "max_iter is True"),
        ({"penalize_intercept": True}, "Give standardize=False"),
        (
            {"alpha": "bic", "alphas": [-1]},
            r"alphas is \[-1\]; .* list .* each value is a number above 0",
        ),
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
    learn = ORSGBN.learn_weights
    monkeypatch.setattr(ORSGBN, "learn_weights", lambda *a: learn(*a)._replace(violation=1e-3))
    with pytest.warns(ConvergenceWarning, match=r"KKT violation of 1\.0e-03"):
        ORSGBN().fit(X)


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_objective_path_has_a_step_an_iteration(learner, simulate):
    X, _ = simulate(8, 60, 8)
    fitted = learner("bic").fit(X)
    assert fitted.n_iter_ == len(fitted.objective_path_)
