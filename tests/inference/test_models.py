from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.covariance import graphical_lasso
from sklearn.decomposition import FactorAnalysis
from tests.codes import refused

import sgbn
from sgbn.cohort.cohort import Cohort
from sgbn.cohort.effects import design_of
from sgbn.cohort.rows import Rows, rows_of_group
from sgbn.cohort.simulate import load_network, simulate_sem
from sgbn.inference import models
from sgbn.inference.models import (
    LEAST_OWN,
    MODELS,
    TOL,
    ModelComparison,
    _regressed,
    choose_n_factors,
    compare_models,
    edges_beside_factors,
    factor_analysis,
    log_likelihood,
    most_factors,
    residuals_of_training,
    score_fold,
    standardised,
)
from sgbn.learn.sgbn import SGBN


def hidden(n, m, k=1, seed=0):
    rng = np.random.default_rng(seed)
    loadings = rng.uniform(0.5, 1, (k, m)) * rng.choice([-1, 1], (k, m))
    return rng.standard_normal((n, k)) @ loadings + rng.standard_normal((n, m))


def made(network, factors, lasso=-1.3, independence=-1.42, n_factors=3, wobble=0.001):
    """Comparison with given means, whose folds differ a little."""
    folds = np.array([network, factors, lasso, independence]) + np.zeros((5, 1))
    folds[:, 1:] += wobble * np.array([-2, -1, 0, 1, 2])[:, None]
    return ModelComparison(100, 20, folds, np.full(5, n_factors))


@pytest.mark.parametrize("k", [1, 3])
def test_hidden_factors_without_edges_bring_the_warning(k):
    found = compare_models(hidden(150, 12 + 4 * (k > 1), k), learner=SGBN(n_kicks=0), n_folds=3)
    assert found.edges_may_be_shadows
    assert found.n_factors == k


def test_a_sparse_network_does_not():
    X, _ = simulate_sem(load_network("alarm"), 150, random_state=0)
    found = compare_models(X, learner=SGBN(n_kicks=0), n_folds=3)
    assert found.compare("factor analysis") == -1
    assert found.n_factors > found.leading_factors == 3


def test_leading_factors_are_all_that_predict_better_or_a_few():
    assert made(-1.2, -1.1, n_factors=5).leading_factors == 5
    assert made(-1.1, -1.2, n_factors=5).leading_factors == 2  # of 20 columns
    assert made(-1.1, -1.2, n_factors=1).leading_factors == 1


def test_independent_columns_have_no_network_to_rely_on():
    X = np.random.default_rng(0).standard_normal((60, 6))
    found = compare_models(X, learner=SGBN(n_kicks=0), n_folds=3)
    assert found.edges_may_be_chance


def test_standard_errors_allow_for_training_parts_that_overlap():
    rng = np.random.default_rng(0)
    folds = rng.normal(-1, 0.1, (5, 4))
    table = ModelComparison(50, 4, folds, np.ones(5, int)).table
    gain = folds[:, 1] - folds[:, 0]
    assert table.model.tolist() == list(MODELS)
    assert table.difference[1] == pytest.approx(gain.mean())
    assert table.standard_error[1] == pytest.approx(gain.std(ddof=1) * np.sqrt(1 / 5 + 1 / 4))
    assert table.difference[0] == table.standard_error[0] == 0


@pytest.mark.parametrize(
    ("compared", "shadows", "chance", "words"),
    [
        (made(-1.2, -1.1), True, False, "−1.100 against −1.200 per variable, standard error of"),
        (made(-1.2, -1.1, n_factors=1), True, False, "One hidden factor without any edge predicts"),
        (made(-1.1, -1.2), False, False, "−1.100 against −1.200 per variable, standard error of"),
        (made(-1.1, -1.1004), False, False, "cannot be told apart by how they predict"),
        (made(-1.1, -1.2, -1.0), False, False, "no arrows, predicts them better than the network"),
        (made(-1.5, -1.2), True, True, "Independent variables predict them better"),
        (made(-1.4195, -1.5), False, True, "It is not clear that the network predicts them"),
    ],
)
def test_the_verdict_is_that_of_the_numbers(compared, shadows, chance, words):
    assert (compared.edges_may_be_shadows, compared.edges_may_be_chance) == (shadows, chance)
    assert words in compared.verdict
    unknown = made(-1.1, -1.2, np.nan)  # a lasso that could not be fitted
    assert unknown.compare("graphical lasso") == 0
    assert "lasso" not in unknown.verdict


