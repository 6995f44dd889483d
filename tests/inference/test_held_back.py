import numpy as np
import pytest

from sgbn.core.exceptions import InputError
from sgbn.inference.replication import replicate_differences, replication_rows


def test_halves_balance_groups_and_sites_and_depend_on_the_seed(changed):
    held_back = replication_rows(changed, "half", 3)
    for group in changed.groups:
        for site in "abc":
            own = held_back[(changed.group == group) & (changed.site == site)]
            assert abs(own.sum() - (~own).sum()) <= 1
    assert np.array_equal(held_back, replication_rows(changed, "half", 3))
    assert not np.array_equal(held_back, replication_rows(changed, "half", 4))


@pytest.mark.parametrize("label", ["pair", "person", "block"])
def test_persons_pairs_and_families_are_never_parted(two_groups, label, make_cohort):
    X, y = two_groups(n=60)
    k = np.arange(120)
    labels = {"pair": k % 60, "person": k // 2, "block": k % 40}[label].astype(str)
    cohort = make_cohort(X, y, **{label: labels})
    held_back = replication_rows(cohort, "half")
    assert not set(labels[held_back]) & set(labels[~held_back])
    assert 50 <= held_back.sum() <= 70
    with pytest.raises(InputError, match=r"separates the rows of '0'.*keeps them together"):
        replicate_differences(cohort, k != 0)


def test_rows_of_a_site_or_with_a_value_are_held_back(two_groups, make_cohort):
    X, y = two_groups(n=30)
    site, sex = np.tile(["NYU", "KKI"], 30), np.tile([1.0, 1.0, 2.0], 20)
    cohort = make_cohort(
        X, y, site=site, covariates={"sex": sex}, provenance={"site_column": "scanner"}
    )
    for how in ("site=NYU", "scanner=NYU"):
        assert np.array_equal(replication_rows(cohort, how), site == "NYU")
    for how in ("sex=2", "sex=2.0"):
        assert np.array_equal(replication_rows(cohort, how), sex == 2)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("halves", "Give 'half', or COLUMN=VALUE"),
        ("sit=NYU", r"Did you mean 'site'"),
        ("site=NYC", "no row has site=NYC.*Did you mean 'NYU'"),
        ("age=x", "no row has age=x.*'20'"),
        ("site=KKI", "group 'MCI' in the part for confirmation .*has 4 subjects.*Hold back other"),
    ],
)
def test_what_cannot_be_held_back_is_said(two_groups, how, message, make_cohort):
    X, y = two_groups(n=30)
    site = np.array(["NYU"] * 22 + ["KKI"] * 8 + ["NYU"] * 26 + ["KKI"] * 4)
    age = np.tile([20.0, 30.0], 30)
    with pytest.raises(InputError, match=message):
        replication_rows(make_cohort(X, y, site=site, covariates={"age": age}), how)


def test_large_numbers_are_told_apart(two_groups, make_cohort):
    X, y = two_groups(n=30)
    scanner = np.tile([1000001.0, 1000002.0], 30)
    cohort = make_cohort(X, y, covariates={"scanner": scanner})
    for how in ("scanner=1000002", "scanner=1000002.0"):
        assert np.array_equal(replication_rows(cohort, how), scanner == 1000002)
    with pytest.raises(InputError, match=r"no row has scanner=1000003.*'1000001\.0'"):
        replication_rows(cohort, "scanner=1000003")


def test_a_column_that_was_not_named_comes_with_its_option(two_groups, make_cohort):
    X, y = two_groups(n=30)
    with pytest.raises(InputError, match=r"No such column .* add --site site"):
        replication_rows(make_cohort(X, y), "site=NYU")
    cohort = make_cohort(X, y, covariates={"age": np.arange(60.0)})
    with pytest.raises(InputError, match=r"Only 'age' .* add --covariates sex"):
        replication_rows(cohort, "sex=F")
    with pytest.raises(InputError, match=r"Did you mean 'age'"):
        replication_rows(cohort, "Age=3")


@pytest.mark.parametrize(("gap", "value"), [(np.nan, 1.0), ("", "F")])
def test_rows_without_a_value_belong_to_no_part(two_groups, gap, value, make_cohort):
    X, y = two_groups(n=30)
    column = np.array([value, 2 * value] * 30)
    column[[3, 7, 40]] = gap
    cohort = make_cohort(X, y, covariates={"sex": column})
    with pytest.raises(InputError, match="'sex' is missing in 3 rows"):
        replication_rows(cohort, f"sex={value}")
