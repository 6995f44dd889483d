"""What all transformers share: named columns in, a table of the same kind out."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from tests.codes import refused

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


def with_cell(X, cell, column="region2"):
    X = X.assign(**{column: X[column].astype(object)})
    X.loc["sub-007", column] = cell
    return X.infer_objects()


COVARIATES = CovariateRegressor(["age", "sex", "site"])
SITES = SiteHarmonizer("site", preserve=["age", "sex"])
IMPUTER = RegionImputer(covariates=["age", "sex"], site="site")
CURVE = SiteHarmonizer("site", preserve=["age", "sex"], smooth=["sex"])
REFUSED = [
    ("column.unknown", CovariateRegressor(["Agee"]), lambda X: X),
    ("column.unknown", SiteHarmonizer("zzz"), lambda X: X),
    ("column.unknown", RegionSelector(regions=["hippo"]), lambda X: X.filter(like="region")),
    ("selector.empty", RegionSelector(regions=[]), lambda X: X.filter(like="region")),
    ("column.twice", SiteHarmonizer("site", preserve=["site"]), lambda X: X),
    ("column.several", SiteHarmonizer(["site", "sex"]), lambda X: X),
    ("column.several", SiteHarmonizer("site", subject=["sex", "region0"]), lambda X: X),
    ("names.twice", CovariateRegressor(["age"]), lambda X: pd.concat([X, X[["age"]]], axis=1)),
    ("table.regions", CovariateRegressor(["age"]), lambda X: X[["age"]]),
    ("table.empty", CovariateRegressor(["age"]), lambda X: X[:0]),
    ("cells.text", SiteHarmonizer("site", preserve=["age"]), lambda X: X),
    ("cells.text", IMPUTER, lambda X: with_cell(X, "n/a")),
    ("cells.gaps", COVARIATES, lambda X: with_cell(X, np.nan)),
    ("cells.gaps", COVARIATES, lambda X: with_cell(X, np.inf)),
    ("cells.gaps", IMPUTER, lambda X: with_cell(X, -np.inf)),
    ("cells.large", COVARIATES, lambda X: with_cell(X, 1e200)),
    ("covariate.gaps", COVARIATES, lambda X: with_cell(X, None, "sex")),
    ("columns.empty", IMPUTER, lambda X: X.assign(region3=np.nan)),
    ("columns.empty", IMPUTER, lambda X: X.assign(age=np.nan)),
    ("labels.gaps", SITES, lambda X: with_cell(X, None, "site")),
    ("labels.gaps", IMPUTER, lambda X: with_cell(X, None, "site")),
    ("sites.ids", SITES, lambda X: X.assign(site=X.index)),
    ("harmonizer.groups", SiteHarmonizer("site", preserve=NAMED[:2], within_groups=True), None),
    ("regressor.groups", CovariateRegressor(NAMED, within_groups=True), None),
    ("regressor.groups", CovariateRegressor(NAMED, reference="CTR"), None),
    ("groups.unknown", CovariateRegressor(NAMED, reference="HC"), lambda X: X),
    ("regressor.reference", CovariateRegressor(reference="x", within_groups=True), lambda X: X),
    ("smooth.covariate", SiteHarmonizer("site", preserve=NAMED[:2], smooth=["iq"]), lambda X: X),
    ("smooth.labels", CURVE, lambda X: X),
    ("argument", SiteHarmonizer("site", unseen="drop"), lambda X: X),
    ("argument", CovariateRegressor(["age"], smooth=["age"], smooth_df=4), lambda X: X),
    ("argument", RegionImputer("mode", covariates=NAMED[:2], site="site"), lambda X: X),
]


@pytest.mark.parametrize(("code", "transformer", "change"), REFUSED)
def test_what_cannot_be_used_is_refused(table, code, transformer, change):
    X, y = table
    X, y = (X, None) if change is None else (change(X), y)
    with refused(code):
        clone(transformer).fit(X, None if y is None else y[: len(X)])


def test_names_may_be_one_name_or_several():
    assert as_names(None) == ()
    assert as_names("age") == ("age",)
    assert as_names(3) == (3,)
    assert as_names(["age", "sex"]) == ("age", "sex")


def test_labels_need_one_a_row_and_none_missing():
    codes, groups = labels_of(["b", "a", "b"], 3)
    assert codes.tolist() == [0, 1, 0]
    assert list(groups) == ["b", "a"]
    with refused("labels.count"):
        labels_of(["b", "a", "b"], 4)
    with refused("labels.missing"):
        labels_of(np.array(["b", None, "b"], object), 3)