@pytest.mark.parametrize("with_effects", [False, True])
def test_the_order_of_columns_changes_no_digit_and_units_only_the_last(with_effects):
    X = hidden(60, 30, 2)
    turn = np.random.default_rng(1).permutation(30)
    names = np.array([f"r{k}" for k in range(30)])
    effects = {"site": np.resize(["a", "b", "c"], 60), "covariates": {"age": X[:, 0] ** 2}}

    def rows(columns, units):
        ids = [f"s{k}" for k in range(60)]
        more = effects if with_effects else {}
        return Cohort(X[:, columns] * units, tuple(names[columns]), ids=tuple(ids), **more)

    def results(columns, units=1.0):
        cohort, graph = rows(columns, units), np.zeros((30, 30))
        graph[[3, 1, 2, 7], [1, 2, 7, 9]] = graph[[3, 5, 11], [9, 9, 9]] = 1
        found = compare_models(cohort, learner=SGBN(n_kicks=0), n_folds=3)
        beside = edges_beside_factors(cohort, graph[np.ix_(columns, columns)], 2)
        beside.sort(order=["source", "target"])
        numbers = [beside[column] for column in ("weight_std", "beside_factors", "low", "high")]
        return found.fold_factors, found.log_likelihood, *numbers

    plain, turned = results(np.arange(30)), results(turn)
    for one, other in zip(plain, turned, strict=True):
        np.testing.assert_array_equal(one, other)
    scaled = results(turn, np.resize([1000, 0.01, 1], 30))
    for one, other in zip(plain, scaled, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_known_edges_of_the_learner_may_be_given_by_number():
    by_number, by_name = (
        compare_models(hidden(60, 6), learner=SGBN(n_kicks=0, required=[edge]), n_folds=3)
        for edge in [(0, 4), ("x0", "x4")]
    )
    np.testing.assert_array_equal(by_number.log_likelihood, by_name.log_likelihood)


def test_a_stopped_run_goes_on(tmp_path):
    X, options = hidden(60, 8), {"learner": SGBN(n_kicks=0), "n_folds": 3}
    kept = compare_models(X, folder=tmp_path, **options)
    (tmp_path / "tasks" / "fold002.npz").unlink()
    again = compare_models(X, folder=tmp_path, **options)
    np.testing.assert_array_equal(kept.log_likelihood, again.log_likelihood)
    np.testing.assert_array_equal(X, hidden(60, 8))


def test_a_cohort_is_compared_group_by_group():
    cohort = sgbn.simulate_cohort(60, 0, regions=8, n_sites=2, covariates=["age"])
    group = cohort.groups[0]
    found = compare_models(cohort, group, SGBN(n_kicks=0))
    assert (found.n, found.m) == (cohort.sizes[group], 8)


def test_fewer_rows_than_columns_have_an_answer():
    found = compare_models(hidden(24, 40), learner=SGBN(n_kicks=0))
    assert np.isfinite(found.log_likelihood).all()
    assert found.edges_may_be_shadows


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"cohort": hidden(19, 5)}, "rows.few"),
        ({"cohort": hidden(50, 2)}, "columns.few"),
        ({"cohort": np.column_stack([hidden(50, 4), np.full(50, 3.0)])}, "columns.constant"),
        ({"cohort": hidden(50, 4)[:, [0, 1, 2, 3, 2]]}, "columns.copies"),
        ({"cohort": hidden(50, 4) @ np.column_stack([np.eye(4), np.ones(4)])}, "columns.collinear"),
        ({"n_folds": 1}, "argument"),
        ({"n_folds": 26}, "argument"),
        ({"learner": "SGBN"}, "learner.type"),
        ({"group": "a"}, "group.cohort"),
        ({"cohort": sgbn.simulate_cohort(20, 0, regions=8)}, "group.several"),
    ],
)
def test_what_has_no_answer_is_refused(arguments, code):
    with refused(code):
        compare_models(**{"cohort": hidden(50, 5)} | arguments)
    with refused("argument"):
        made(-1, -1).compare("tree")


