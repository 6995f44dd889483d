import numpy as np

from sgbn import Cohort, review, simulate_cohort
from sgbn.comparison.preparation import digest, imputed_cohort, prepare, prepared_cohort


def cohort(**more):
    rng = np.random.default_rng(0)
    group = np.repeat(["a", "b"], 30)
    return Cohort(rng.normal(size=(60, 4)), ["w", "x", "y", "z"], range(60), group=group, **more)


def test_covariates_of_a_prepared_cohort_have_no_gaps():
    age = np.r_[np.nan, np.arange(59.0)]
    sex = np.array(["", *["F", "M"] * 29, "F"])
    known = cohort(covariates={"age": age, "sex": sex})
    ready = prepared_cohort(known, prepare(review(known)))
    assert ready.covariates["age"][0] == np.arange(59.0).mean()
    assert ready.covariates["sex"][0] == "unknown"
    np.testing.assert_array_equal(ready.covariates["age"][1:], age[1:])


def test_an_imputed_cohort_keeps_all_but_its_gaps():
    age = np.r_[np.nan, np.arange(59.0)]
    whole = cohort(covariates={"age": age}, site=np.tile(["A", "B"], 30))
    values = whole.values.copy()
    values[4, 2] = np.nan
    gaps = Cohort(
        values,
        whole.regions,
        whole.ids,
        group=whole.group,
        covariates=whole.covariates,
        site=whole.site,
    )
    ready = imputed_cohort(gaps)
    at_site = (np.arange(60) % 2 == 0) & (np.arange(60) != 4)
    assert ready.values[4, 2] == np.median(values[at_site, 2])
    kept = ~np.isnan(values)
    np.testing.assert_array_equal(ready.values[kept], values[kept])
    assert np.isfinite(ready.covariates["age"]).all()


def test_the_digest_tells_any_two_tables_apart():
    one = cohort()
    values = one.values.copy()
    values[3, 2] += 1e-12
    others = [
        Cohort(values, one.regions, one.ids, group=one.group),
        Cohort(one.values, ["w", "x", "z", "y"], one.ids, group=one.group),
        Cohort(one.values, one.regions, one.ids, group=one.group[::-1]),
        cohort(site=np.tile(["A", "B"], 30)),
        cohort(pair=np.tile(np.arange(30), 2)),
        cohort(person=np.arange(60) // 2),
        cohort(block=np.arange(60) // 2),
        cohort(covariates={"age": np.arange(60.0)}),
    ]
    assert len({digest(one), *map(digest, others)}) == 9
    assert digest(cohort()) == digest(one)


def test_harmonised_regions_keep_the_difference_of_the_groups():
    simulated = simulate_cohort(60, regions=6, n_sites=3, differ="means")
    regions = prepare(review(simulated)).to_numpy()
    patients = simulated.group == "patient"
    gap = regions[patients].mean(axis=0) - regions[~patients].mean(axis=0)
    true = simulated.biology[patients].mean(axis=0) - simulated.biology[~patients].mean(axis=0)
    assert np.corrcoef(gap, true)[0, 1] > 0.95
