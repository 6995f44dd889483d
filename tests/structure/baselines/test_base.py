import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from sgbn import paper
from sgbn.cli.options import LEARNERS
from sgbn.cohort.simulate import simulate_sem
from sgbn.core.equivalence import cpdag, shd, skeleton
from sgbn.core.exceptions import InputError
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.graph import certifies_dag, is_dag, random_dag
from sgbn.learn.base import fit_weights
from sgbn.paper import BASELINES, markov
from sgbn.paper.markov import GS, ConstraintEstimator, GraphEstimator
from sgbn.paper.tc import TC
from sgbn.write.model_files import load, save

ALL = [getattr(paper, name) for name in BASELINES]  # a new one is tested at once
BY_TESTS = [learner for learner in ALL if issubclass(learner, ConstraintEstimator)]
ANY_SIZE = [learner for learner in ALL if not issubclass(learner, TC)]  # also of few samples
# Variants of another baseline have all of scikit-learn's contract from it.
NEW = [learner for learner in ALL if learner.__base__ in (ConstraintEstimator, GraphEstimator)]
VARIANTS = [learner for learner in ALL if learner not in NEW]


@parametrize_with_checks([learner() for learner in NEW])
def test_scikit_learns_contract(estimator, check):
    check(estimator)


@pytest.mark.long
@parametrize_with_checks([learner() for learner in VARIANTS])
def test_scikit_learns_contract_of_variants(estimator, check):
    check(estimator)


@pytest.mark.parametrize("learner", ALL)
def test_it_comes_back_from_a_file(learner, simulate, tmp_path):
    X, _ = simulate(5, 60, 50)
    fitted = learner().fit(X)
    again = load(save(fitted, tmp_path / "model.sgbn"))
    assert type(again) is learner
    assert np.array_equal(again.coef_, fitted.coef_)
    assert np.array_equal(again.pdag_, fitted.pdag_)


@pytest.mark.parametrize("learner", ALL)
def test_a_collider_has_its_direction(learner):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 3))
    X[:, 2] += X[:, 0] + X[:, 1]  # 0 -> 2 <- 1: the one collider, which data decide
    expected = np.zeros((3, 3), bool)
    expected[:2, 2] = True
    fitted = learner().fit(X)
    assert np.array_equal(fitted.coef_ != 0, expected)
    assert np.array_equal(fitted.pdag_ != 0, expected)


def test_the_command_knows_all_baselines():
    assert set(BASELINES) < set(LEARNERS)


@pytest.mark.parametrize("learner", ALL)
def test_fitted_attributes_fit_together(learner, simulate):
    X, _ = simulate(10, 120, 0)
    X = 5 + X * np.linspace(0.1, 100, 10)
    fitted = learner().fit(pd.DataFrame(X, columns=list("abcdefghij")))
    A = fitted.coef_ != 0
    assert A.any()
    assert is_dag(A)
    assert certifies_dag(A, fitted.order_)
    assert np.array_equal(skeleton(A), skeleton(fitted.pdag_))
    assert fitted.network_.names == tuple("abcdefghij")
    expected = fit_weights(X, A)
    np.testing.assert_allclose(fitted.coef_, expected.coef, rtol=1e-9)
    np.testing.assert_allclose(fitted.intercept_, expected.intercept, rtol=1e-9)
    np.testing.assert_allclose(fitted.noise_variance_, expected.noise_variance, rtol=1e-9)
    assert not fitted.blankets_.diagonal().any()
    assert fitted.pdag_.dtype == fitted.blankets_.dtype == bool


@pytest.mark.parametrize("learner", [learner for learner in ALL if learner is not GS])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_permuting_the_columns_permutes_the_answer(learner, seed, simulate):
    X, _ = simulate(15, 90, [40, seed])
    order = np.random.default_rng(seed).permutation(15)
    first, second = learner().fit(X), learner().fit(X[:, order])
    for attribute in ("coef_", "pdag_", "blankets_"):
        permuted = getattr(first, attribute)[np.ix_(order, order)]
        assert np.array_equal(permuted, getattr(second, attribute)), attribute


@pytest.mark.parametrize("learner", ALL)
def test_units_do_not_matter(learner, simulate):
    X, _ = simulate(12, 90, 41)
    first, second = learner().fit(X), learner().fit(3 + X * np.logspace(-2, 2, 12))
    assert np.array_equal(first.pdag_, second.pdag_)
    np.testing.assert_allclose(first.coef_std_, second.coef_std_, atol=1e-8)


