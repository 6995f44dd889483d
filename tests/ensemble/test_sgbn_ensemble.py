import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from sgbn import DataWarning, InputError, SGBNEnsemble, load, save
from sgbn.graph.acyclicity import is_dag

FEW = {"n_chains": 10, "n_pairs": 5}


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 6))
    X[:, 2] += X[:, 0] + X[:, 1]
    X[:, 3] += X[:, 2]
    X[:, 5] += 0.8 * X[:, 4]
    return pd.DataFrame(X, columns=list("abcdef"))


@pytest.fixture(scope="module")
def fitted(X):
    return SGBNEnsemble(**FEW).fit(X)


@pytest.mark.filterwarnings("ignore")
def test_it_is_a_scikit_learn_estimator():
    check_estimator(SGBNEnsemble(n_chains=1, n_pairs=1))


def test_the_network_has_the_true_pairs(fitted):
    joined = {frozenset(pair) for pair in np.argwhere(fitted.coef_).tolist()}
    assert joined == {frozenset(pair) for pair in ((0, 2), (1, 2), (2, 3), (4, 5))}
    assert is_dag(fitted.coef_)
    assert list(fitted.feature_names_in_) == list("abcdef")


def test_only_directions_that_come_back_are_arrows(fitted):
    assert fitted.supported_[0, 2]
    assert fitted.supported_[1, 2]
    assert not fitted.supported_[4, 5]  # nothing tells 4 -> 5 from 5 -> 4
    assert not fitted.supported_[5, 4]
    drawn = fitted.drawn_graph_
    assert drawn[0, 2]
    assert not drawn[2, 0]
    assert drawn[4, 5]
    assert drawn[5, 4]


def test_shares_add_up_and_support_follows_from_them(fitted):
    assert np.array_equal(fitted.arrow_ + fitted.arrow_.T, fitted.adjacency_)
    assert fitted.adjacency_.max() <= 1 + 1e-12
    share = fitted.arrow_ / np.where(fitted.adjacency_ > 0, fitted.adjacency_, 1)
    expected = (fitted.coef_ != 0) & (fitted.adjacency_ >= 0.8) & (share >= 0.8)
    assert np.array_equal(fitted.supported_, expected)
    assert fitted.confidence_.n_halves == 10


def test_weights_have_intervals(fitted):
    edges = fitted.coef_ != 0
    assert (fitted.coef_low_ < fitted.coef_)[edges].all()
    assert (fitted.coef_ < fitted.coef_high_)[edges].all()
    assert fitted.coef_low_[0, 2] < 1 < fitted.coef_high_[0, 2]


def test_columns_units_and_processes_change_nothing(X, fitted):
    order = np.array([3, 0, 5, 4, 1, 2])
    other = SGBNEnsemble(**FEW, n_jobs=2).fit(X.iloc[:, order] * 2.0)
    here = np.ix_(order, order)
    assert np.array_equal(other.arrow_, fitted.arrow_[here])
    assert np.array_equal(other.posterior_, fitted.posterior_[here])
    assert np.array_equal(other.coef_ != 0, (fitted.coef_ != 0)[here])


def test_prior_knowledge_is_kept(X):
    learner = SGBNEnsemble(**FEW, forbidden=[("a", "c")], required=[("f", "e")]).fit(X)
    assert learner.arrow_[0, 2] == 0
    assert learner.posterior_[5, 4] == 1
    assert learner.supported_[5, 4]


def test_nuisance_effects_make_no_edges(X):
    rng = np.random.default_rng(1)
    site = rng.integers(2, size=len(X))
    shifted = X + 3.0 * site[:, None]
    with_site = SGBNEnsemble(**FEW).fit(shifted, nuisance=site[:, None], strata=site)
    assert (with_site.adjacency_[4, :4] < 0.5).all()
    assert (SGBNEnsemble(**FEW).fit(shifted).adjacency_[4, :4] > 0.5).any()


def test_few_rows_have_no_confidence(X):
    with pytest.warns(DataWarning, match="confidence_ is None"):
        learner = SGBNEnsemble(**FEW).fit(X[:15])
    assert learner.confidence_ is None
    assert not learner.supported_.any()
    assert np.isnan(learner.coef_low_[learner.coef_ != 0]).all()


def test_far_rows_are_left_out_by_name(X):
    bad = X.copy()
    bad.iloc[[3, 8]] += 30.0
    with pytest.warns(DataWarning, match="3, 8"):
        learner = SGBNEnsemble(**FEW).fit(bad)
    assert np.flatnonzero(learner.outliers_).tolist() == [3, 8]


def test_constant_and_copied_columns_are_named(X):
    with pytest.raises(InputError, match="'g'"):
        SGBNEnsemble(**FEW).fit(X.assign(g=1.0))
    with pytest.warns(DataWarning, match="copies"):
        learner = SGBNEnsemble(**FEW).fit(X.assign(g=X["a"] * 2))
    assert is_dag(learner.coef_)


def test_fewer_rows_than_columns():
    X = np.random.default_rng(0).standard_normal((24, 40))
    learner = SGBNEnsemble(n_chains=2, n_pairs=2).fit(X)
    assert is_dag(learner.coef_)
    assert not learner.supported_.any()


def test_a_model_file_keeps_it(fitted, tmp_path):
    path = tmp_path / "ensemble.sgbn"
    save(fitted, path)
    again = load(path)
    assert np.array_equal(again.supported_, fitted.supported_)
    assert again.confidence_.agreement == fitted.confidence_.agreement


@pytest.mark.parametrize(
    "settings", [{"n_pairs": -1}, {"n_chains": 0}, {"min_direction": 1.5}, {"outliers": "drop"}]
)
def test_settings_that_mean_nothing_are_refused(X, settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        SGBNEnsemble(**settings).fit(X)


def test_clone_keeps_the_settings(fitted):
    assert clone(fitted).get_params() == fitted.get_params()
