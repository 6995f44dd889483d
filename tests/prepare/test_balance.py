import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from sgbn import Cohort
from sgbn.cohort.atlas import Atlas, load_atlas
from sgbn.cohort.cohort import Cohort as group_tests_Cohort
from sgbn.comparison.steps.data import table_one
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
)
from sgbn.prepare.review import review

N = 60


def test_a_covariate_that_is_the_group_stops(make, only):
    group = make().group
    finding = only(make(covariates={"dx": (group == "SCZ").astype(float)}))
    assert finding.level == "stop"
    assert "'dx' is the group under another name" in finding.what


def test_groups_that_differ_in_a_covariate_are_said_with_numbers(make, only):
    noise = 20 * np.random.default_rng(0).normal(size=N)
    age = np.where(make().group == "CTR", 30.0, 50.0) + noise
    finding = only(make(covariates={"age": age}))
    assert finding.level == "warning"
    assert "the groups differ in 'age' (CTR 27.67, SCZ 55.42; p = " in finding.what
    sex = np.where(np.arange(N) < 55, np.where(make().group == "CTR", "F", "M"), "F")
    assert "(CTR 100% F, SCZ 10% F; p = " in only(make(covariates={"sex": sex})).what
    coded = {"sex": (sex == "F").astype(float)}
    assert "(CTR 0% with 0, SCZ 90% with 0; p = " in only(make(covariates=coded)).what


def test_a_region_among_the_covariates_is_pointed_out(make, only):
    values = np.random.default_rng(1).normal(size=N)
    finding = only(make(covariates={"lh_precuneus": values}))
    assert finding.level == "warning"
    assert "'lh_precuneus' has the name of a region" in finding.what


def test_constant_and_missing_covariates_are_said(make, only):
    finding = only(make(covariates={"scanner": ["A"] * N}))
    assert "'scanner' is the same in all subjects" in finding.what
    age = np.random.default_rng(0).normal(40, 5, N)
    age[7] = np.nan
    finding = only(make(covariates={"age": age}))
    assert "missing in 1 of 60 subjects, such as 'sub-07'" in finding.what


def test_a_covariate_that_a_whole_group_lacks_stops(make, only):
    for score in (np.arange(N, dtype=float), np.resize(["a", "b", "c"], N)):
        empty = np.nan if score.dtype.kind == "f" else ""
        column = np.where(make().group == "CTR", empty, score)
        finding = only(make(covariates={"updrs": column}))
        assert finding.level == "stop"
        assert "'updrs' is missing in all subjects of a group, such as 'sub-00'" in finding.what
    assert only(make(covariates={"iq": np.full(N, np.nan)})).level == "stop"


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
        texts = [text for text in found(cohort) if "the groups differ in 'age'" in text]
        assert bool(texts) == said == bool(p < 0.05)
        assert all(f"p = {p:.2g}" in text for text in texts)


def test_the_level_that_differs_most_is_shown(make, only):
    group = make().group
    level = np.where(group == "CTR", np.resize(["A", "A", "Z"], N), np.resize(["B", "B", "Z"], N))
    assert "(CTR 67% A, SCZ 0% A; p = " in only(make(covariates={"h": level})).what


@pytest.mark.parametrize(("told", "level"), [(0.95, "stop"), (0.1, "warning")])
def test_sites_that_were_not_named_are_asked_about(make, found, told, level):
    facts = {"unnamed_sites": {"scanner": {"sites": 2, "told": told}}}
    (finding,) = check_sites(make(site=None, provenance=facts))
    assert finding.level == level
    assert "'scanner' looks like sites" in finding.what
    assert "--site scanner" in finding.action
    assert "--exclude scanner" in finding.action
    named = make(site=["A", "B", "B", "A"] * 15, provenance=facts)
    assert not any("scanner" in text for text in found(named))


def test_sites_that_hold_one_group_or_one_subject_are_said(make, found, only):
    group = make().group
    assert only(make(site=np.where(group == "CTR", "A", "B"))).level == "stop"
    assert "all subjects are from the site A" in only(make(site=["A"] * N)).what
    site = np.where(np.arange(N) < 40, "A", np.where(group == "CTR", "B", "A"))
    pure, unequal = found(make(site=site))
    assert "1 site has subjects of one group only: 'B'" in pure
    assert "the shares of the groups differ between sites (CTR 67% A, SCZ 100% A; p = " in unequal
    site = np.where(np.arange(N) % 4 < 2, "A", "B").astype(object)
    site[5] = "C"
    texts = found(make(site=site.astype(str)))
    assert any("1 site has one subject: 'C'" in text for text in texts)


