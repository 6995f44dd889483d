"""SiteHarmonizer."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import f_classif
from sklearn.utils.estimator_checks import parametrize_with_checks

from sgbn.core.exceptions import DataWarning, InputError
from sgbn.paper.experiments.experiment import data_folder
from sgbn.prepare.sites import SiteHarmonizer


@parametrize_with_checks([SiteHarmonizer()])
def test_follows_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def frozen():
    """Answers of neuroHarmonize and neuroCombat, made by references/combat.py."""
    path = Path(__file__).parents[1] / "references" / "combat.json"
    return json.loads(path.read_text())


@pytest.fixture(scope="module")
def frozen_table(frozen):
    X = pd.DataFrame(frozen["values"]).add_prefix("region")
    return X.assign(**{name: frozen[name] for name in ("site", "age", "sex")})


@pytest.mark.parametrize(("empirical_bayes", "key"), [(True, "eb"), (False, "raw")])
def test_equals_neuroharmonize_in_training_and_on_new_subjects(
    frozen, frozen_table, empirical_bayes, key
):
    n, answer = frozen["n_trained"], frozen["neuroHarmonize"][key]
    harmonizer = SiteHarmonizer(
        "site", preserve=["age", "sex"], empirical_bayes=empirical_bayes
    ).fit(frozen_table[:n])
    np.testing.assert_allclose(harmonizer.location_, answer["gamma_star"], atol=1e-10)
    np.testing.assert_allclose(harmonizer.scale_**2, answer["delta_star"], rtol=1e-10)
    for rows, name in ((slice(None, n), "trained"), (slice(n, None), "applied")):
        out = harmonizer.transform(frozen_table[rows]).filter(like="region")
        np.testing.assert_allclose(out, answer[name], rtol=1e-10)


@pytest.mark.parametrize(("empirical_bayes", "key"), [(True, "eb"), (False, "raw")])
def test_equals_neurocombat_with_sex_as_a_category(frozen, frozen_table, empirical_bayes, key):
    X = frozen_table[: frozen["n_trained"]]
    X = X.assign(sex=X["sex"].map({0: "F", 1: "M"}))
    out = SiteHarmonizer(
        "site", preserve=["age", "sex"], empirical_bayes=empirical_bayes
    ).fit_transform(X)
    np.testing.assert_allclose(out.filter(like="region"), frozen["neuroCombat"][key], rtol=1e-10)


@pytest.fixture
def known():
    """Three sites of known shift and stretch, ages that differ by site, and a slope of -0.05."""
    rng = np.random.default_rng(0)
    n, m = 600, 10
    site = np.resize([0, 1, 2], n)
    age = rng.uniform(20, 60, n) + 10 * site
    shift, stretch = rng.normal(0, 2, (3, m)), rng.uniform(0.5, 2, (3, m))
    clean = rng.normal(size=(n, m))
    values = -0.05 * age[:, None] + shift[site] + stretch[site] * clean
    X = pd.DataFrame(values).add_prefix("region").assign(age=age, site=np.array(list("ABC"))[site])
    return X, site, clean


def test_known_shifts_and_stretches_are_removed_and_the_age_effect_is_kept(known):
    X, site, clean = known
    out = SiteHarmonizer("site", preserve=["age"]).fit_transform(X)
    age = X["age"] - X["age"].mean()
    slopes = [np.polyfit(age, out[f"region{j}"], 1)[0] for j in range(10)]
    np.testing.assert_allclose(slopes, -0.05, atol=0.02)
    rest = out.filter(like="region").to_numpy() + 0.05 * age.to_numpy()[:, None]
    means = np.array([rest[site == k].mean(axis=0) for k in range(3)])
    spreads = np.array([rest[site == k].std(axis=0) for k in range(3)])
    assert np.ptp(means, axis=0).max() < 0.4
    assert (np.ptp(spreads, axis=0) / spreads.mean(axis=0)).max() < 0.1
    for j in range(10):
        assert np.corrcoef(rest[:, j], clean[:, j])[0, 1] > 0.98


def test_without_preserving_age_its_difference_between_sites_is_lost(known):
    X, site, _ = known
    kept, lost = (
        SiteHarmonizer("site", preserve=["age"][:k], passthrough=["age"][k:]).fit_transform(X)
        for k in (1, 0)
    )
    gap = [
        out[site == 2].filter(like="region").mean().mean()
        - out[site == 0].filter(like="region").mean().mean()
        for out in (kept, lost)
    ]
    assert gap[0] < -0.8  # 20 years at -0.05 a year
    assert abs(gap[1]) < 0.1


def test_an_unseen_site_stays_as_it_is_with_a_warning(table):
    X, _ = table
    seen = X["site"] != "ROMA"
    harmonizer = SiteHarmonizer("site", preserve=["age", "sex"]).fit(X[seen])
    with pytest.warns(DataWarning, match=r"'ROMA' \(20\)"):
        out = harmonizer.transform(X)
    pd.testing.assert_frame_equal(out[~seen], X[~seen].drop(columns="site"), check_exact=True)
    pd.testing.assert_frame_equal(out[seen], harmonizer.transform(X[seen]), rtol=1e-12)


def test_an_unseen_site_is_an_error_on_request(table):
    X, _ = table
    harmonizer = SiteHarmonizer("site", preserve=["age", "sex"], unseen="error")
    harmonizer.fit(X[X["site"] != "ROMA"])
    with pytest.raises(InputError, match=r"'ROMA' \(20\); it had 'BERN', 'LYON', 'OSLO'"):
        harmonizer.transform(X)
    with pytest.raises(InputError, match="unseen is 'drop'; give 'average' or 'error'"):
        SiteHarmonizer("site", unseen="drop").fit(X)


def test_a_site_of_one_subject_is_shrunk_and_keeps_its_scale(table):
    X, _ = table
    X = X.assign(site=X["site"].mask(X.index == "sub-003", "TINY"))
    harmonizer = SiteHarmonizer("site", preserve=["age", "sex"]).fit(X)
    tiny = harmonizer.sites_.index("TINY")
    assert harmonizer.site_counts_[tiny] == 1
    np.testing.assert_array_equal(harmonizer.scale_[tiny], 1.0)
    out = harmonizer.transform(X).filter(like="region")
    assert np.isfinite(out.to_numpy()).all()
    assert harmonizer.location_[tiny].any()
    raw = SiteHarmonizer("site", preserve=["age", "sex"], empirical_bayes=False)
    alone = raw.fit_transform(X).loc[["sub-003"]]
    pd.testing.assert_frame_equal(alone, X.loc[["sub-003"]].drop(columns="site"), check_exact=True)


def test_one_site_is_the_identity_and_silent(table):
    X, _ = table
    X = X[X["site"] == "OSLO"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = SiteHarmonizer("site", preserve=["age", "sex"]).fit_transform(X)
    pd.testing.assert_frame_equal(out, X.drop(columns="site"), check_exact=True)


def test_a_constant_region_stays_as_it_is_and_tells_the_others_nothing(table):
    X, _ = table
    expected = SiteHarmonizer("site", preserve=["age", "sex"]).fit_transform(X)
    out = SiteHarmonizer("site", preserve=["age", "sex"]).fit_transform(X.assign(zero=0.1))
    assert (out["zero"] == 0.1).all()
    pd.testing.assert_frame_equal(out.drop(columns="zero"), expected, rtol=1e-12)


def test_a_region_that_only_tells_the_site_is_levelled(table):
    X, _ = table
    coded = X.assign(code=X["site"].map({"BERN": 1.0, "LYON": 2.0, "OSLO": 3.0, "ROMA": 4.0}))
    out = SiteHarmonizer("site", preserve=["age", "sex"]).fit_transform(coded)
    np.testing.assert_allclose(out["code"], coded["code"].mean())


def test_a_covariate_confounded_with_the_site_is_warned_of(table):
    X, _ = table
    X = X.assign(field=X["site"].map({"BERN": 3.0, "LYON": 3.0, "OSLO": 1.5, "ROMA": 1.5}))
    with pytest.warns(DataWarning, match=r"'field' cannot be separated from 'site'"):
        SiteHarmonizer("site", preserve=["age", "sex", "field"]).fit(X)


def test_the_group_cannot_be_preserved(table):
    X, y = table
    relabelled = X.assign(diagnosis=np.where(y == "SCZ", "patient", "control"))
    harmonizer = SiteHarmonizer("site", preserve=["age", "sex", "diagnosis"])
    with pytest.raises(InputError, match=r"'diagnosis', which is the group.*must not know"):
        harmonizer.fit(relabelled, y)
    with pytest.raises(InputError, match=r"'age', which is the group"):
        harmonizer.fit(relabelled, X["age"])


def test_a_target_without_repeated_values_is_not_taken_for_the_group(table):
    X, _ = table
    X = X.assign(age=np.linspace(20, 70, len(X)))
    SiteHarmonizer("site", preserve=["age", "sex"]).fit(X, np.arange(len(X))[::-1])


def test_y_plays_no_part(table):
    X, y = table
    with_y, without = (
        SiteHarmonizer("site", preserve=["age", "sex"]).fit(X, labels).transform(X)
        for labels in (y, None)
    )
    pd.testing.assert_frame_equal(with_y, without, check_exact=True)


def test_sites_may_be_numbers_of_another_type_in_test(table):
    X, _ = table
    X = X.assign(site=X["site"].map({"BERN": 1, "LYON": 2, "OSLO": 3, "ROMA": 4}))
    harmonizer = SiteHarmonizer("site", preserve=["age", "sex"]).fit(X)
    expected = harmonizer.transform(X)
    pd.testing.assert_frame_equal(harmonizer.transform(X.assign(site=X["site"] * 1.0)), expected)


def test_sites_that_cannot_be_used_are_refused(table):
    X, _ = table
    with pytest.raises(InputError, match=r"different site in column 'site'.*subject ids"):
        SiteHarmonizer("site", preserve=["age", "sex"]).fit(X.assign(site=X.index))
    X.loc["sub-009", "site"] = None
    with pytest.raises(InputError, match=r"'site' is missing.*row 9 .*'sub-009'"):
        SiteHarmonizer("site", preserve=["age", "sex"]).fit(X)


def test_one_region_alone_is_not_shrunk(table):
    X, _ = table
    X = X[["region0", "site"]]
    out = SiteHarmonizer("site").fit_transform(X)
    raw = SiteHarmonizer("site", empirical_bayes=False).fit_transform(X)
    pd.testing.assert_frame_equal(out, raw)


def test_on_abide_site_differences_drop_strongly_also_in_subjects_left_out():
    folder = data_folder()
    if folder is None or not (folder / "neuro" / "abide1_asd.csv").exists():
        pytest.skip("no folder of real tables: set SGBN_DATA")
    raw = pd.read_csv(folder / "neuro" / "abide1_asd.csv")
    X = raw.drop(columns=["subject_id", "group", "fiq"])
    harmonizer = SiteHarmonizer("site", preserve=["age", "sex"]).fit(X[::2])
    for part, share in ((X[::2], 0.05), (X[1::2], 0.3)):
        before, after = (site_f(table, part) for table in (part, harmonizer.transform(part)))
        assert before > 5
        assert after < share * before


def site_f(table, part):
    """Median over regions of the F of sites, age and sex held constant within sites."""
    regions = table.drop(columns=["age", "sex", "site"], errors="ignore").to_numpy()
    D = np.column_stack([part["age"], part["sex"] == "M", pd.get_dummies(part["site"])])
    coef = np.linalg.lstsq(D.astype(float), regions, rcond=None)[0]
    return np.median(f_classif(regions - D[:, :2].astype(float) @ coef[:2], part["site"])[0])


def unbalanced(effect=1.5, scales=(1.0, 1.0)):
    """Two groups that differ, at two sites with other shares of them; regions are independent."""
    rng = np.random.default_rng(0)
    group = np.repeat(["CTR", "SCZ"], 500)
    at_a = rng.random(1000) < np.where(group == "CTR", 0.8, 0.2)
    noise = rng.normal(size=(1000, 6)) * np.where(at_a, *scales)[:, None]
    X = pd.DataFrame(noise - effect * (group == "SCZ")[:, None], columns=list("abcdef"))
    return X.assign(site=np.where(at_a, "A", "B")), group


@pytest.mark.parametrize("scales", [(1.0, 1.0), (0.7, 1.5)])
def test_within_groups_a_group_difference_is_not_taken_for_a_site(scales):
    X, group = unbalanced(scales=scales)
    plain = SiteHarmonizer("site").fit_transform(X)[group == "CTR"].corr().to_numpy()
    apart = SiteHarmonizer("site", within_groups=True).fit_transform(X, group)
    within = [apart[group == g].corr().to_numpy() for g in ("CTR", "SCZ")]
    off = ~np.eye(6, dtype=bool)
    assert plain[off].mean() > 0.03
    assert all(abs(C[off].mean()) < 0.02 for C in within)
    means = apart.groupby(group).mean()
    np.testing.assert_allclose(means.loc["CTR"] - means.loc["SCZ"], 1.5, atol=0.25)


def test_within_groups_equals_the_group_as_a_preserved_covariate():
    X, group = unbalanced(scales=(0.7, 1.5))
    apart = SiteHarmonizer("site", within_groups=True).fit_transform(X, group)
    preserved = SiteHarmonizer("site", preserve=["g"]).fit_transform(X.assign(g=group))
    pd.testing.assert_frame_equal(apart, preserved.drop(columns="g"))


def test_within_groups_one_site_changes_nothing():
    X, group = unbalanced()
    same = SiteHarmonizer("site", within_groups=True).fit_transform(X.assign(site="A"), group)
    pd.testing.assert_frame_equal(same, X.drop(columns="site"))


def test_within_groups_new_rows_need_no_group():
    X, group = unbalanced()
    fitted = SiteHarmonizer("site", within_groups=True).fit(X, group)
    assert fitted.transform(X[:1]).shape == (1, 6)
    with pytest.raises(InputError, match="needs the groups"):
        SiteHarmonizer("site", within_groups=True).fit(X)


def test_one_site_column_in_a_list_is_that_column_and_two_are_refused():
    X, _ = unbalanced()
    one, listed = SiteHarmonizer("site").fit_transform(X), SiteHarmonizer(["site"]).fit_transform(X)
    pd.testing.assert_frame_equal(one, listed)
    with pytest.raises(InputError, match="site names several columns"):
        SiteHarmonizer(["site", "a"]).fit(X)
