"""The default Pipeline."""

import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_validate

from sgbn.core.exceptions import InputError
from sgbn.prepare.pipeline import make_analysis, make_preparation


@pytest.fixture(scope="module")
def data(make_table):
    """A table with gaps, in which two regions tell the groups."""
    X, y = make_table(n=90, m=24, seed=1)
    X.loc[y == "SCZ", ["region3", "region7"]] += 4.0
    rng = np.random.default_rng(2)
    regions = [c for c in X.columns if c.startswith("region")]
    X[regions] = X[regions].mask(rng.random((len(X), len(regions))) < 0.02)
    X.loc["sub-010", "age"] = np.nan
    X.loc["sub-020", "sex"] = None
    return X, y


def analysis(**options):
    return make_analysis(covariates=["age", "sex"], site="site", **{"k": 10, **options})


@pytest.fixture(scope="module")
def fitted(data):
    """The default analysis of that table."""
    return analysis().fit(*data)


def test_steps_that_are_not_needed_are_left_out():
    full = ["impute", "harmonise", "covariates", "select", "standardise", "classify"]
    assert list(analysis().named_steps) == full
    assert list(make_analysis().named_steps) == ["impute", "standardise", "classify"]
    assert "harmonise" not in make_analysis(covariates=["age"]).named_steps
    assert "covariates" not in make_analysis(site="site").named_steps
    assert "impute" not in analysis(impute=None).named_steps


def test_a_cohort_stands_for_the_names():
    cohort = SimpleNamespace(smooth=(), covariates={"age": [1.0], "sex": ["M"]}, site=["A"])
    made = make_analysis(cohort)
    assert made["covariates"].covariates == ("age", "sex")
    assert made["harmonise"].site == "site"
    without = make_analysis(SimpleNamespace(smooth=(), covariates={}, site=None))
    assert list(without.named_steps) == ["impute", "standardise", "classify"]
    with pytest.raises(InputError, match="not both"):
        make_analysis(cohort, site="scanner")


def test_k_is_a_number_or_a_list_of_regions():
    assert analysis(k=7)["select"].k == 7
    assert analysis(k=["region3"])["select"].regions == ("region3",)


def test_each_step_can_be_inspected_as_a_table(data, fitted):
    X, _ = data
    seen = fitted[:-1].transform(X)
    assert isinstance(seen, pd.DataFrame)
    assert seen.shape == (90, 10)
    assert {"region3", "region7"} <= set(seen.columns)
    assert seen.index.equals(X.index)
    harmonised = fitted[:2].transform(X)
    # Covariates stay until they are regressed out.
    assert list(harmonised.columns) == [c for c in X.columns if c != "site"]
    assert tuple(fitted["harmonise"].get_params()["preserve"]) == ("age", "sex")


def test_cross_validation_and_search_run_unconfigured(data):
    X, y = data
    scores = cross_validate(analysis(), X, y, cv=2, error_score="raise")["test_score"]
    assert scores.mean() > 0.85
    quick = analysis(classifier=LogisticRegression())
    search = GridSearchCV(quick, {"select__k": [1, 5]}, cv=2, error_score="raise")
    search.fit(X, y)
    assert search.best_score_ > 0.85
    assert len(cross_val_predict(quick, X, y, cv=2)) == 90


def test_clones_and_pickles_predict_the_same(data, fitted):
    X, y = data
    expected = fitted.predict_proba(X)
    np.testing.assert_array_equal(clone(fitted).fit(X, y).predict_proba(X), expected)
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    np.testing.assert_array_equal(again.predict_proba(X), expected)


def test_the_order_of_columns_does_not_matter(data, fitted):
    X, y = data
    expected = fitted.predict_proba(X)
    mixed = X[np.random.default_rng(0).permutation(X.columns)]
    np.testing.assert_allclose(
        analysis().fit(mixed, y).predict_proba(mixed), expected, rtol=1e-7, atol=1e-9
    )


def test_options_reach_their_steps():
    made = analysis(reference="CTR", within_groups=True, impute="knn", select_by="correlation")
    assert made["covariates"].reference == "CTR"
    assert made["covariates"].within_groups
    assert made["impute"].strategy == "knn"
    assert made["select"].by == "correlation"
    with pytest.raises(InputError, match="no covariate is named"):
        make_analysis(reference="CTR")


def test_preparation_gives_regions_alone_and_asks_for_the_groups(data):
    X, y = data
    preparation = make_preparation(covariates=["age", "sex"], site="site")
    prepared = preparation.fit_transform(X, y)
    assert list(prepared.columns) == [c for c in X.columns if c.startswith("region")]
    with pytest.raises(InputError, match="needs the groups"):
        preparation.fit_transform(X)