def test_a_covariate_that_nearly_makes_the_groups_is_pointed_at():
    rng = np.random.default_rng(0)
    group = np.repeat(["old", "young"], 40)
    age = np.where(group == "old", 70.0, 30.0) + rng.normal(size=80) * 5
    values = rng.normal(size=(80, 3))
    near, far = (
        review(Cohort(values, list("abc"), range(80), group=group, covariates={"age": column}))
        for column in (age, age + rng.normal(size=80) * 60)
    )
    assert any("'age' nearly defines the groups" in finding.what for finding in near.findings)
    assert not any("nearly defines" in finding.what for finding in far.findings)


def test_levels_that_are_numbers_have_names_of_people():
    assert level_text(1.0) == "1"
    assert level_text("F") == "F"
    column = np.array([0.0, 1.0, 1.0, 0.0] * 10)
    table = crosstab(column, np.repeat(["a", "b"], [30, 10]))
    assert table.levels == ["with 0", "with 1"]
    assert table.largest() == "a 50% with 0, b 50% with 0"


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
    test = crosstab(column, group).test
    assert test.name == "Fisher's exact"
    assert test.p == pytest.approx(stats.fisher_exact([[6, 1], [2, 8]]).pvalue)
    many = crosstab(np.tile(column, 5), np.tile(group, 5)).test
    expected = stats.chi2_contingency([[30, 5], [10, 40]], correction=False)
    assert many == ("chi-square", expected.pvalue)


def test_sparse_tables_are_compared_with_random_ones():
    group = np.repeat(["a", "b"], [10, 10])
    column = np.array([*"xxxxxxyyzz", *"yyyyzzzzzx"])
    test = crosstab(column, group).test
    assert test.name == "chi-square, random tables"
    rng = np.random.default_rng(1)
    own = stats.chi2_contingency(crosstab(column, group).counts).statistic
    by_hand = [
        stats.chi2_contingency(crosstab(column, rng.permutation(group)).counts).statistic
        for _ in range(600)
    ]
    assert test.p == pytest.approx(np.mean(np.array(by_hand) >= own - 1e-9), abs=0.03)
    assert crosstab(column, group).test == test


def test_one_level_is_no_test():
    assert np.isnan(crosstab(np.array(["x"] * 4), np.array([*"aabb"])).test.p)


def test_copies_of_regions_stop_and_each_pair_is_named(make, only):
    def copy(values):
        values[:, 1] = 2 * values[:, 0] + 1
        values[:, 4] = 3 - values[:, 2] * (1 + 1e-9)

    finding = only(make(copy))
    assert finding.level == "stop"
    assert "'lh_insula' and 'rh_insula'; 'lh_cuneus' and 'lh_lingual'" in finding.what
    assert "Exclude one of each pair" in finding.action


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_copies_within_a_group_stop(make, shift):
    def copy(values):
        values[:, 1] = np.where(np.arange(N) % 2, values[:, 0] + shift, values[:, 1])

    assert "'lh_insula' and 'rh_insula'" in review(make(copy)).stops[0].what


def test_a_correlation_near_one_is_no_copy(make):
    def nearly(values):
        values[:, 1] = values[:, 0] + 1e-3 * (values[:, 1] - values[:, 1].mean())

    assert not review(make(nearly)).stops


def test_totals_are_said_with_what_they_are_sums_of(make, only):
    def total(values):
        values[:, 4] = values[:, :3].sum(axis=1) + (np.arange(N) % 2)

    finding = only(make(total))
    assert finding.level == "warning"
    assert "is a linear combination of" in finding.what
    for name in ("lh_insula", "rh_insula", "lh_cuneus", "lh_lingual"):
        assert f"'{name}'" in finding.what
    assert "rh_cuneus" not in finding.what


def test_outlying_cells_and_subjects_are_said_and_kept(make):
    def change(values):
        values[8, 3] = 25.0
        values[8, 4] = -20.0

    reviewed = review(make(change))
    texts = [str(finding) for finding in reviewed.findings]
    assert "2 cells are more than 6" in texts[0]
    assert texts[0].endswith("The farthest belongs to subject 'sub-08'.")
    assert not any(said in texts[0] for said in ("25", "-20", "rh_cuneus", "lh_lingual"))
    assert "1 subject is outlying in more than 10% of the regions: 'sub-08'" in texts[1]
    assert len(reviewed.cohort) == N


def test_regions_that_the_atlas_does_not_know_are_listed(make, only):
    assert "no atlas has these regions" in only(make(atlas=None)).what
    finding = only(make(atlas=load_atlas("destrieux")))
    assert "5 regions are not in the atlas" in finding.what


def test_regions_without_coordinates_are_listed(make, only):
    first, second = make().regions[:2]
    nowhere = dict.fromkeys("xyz", math.nan)
    regions = [
        one._replace(**nowhere) if one.name in (first, second) else one
        for one in load_atlas("desikan_killiany").regions
    ]
    finding = only(make(atlas=Atlas("own", "mine", tuple(regions))))
    assert finding.what == f"the atlas mine has no coordinates for 2 regions: {first!r}, {second!r}"


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