@pytest.fixture
def cohort():
    """Regions with strong effects of age and site, in two groups."""
    rng = np.random.default_rng(0)
    n = 90
    age, site = rng.normal(60, 10, n), rng.choice(["a", "b", "c"], n)
    values = rng.standard_normal((n, 6)) + rng.standard_normal((n, 1))
    return Cohort(
        values + 0.3 * age[:, None] + 4.0 * (site == "b")[:, None],
        tuple(f"r{k}" for k in range(6)),
        ids=tuple(f"s{k}" for k in range(n)),
        group=np.repeat(["control", "patient"], [60, 30]),
        site=site,
        covariates={"age": age},
    )


def test_log_likelihood_is_that_of_a_gaussian_per_variable():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 5))
    covariance = np.cov(rng.standard_normal((30, 5)).T)
    expected = multivariate_normal(np.zeros(5), covariance).logpdf(X).mean() / 5
    assert log_likelihood(covariance, X.T @ X / 40) == pytest.approx(expected)


def test_the_rows_of_a_fold_play_no_part_in_training(cohort):
    sample = rows_of_group(cohort, "control")
    train = sample.design.deal(np.random.default_rng(0), 5) != 0
    changed = replace(sample, values=np.where(train[:, None], sample.values, 100.0))
    np.testing.assert_array_equal(standardised(sample, train)[0], standardised(changed, train)[0])


def test_effects_of_sites_and_covariates_do_not_matter(cohort):
    sample = rows_of_group(cohort, "control")
    train = sample.design.deal(np.random.default_rng(0), 5) != 0
    slopes = np.random.default_rng(1).standard_normal((sample.effects.shape[1], 6))
    shifted = replace(sample, values=sample.values + sample.effects @ slopes)
    for one, other in zip(standardised(sample, train), standardised(shifted, train), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-8)
    own, _ = standardised(sample, train)
    np.testing.assert_allclose(own.var(axis=0, ddof=1), 1.0)


def test_new_rows_have_the_expected_spread_although_effects_took_degrees_of_freedom():
    rng = np.random.default_rng(0)
    n, m = 60, 400
    rows = Rows.of(rng.standard_normal((n, m)))
    rows = replace(rows, effects=rng.standard_normal((n, 20)))
    train = np.arange(n) < 40
    _, new = standardised(rows, train)
    # each effect adds 1 / (n - p - 2) of the noise to a prediction, and dividing by s^2 19 / 17
    assert new.var() == pytest.approx((1 + 1 / 40 + 20 / 18) * 19 / 17, rel=0.15)


def test_the_number_of_factors_that_made_the_rows_is_chosen():
    rng = np.random.default_rng(0)
    for k in (1, 3):
        X = (
            rng.standard_normal((200, k))
            @ rng.uniform(0.5, 1, (k, 12))
            * rng.choice([-1, 1], (1, 12))
        )
        X = X + rng.standard_normal((200, 12))
        if k == 3:
            X[:, ::2] += 0.7 * rng.standard_normal((200, 1))
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        parts = models._inner_parts(X, rows_of_group(X).design.deal(rng, 3))
        assert (choose_n_factors(parts) > 1) == (k > 1)


def test_every_model_is_scored_as_if_by_hand(cohort):
    sample = rows_of_group(cohort, "control")
    folds = sample.design.deal(np.random.default_rng(0), 5)
    found = score_fold(sample, SGBN(), folds, 2, 0)
    own, new = standardised(sample, folds != 2)
    by_model = dict(zip(MODELS, found["log_likelihood"], strict=True))
    network = SGBN(outliers="keep").fit(own)
    assert by_model["network"] == pytest.approx(network.score(new) / 6)
    independent = -0.5 * (np.log(2 * np.pi) + (new**2).mean())
    assert by_model["independence"] == pytest.approx(independent)
    T = new.T @ new / len(new)
    lassos = [
        log_likelihood(graphical_lasso(np.corrcoef(own.T), penalty, tol=1e-2)[0], T)
        for penalty in models.PENALTIES
    ]
    assert np.abs(lassos - by_model["graphical lasso"]).min() < 1e-2
    assert 1 <= found["n_factors"] <= 3


