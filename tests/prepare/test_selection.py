"""RegionSelector."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_selection import f_classif
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.codes import refused

from sgbn.prepare.selection import RegionSelector


@parametrize_with_checks(
    [RegionSelector(), RegionSelector(by="correlation"), RegionSelector(regions=[0])]
)
def test_follows_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture
def regions():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 8)), columns=list("hgfedcba"))
    y = np.resize(["CTR", "MCI", "AD"], 60)
    X["e"] += 2.0 * (y == "AD")
    X["b"] -= 1.5 * (y == "MCI")
    return X, y


def test_the_best_by_f_are_kept_in_the_order_of_columns(regions):
    X, y = regions
    selector = RegionSelector(2).fit(X, y)
    assert list(selector.get_feature_names_out()) == ["e", "b"]
    pd.testing.assert_frame_equal(selector.transform(X), X[["e", "b"]])
    np.testing.assert_allclose(selector.scores_, f_classif(X, y)[0])


def test_the_best_by_correlation_follow_numbers_or_two_groups(regions):
    X, _ = regions
    iq = 100 - 10 * X["c"] + X["g"]
    selector = RegionSelector(2, by="correlation").fit(X, iq)
    assert "c" in selector.get_feature_names_out()
    np.testing.assert_allclose(selector.scores_, X.corrwith(iq).abs())
    group = np.where(X["c"] > 0, "high", "low")
    chosen = RegionSelector(1, by="correlation").fit(X, group)
    assert list(chosen.get_feature_names_out()) == ["c"]


def test_a_given_list_needs_no_y_and_keeps_the_order_of_columns(regions):
    X, _ = regions
    out = RegionSelector(regions=["a", "h"]).fit_transform(X)
    assert list(out.columns) == ["h", "a"]


def test_more_than_there_are_keeps_all(regions):
    X, y = regions
    pd.testing.assert_frame_equal(RegionSelector(100).fit_transform(X, y), X)


@settings(max_examples=settings.default.max_examples // 5)
@given(st.permutations(list("hgfedcba")), st.integers(1, 8))
def test_the_choice_does_not_depend_on_the_order_of_columns_even_with_ties(order, k):
    rng = np.random.default_rng(0)
    base = rng.normal(size=(30, 2))
    X = pd.DataFrame(base[:, [0, 1] * 4] * [1, 1, 3, 7, 0.1, 1, 1e5, 1], columns=list("hgfedcba"))
    y = np.resize([0, 1], 30)
    chosen = set(RegionSelector(k).fit(X, y).get_feature_names_out())
    best = "bdfh" if "b" in chosen else "aceg"  # copies of one region in other units
    assert k > 4 or chosen == set(best[:k])
    assert set(RegionSelector(k).fit(X[order], y).get_feature_names_out()) == chosen


def test_constant_regions_come_last_and_a_large_mean_costs_no_digits(regions):
    X, y = regions
    X = X + 1e9
    X.insert(0, "_0", 0.1)
    selector = RegionSelector(8).fit(X, y)
    assert not selector.support_[0]
    assert np.isnan(selector.scores_[0])
    np.testing.assert_allclose(selector.scores_[1:], f_classif(regions[0], y)[0], rtol=1e-5)


def test_a_region_that_tells_the_groups_exactly_comes_first(regions):
    X, y = regions
    X["perfect"] = (y == "AD") * 2.0 + (y == "MCI")
    assert list(RegionSelector(1).fit(X, y).get_feature_names_out()) == ["perfect"]


@pytest.mark.parametrize(
    ("options", "y", "code"),
    [
        ({"k": 0}, None, "argument"),
        ({"by": "t"}, None, "argument"),
        ({}, None, "labels.none"),
        ({}, np.linspace(0, 1.5, 60), "selector.continuous"),
        ({}, np.zeros(60), "classes.one"),
        ({"by": "correlation"}, np.resize(["a", "b", "c"], 60), "selector.groups"),
    ],
)
def test_what_cannot_be_used_is_refused(regions, options, y, code):
    with refused(code):
        RegionSelector(**options).fit(regions[0], y)
