from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from sgbn.cohort.cohort import Cohort
from sgbn.prepare.balance import (
    NOT_TESTED,
    covariate_test,
    crosstab,
    first_rows,
    is_counted,
    level_text,
    means_test,
)


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
    return Cohort(
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
