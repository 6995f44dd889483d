import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from sgbn.cohort.atlas import Atlas, load_atlas
from sgbn.cohort.cohort import Cohort as group_tests_Cohort
from sgbn.comparison.steps.data import table_one
from sgbn.core.problems import speaking
from sgbn.prepare.balance import (
    NOT_TESTED,
    check_sites,
    covariate_test,
    crosstab,
    first_rows,
    is_counted,
    level_text,
    means_test,
    robust_z,
    shares_test,
)
from sgbn.prepare.review import review

N = 60


GROUP = np.array(["CTR", "SCZ"])[np.arange(N) % 2]
NOISE = np.random.default_rng(0).normal(size=N)
SCORE = np.resize(["a", "b", "c"], N)


@pytest.mark.parametrize(
    ("column", "level", "code"),
    [
        ((GROUP == "SCZ").astype(float), "stop", "covariate.is-group"),
        (np.where(GROUP == "CTR", 30.0, 50.0) + 20 * NOISE, "warning", "covariate.imbalance"),
        (
            np.where((GROUP == "SCZ") & (np.arange(N) < 55), "M", "F"),
            "warning",
            "covariate.imbalance",
        ),
        (np.where(GROUP == "CTR", 70.0, 30.0) + 5 * NOISE, "warning", "covariate.defines"),
        (["A"] * N, "warning", "covariate.constant"),
        (np.where(np.arange(N) == 7, np.nan, NOISE), "note", "covariate.gaps"),
        (np.where(GROUP == "CTR", np.nan, np.arange(N)), "stop", "covariate.empty"),
        (np.where(GROUP == "CTR", "", SCORE), "stop", "covariate.empty"),
        (np.full(N, np.nan), "stop", "covariate.empty"),
    ],
)
def test_covariates_that_mean_something_else_are_found(make, found, column, level, code):
    (finding,) = found(make(covariates={"x": column})).values()
    assert (finding.problem.code, finding.level) == (code, level)


def test_a_region_among_the_covariates_is_pointed_out(make, found):
    assert [*found(make(covariates={"lh_precuneus": NOISE}))] == ["covariate.is-region"]