def test_a_lasso_that_cannot_be_fitted_is_no_number(cohort, monkeypatch):
    def breaks(*_, **__):
        raise FloatingPointError("not positive definite")

    sample = rows_of_group(cohort, "control")
    folds = sample.design.deal(np.random.default_rng(0), 5)
    monkeypatch.setattr(models, "graphical_lasso", breaks)
    found = score_fold(sample, SGBN(), folds, 0, 0)["log_likelihood"]
    assert np.isnan(found).tolist() == [False, False, True, False]


def test_columns_and_rows_without_a_density_are_refused(cohort):
    sample = rows_of_group(cohort, "control")
    train = np.arange(60) >= 12
    still = sample.values.copy()
    still[train, 3] = sample.effects[train, 0]  # follows age, but for the rows of the fold
    with refused("folds.constant"):
        standardised(replace(sample, values=still), train)
    many = np.random.default_rng(0).standard_normal((60, 45))
    with refused("folds.few"):
        standardised(replace(sample, effects=many), train)


def test_rows_far_out_count_for_all_models():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 12))
    X[:, 6:] += X[:, :6]
    X[[3, 50, 90, 140], :5] += 9.0
    sample = rows_of_group(X)
    folds = sample.design.deal(rng, 5)
    scores = [
        score_fold(sample, learner, folds, 1, 0) for learner in (SGBN(), SGBN(outliers="keep"))
    ]
    np.testing.assert_array_equal(*(one["log_likelihood"] for one in scores))


def test_effects_of_training_rows_are_taken_out_of_all_rows(design):
    _, covariates, sites = design
    Y = np.random.default_rng(1).normal(size=(40, 3))
    train = np.arange(40) % 4 > 0
    N = np.column_stack(
        [np.ones(40), covariates["age"], covariates["sex"] == "M", sites == "b", sites == "c"]
    ).astype(float)
    expected = Y - N @ np.linalg.lstsq(N[train], Y[train])[0]
    found, rank = residuals_of_training(Y, design_of(40, covariates, sites), train)
    np.testing.assert_allclose(found, expected, atol=1e-8)
    assert rank == 4


def test_a_site_without_training_rows_has_the_average_effect_of_the_others():
    sites = np.repeat(["a", "b", "c"], 10)
    Y = np.repeat([1.0, 3.0, 100.0], 10)[:, None]
    found, rank = residuals_of_training(Y, design_of(30, sites=sites), sites != "c")
    np.testing.assert_allclose(found[sites != "c"], 0, atol=1e-12)
    np.testing.assert_allclose(found[sites == "c"], 98.0)
    assert rank == 1
    alone, rank = residuals_of_training(Y, design_of(30), sites != "c")
    np.testing.assert_allclose(alone[sites == "c"], 98.0)
    assert rank == 0


def correlation(n, m, k, seed=0):
    rng = np.random.default_rng(seed)
    loadings = rng.uniform(0.5, 1, (m, k)) * rng.choice([-1, 1], (m, k))
    X = rng.standard_normal((n, k)) @ loadings.T + rng.standard_normal((n, m))
    return (X - X.mean(axis=0)) / X.std(axis=0)


def objective(R, covariance):
    return np.linalg.slogdet(covariance)[1] + np.trace(np.linalg.solve(covariance, R))


@pytest.mark.parametrize(("n", "m", "k"), [(200, 20, 1), (200, 20, 4), (30, 50, 2)])
def test_no_worse_than_the_fit_of_scikit_learn(n, m, k):
    X = correlation(n, m, k)
    R = X.T @ X / n
    peer = FactorAnalysis(k, tol=1e-7, max_iter=20_000, svd_method="lapack").fit(X)
    found = factor_analysis(R, k)
    assert found.converged
    assert objective(R, found.covariance) <= objective(R, peer.get_covariance()) + 1e-4
    np.testing.assert_allclose(found.covariance, peer.get_covariance(), atol=0.01)


def test_no_step_of_an_own_variance_or_of_the_loadings_is_better():
    X = correlation(100, 12, 2)
    R = X.T @ X / len(X)
    found = factor_analysis(R, 2)
    best = objective(R, found.covariance)
    rng = np.random.default_rng(1)
    for _ in range(50):
        loadings = found.loadings + 0.02 * rng.standard_normal(found.loadings.shape)
        own = found.own_variance * np.exp(0.02 * rng.standard_normal(12))
        assert objective(R, loadings @ loadings.T + np.diag(own)) > best - 1e-5
    assert found.violation <= TOL


