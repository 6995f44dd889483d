"""SiteHarmonizer where persons have several rows (longitudinal ComBat)."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, cross_val_score

from sgbn.core.exceptions import DataWarning, InputError
from sgbn.prepare.pipeline import make_analysis
from sgbn.prepare.sites import SiteHarmonizer
from sgbn.write.model_files import load, save

FROZEN = json.loads((Path(__file__).parents[1] / "references" / "longcombat.json").read_text())
REGIONS = [f"region{k}" for k in range(5)]


def test_equals_longcombat():
    """lme4 stops its search for the variance of persons at about 1e-7; ours is closer."""
    X = pd.DataFrame(FROZEN["values"]).add_prefix("region")
    X = X.assign(**{name: FROZEN[name] for name in ("person", "scanner", "age", "sex")})
    harmonizer = SiteHarmonizer("scanner", preserve=["age", "sex"], subject="person")
    out = harmonizer.fit_transform(X).filter(like="region")
    np.testing.assert_allclose(out, FROZEN["harmonised"], rtol=1e-7)
    np.testing.assert_allclose(harmonizer.location_, FROZEN["gamma_star"], atol=1e-6)
    np.testing.assert_allclose(harmonizer.scale_**2, FROZEN["delta_star"], rtol=1e-6)
    again = harmonizer.transform(X).filter(like="region")
    pd.testing.assert_frame_equal(out, again)


def visits(seed=0, n_persons=60, crossed=True):
    """Persons with two or three visits, at any of three sites or at one of them."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n_persons), np.resize([2, 3], n_persons))
    n = len(person)
    site = rng.integers(0, 3, n) if crossed else (person % 3)
    who = rng.normal(size=(n_persons, 5))[person]
    shift, stretch = rng.normal(0, 1, (3, 5)), rng.uniform(0.5, 2, (3, 5))
    values = who + shift[site] + 0.3 * stretch[site] * rng.normal(size=(n, 5))
    X = pd.DataFrame(values, columns=REGIONS).assign(
        person=[f"p{k:03d}" for k in person], site=np.array(list("ABC"))[site]
    )
    return X.set_index(pd.Index([f"row{k}" for k in range(n)])), who


def make():
    return SiteHarmonizer("site", subject="person")


def test_site_effects_are_told_from_persons_better_than_without_them():
    X, who = visits()
    plain = SiteHarmonizer("site").fit_transform(X.drop(columns="person"))
    long = make().fit_transform(X)
    errors = []
    for out in (plain, long):
        gap = out[REGIONS] - who
        errors.append(gap.groupby(X["site"]).mean().var().mean())
    assert errors[1] < 0.25 * errors[0]
    spread = [out[REGIONS].groupby(X["person"]).mean().var() for out in (X, long)]
    assert (spread[1] > 0.5 * spread[0]).all()  # persons stay apart


@pytest.mark.parametrize("crossed", [True, False])
def test_a_new_person_is_treated_as_one_of_training_with_one_row(crossed):
    X, _ = visits(crossed=crossed)
    alone = X.iloc[[0]].assign(person="alone")
    harmonizer = make()
    out = harmonizer.fit_transform(pd.concat([X, alone]))
    renamed = harmonizer.transform(alone.assign(person="stranger"))
    pd.testing.assert_frame_equal(renamed, out.iloc[[-1]], rtol=1e-9)


def test_rows_of_new_persons_do_not_inform_each_other():
    X, _ = visits()
    harmonizer = make().fit(X[:100])
    new = X[100:].assign(person=lambda t: "new " + t["person"])
    batch = harmonizer.transform(new[:8])
    alone = pd.concat([harmonizer.transform(new.iloc[[k]]) for k in range(8)])
    pd.testing.assert_frame_equal(batch, alone, rtol=1e-12)


def test_an_unseen_site_stays_as_it_is_with_a_warning():
    X, _ = visits()
    seen = X["site"] != "C"
    harmonizer = make().fit(X[seen])
    with pytest.warns(DataWarning, match="'C'"):
        out = harmonizer.transform(X[~seen])
    pd.testing.assert_frame_equal(out, X.loc[~seen, REGIONS], check_exact=True)