@pytest.mark.parametrize("learner", ALL)
@pytest.mark.parametrize("n", [16, 60])
def test_always_a_dag_with_every_edge_of_the_graph(learner, n, simulate):
    for seed in range(2):
        X, _ = simulate(14, n, [42, seed])
        fitted = learner().fit(X)
        assert is_dag(fitted.coef_)
        assert np.array_equal(skeleton(fitted.coef_), skeleton(fitted.pdag_))
        # a search over DAGs cannot contradict itself, as tests can
        assert fitted.consistent_ or learner in BY_TESTS


@pytest.mark.parametrize("learner", ANY_SIZE)
@pytest.mark.filterwarnings("ignore:only 6 samples")
def test_fewer_samples_than_variables(learner):
    X = np.random.default_rng(43).standard_normal((6, 20))
    fitted = learner().fit(X)
    assert is_dag(fitted.coef_)
    assert np.isfinite(fitted.coef_).all()
    assert fitted.blankets_.sum(axis=1).max() <= 3


@pytest.mark.parametrize("learner", BY_TESTS)
@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(k, marks=pytest.mark.long) for k in range(2, 8))]
)
def test_where_tests_do_not_err_blankets_and_class_are_found(
    learner, seed, population, true_blankets
):
    rng = np.random.default_rng([44, seed])
    A = random_dag(12, 3, rng)
    _, network = simulate_sem(A, 2, random_state=rng)
    learned = learner().learn_graph(population(network))
    assert np.array_equal(learned.blankets, true_blankets(A))
    assert np.array_equal(learned.pdag, cpdag(A))
    assert np.array_equal(cpdag(learned.dag), cpdag(A))


@pytest.fixture(scope="module")
def two_colliders():
    coef = np.zeros((6, 6))
    coef[[0, 1, 2, 3, 5], [2, 2, 3, 4, 4]] = 0.8
    return GaussianNetwork(coef)


@pytest.mark.parametrize("n_samples", [4, pytest.param(20, marks=pytest.mark.long)])
@pytest.mark.parametrize("learner", BY_TESTS)
def test_a_small_network_is_recovered_from_many_samples(learner, n_samples, two_colliders):
    """A test at 5 % errs now and then: several samples are judged together."""
    truth = cpdag(two_colliders.coef)
    samples = [two_colliders.sample(5000, seed) for seed in range(n_samples)]
    errors = [shd(learner().fit(X).pdag_, truth) for X in samples]
    assert np.count_nonzero(errors) <= n_samples / 4
    assert np.mean(errors) < 1


@pytest.mark.parametrize("learner", ALL)
def test_independent_columns_are_seldom_joined(learner):
    X = np.random.default_rng(45).standard_normal((2000, 12))
    assert np.count_nonzero(learner().fit(X).coef_) <= 6


@pytest.mark.parametrize("learner", ALL)
def test_the_callers_table_is_not_changed(learner, simulate):
    X, _ = simulate(6, 60, 46)
    X.setflags(write=False)
    copy = X.copy()
    learner().fit(X)
    assert np.array_equal(X, copy)


@pytest.mark.parametrize("learner", BY_TESTS)
def test_levels_that_mean_nothing_are_refused(learner, simulate):
    X, _ = simulate(4, 40, 47)
    for significance in (0, 1, -0.1, "0.05", True, np.nan):
        with pytest.raises(InputError, match="significance is"):
            learner(significance=significance).fit(X)
    assert clone(learner(significance=0.01)).get_params()["significance"] == 0.01


def test_large_blankets_are_warned_of(simulate, monkeypatch):
    monkeypatch.setattr(markov, "MAX_QUICK_BLANKET", 1)
    X, _ = simulate(6, 200, 51)
    with pytest.warns(UserWarning, match=r"a Markov blanket has \d+ variables.*Lower"):
        TC().fit(X)


@pytest.mark.parametrize("learner", BY_TESTS)
def test_a_stricter_level_leaves_fewer_edges(learner, simulate):
    X, _ = simulate(20, 150, 48)
    n_edges = [np.count_nonzero(learner(level).fit(X).coef_) for level in (1e-12, 1e-4, 0.2)]
    assert n_edges[0] < n_edges[1] < n_edges[2]


@pytest.mark.parametrize("learner", ANY_SIZE)
@pytest.mark.filterwarnings("ignore:columns .* are copies", "ignore:.*exact linear function")
@pytest.mark.filterwarnings("ignore:collinear columns")
def test_copies_and_totals_do_no_harm(learner, simulate):
    X, _ = simulate(8, 100, 49)
    for extra in (2 * X[:, 0], X[:, 0] + X[:, 1] + X[:, 2]):
        fitted = learner().fit(np.column_stack([X, extra]))
        assert is_dag(fitted.coef_)
        assert np.isfinite(fitted.coef_).all()
        assert fitted.pdag_[8].any() or fitted.pdag_[:, 8].any()
