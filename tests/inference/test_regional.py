import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.meta_analysis import effectsize_smd
from statsmodels.stats.multitest import multipletests
from tests.codes import refused

from sgbn.cohort.cohort import Cohort
from sgbn.inference.regional import regional_differences
from sgbn.prepare.pipeline import prepare


def cohort_of(n=(30, 45), m=6, seed=0, **more):
    rng = np.random.default_rng(seed)
    group = np.repeat([f"g{k}" for k in range(len(n))], n)
    values = rng.normal(size=(len(group), m)) * (1 + (group == "g1"))[:, None]
    values[group == "g1", 0] += 2.0
    ids = [f"s{k}" for k in range(len(group))]
    return Cohort(values, [f"r{k}" for k in range(m)], ids, group=group, **more)


def by_region(found, group="g1"):
    return {row["region"]: row for row in found if row["group"] == group}


def test_without_covariates_it_is_welch_and_hedges():
    cohort = cohort_of()
    found = by_region(regional_differences(cohort))
    first, second = cohort.of_group("g0"), cohort.of_group("g1")
    for k, region in enumerate(cohort.regions):
        row = found[region]
        welch = stats.ttest_ind(second[:, k], first[:, k], equal_var=False)
        assert row["p"] == pytest.approx(welch.pvalue)
        assert row["df"] == pytest.approx(welch.df)
        (g,), (variance,) = effectsize_smd(
            *(np.array([one]) for one in (second[:, k].mean(), second[:, k].std(ddof=1), 45)),
            *(np.array([one]) for one in (first[:, k].mean(), first[:, k].std(ddof=1), 30)),
        )
        assert row["hedges_g"] == pytest.approx(g, rel=1e-3)
        # statsmodels takes the variances to be equal; here they are not
        assert (row["high"] - row["low"]) / 2 / 1.96 == pytest.approx(variance**0.5, rel=0.2)
        assert row["low"] < g < row["high"]


def test_p_is_corrected_over_regions_and_groups():
    found = regional_differences(cohort_of((30, 30, 30)))
    assert len(found) == 12
    for column, method in (("p_holm", "holm"), ("q", "fdr_bh")):
        expected = multipletests(found["p"], method=method)[1]
        np.testing.assert_allclose(found[column], expected)
    assert (np.diff(found["p"]) >= 0).all()
    assert (found["region"][0], found["group"][0]) == ("r0", "g1")


def test_covariates_are_held_fixed_as_in_a_regression():
    rng = np.random.default_rng(1)
    group = np.repeat(["g0", "g1"], 40)
    age = rng.normal(size=80) + 1.5 * (group == "g1")
    site = rng.choice(["a", "b"], 80)
    values = rng.normal(size=(80, 3)) + age[:, None]
    ids = [f"s{k}" for k in range(80)]
    cohort = Cohort(values, ["x", "y", "z"], ids, group=group, covariates={"age": age}, site=site)
    found = by_region(regional_differences(cohort))
    design = np.column_stack([np.ones(80), group == "g1", age, site == "b"]).astype(float)
    for k, region in enumerate(cohort.regions):
        fitted = sm.OLS(values[:, k], design).fit(cov_type="HC2", use_t=True)
        assert found[region]["difference"] == pytest.approx(fitted.params[1])
        assert found[region]["t"] == pytest.approx(fitted.tvalues[1], rel=0.15)


@pytest.mark.parametrize(
    ("n_cohorts", "most"), [(15, 0.21), pytest.param(200, 0.09, marks=pytest.mark.long)]
)
def test_an_imbalanced_covariate_makes_no_false_finding(n_cohorts, most):
    """A t of adjusted values would be too sure: the slope of age is estimated, too."""
    p = []
    for seed in range(n_cohorts):
        rng = np.random.default_rng(seed)
        group = np.repeat(["g0", "g1"], 20)
        age = rng.normal(size=40) + 2.0 * (group == "g1")
        values = rng.normal(size=(40, 2)) + age[:, None]
        ids = [f"s{k}" for k in range(40)]
        cohort = Cohort(values, ["x", "y"], ids, group=group, covariates={"age": age})
        p.append(regional_differences(prepare(cohort))["p_holm"][0])
    assert np.mean(np.array(p) <= 0.05) < most


def test_rows_of_a_person_are_averaged():
    cohort = cohort_of((30, 30))
    twice = Cohort(
        np.concatenate([cohort.values + 0.1, cohort.values - 0.1]),
        cohort.regions,
        [f"{one}-{k}" for k in (1, 2) for one in cohort.ids],
        group=np.tile(cohort.group, 2),
        person=np.tile(cohort.ids, 2),
    )
    found, expected = regional_differences(twice), regional_differences(cohort)
    for name in ("hedges_g", "p", "df"):
        np.testing.assert_allclose(found[name], expected[name])


def test_paired_visits_are_compared_within_persons():
    rng = np.random.default_rng(2)
    person = rng.normal(size=(25, 4)) * 3
    values = np.concatenate([person, person + rng.normal(size=(25, 4)) + [1, 0, 0, 0]])
    order = rng.permutation(50)
    names = np.array([f"p{k}" for k in range(25)] * 2)[order]
    group = np.repeat(["before", "later"], 25)[order]
    ids = [f"s{k}" for k in range(50)]
    cohort = Cohort(values[order], list("abcd"), ids, group=group, pair=names)
    found = by_region(regional_differences(cohort), "later")
    for k, region in enumerate("abcd"):
        expected = stats.ttest_rel(values[25:, k], values[:25, k])
        assert found[region]["p"] == pytest.approx(expected.pvalue)
    assert found["a"]["p_holm"] < 0.05 < found["b"]["p_holm"]


def test_families_are_refused_with_the_reason():
    cohort = cohort_of((20, 20), block=np.repeat(np.arange(20).astype(str), 2))
    with refused("regional.families"):
        regional_differences(cohort)