def test_with_one_row_per_person_it_is_plain():
    X, _ = visits()
    X = X.assign(person=X.index)
    plain = SiteHarmonizer("site").fit_transform(X.drop(columns="person"))
    pd.testing.assert_frame_equal(make().fit_transform(X), plain, check_exact=True)


def test_one_site_is_the_identity():
    X, _ = visits()
    out = make().fit_transform(X.assign(site="A"))
    pd.testing.assert_frame_equal(out, X[REGIONS], check_exact=True)


def test_persons_that_cannot_be_used_are_refused():
    X, _ = visits()
    gap = X.assign(person=X["person"].where(X.index != "row7"))
    with pytest.raises(InputError, match=r"'person' is missing.*row 7 .*'row7'"):
        make().fit(gap)
    with pytest.raises(InputError, match="subject names several columns"):
        SiteHarmonizer("site", subject=["person", "region0"]).fit(X)
    with pytest.raises(InputError, match="no site is named"):
        make_analysis(subject="person")


@settings(max_examples=settings.default.max_examples // 25)
@given(st.integers(0, 2**32 - 1), st.floats(1e-6, 1e6))
def test_neither_order_nor_units_matter(seed, unit):
    X, _ = visits(n_persons=30)
    rng = np.random.default_rng(seed)
    plain = make().fit_transform(X)
    moved = X.iloc[rng.permutation(len(X)), rng.permutation(X.shape[1])]
    out = make().fit_transform(moved.assign(region0=moved["region0"] * unit))
    out = out.loc[X.index, REGIONS].assign(region0=lambda t: t["region0"] / unit)
    pd.testing.assert_frame_equal(out, plain, rtol=1e-5, atol=1e-6)


def test_groups_may_be_held_aside():
    X, _ = visits()
    y = np.where(X["person"] < "p030", "CTR", "SCZ")
    X.loc[y == "SCZ", REGIONS] -= 2.0
    out = SiteHarmonizer("site", subject="person", within_groups=True).fit_transform(X, y)
    means = out.groupby(y).mean()
    np.testing.assert_allclose(means.loc["CTR"] - means.loc["SCZ"], 2.0, atol=0.7)


def test_curves_and_persons_go_together():
    X, _ = visits()
    age = np.random.default_rng(5).uniform(20, 80, len(X))
    X = X.assign(age=age)
    X[REGIONS] += np.sin(age / 12)[:, None]
    both = SiteHarmonizer("site", preserve=["age"], smooth=["age"], subject="person").fit(X)
    assert len(both.coef_) == 5
    assert (both.person_ratio_ > 1).all()
    linear = SiteHarmonizer("site", preserve=["age"], subject="person").fit(X)
    assert (both.region_sd_ < linear.region_sd_).all()


def test_noise_is_not_predicted_and_files_keep_the_persons(tmp_path):
    accuracies = []
    for seed in range(4):
        X, _ = visits(seed)
        labels = np.random.default_rng(seed).permutation(np.resize(["a", "b"], 60))
        y = labels[X["person"].str[1:].astype(int)]
        analysis = make_analysis(site="site", subject="person")
        folds = GroupKFold(3)
        scores = cross_val_score(analysis, X, y, cv=folds, groups=X["person"], error_score="raise")
        accuracies.append(scores.mean())
    half = 5.84 * np.std(accuracies, ddof=1) / np.sqrt(4)  # 99 % interval of 3 degrees of freedom
    assert abs(np.mean(accuracies) - 0.5) < half
    fitted = clone(analysis).fit(X, y)
    save(fitted, tmp_path / "m.sgbn")
    back = load(tmp_path / "m.sgbn")
    np.testing.assert_array_equal(back.predict_proba(X), fitted.predict_proba(X))


def test_persons_whose_labels_change_their_type_are_refused():
    X, _ = visits()
    as_text = X.assign(person=X["person"].str[1:].astype(int).astype(str))
    X = X.assign(person=as_text["person"].astype(int))
    for training, later in ((X, as_text), (as_text, X)):
        harmonizer = make().fit(training)
        with pytest.raises(InputError, match=r"the person in column 'person' is .*training had"):
            harmonizer.transform(later)
    floats = X.assign(person=X["person"].astype(float))  # 7.0 is the same person as 7
    harmonizer = make().fit(X)
    pd.testing.assert_frame_equal(harmonizer.transform(floats), harmonizer.transform(X))
