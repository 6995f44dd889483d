"""SiteHarmonizer and CovariateRegressor with smooth effects (ComBat-GAM)."""

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
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

from sgbn.cohort.effects import learn_design
from sgbn.core.exceptions import DataWarning, InputError
from sgbn.prepare.covariates import CovariateRegressor
from sgbn.prepare.pipeline import make_analysis
from sgbn.prepare.sites import SiteHarmonizer, fit_combat, remove_sites
from sgbn.write.model_files import load, save

FROZEN = json.loads((Path(__file__).parents[1] / "references" / "combat_gam.json").read_text())


@pytest.mark.parametrize("answer", FROZEN["answers"], ids=lambda a: f"{a['penalty']:g}")
def test_equals_neuroharmonize_with_the_same_penalty(answer):
    n, values = FROZEN["n_trained"], np.array(FROZEN["values"])
    codes = np.unique(FROZEN["site"], return_inverse=True)[1]
    named = pd.DataFrame({"age": FROZEN["age"], "sex": FROZEN["sex"]})
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


def test_a_smooth_covariate_must_be_a_covariate_of_numbers():
    X, _, _ = curved(60)
    X = X.assign(sex=np.resize(["F", "M"], 60), grade=np.resize([1.0, 2.0, 3.0], 60))
    with pytest.raises(InputError, match=r"smooth names 'iq'.*'age'"):
        SiteHarmonizer("site", preserve=["age", "sex", "grade"], smooth=["iq"]).fit(X)
    with pytest.raises(InputError, match=r"'sex' has categories"):
        SiteHarmonizer("site", preserve=["age", "sex", "grade"], smooth=["sex"]).fit(X)
    with pytest.raises(InputError, match="smooth_df is 4"):
        CovariateRegressor(["age"], smooth=["age"], smooth_df=4).fit(X[["region0", "age"]])
    with pytest.raises(InputError, match=r"smooth names 'iq'"):
        make_analysis(covariates=["age"], smooth=["iq"])


def test_ages_beyond_training_have_the_effect_at_its_end_with_a_warning():
    X, _, _ = curved()
    harmonizer = SiteHarmonizer("site", preserve=["age"], smooth=["age"]).fit(X)
    row = X.iloc[[0]]
    last = harmonizer.transform(row.assign(age=X["age"].max())).filter(like="region")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        near = harmonizer.transform(row.assign(age=X["age"].max() + 1)).filter(like="region")
    with pytest.warns(DataWarning, match=r"'age' .*\(8.* in 1 rows.*row 0 .*'s0'"):
        far = harmonizer.transform(row.assign(age=150.0)).filter(like="region")
    pd.testing.assert_frame_equal(last, near)
    pd.testing.assert_frame_equal(last, far)


def test_an_unseen_site_stays_as_it_is_with_a_warning():
    X, site, _ = curved()
    harmonizer = SiteHarmonizer("site", preserve=["age"], smooth=["age"]).fit(X[site < 2])
    new = X[site == 2].assign(age=50.0)
    with pytest.warns(DataWarning, match="'C'"):
        out = harmonizer.transform(new)
    pd.testing.assert_frame_equal(out, new.drop(columns="site"), check_exact=True)


@settings(max_examples=settings.default.max_examples // 25)
@given(st.integers(0, 2**32 - 1), st.floats(1e-6, 1e6))
def test_neither_order_nor_units_matter(seed, unit):
    X, _, _ = curved(90)
    rng = np.random.default_rng(seed)
    harmonizer = SiteHarmonizer("site", preserve=["age"], smooth=["age"])
    plain = harmonizer.fit_transform(X)
    moved = X.iloc[rng.permutation(90), rng.permutation(X.shape[1])]
    changed = moved.assign(region0=moved["region0"] * unit, age=moved["age"] * 12)
    out = clone(harmonizer).fit_transform(changed).loc[X.index, list(plain)]
    out = out.assign(region0=out["region0"] / unit, age=out["age"] / 12)
    pd.testing.assert_frame_equal(out, plain, rtol=1e-5, atol=1e-6)


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
    with pytest.warns(DataWarning, match="far outside"):
        kept.predict(wild[60:])
    batch = kept.predict_proba(X[60:66])
    alone = np.vstack([kept.predict_proba(X[k : k + 1]) for k in range(60, 66)])
    np.testing.assert_allclose(alone, batch, rtol=1e-10)


def test_a_training_part_with_few_values_has_a_line_in_place_of_the_curve():
    X, _, _ = curved(60)
    X = X.drop(columns="age").assign(grade=np.resize([1.0, 2.0, 3.0], 60))
    expected = SiteHarmonizer("site", preserve=["grade"]).fit_transform(X)
    curve = SiteHarmonizer("site", preserve=["grade"], smooth=["grade"])
    with pytest.warns(DataWarning, match=r"'grade' has 3 different values.*is linear"):
        pd.testing.assert_frame_equal(curve.fit_transform(X), expected)


def test_a_reference_group_with_few_values_has_a_line_in_place_of_the_curve():
    X, _, _ = curved(60)
    grade = np.where(np.arange(60) < 30, np.resize([1.0, 2.0, 3.0], 60), np.arange(60.0))
    X, y = X.assign(grade=grade), np.repeat(["control", "patient"], 30)
    columns = {"covariates": ["age", "grade"], "site": "site", "smooth": ["grade"]}
    with pytest.warns(DataWarning, match=r"'grade' has 3 different values.*is linear"):
        fitted = make_analysis(**columns, reference="control").fit(X, y)
    assert fitted["covariates"].design_names_ == ["age", "grade"]
    assert len(fitted["harmonise"].design_names_) == 1 + 5
