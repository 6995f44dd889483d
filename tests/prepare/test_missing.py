"""RegionImputer."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.codes import warned

from sgbn.core.problems import InputError
from sgbn.prepare.missing import RegionImputer

STRATEGIES = ["median", "mean", "knn", "iterative"]


@parametrize_with_checks([RegionImputer(), RegionImputer("knn")])
def test_follows_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture
def gaps(table):
    X, _ = table
    rng = np.random.default_rng(3)
    regions = X.columns[X.columns.str.startswith("region")]
    X[regions] = X[regions].mask(rng.random((len(X), len(regions))) < 0.1)
    X.loc[["sub-001", "sub-050"], "age"] = np.nan
    X.loc[["sub-002", "sub-060", "sub-061"], "sex"] = None
    return X


def imputer(strategy="median"):
    return RegionImputer(strategy, covariates=["age", "sex"], site="site")


@pytest.mark.filterwarnings("ignore:iterative imputation")
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_all_gaps_are_filled_and_nothing_else_is_touched(gaps, strategy):
    out = imputer(strategy).fit_transform(gaps)
    assert list(out.columns) == list(gaps.columns)
    assert not out.isna().any().any()
    known = gaps.notna().to_numpy()
    assert (out.to_numpy(object)[known] == gaps.to_numpy(object)[known]).all()


@pytest.mark.filterwarnings("ignore:iterative imputation")
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_one_subject_alone_equals_the_batch_and_runs_repeat(gaps, strategy):
    fitted = imputer(strategy).fit(gaps[:60])
    batch = fitted.transform(gaps[60:])
    alone = pd.concat([fitted.transform(gaps[k : k + 1]) for k in range(60, 66)])
    pd.testing.assert_frame_equal(alone, batch[:6], rtol=1e-10)
    again = imputer(strategy).fit(gaps[:60]).transform(gaps[60:])
    pd.testing.assert_frame_equal(again, batch, check_exact=True)


def test_columns_are_filled_by_median_mean_and_most_frequent_level(gaps):
    out = imputer().fit_transform(gaps)
    assert out.loc["sub-001", "age"] == gaps["age"].median()
    assert out.loc["sub-002", "sex"] == gaps["sex"].mode()[0]
    regions = gaps.filter(like="region")
    row = regions.index[regions["region0"].isna()][0]
    assert RegionImputer().fit_transform(regions).loc[row, "region0"] == regions["region0"].median()
    assert RegionImputer("mean").fit_transform(regions).loc[row, "region0"] == pytest.approx(
        regions["region0"].mean()
    )


@pytest.mark.parametrize("strategy", ["median", "mean", "knn", "iterative"])
def test_a_cell_is_filled_in_at_the_level_of_its_site(strategy):
    rng = np.random.default_rng(0)
    site = np.resize(["A", "B"], 200)
    values = rng.normal(size=(200, 4)) + 50.0 * (site == "B")[:, None]
    X = pd.DataFrame(values, columns=list("abcd")).mask(rng.random((200, 4)) < 0.1)
    X["site"] = site
    filled = RegionImputer(strategy, site="site").fit_transform(X)
    assert (filled.loc[site == "A", list("abcd")].to_numpy() < 25).all()
    assert (filled.loc[site == "B", list("abcd")].to_numpy() > 25).all()


def test_a_site_that_training_lacked_has_the_median_of_all():
    X = pd.DataFrame({"a": np.arange(20.0), "b": 1.0, "site": ["A"] * 10 + ["B"] * 10})
    new = pd.DataFrame({"a": [np.nan], "b": [1.0], "site": ["C"]})
    assert RegionImputer(site="site").fit(X).transform(new)["a"].tolist() == [9.5]


def test_categories_that_are_numbers_stay_categories():
    X = pd.DataFrame({"a": np.arange(6.0), "b": 1.0, "h": pd.Categorical([1.0, 2, 3, 1, 2, None])})
    filled = RegionImputer(covariates=["h"]).fit_transform(X)
    assert isinstance(filled["h"].dtype, pd.CategoricalDtype)
    assert filled["h"].tolist() == [1, 2, 3, 1, 2, 1]


def test_a_level_that_the_test_part_does_not_know_can_be_filled_in():
    train = pd.DataFrame({"a": np.arange(4.0), "h": pd.Categorical(["p", "p", "p", "q"])})
    test = pd.DataFrame({"a": [1.0, 2.0], "h": pd.Categorical(["q", None])})
    filled = RegionImputer(covariates=["h"]).fit(train).transform(test)
    assert filled["h"].tolist() == ["q", "p"]


@pytest.mark.parametrize("strategy", ["knn", "iterative"])
def test_other_regions_tell_more_than_the_median_whatever_their_unit(strategy):
    rng = np.random.default_rng(0)
    common = rng.normal(size=(200, 1))
    truth = pd.DataFrame(common + 0.2 * rng.normal(size=(200, 5)), columns=list("abcde"))
    truth = truth * [1, 10, 100, 1e4, 1e-3]
    X = truth.mask(rng.random(truth.shape) < 0.1)
    error = {
        s: ((RegionImputer(s).fit_transform(X) - truth) / truth.std()).pow(2).to_numpy().sum()
        for s in ("median", strategy)
    }
    assert error[strategy] < 0.2 * error["median"]


def test_counts_are_kept(gaps):
    fitted = imputer().fit(gaps)
    pd.testing.assert_series_equal(
        fitted.n_missing_.sort_index(), gaps.isna().sum().sort_index(), check_names=False
    )
    assert fitted.n_imputed_ == gaps.isna().sum().sum()
    fitted.transform(gaps[:5])
    assert fitted.n_imputed_ == gaps.isna().sum().sum()


@pytest.mark.parametrize("kind", ["category", object, "string"])
def test_categories_of_any_type_are_filled(gaps, kind):
    out = imputer().fit_transform(gaps.assign(sex=gaps["sex"].astype(kind)))
    assert out["sex"].notna().all()
    assert out["sex"].dtype == gaps["sex"].astype(kind).dtype


def test_truth_values_and_nullable_integers_are_filled():
    X = pd.DataFrame({"a": [1.0, np.nan, 2.0, 3.0]})
    X["patient"] = pd.Series([True, None, True, False], dtype="boolean")
    X["visits"] = pd.Series([1, 2, None, 4], dtype="Int64")
    out = RegionImputer(covariates=["patient", "visits"]).fit_transform(X)
    assert out["patient"].tolist() == [True, True, True, False]
    assert out["visits"].tolist() == [1, 2, 2, 4]
    assert out["a"].tolist() == [1, 2, 2, 3]


def test_iterative_says_when_it_is_not_done(gaps):
    noise = pd.DataFrame(np.random.default_rng(0).normal(size=(12, 10)))
    noise = noise.mask(np.random.default_rng(1).random(noise.shape) < 0.3)
    with warned("imputer.rounds"):
        RegionImputer("iterative").fit(noise)


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.just(np.nan), st.floats(allow_nan=True, width=64)),
            st.floats(-10, 10),
            st.sampled_from(["a", "b", None]),
        ),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from(["median", "knn"]),
)
def test_a_finite_table_or_an_error_of_ours(rows, strategy):
    X = pd.DataFrame(rows, columns=["x", "z", "hand"]).astype({"x": float, "hand": object})
    try:
        out = RegionImputer(strategy, covariates=["hand"]).fit_transform(X)
    except InputError:
        return
    assert np.isfinite(out[["x", "z"]].to_numpy()).all()
    assert out["hand"].notna().all()
