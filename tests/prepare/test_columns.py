"""What all transformers share: named columns in, a table of the same kind out."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from sgbn.core.problems import InputError
from sgbn.prepare.columns import as_names, labels_of
from sgbn.prepare.covariates import CovariateRegressor
from sgbn.prepare.missing import RegionImputer
from sgbn.prepare.selection import RegionSelector
from sgbn.prepare.sites import SiteHarmonizer

NAMED = ["age", "sex", "site"]
STEPS = {
    "impute": (RegionImputer(covariates=["age", "sex"], site="site"), []),
    "harmonise": (SiteHarmonizer("site", preserve=["age"], passthrough=["sex"]), ["site"]),
    "regress": (CovariateRegressor(["age", "sex", "site"]), NAMED),
    "within": (CovariateRegressor(NAMED, within_groups=True), NAMED),
    "reference": (CovariateRegressor(NAMED, reference="CTR"), NAMED),
}


@pytest.fixture(params=STEPS)
def step(request):
    transformer, consumed = STEPS[request.param]
    return clone(transformer), consumed


def test_a_frame_gives_a_frame_without_the_consumed_columns_in_their_order(step, table):
    transformer, consumed = step
    X, y = table
    out = transformer.fit(X, y).transform(X)
    assert isinstance(out, pd.DataFrame)
    assert list(out.columns) == [c for c in X.columns if c not in consumed]
    assert out.index.equals(X.index)
    assert out.index.name == "subject"
    assert list(transformer.get_feature_names_out()) == list(out.columns)
    assert list(transformer.feature_names_in_) == list(X.columns)
    assert transformer.n_features_in_ == X.shape[1]


def test_columns_that_stay_are_untouched(table):
    X, _ = table
    out = SiteHarmonizer("site", preserve=["age"], passthrough=["sex"]).fit_transform(X)
    pd.testing.assert_frame_equal(out[["age", "sex"]], X[["age", "sex"]])


def test_set_output_changes_nothing_for_a_frame(step, table):
    transformer, _ = step
    X, y = table
    expected = transformer.fit(X, y).transform(X)
    configured = clone(transformer).set_output(transform="pandas").fit(X, y).transform(X)
    pd.testing.assert_frame_equal(configured, expected)


def test_an_array_gives_an_array_and_its_columns_are_named_by_place(table):
    X, _ = table
    numbers = X.assign(sex=(X["sex"] == "M").astype(float)).drop(columns="site")
    place = [list(numbers.columns).index(name) for name in ("age", "sex")]
    out = CovariateRegressor(place).fit_transform(numbers.to_numpy())
    expected = CovariateRegressor(["age", "sex"]).fit_transform(numbers)
    assert isinstance(out, np.ndarray)
    assert out.dtype == np.float64
    np.testing.assert_array_equal(out, expected.to_numpy())


def test_an_array_of_objects_may_hold_text(table):
    X, _ = table
    place = [list(X.columns).index(name) for name in ("site", "age", "sex")]
    out = SiteHarmonizer(place[0], preserve=place[1:]).fit_transform(X.to_numpy(object))
    expected = SiteHarmonizer("site", preserve=["age", "sex"]).fit_transform(X)
    assert isinstance(out, np.ndarray)
    regions = [c not in ("age", "sex") for c in expected.columns]
    np.testing.assert_allclose(
        out[:, regions].astype(float), expected.loc[:, regions].to_numpy(), rtol=1e-13
    )
    assert (out[:, ~np.array(regions)] == expected.loc[:, ["age", "sex"]].to_numpy()).all()


def test_inputs_are_unchanged_and_output_is_no_view(step, table):
    transformer, _ = step
    X, y = table
    before = X.copy(deep=True)
    out = transformer.fit(X, y).transform(X)
    out.loc[:, ["region0", "region5"]] = 0.0
    pd.testing.assert_frame_equal(X, before)


def test_one_subject_alone_equals_the_batch(step, table):
    transformer, _ = step
    X, y = table
    transformer.fit(X[:60], y[:60])
    batch = transformer.transform(X[60:66])
    alone = pd.concat([transformer.transform(X[k : k + 1]) for k in range(60, 66)])
    pd.testing.assert_frame_equal(alone, batch, rtol=1e-12, atol=1e-12)


def test_transform_changes_nothing_in_the_transformer(step, table):
    transformer, _ = step
    X, y = table
    transformer.fit(X, y)
    before = pickle.dumps(transformer)
    transformer.transform(X[:3])
    assert pickle.dumps(transformer) == before


def test_pickled_and_cloned_transformers_do_the_same(step, table):
    transformer, _ = step
    X, y = table
    expected = transformer.fit(X, y).transform(X)
    pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(transformer)).transform(X), expected)  # noqa: S301
    pd.testing.assert_frame_equal(clone(transformer).fit(X, y).transform(X), expected)


def test_the_order_of_columns_does_not_matter(step, table):
    transformer, _ = step
    X, y = table
    expected = transformer.fit(X, y).transform(X)
    mixed = X[np.random.default_rng(1).permutation(X.columns)]
    out = clone(transformer).fit(mixed, y).transform(mixed)
    pd.testing.assert_frame_equal(out[expected.columns], expected, rtol=1e-9, atol=1e-12)


def test_the_order_of_rows_does_not_matter(step, table):
    transformer, _ = step
    X, y = table
    expected = transformer.fit(X, y).transform(X)
    rows = np.random.default_rng(1).permutation(len(X))
    out = clone(transformer).fit(X.iloc[rows], y[rows]).transform(X)
    pd.testing.assert_frame_equal(out, expected, rtol=1e-9, atol=1e-12)


def test_subjects_drawn_twice_keep_their_index(step, table):
    transformer, _ = step
    X, y = table
    rows = np.random.default_rng(1).integers(0, len(X), len(X))
    out = transformer.fit(X.iloc[rows], y[rows]).transform(X.iloc[rows])
    assert out.index.equals(X.index[rows])


@pytest.mark.parametrize("kind", ["Float64", "float32", object])
def test_regions_of_other_types_are_numbers_too(table, kind):
    X, _ = table
    regions = X.filter(like="region").astype(kind)
    out = RegionSelector(regions=["region1"]).fit_transform(regions)
    np.testing.assert_allclose(out["region1"], X["region1"], rtol=1e-6)


def test_a_column_that_is_lacking_is_named_with_those_that_come_close(table):
    X, _ = table
    with pytest.raises(InputError, match=r"covariates names the column 'Agee'.*Did you mean 'age'"):
        CovariateRegressor(["Agee"]).fit(X)
    with pytest.raises(InputError, match="There are 'age', 'region0'"):
        SiteHarmonizer("zzz").fit(X)


def test_text_that_is_not_named_is_refused_with_its_place(table):
    X, _ = table
    with pytest.raises(InputError, match=r"'sex' .* not numeric.*row 0 .*'sub-000'"):
        SiteHarmonizer("site", preserve=["age"]).fit(X)
    X = X.assign(region1=X["region1"].astype(object))
    X.iloc[4, X.columns.get_loc("region1")] = "n/a"
    with pytest.raises(InputError, match=r"'region1'.*row 4 .*'sub-004' .*'n/a'"):
        RegionImputer(covariates=["age", "sex"], site="site").fit(X)


@pytest.mark.parametrize(("cell", "kind"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_cells_that_are_no_number_are_named_with_the_remedy(table, cell, kind):
    X, _ = table
    X.loc["sub-007", "region2"] = cell
    with pytest.raises(InputError, match=rf"{kind}.*'region2', row 7 .*'sub-007'.*RegionImputer"):
        CovariateRegressor(["age", "sex", "site"]).fit(X)


def test_numbers_too_large_to_square_are_refused(table):
    X, _ = table
    X.loc["sub-007", "region2"] = 1e200
    with pytest.raises(InputError, match=r"'region2', row 7 .*too large"):
        CovariateRegressor(["age", "sex", "site"]).fit(X)


def test_a_column_plays_one_part(table):
    X, _ = table
    with pytest.raises(InputError, match="'site' is named twice, by site and by preserve"):
        SiteHarmonizer("site", preserve=["site"]).fit(X)
    with pytest.raises(InputError, match=r"more than one column.*'age'"):
        CovariateRegressor(["age"]).fit(pd.concat([X, X[["age"]]], axis=1))
    with pytest.raises(InputError, match="no region"):
        CovariateRegressor(["age"]).fit(X[["age"]])


def test_a_table_without_rows_is_refused(table):
    X, _ = table
    with pytest.raises(InputError, match="no row"):
        CovariateRegressor(["age"]).fit(X[:0])


def test_other_columns_in_transform_are_refused_by_name(step, table):
    transformer, _ = step
    X, y = table
    transformer.fit(X, y)
    with pytest.raises(ValueError, match=re.escape("region5")):
        transformer.transform(X.drop(columns="region5"))


def test_names_may_be_one_name_or_several():
    assert as_names(None) == ()
    assert as_names("age") == ("age",)
    assert as_names(3) == (3,)
    assert as_names(["age", "sex"]) == ("age", "sex")


def test_labels_need_one_a_row_and_none_missing():
    codes, groups = labels_of(["b", "a", "b"], 3)
    assert codes.tolist() == [0, 1, 0]
    assert list(groups) == ["b", "a"]
    with pytest.raises(InputError, match="X has 4 rows, but y has 3 labels"):
        labels_of(["b", "a", "b"], 4)
    with pytest.raises(InputError, match="row 1"):
        labels_of(np.array(["b", None, "b"], object), 3)
