import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator
from tests.codes import warned

from sgbn.core.graph import is_dag
from sgbn.core.moments import moments_of
from sgbn.inference.effects import total_effects
from sgbn.learn.knowledge import read_knowledge
from sgbn.learn.posterior import (
    ChainPlan,
    NetworkPosterior,
    arrow_prices,
    largest_difference,
    sample_networks,
    split_r_hat,
)
from sgbn.learn.sgbn import SGBN
from sgbn.write.model_files import load, save


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5))
    X[:, 2] += X[:, 0] + X[:, 1]
    X[:, 3] += X[:, 2]
    return X


@pytest.fixture(scope="module")
def fitted(X):
    return NetworkPosterior(n_networks=300).fit(X)


@pytest.mark.filterwarnings("ignore")
def test_it_is_a_scikit_learn_estimator():
    check_estimator(NetworkPosterior(n_candidates=3, n_chains=2, n_networks=4))


def test_strong_arrows_are_likely_and_absent_ones_are_not(fitted):
    probability = fitted.arrow_probability_
    assert probability[[0, 1, 2], [2, 2, 3]].min() > 0.9
    assert fitted.adjacency_probability_[4].max() < 0.5
    assert fitted.r_hat_ < 1.1


def test_networks_drawn_are_dags_with_these_shares(fitted):
    graphs = fitted.graphs()
    assert all(is_dag(graph) for graph in graphs[::100])
    assert np.allclose(graphs.mean(axis=0), fitted.arrow_probability_)
    assert fitted.graphs(7).shape == (7, 5, 5)


def test_effects_and_interventions_are_averages_over_networks(fitted, X):
    effects = fitted.total_effects(n=100)
    assert np.abs(effects.mean - total_effects(fitted)).max() < 0.15
    assert (effects.low <= effects.high).all()
    assert effects.low[0, 2] < 1 < effects.high[0, 2]
    set_to = fitted.do({"x0": 2.0}, n=100)
    assert set_to.mean[0] == pytest.approx(2.0)
    assert set_to.low[3] < 2 + X[:, 3].mean() < set_to.high[3] + 0.2


def test_means_are_as_uncertain_as_they_are(fitted, X):
    at_mean = fitted.do({"x0": X[:, 0].mean()}, n=400)
    width = at_mean.high[1] - at_mean.low[1]  # x1 has no parent
    assert width == pytest.approx(2 * 1.96 * X[:, 1].std() / np.sqrt(len(X)), rel=0.2)


def test_columns_in_another_order_give_the_same_probabilities_and_draws(X, fitted):
    order = np.array([3, 0, 4, 1, 2])
    permuted = np.ix_(order, order)
    other = clone(fitted).fit(X[:, order])
    assert np.array_equal(other.arrow_probability_, fitted.arrow_probability_[permuted])
    effects, expected = (learner.total_effects(n=20).mean for learner in (other, fitted))
    np.testing.assert_allclose(effects, expected[permuted], atol=1e-9)


def test_rows_far_out_are_left_out_by_name_or_kept(X):
    far = X.copy()
    far[7] += 40 * np.array([1, -1, 1, -1, 1])
    with warned("outliers.trimmed"):
        found = NetworkPosterior(n_networks=50).fit(far)
    assert np.flatnonzero(found.outliers_).tolist() == [7]
    assert not NetworkPosterior(n_networks=50, outliers="keep").fit(far).outliers_.any()


def test_prior_knowledge_is_kept(X):
    learner = NetworkPosterior(n_networks=50, forbidden=[(0, 2)], required=[(4, 3)]).fit(X)
    assert learner.arrow_probability_[0, 2] == 0
    assert learner.arrow_probability_[4, 3] == 1


def test_chains_that_do_not_agree_are_warned_of():
    X = np.random.default_rng(0).standard_normal((40, 30))
    X[:, 1:] += X[:, :-1]
    with warned("chains.apart", kind=ConvergenceWarning):
        NetworkPosterior(n_chains=2, n_networks=10, thin=0.1).fit(X)


def test_a_model_file_keeps_it(fitted, tmp_path):
    path = tmp_path / "posterior.sgbn"
    save(fitted, path)
    again = load(path)
    assert np.array_equal(again.arrow_probability_, fitted.arrow_probability_)
    assert np.array_equal(again.graphs(3), fitted.graphs(3))


def test_every_arrow_costs_the_same():
    price = arrow_prices(100, 11, 0.75)
    assert np.allclose(np.diff(price), np.log(100) + 1.5 * np.log(10))


def test_arrows_of_chains_average_to_the_arrows():
    X = np.random.default_rng(0).standard_normal((60, 4))
    X[:, 1] += X[:, 0]
    names = list("abcd")
    knowledge = read_knowledge(None, None, None, names)
    plan = ChainPlan(3, 3, 10, 20, 1.0)
    sampled = sample_networks(moments_of(X, names), knowledge, SGBN(), plan, 0)
    assert sampled.arrows_of_chains.shape == (3, 4, 4)
    assert np.allclose(sampled.arrows, sampled.arrows_of_chains.mean(axis=0))
    counted = np.mean([sampled.graph(c, k) for c in range(3) for k in range(20)], axis=0)
    assert np.allclose(sampled.arrows, counted)


def test_chains_that_agree_have_an_r_hat_near_one():
    traces = np.random.default_rng(0).standard_normal((4, 500))
    assert split_r_hat(traces) == pytest.approx(1.0, abs=0.02)


def test_chains_that_differ_or_drift_have_a_large_one():
    traces = np.random.default_rng(0).standard_normal((2, 500))
    assert split_r_hat(traces + np.array([[0], [5]])) > 2
    assert split_r_hat(traces + np.linspace(0, 20, 500)) > 2


def test_constant_chains():
    assert split_r_hat(np.zeros((2, 10))) == 1.0
    assert split_r_hat(np.array([np.zeros(10), np.ones(10)])) == np.inf


def test_largest_difference():
    arrows = np.zeros((3, 2, 2))
    arrows[:, 0, 1] = (0.1, 0.5, 0.3)
    assert largest_difference(arrows) == pytest.approx(0.4)
