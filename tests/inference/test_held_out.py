import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.covariance import graphical_lasso

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.design import Sample
from sgbn.cohort.effects import design_of
from sgbn.cohort.rows import read_sample
from sgbn.core.exceptions import InputError
from sgbn.inference import models
from sgbn.inference.models import (
    MODELS,
    choose_n_factors,
    deal,
    log_likelihood,
    residuals_of_training,
    score_fold,
    standardised,
)
from sgbn.learn.sgbn import SGBN


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


def test_sites_are_spread_over_the_folds_and_persons_are_in_one():
    sites = np.repeat(["a", "b", "c"], [50, 8, 4])
    persons = np.arange(62) // 2
    sample = Sample(np.zeros((62, 1)), ["x"], np.empty((62, 0)), sites, persons)
    folds = deal(sample, 5, np.random.default_rng(0))
    for site in ("a", "b", "c"):
        counts = np.bincount(folds[sites == site], minlength=5)
        assert np.ptp(counts) <= 2
    assert (folds[::2] == folds[1::2]).all()
    assert not np.array_equal(folds, deal(sample, 5, np.random.default_rng(1)))


def test_log_likelihood_is_that_of_a_gaussian_per_variable():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 5))
    covariance = np.cov(rng.standard_normal((30, 5)).T)
    expected = multivariate_normal(np.zeros(5), covariance).logpdf(X).mean() / 5
    assert log_likelihood(covariance, X.T @ X / 40) == pytest.approx(expected)


def test_the_rows_of_a_fold_play_no_part_in_training(cohort):
    sample = read_sample(cohort, "control")
    train = deal(sample, 5, np.random.default_rng(0)) != 0
    changed = sample._replace(values=np.where(train[:, None], sample.values, 100.0))
    np.testing.assert_array_equal(
        standardised(sample, train, 0)[0], standardised(changed, train, 0)[0]
    )


def test_effects_of_sites_and_covariates_do_not_matter(cohort):
    sample = read_sample(cohort, "control")
    train = deal(sample, 5, np.random.default_rng(0)) != 0
    slopes = np.random.default_rng(1).standard_normal((sample.nuisance.shape[1], 6))
    shifted = sample._replace(values=sample.values + sample.nuisance @ slopes)
    for one, other in zip(
        standardised(sample, train, 0), standardised(shifted, train, 0), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-8)
    own, _ = standardised(sample, train, 0)
    np.testing.assert_allclose(own.var(axis=0, ddof=1), 1.0)


def test_new_rows_have_the_expected_spread_although_effects_took_degrees_of_freedom():
    rng = np.random.default_rng(0)
    n, m = 60, 400
    sample = models.Sample(
        rng.standard_normal((n, m)),
        [f"x{k}" for k in range(m)],
        rng.standard_normal((n, 20)),
        np.zeros(n, np.intp),
    )
    train = np.arange(n) < 40
    _, new = standardised(sample, train, 0)
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
        parts = models._inner_parts(X, deal(read_sample(X), 3, rng))
        assert (choose_n_factors(parts) > 1) == (k > 1)


def test_every_model_is_scored_as_if_by_hand(cohort):
    sample = read_sample(cohort, "control")
    folds = deal(sample, 5, np.random.default_rng(0))
    found = score_fold(sample, SGBN(), folds, 2, 0)
    own, new = standardised(sample, folds != 2, 2)
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

    sample = read_sample(cohort, "control")
    folds = deal(sample, 5, np.random.default_rng(0))
    monkeypatch.setattr(models, "graphical_lasso", breaks)
    found = score_fold(sample, SGBN(), folds, 0, 0)["log_likelihood"]
    assert np.isnan(found).tolist() == [False, False, True, False]


def test_columns_and_rows_without_a_density_are_refused(cohort):
    sample = read_sample(cohort, "control")
    train = np.arange(60) >= 12
    still = sample.values.copy()
    still[train, 3] = sample.nuisance[train, 0]  # follows age, but for the rows of the fold
    with pytest.raises(InputError, match=r"outside of fold 1 .*taken out. Leave out 'r3'"):
        standardised(sample._replace(values=still), train, 0)
    many = np.random.default_rng(0).standard_normal((60, 45))
    with pytest.raises(InputError, match=r"48 rows .* covariates use up 45"):
        standardised(sample._replace(nuisance=many), train, 0)


def test_rows_far_out_count_for_all_models():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 12))
    X[:, 6:] += X[:, :6]
    X[[3, 50, 90, 140], :5] += 9.0
    sample = read_sample(X)
    folds = deal(sample, 5, rng)
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
