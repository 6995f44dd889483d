from collections import Counter

import numpy as np
import pytest

from sgbn.cohort.simulate import (
    assign_sites,
    covariate_part,
    draw_covariates,
    draw_slopes,
    missing_cells,
    site_effects,
    site_names,
)
from sgbn.core.exceptions import InputError


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_site_names_sort_in_their_order():
    names = site_names(12)
    assert names[0] == "site01"
    assert names == sorted(names)


@pytest.mark.parametrize("size", [4, 5, 37, 400])
def test_every_group_is_at_every_site_and_sites_differ_in_size(rng, size):
    sizes = {"a": size, "b": 2 * size}
    site = assign_sites(sizes, site_names(4), 0.0, rng)
    for rows in (slice(0, size), slice(size, None)):
        assert len(set(site[rows])) == 4
    counts = Counter(site)
    assert sum(counts.values()) == 3 * size
    if size > 30:
        assert counts["site1"] / counts["site4"] == pytest.approx(2, rel=0.15)


def test_confounding_gathers_each_group_at_a_site_of_its_own(rng):
    sizes = {"a": 60, "b": 60}
    half, whole = (assign_sites(sizes, site_names(3), share, rng) for share in (0.5, 1.0))
    assert Counter(half[:60])["site1"] > 2 * Counter(half[60:])["site1"]
    assert set(whole[:60]) == {"site1"}
    assert set(whole[60:]) == {"site2"}


def test_more_sites_than_subjects_are_refused(rng):
    with pytest.raises(InputError, match="group 'b' has 3 subjects for 4 sites"):
        assign_sites({"a": 9, "b": 3}, site_names(4), 0.0, rng)


def test_site_effects_grow_with_their_strength(rng):
    sd = np.full(500, 10.0)
    none = site_effects(["s"], sd, 0.0, rng)
    assert not none[0]["s"].any()
    assert np.array_equal(none[1]["s"], np.ones(500))
    weak, strong = (
        site_effects(["s"], sd, strength, np.random.default_rng(1)) for strength in (0.5, 1.0)
    )
    np.testing.assert_allclose(strong[0]["s"], 2 * weak[0]["s"])
    np.testing.assert_allclose(strong[1]["s"], weak[1]["s"] ** 2)


def test_covariates_look_like_people(rng):
    columns = draw_covariates([2000, 2000], 0.0, rng)
    assert columns["age"].mean() == pytest.approx(65, abs=0.5)
    assert Counter(columns["sex"])["F"] == pytest.approx(2000, rel=0.06)
    male = columns["sex"] == "M"
    gap = columns["eTIV"][male].mean() - columns["eTIV"][~male].mean()
    assert gap == pytest.approx(1.6e5, rel=0.1)


def test_confounding_makes_later_groups_older_and_changes_nothing_else(rng):
    plain = draw_covariates([500] * 3, 0.0, np.random.default_rng(2))
    confounded = draw_covariates([500] * 3, 0.6, np.random.default_rng(2))
    older = (confounded["age"] - plain["age"]).reshape(3, 500).mean(axis=1)
    np.testing.assert_allclose(older, [0, 3, 6], atol=0.05)
    assert np.array_equal(plain["sex"], confounded["sex"])
    assert np.array_equal(plain["eTIV"], confounded["eTIV"])


def test_a_woman_of_the_reference_is_unchanged_and_a_step_adds_its_slope():
    slopes = draw_slopes(np.array([100.0, 200.0]), np.random.default_rng(0))
    columns = {
        "age": np.array([65.0, 66.0, 65.0, 65.0]),
        "sex": np.array(["F", "F", "M", "F"]),
        "eTIV": np.array([1.5e6, 1.5e6, 1.5e6, 1.5e6 + 1]),
    }
    part = covariate_part(columns, slopes)
    np.testing.assert_allclose(
        part, [np.zeros(2), slopes["age"], slopes["sex"], slopes["eTIV"]], atol=1e-12
    )
    assert np.all(slopes["age"] < 0)
    assert np.all(slopes["eTIV"] > 0)


@pytest.mark.parametrize("shape", [(30, 40), (400, 5), (3, 100)])
@pytest.mark.parametrize("share", [0.01, 0.2, 0.6])
def test_missing_cells_are_as_many_as_asked_and_leave_something_everywhere(rng, shape, share):
    cells = missing_cells(shape, share, rng)
    assert cells.sum() == round(share * shape[0] * shape[1])
    assert not cells.all(axis=0).any()
    assert not cells.all(axis=1).any()


def test_too_many_missing_cells_name_the_most_that_is_possible(rng):
    with pytest.raises(InputError, match=r"at most 0\.9"):
        missing_cells((50, 10), 0.95, rng)
    assert missing_cells((50, 10), 0.9, rng).sum() == 450