def test_an_own_variance_that_would_vanish_stops_at_its_bound():
    R = np.full((4, 4), 0.9) + 0.1 * np.eye(4)
    R[0, 1:] = R[1:, 0] = 0.949  # more than one factor allows: a Heywood case
    found = factor_analysis(R, 1)
    assert found.own_variance.min() == pytest.approx(LEAST_OWN)
    assert found.violation <= TOL


def test_the_start_does_not_matter():
    X = correlation(150, 15, 3)
    R = X.T @ X / len(X)
    first = factor_analysis(R, 3)
    again = factor_analysis(R, 3, factor_analysis(R, 2).own_variance)
    np.testing.assert_allclose(first.covariance, again.covariance, atol=5e-3)


def test_the_number_of_factors_is_bounded_by_the_numbers_of_the_covariance_matrix():
    for m in range(1, 40):
        free = [m * (m + 1) // 2 - (m * k + m - k * (k - 1) // 2) for k in range(m)]
        expected = max((k for k in range(m) if free[k] >= 0), default=0)
        assert most_factors(m) == expected


def beside_factors_hidden(n, m, k, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, k)) @ rng.uniform(0.5, 1, (k, m)) + rng.standard_normal((n, m))


def test_weights_are_those_of_a_regression_on_parents_and_factors():
    X = beside_factors_hidden(400, 8, 1)
    R = np.corrcoef(X.T)
    loadings = factor_analysis(R, 1).loadings
    both = np.block([[R, loadings], [loadings.T, np.eye(1)]])  # of the variables and the factor
    regressors = [1, 4, 8]
    inverse = np.linalg.inv(both[np.ix_(regressors, regressors)])
    expected = inverse @ both[regressors, 3]
    noise = 1 - both[regressors, 3] @ expected
    parents = np.array([1, 4])
    weights, errors = _regressed(R - loadings @ loadings.T, parents, 3, 100)
    np.testing.assert_allclose(weights, expected[:2], atol=1e-3)
    np.testing.assert_allclose(errors, np.sqrt(noise * np.diag(inverse)[:2] / 100), atol=1e-3)


def test_shadows_of_a_common_cause_go():
    X = beside_factors_hidden(200, 30, 1)
    learned = SGBN(n_kicks=0).fit(X)
    found = edges_beside_factors(X, learned, 1)
    assert len(found) == learned.network_.n_edges > 20
    assert found.stays.mean() < 0.2
    np.testing.assert_allclose(found.weight_std, learned.coef_std_[learned.coef_ != 0], atol=1e-8)


def test_an_edge_beside_a_common_cause_stays_and_so_do_those_of_a_sparse_network():
    X = beside_factors_hidden(300, 10, 1)
    X[:, 1] += X[:, 0]
    graph = np.zeros((10, 10))
    graph[0, 1] = graph[2, 3] = 1
    assert edges_beside_factors(X, graph, 1).stays.tolist() == [True, False]
    chain = np.diag(np.ones(19), 1)
    X, _ = simulate_sem(chain, 300, random_state=0)
    assert edges_beside_factors(X, chain, 1).stays.mean() > 0.8


def test_units_and_signs_of_columns_do_not_matter():
    X = beside_factors_hidden(100, 6, 1)
    graph = np.triu(np.ones((6, 6)), 1)
    factors = np.array([1, 10, -0.1, 3, 1, 1])
    plain, scaled = (edges_beside_factors(table, graph, 1) for table in (X, 5 + X * factors))
    i, j = np.nonzero(graph)
    flip = np.sign(factors[i] * factors[j])
    np.testing.assert_allclose(scaled.beside_factors * flip, plain.beside_factors, atol=1e-4)
    np.testing.assert_array_equal(scaled.stays, plain.stays)


def test_numbers_of_factors_that_cannot_be_are_refused():
    X = beside_factors_hidden(30, 6, 1)
    with refused("factors.many"):
        edges_beside_factors(X, np.zeros((6, 6)), 4)
    with refused("factors.rows"):
        edges_beside_factors(X[:8], np.triu(np.ones((6, 6)), 1), 3)
    assert len(edges_beside_factors(X, np.zeros((6, 6)), 1)) == 0
