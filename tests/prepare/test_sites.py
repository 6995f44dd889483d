"""SiteHarmonizer.

Empirical Bayes of site effects, on arrays.

SiteHarmonizer where persons have several rows (longitudinal ComBat).

SiteHarmonizer and CovariateRegressor with smooth effects (ComBat-GAM).
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t
from sklearn.base import clone
from sklearn.feature_selection import f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.codes import refused, warned

from sgbn.paper.experiments.experiment import data_folder
from sgbn.prepare.covariates import CovariateRegressor, learn_design
from sgbn.prepare.pipeline import make_analysis
from sgbn.prepare.sites import SiteHarmonizer, fit_combat, remove_sites, shrink
from sgbn.write.model_files import load, save


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
    with warned("preserve.confounded"):
        SiteHarmonizer("site", preserve=["age", "sex", "field"]).fit(X)


def test_the_group_cannot_be_preserved(table):
    X, y = table
    relabelled = X.assign(diagnosis=np.where(y == "SCZ", "patient", "control"))
    harmonizer = SiteHarmonizer("site", preserve=["age", "sex", "diagnosis"])
    with refused("preserve.group"):
        harmonizer.fit(relabelled, y)
    with refused("preserve.group"):
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
    fitted = SiteHarmonizer(["site"], within_groups=True).fit(X, group)
    named = SiteHarmonizer("site", within_groups=True).fit(X, group)
    pd.testing.assert_frame_equal(fitted.transform(X[:1]), named.transform(X[:1]))  # of no group


@pytest.fixture
def effects():
    rng = np.random.default_rng(0)
    counts = np.array([40, 12, 5, 2])
    gamma = rng.normal(size=(4, 30)) + np.array([[0.5], [-0.5], [1], [0]])
    return gamma, rng.chisquare(5, size=(4, 30)) / 5, counts


def test_the_posterior_equations_hold(effects):
    """With the inverse-gamma parameters as Johnson et al. write them."""
    gamma, variance, counts = effects
    location, delta = shrink(gamma, variance, counts)
    n = counts[:, None]
    centre, tau2 = gamma.mean(1, keepdims=True), gamma.var(1, ddof=1, keepdims=True)
    m, s2 = variance.mean(1, keepdims=True), variance.var(1, ddof=1, keepdims=True)
    a, b = (2 * s2 + m**2) / s2, (m * s2 + m**3) / s2
    expected = (tau2 * n * gamma + delta * centre) / (tau2 * n + delta)
    squares = (n - 1) * variance + n * (gamma - location) ** 2
    np.testing.assert_allclose(location, expected, atol=1e-10)
    np.testing.assert_allclose(delta, (squares / 2 + b) / (n / 2 + a - 1), rtol=1e-10)


def test_small_sites_are_shrunk_more(effects):
    gamma, variance, _ = effects
    few, many = (shrink(gamma, variance, np.full(4, n))[0] for n in (3, 300))
    spread = gamma.std(axis=1)
    assert (few.std(axis=1) < 0.9 * spread).all()
    np.testing.assert_allclose(many, gamma, atol=0.1)


def test_a_site_of_one_subject_is_shrunk_in_location_and_keeps_scale_one():
    rng = np.random.default_rng(0)
    gamma, variance = rng.normal(size=(2, 20)), rng.uniform(0.5, 2, (2, 20))
    variance[1] = 0.0
    location, delta = shrink(gamma, variance, np.array([10, 1]))
    np.testing.assert_array_equal(delta[1], 1.0)
    tau2, centre = gamma[1].var(ddof=1), gamma[1].mean()
    np.testing.assert_allclose(location[1], (tau2 * gamma[1] + centre) / (tau2 + 1))


def test_equal_variances_and_equal_shifts_are_their_own_prior():
    gamma, variance = np.full((2, 5), 0.7), np.full((2, 5), 1.5)
    location, delta = shrink(gamma, variance, np.array([8, 9]))
    np.testing.assert_allclose(location, 0.7)
    np.testing.assert_allclose(delta, 1.5)


def test_without_shrinkage_sites_end_with_equal_means_and_spreads():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [30, 20, 10])
    values = rng.normal(size=(60, 4)) * np.array([1, 2, 3])[codes][:, None] + 5 * codes[:, None]
    D = np.zeros((60, 0))
    out = remove_sites(values, D, codes, fit_combat(values, D, codes, empirical_bayes=False))
    means = [out[codes == k].mean(axis=0) for k in range(3)]
    spreads = [out[codes == k].std(axis=0, ddof=1) for k in range(3)]
    np.testing.assert_allclose(means, np.tile(values.mean(axis=0), (3, 1)), atol=1e-10)
    np.testing.assert_allclose(spreads, np.tile(spreads[0], (3, 1)), rtol=1e-10)


def test_an_unknown_site_changes_nothing_to_the_bit():
    rng = np.random.default_rng(0)
    values, codes, D = rng.normal(size=(20, 3)), np.repeat([0, 1], 10), rng.normal(size=(20, 1))
    fitted = fit_combat(values, D, codes)
    out = remove_sites(values, D, np.full(20, -1), fitted)
    np.testing.assert_array_equal(out, values)


@given(st.integers(0, 10_000), st.integers(1, 5), st.booleans())
def test_answers_are_finite_whatever_the_sites(seed, m, empirical_bayes):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([[0, 0], np.arange(4), rng.integers(0, 4, rng.integers(0, 8))])
    values = rng.integers(0, 3, (len(codes), m)).astype(float)  # with ties and constant regions
    values *= 10.0 ** rng.integers(-8, 8)
    D = np.zeros((len(codes), 0))
    fitted = fit_combat(values, D, codes, empirical_bayes=empirical_bayes)
    assert np.isfinite(remove_sites(values, D, codes, fitted)).all()
    assert (fitted.scale > 0).all()


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


def test_with_one_row_per_person_it_is_plain():
    X, _ = visits()
    X = X.assign(person=X.index)
    plain = SiteHarmonizer("site").fit_transform(X.drop(columns="person"))
    pd.testing.assert_frame_equal(make().fit_transform(X), plain, check_exact=True)


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
        with refused("persons.type"):
            harmonizer.transform(later)
    floats = X.assign(person=X["person"].astype(float))  # 7.0 is the same person as 7
    harmonizer = make().fit(X)
    pd.testing.assert_frame_equal(harmonizer.transform(floats), harmonizer.transform(X))


SMOOTH_SITES_FROZEN = json.loads(
    (Path(__file__).parents[1] / "references" / "combat_gam.json").read_text()
)


@pytest.mark.parametrize(
    "answer", SMOOTH_SITES_FROZEN["answers"], ids=lambda a: f"{a['penalty']:g}"
)
def test_equals_neuroharmonize_with_the_same_penalty(answer):
    n, values = SMOOTH_SITES_FROZEN["n_trained"], np.array(SMOOTH_SITES_FROZEN["values"])
    codes = np.unique(SMOOTH_SITES_FROZEN["site"], return_inverse=True)[1]
    named = pd.DataFrame({"age": SMOOTH_SITES_FROZEN["age"], "sex": SMOOTH_SITES_FROZEN["sex"]})
    design = learn_design(named[:n], smooth=["age"], df=10)
    spline = design.covariates[0].spline
    # statsmodels penalises by 2 alpha, of the covariate in its own units
    weight = 2 * answer["penalty"] / (spline.high - spline.low) ** 3
    D = design.rows(named)
    fitted = fit_combat(
        values[:n],
        D[:n],
        codes[:n],
        empirical_bayes=answer["empirical_bayes"],
        smooth=design.smooth,
        weights=[weight],
    )
    np.testing.assert_allclose(fitted.location, answer["gamma_star"], atol=1e-10)
    np.testing.assert_allclose(fitted.scale**2, answer["delta_star"], rtol=1e-10)
    out = remove_sites(values, D, codes, fitted)
    np.testing.assert_allclose(out[:n], answer["trained"], rtol=1e-10)
    np.testing.assert_allclose(out[n:], answer["applied"], rtol=1e-10)


def curved(n=300, seed=0, m=6):
    """Ages that differ by site, whose effect is an arch; sites that shift and stretch."""
    rng = np.random.default_rng(seed)
    site = rng.integers(0, 3, n)
    age = np.array([rng.uniform(*ends) for ends in np.array([(8, 40), (20, 60), (45, 90)])[site]])
    arch = -(((age - 45) / 20) ** 2)
    shift, stretch = rng.normal(0, 1, (3, m)), rng.uniform(0.7, 1.4, (3, m))
    noise = rng.normal(size=(n, m))
    values = arch[:, None] + shift[site] + 0.5 * stretch[site] * noise
    X = pd.DataFrame(values).add_prefix("region")
    index = [f"s{k}" for k in range(n)]
    X = X.assign(age=age, site=np.array(list("ABC"))[site]).set_index(pd.Index(index))
    truth = arch[:, None] + shift.mean(axis=0) + 0.5 * noise
    return X, site, truth


def test_a_curve_is_told_from_sites_of_other_ages():
    X, site, truth = curved()
    errors = []
    for smooth in ((), ("age",)):
        out = SiteHarmonizer("site", preserve=["age"], smooth=smooth).fit_transform(X)
        gap = out.filter(like="region").to_numpy() - truth
        means = np.array([gap[site == k].mean(axis=0) for k in range(3)])
        errors.append(np.sqrt(np.mean((means - means.mean(axis=0)) ** 2)))
    assert errors[1] < 0.5 * errors[0]


def test_the_regressor_takes_the_same_curve_out():
    X, _, _ = curved()
    out = SiteHarmonizer("site", preserve=["age"], smooth=["age"]).fit_transform(X)
    left = CovariateRegressor(["age"], smooth=["age"]).fit_transform(out)
    straight = CovariateRegressor(["age"]).fit_transform(out)
    arch = -(((X["age"] - 45) / 20) ** 2)
    assert left.corrwith(arch).abs().max() < 0.1
    assert straight.corrwith(arch).abs().min() > 0.6
    np.testing.assert_allclose(left.mean(), out.filter(like="region").mean())


def test_ages_beyond_training_have_the_effect_at_its_end_with_a_warning():
    X, _, _ = curved()
    harmonizer = SiteHarmonizer("site", preserve=["age"], smooth=["age"]).fit(X)
    row = X.iloc[[0]]
    last = harmonizer.transform(row.assign(age=X["age"].max())).filter(like="region")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        near = harmonizer.transform(row.assign(age=X["age"].max() + 1)).filter(like="region")
    with warned("smooth.outside"):
        far = harmonizer.transform(row.assign(age=150.0)).filter(like="region")
    pd.testing.assert_frame_equal(last, near)
    pd.testing.assert_frame_equal(last, far)


def test_grids_and_files(tmp_path):
    X, _, _ = curved(80, m=3)
    y = np.resize(["a", "b"], 80)
    analysis = make_analysis(covariates=["age"], smooth=["age"], site="site")
    grid = GridSearchCV(analysis, {"harmonise__smooth_df": [5, 6]}, cv=2).fit(X, y)
    assert np.isfinite(grid.cv_results_["mean_test_score"]).all()
    save(grid.best_estimator_, tmp_path / "m.sgbn")
    back = load(tmp_path / "m.sgbn")
    np.testing.assert_array_equal(back.predict_proba(X), grid.best_estimator_.predict_proba(X))


@pytest.mark.parametrize(
    ("n_draws", "m", "classifier"),
    [
        (4, 12, LogisticRegression()),
        pytest.param(8, 60, None, marks=pytest.mark.long),  # None: the default
    ],
)
def test_labels_of_noise_are_not_predicted(make_table, n_draws, m, classifier):
    accuracies = []
    for seed in range(n_draws):
        X, y = make_table(n=80, m=m, seed=seed)
        analysis = make_analysis(
            covariates=["age", "sex"],
            smooth=["age"],
            site="site",
            k=m // 4,
            classifier=classifier,
        )
        folds = StratifiedKFold(3, shuffle=True, random_state=seed)
        accuracies.append(cross_val_score(analysis, X, y, cv=folds, error_score="raise").mean())
    error = np.std(accuracies, ddof=1) / np.sqrt(n_draws)
    assert abs(np.mean(accuracies) - 0.5) < t.ppf(0.995, n_draws - 1) * error


def test_test_rows_change_nothing_in_training(make_table):
    X, y = make_table(n=80, m=10)
    wild = X.copy()
    wild.loc[wild.index[60:], "age"] = 1e6
    analysis = make_analysis(covariates=["age", "sex"], smooth=["age"], site="site")
    kept = clone(analysis).fit(X[:60], y[:60])
    with warned("smooth.outside"):
        kept.predict(wild[60:])
    batch = kept.predict_proba(X[60:66])
    alone = np.vstack([kept.predict_proba(X[k : k + 1]) for k in range(60, 66)])
    np.testing.assert_allclose(alone, batch, rtol=1e-10)


def test_a_training_part_with_few_values_has_a_line_in_place_of_the_curve():
    X, _, _ = curved(60)
    X = X.drop(columns="age").assign(grade=np.resize([1.0, 2.0, 3.0], 60))
    expected = SiteHarmonizer("site", preserve=["grade"]).fit_transform(X)
    curve = SiteHarmonizer("site", preserve=["grade"], smooth=["grade"])
    with warned("smooth.part"):
        pd.testing.assert_frame_equal(curve.fit_transform(X), expected)


def test_a_reference_group_with_few_values_has_a_line_in_place_of_the_curve():
    X, _, _ = curved(60)
    grade = np.where(np.arange(60) < 30, np.resize([1.0, 2.0, 3.0], 60), np.arange(60.0))
    X, y = X.assign(grade=grade), np.repeat(["control", "patient"], 30)
    columns = {"covariates": ["age", "grade"], "site": "site", "smooth": ["grade"]}
    with warned("smooth.part"):
        fitted = make_analysis(**columns, reference="control").fit(X, y)
    assert fitted["covariates"].design_names_ == ["age", "grade"]
    assert len(fitted["harmonise"].design_names_) == 1 + 5


PLAIN = SiteHarmonizer("site", preserve=["age", "sex"])
SMOOTH = SiteHarmonizer("site", preserve=["age"], smooth=["age"])
WITHIN = SiteHarmonizer("site", within_groups=True)
KINDS = {  # of harmonisers, each with its rows and groups
    "plain": lambda make_table: (PLAIN, *make_table()),
    "within groups": lambda _: (WITHIN, *unbalanced()),
    "persons": lambda _: (make(), visits(n_persons=30)[0], None),
    "smooth": lambda _: (SMOOTH, curved(90)[0], None),
}


@pytest.fixture(params=KINDS)
def kind(request, make_table):
    return KINDS[request.param](make_table)


def test_an_unseen_site_stays_as_it_is_with_a_warning_or_is_an_error_on_request(kind):
    harmonizer, X, y = kind
    seen = (X["site"] != X["site"].iloc[0]).to_numpy()
    fitted = clone(harmonizer).fit(X[seen], None if y is None else y[seen])
    X = X.assign(age=50.0) if "age" in X else X
    with warned("sites.unseen"):
        out = fitted.transform(X)
    pd.testing.assert_frame_equal(out[~seen], X.loc[~seen, list(out)], check_exact=True)
    pd.testing.assert_frame_equal(out[seen], fitted.transform(X[seen]), rtol=1e-12)
    with refused("sites.unseen"):
        fitted.set_params(unseen="error").transform(X)


def test_one_site_is_the_identity_and_silent(kind):
    harmonizer, X, y = kind
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = clone(harmonizer).fit(X.assign(site="A"), y).transform(X.assign(site="A"))
    pd.testing.assert_frame_equal(out, X[list(out)], check_exact=True)
    assert len(out.columns) == len(X.columns) - 1 - ("person" in X)


@pytest.mark.parametrize("name", ["persons", "smooth"])
@settings(max_examples=settings.default.max_examples // 25)
@given(seed=st.integers(0, 2**32 - 1), unit=st.floats(1e-6, 1e6))
def test_neither_order_nor_units_matter(name, seed, unit):
    harmonizer, X, _ = KINDS[name](None)
    units = {"region0": unit} | ({"age": 12} if name == "smooth" else {})
    rng = np.random.default_rng(seed)
    plain = clone(harmonizer).fit_transform(X)
    moved = X.iloc[rng.permutation(len(X)), rng.permutation(X.shape[1])]
    changed = moved.assign(**{column: moved[column] * by for column, by in units.items()})
    out = clone(harmonizer).fit_transform(changed).loc[X.index, list(plain)]
    out = out.assign(**{column: out[column] / by for column, by in units.items()})
    pd.testing.assert_frame_equal(out, plain, rtol=1e-5, atol=1e-6)
