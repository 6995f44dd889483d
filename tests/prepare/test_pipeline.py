"""The default Pipeline."""

import pickle
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_validate
from tests.codes import refused

from sgbn import Cohort
from sgbn.cohort.rows import row_order, rows_of_groups
from sgbn.cohort.series import SeriesCohort
from sgbn.cohort.simulate import simulate_cohort
from sgbn.prepare.pipeline import (
    cohort_table,
    impute,
    make_analysis,
    make_preparation,
    prepare,
    regions_table,
)


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


def test_preparation_gives_regions_alone_and_asks_for_the_groups(data):
    X, y = data
    preparation = make_preparation(covariates=["age", "sex"], site="site")
    prepared = preparation.fit_transform(X, y)
    assert list(prepared.columns) == [c for c in X.columns if c.startswith("region")]
    with refused("harmonizer.groups"):
        preparation.fit_transform(X)


def cohort(**more):
    rng = np.random.default_rng(0)
    group = np.repeat(["a", "b"], 30)
    return Cohort(rng.normal(size=(60, 4)), ["w", "x", "y", "z"], range(60), group=group, **more)


def test_covariates_of_a_prepared_cohort_have_no_gaps():
    age = np.r_[np.nan, np.arange(59.0)]
    sex = np.array(["", *["F", "M"] * 29, "F"])
    known = cohort(covariates={"age": age, "sex": sex})
    ready = prepare(known)
    assert ready.covariates["age"][0] == np.arange(59.0).mean()
    assert ready.covariates["sex"][0] == "unknown"
    np.testing.assert_array_equal(ready.covariates["age"][1:], age[1:])


def test_an_imputed_cohort_keeps_all_but_its_gaps():
    age = np.r_[np.nan, np.arange(59.0)]
    whole = cohort(covariates={"age": age}, site=np.tile(["A", "B"], 30))
    values = whole.values.copy()
    values[4, 2] = np.nan
    ready = impute(replace(whole, values=values))
    at_site = (np.arange(60) % 2 == 0) & (np.arange(60) != 4)
    assert ready.values[4, 2] == np.median(values[at_site, 2])
    kept = ~np.isnan(values)
    np.testing.assert_array_equal(ready.values[kept], values[kept])
    assert np.isfinite(ready.covariates["age"]).all()


def test_harmonised_regions_keep_the_difference_of_the_groups():
    simulated = simulate_cohort(60, regions=6, n_sites=3, differ="means")
    regions = prepare(simulated).values
    patients = simulated.group == "patient"
    gap = regions[patients].mean(axis=0) - regions[~patients].mean(axis=0)
    true = simulated.biology[patients].mean(axis=0) - simulated.biology[~patients].mean(axis=0)
    assert np.corrcoef(gap, true)[0, 1] > 0.95


def test_prepared_values_are_those_of_the_pipeline():
    simulated = simulate_cohort(40, regions=6, n_sites=2, covariates=["age"], missing=0.02)
    table = make_preparation(simulated).fit_transform(cohort_table(simulated), simulated.group)
    pd.testing.assert_frame_equal(regions_table(prepare(simulated)), table)


def test_a_part_is_prepared_without_the_other():
    simulated = simulate_cohort(60, regions=6, n_sites=3, covariates=["age"], missing=0.01)
    part = prepare(simulated.subset(simulated.site != simulated.site[0]))
    assert not np.isnan(part.values).any()
    changed = simulated.values + 100.0 * (simulated.site == simulated.site[0])[:, None]
    again = replace(simulated, values=changed).subset(simulated.site != simulated.site[0])
    assert np.array_equal(part.values, prepare(again).values)


ROWS = np.random.default_rng(0).standard_normal((6, 2))
TAKEN = Cohort(ROWS, ("site", "b"), tuple("uvwxyz"), site=np.array(list("AABBAB")))


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: prepare(Cohort(ROWS, ("a", "b"), tuple("uvwxyz"))), "groups.none"),
        (lambda: prepare(SeriesCohort.of([np.tile(ROWS, (5, 1))] * 4)), "prepare.series"),
        (lambda: cohort_table(TAKEN), "names.reserved"),
        (lambda: make_analysis(TAKEN, site="scanner"), "analysis.cohort"),
        (lambda: make_analysis(reference="CTR"), "analysis.covariates"),
        (lambda: make_analysis(subject="person"), "analysis.site"),
    ],
)
def test_what_cannot_be_prepared_is_refused(call, code):
    with refused(code):
        call()


def visits(smooth=()):
    """Persons with two rows each at three sites, whose regions follow an arch of age."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(60), 2)
    age = rng.uniform(20, 80, 60)[person] + rng.uniform(0, 1, 120)
    site = rng.choice(["A", "B", "C"], 120)
    values = rng.normal(size=(60, 4))[person] - ((age - 50) / 15)[:, None] ** 2
    values += 0.3 * rng.normal(size=(120, 4)) + 2.0 * (site == "B")[:, None]
    return Cohort(
        values,
        tuple("abcd"),
        tuple(f"r{k}" for k in range(120)),
        group=np.where(person < 30, "CTR", "SCZ"),
        covariates={"age": age},
        smooth=smooth,
        site=site,
        person=person.astype(str),
    )


def test_a_smooth_covariate_is_taken_out_as_a_curve():
    arch = ((visits().covariates["age"] - 50) / 15) ** 2
    left = [
        np.abs([np.corrcoef(arch, one)[0, 1] for one in prepare(visits(smooth)).values.T]).max()
        for smooth in ((), ("age",))
    ]
    assert left[0] > 0.5
    assert left[1] < 0.2


def test_persons_with_several_rows_are_harmonised_as_such():
    cohort = visits(("age",))
    cohort = cohort.subset(rows=row_order(cohort.values))
    steps = make_preparation(cohort, subject="person")
    harmonise = steps.named_steps["harmonise"]
    assert (harmonise.subject, harmonise.smooth) == ("person", ("age",))
    X = cohort_table(cohort).assign(person=cohort.person)
    made = steps.fit_transform(X, cohort.group)[list(cohort.regions)]
    np.testing.assert_array_equal(made, prepare(cohort).values)
    apart = replace(cohort, person=np.array(cohort.ids))
    assert not np.allclose(prepare(cohort).values, prepare(apart).values)
    plain = make_preparation(cohort).fit_transform(cohort_table(cohort), cohort.group)
    np.testing.assert_allclose(plain, prepare(apart).values)


def test_the_tests_hold_the_curve_fixed():
    cohort = prepare(visits(("age",)))
    assert rows_of_groups(cohort).design.covariates["age"].shape == (120, 5)
    plain = rows_of_groups(replace(cohort, smooth=()))
    assert plain.design.covariates["age"].shape == (120,)


def test_curves_of_too_few_values_and_regions_that_covariates_explain_are_refused():
    cohort = visits(("age",))
    few = {**cohort.covariates, "age": np.resize([30.0, 40.0, 50.0], len(cohort))}
    with refused("smooth.values"):
        prepare(replace(cohort, covariates=few))
    values = cohort.values.copy()
    values[:, 1] = 2 * cohort.covariates["age"]
    with refused("regions.explained"):
        prepare(replace(cohort, values=values, smooth=()))