def test_review_and_table_one_say_the_same_of_pairs_and_families(make, found):
    person = np.random.default_rng(0).normal(50, 10, N // 2)
    visit = np.tile([0.0, 0.5], N // 2) + np.linspace(0, 0.1, N)
    pairs = make(
        covariates={"age": np.repeat(person, 2) + visit},
        pair=np.repeat([f"p{k}" for k in range(N // 2)], 2),
    )
    families = make(
        covariates={"age": np.repeat(person, 2) + 40 * visit},
        block=[f"f{k % 10}" for k in range(N)],
    )
    for cohort, said in ((pairs, True), (families, False)):
        p = table_one(cohort, cohort.groups).set_index("characteristic")["p"]["age"]
        finding = found(cohort).get("covariate.imbalance")
        assert bool(finding) == said == bool(p < 0.05)
        assert finding is None or finding.problem.values["p"] == pytest.approx(p)


@pytest.mark.parametrize(("told", "level"), [(0.95, "stop"), (0.1, "warning")])
def test_sites_that_were_not_named_are_asked_about(make, found, told, level):
    facts = {"unnamed_sites": {"scanner": {"sites": 2, "told": told}}}
    (finding,) = check_sites(make(site=None, provenance=facts))
    assert (finding.level, finding.problem.values["column"]) == (level, "scanner")
    assert not found(make(site=["A", "B", "B", "A"] * 15, provenance=facts))


def test_sites_that_hold_one_group_or_one_subject_are_said(make, found):
    assert [*found(make(site=np.where(GROUP == "CTR", "A", "B")))] == ["sites.pure-all"]
    assert [*found(make(site=["A"] * N))] == ["sites.one"]
    site = np.where(np.arange(N) < 40, "A", np.where(GROUP == "CTR", "B", "A"))
    assert [*found(make(site=site))] == ["sites.pure", "sites.shares"]
    site = np.where(np.arange(N) % 4 < 2, "A", "B").astype(object)
    site[5] = "C"
    single = found(make(site=site.astype(str)))["sites.single"]
    assert str(single.problem).startswith("some sites have only one subject: 'C'. ")
    ids = np.where(np.arange(N) < 20, "A", [f"Ann {k}" for k in range(N)])
    single = found(make(site=ids))["sites.single"]
    assert str(single.problem).startswith("some sites have only one subject: 40 labels. ")


def test_levels_that_are_numbers_have_names_of_people():
    assert level_text(1.0) == "1"
    assert level_text("F") == "F"


def test_two_values_are_counted_and_more_are_measured():
    assert is_counted(np.array([0.0, 1.0, np.nan]))
    assert not is_counted(np.array([0.0, 1.0, 2.0]))
    assert is_counted(np.array(["a", "b", "c"]))


def test_two_means_are_compared_by_welch_and_more_by_anova():
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=20), 2 * rng.normal(size=30) + 1, rng.normal(size=9)]
    assert means_test(parts[:2]) == (
        "Welch's t",
        stats.ttest_ind(*parts[:2], equal_var=False).pvalue,
    )
    assert means_test(parts) == ("one-way ANOVA", stats.f_oneway(*parts).pvalue)
    for parts in ([np.ones(3), np.ones(4)], [np.ones(1), rng.normal(size=9)]):
        assert np.isnan(means_test(parts).p)


@pytest.fixture
def paired():
    """Visits of 20 persons, half a year apart, of persons who differ by decades."""
    age = np.random.default_rng(0).normal(50, 10, 20)
    sex = np.resize([0.0, 1.0], 40)
    return group_tests_Cohort(
        np.random.default_rng(1).normal(size=(40, 3)),
        list("abc"),
        range(40),
        group=np.repeat(["v1", "v2"], 20),
        pair=np.array([*map(str, range(20)), *map(str, range(19, -1, -1))]),
        covariates={"age": np.concatenate([age, age[::-1] + np.linspace(0.4, 0.6, 20)])},
    ), sex


def test_pairs_are_compared_within_persons_and_families_not_at_all(paired):
    cohort, sex = paired
    age = cohort.covariates["age"]
    expected = stats.ttest_rel(age[:20], age[20:][::-1]).pvalue
    assert covariate_test(cohort, age) == ("paired t", pytest.approx(expected))
    assert covariate_test(cohort, sex) == NOT_TESTED
    assert covariate_test(replace(cohort, pair=None), age).name == "Welch's t"
    assert covariate_test(replace(cohort, pair=None), sex).name == "chi-square"
    block = np.array([f"f{k % 10}" for k in range(40)])
    families = replace(cohort, pair=None, block=block)
    assert covariate_test(families, age) == covariate_test(families, sex) == NOT_TESTED
    gap = age.copy()
    gap[20:39] = np.nan
    assert covariate_test(cohort, gap) == NOT_TESTED


def test_persons_count_by_their_first_row(paired):
    cohort = replace(paired[0], pair=None, person=np.repeat([*map(str, range(20))], 2))
    assert first_rows(cohort).ids == tuple(cohort.ids[::2])
    assert len(first_rows(replace(cohort, person=None))) == 40


def test_few_subjects_are_tested_exactly():
    group = np.repeat(["a", "b"], [8, 9])
    column = np.array([*"xxxxxxyy", *"yyyyyyyyx"])
    test = shares_test(crosstab(column, group))
    assert test.name == "Fisher's exact"
    assert test.p == pytest.approx(stats.fisher_exact([[6, 1], [2, 8]]).pvalue)
    many = shares_test(crosstab(np.tile(column, 5), np.tile(group, 5)))
    expected = stats.chi2_contingency([[30, 5], [10, 40]], correction=False)
    assert many == ("chi-square", expected.pvalue)


def test_sparse_tables_are_compared_with_random_ones():
    group = np.repeat(["a", "b"], [10, 10])
    column = np.array([*"xxxxxxyyzz", *"yyyyzzzzzx"])
    test = shares_test(crosstab(column, group))
    assert test.name == "chi-square, random tables"
    rng = np.random.default_rng(1)
    own = stats.chi2_contingency(crosstab(column, group)).statistic
    by_hand = [
        stats.chi2_contingency(crosstab(column, rng.permutation(group))).statistic
        for _ in range(600)
    ]
    assert test.p == pytest.approx(np.mean(np.array(by_hand) >= own - 1e-9), abs=0.03)
    assert shares_test(crosstab(column, group)) == test


def test_one_level_is_no_test():
    assert np.isnan(shares_test(crosstab(np.array(["x"] * 4), np.array([*"aabb"]))).p)


def test_copies_of_regions_stop_and_each_pair_is_named(make):
    def copy(values):
        values[:, 1] = 2 * values[:, 0] + 1
        values[:, 4] = 3 - values[:, 2] * (1 + 1e-9)

    (stop,) = review(make(copy)).stops
    pairs = stop.problem.values["pairs"]
    assert pairs == ["'lh_insula' and 'rh_insula'", "'lh_cuneus' and 'lh_lingual'"]


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_copies_within_a_group_stop(make, shift):
    def copy(values):
        values[:, 1] = np.where(np.arange(N) % 2, values[:, 0] + shift, values[:, 1])

    assert review(make(copy)).stops[0].problem.code == "regions.copies"


def test_a_correlation_near_one_is_no_copy(make):
    def nearly(values):
        values[:, 1] = values[:, 0] + 1e-3 * (values[:, 1] - values[:, 1].mean())

    assert not review(make(nearly)).stops


def test_totals_are_said_with_what_they_are_sums_of(make, found):
    def total(values):
        values[:, 4] = values[:, :3].sum(axis=1) + (np.arange(N) % 2)

    named = found(make(total))["regions.combined"].problem.values
    sums = {"lh_insula", "rh_insula", "lh_cuneus", "lh_lingual"}
    assert {*named["names"], *named["others"]} == sums


def test_outlying_cells_and_subjects_are_said_and_kept(make, found):
    def change(values):
        values[8, 3] = 25.0
        values[8, 4] = -20.0

    findings = found(make(change))
    assert [*findings] == ["cells.outlying", "subjects.outlying"]
    finding = findings["cells.outlying"]
    text = str(finding)
    assert "2 cells" in text
    assert "'sub-08 (" in text
    with speaking(people=False):
        assert not any(said in str(finding) for said in ("25", "-20", "rh_cuneus", "lh_lingual"))
    assert findings["subjects.outlying"].problem.values["subjects"] == ["sub-08"]
    assert len(review(make(change)).cohort) == N


def test_regions_that_the_atlas_does_not_know_are_listed(make, found):
    assert [*found(make(atlas=None))] == ["regions.no-atlas"]
    regions = found(make(atlas=load_atlas("destrieux")))["regions.unplaced"].problem.values[
        "regions"
    ]
    assert len(regions) == 5


def test_regions_without_coordinates_are_listed(make, found):
    first, second = make().regions[:2]
    nowhere = dict.fromkeys("xyz", math.nan)
    regions = [
        one._replace(**nowhere) if one.name in (first, second) else one
        for one in load_atlas("desikan_killiany").regions
    ]
    finding = found(make(atlas=Atlas("own", "mine", tuple(regions))))["regions.nowhere"]
    assert finding.problem.values["regions"] == [first, second]


def test_robust_z_is_that_of_normal_draws_and_ignores_outliers():
    values = np.random.default_rng(0).standard_normal((4000, 1)) * 3 + 7
    values[:40] = 1e6
    z = robust_z(values)
    assert np.std(z[40:]) == pytest.approx(1, abs=0.05)
    assert abs(np.median(z)) < 1e-9
    assert z[0, 0] > 1e5


def test_robust_z_of_columns_with_gaps_or_without_spread():
    values = 100 + np.random.default_rng(0).standard_normal((30, 4))
    values[:, 0] = 5.0
    values[:, 1] = 5.0
    values[3, 1] = 6.0
    values[0, 2] = np.nan
    z = robust_z(values)
    assert (z[:, 0] == 0).all()
    assert z[3, 1] > 5
    assert np.isnan(z[0, 2])
    assert np.isfinite(z[1:, 2]).all()
    assert np.isnan(robust_z(values[:9])).all()
