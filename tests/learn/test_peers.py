import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.covariance import EmpiricalCovariance
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tests.codes import warned

from sgbn.learn.peers import GaussianBayes, covariates_alone, peers


@pytest.fixture(scope="module")
def groups():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 5))
    X[:60, 0] += 1.5
    return X, np.repeat(["MCI", "NC"], 60)


def test_gaussian_bayes_is_bayes_rule(groups):
    X, y = groups
    X, y = X[:100], y[:100]
    model = GaussianBayes(EmpiricalCovariance()).fit(X, y)
    joint = np.column_stack(
        [
            multivariate_normal(X[y == c].mean(axis=0), np.cov(X[y == c].T, ddof=0)).pdf(X)
            * (y == c).mean()
            for c in ("MCI", "NC")
        ]
    )
    assert np.allclose(model.predict_proba(X), joint / joint.sum(axis=1, keepdims=True))
    assert (model.predict(X) == model.classes_[joint.argmax(axis=1)]).all()


@pytest.mark.parametrize("name", peers(0))
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_every_peer_finds_what_is_easy(groups, name):
    X, y = groups
    predicted = peers(0)[name].fit(X[::2], y[::2]).predict(X[1::2])
    assert (predicted == y[1::2]).mean() > 0.6


def test_peers_of_one_seed_are_the_same(groups):
    X, y = groups
    first, second = (
        peers(3)["random forest"].set_params(n_estimators=5).fit(X, y).predict_proba(X)
        for _ in range(2)
    )
    assert np.array_equal(first, second)


def test_the_l1_penalty_is_one(groups):
    X, y = groups
    logistic = peers(0)["L1 logistic"].estimator.set_params(estimator__C=0.05).fit(X, y)
    assert np.count_nonzero(logistic.estimators_[0].coef_) < 5


def test_covariates_alone_take_text_and_gaps():
    rng = np.random.default_rng(0)
    sex = np.tile(["F", "M"], 40)
    table = pd.DataFrame({"age": rng.normal(70, 5, 80), "sex": sex})
    table.loc[3, "age"] = np.nan
    model = covariates_alone().fit(table, sex)
    assert model.score(table, sex) == 1.0
    table.loc[0, "sex"] = "unknown"
    assert len(model.predict(table)) == 80


def ages(n=200):
    """One group in the middle of the ages, the other at both ends: no line tells them apart."""
    rng = np.random.default_rng(0)
    age = rng.uniform(20, 80, n)
    labels = np.where(np.abs(age - 50) < 15, "middle", "end")
    table = pd.DataFrame(
        {"age": age, "iq": rng.normal(100, 15, n), "sex": rng.choice(["F", "M"], n)}
    )
    return table, labels


def test_covariates_alone_bend_where_effects_are_curves():
    table, labels = ages()
    table.loc[3, "age"] = np.nan
    accuracies = [
        covariates_alone(smooth).fit(table[:100], labels[:100]).score(table[100:], labels[100:])
        for smooth in ((), ("age",))
    ]
    assert accuracies[0] < 0.7
    assert accuracies[1] > 0.9
    columns = clone(covariates_alone(("age",))).fit(table, labels)[0]
    assert columns.transform(table).shape == (200, 1 + 2 + 5)


def test_covariates_alone_take_the_knots_from_training():
    table, labels = ages()
    model = covariates_alone(("age",)).fit(table[:100], labels[:100])
    spline = model[0].named_transformers_["pipeline-2"]["splinecolumns"].spline_
    assert (spline.low, spline.high) == (table["age"][:100].min(), table["age"][:100].max())


def test_covariates_alone_are_linear_where_training_has_few_values():
    table, labels = ages()
    table["age"] = table["age"].round(-1) // 20
    with warned("smooth.part"):
        curve = covariates_alone(("age",)).fit(table, labels)
    line = covariates_alone().fit(table, labels)
    np.testing.assert_allclose(
        curve.predict_proba(table), line.predict_proba(table), rtol=0, atol=1e-3
    )


def test_covariates_alone_without_curves_are_as_plain_scikit_learn():
    table, labels = ages()
    plain = make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), ["age", "iq"]),
            (OneHotEncoder(handle_unknown="ignore"), ["sex"]),
        ),
        LogisticRegression(max_iter=2000),
    )
    expected = plain.fit(table, labels).predict_proba(table)
    np.testing.assert_array_equal(
        covariates_alone().fit(table, labels).predict_proba(table), expected
    )
