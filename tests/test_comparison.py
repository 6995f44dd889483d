import numpy as np
import pytest

from sgbn import ORSGBN, SGBN, Cohort, InputError, compare, simulate_cohort
from sgbn.comparison import file_names, write_comparison


@pytest.fixture(scope="module")
def cohort():
    whole = simulate_cohort(80)
    return whole.subset(regions=whole.regions[:12])


def with_values(cohort, values, **more):
    return Cohort(values, cohort.regions, cohort.ids, group=cohort.group, **more)


def test_a_network_a_group_over_all_regions(cohort):
    found = compare(cohort)
    assert list(found.learners) == ["control", "patient"]
    for learner in found.learners.values():
        assert learner.network_.names == cohort.regions
    gammas = {learner.gamma_ for learner in found.learners.values()}
    assert len(gammas) == 1


def test_any_learner_and_any_number_of_processes(cohort):
    one = compare(cohort, learner=ORSGBN(0.1))
    two = compare(cohort, learner=ORSGBN(0.1), n_jobs=2)
    for group in cohort.groups:
        assert np.array_equal(one.learners[group].coef_, two.learners[group].coef_)


def unequal(n=(120, 80), seed=0):
    """Two groups of other sizes and independent regions."""
    rng = np.random.default_rng(seed)
    group = np.repeat(["control", "patient"], n)
    names = [f"r{k}" for k in range(8)]
    return Cohort(rng.normal(size=(sum(n), 8)), names, range(sum(n)), group=group)


def test_each_network_is_that_of_the_rows_of_its_group(cohort):
    found = compare(cohort)
    for group, learner in found.learners.items():
        alone = SGBN(learner.gamma_).fit(cohort.of_group(group))
        np.testing.assert_array_equal(learner.coef_, alone.coef_)


def test_one_gamma_serves_all_groups_that_of_the_largest():
    learners = compare(unequal((1000, 300))).learners
    assert {learner.gamma_ for learner in learners.values()} == {np.log10(1000) / 2}


def test_a_group_difference_is_not_taken_for_an_effect_of_age():
    """Patients are older and smaller; age itself does nothing, so nothing may be taken out."""
    cohort = unequal()
    patients = cohort.group == "patient"
    age = np.random.default_rng(1).normal(40, 5, len(cohort)) + 30 * patients
    values = cohort.values - 3.0 * patients[:, None]
    left = compare(with_values(cohort, values, covariates={"age": age})).regions
    gap = left[~patients].mean() - left[patients].mean()
    np.testing.assert_allclose(gap, 3.0, atol=1.5)


def test_a_group_difference_is_not_taken_for_a_site():
    """Sites have other shares of the groups, and no effect: no edges may appear."""
    cohort = unequal((500, 500))
    patients = cohort.group == "patient"
    at_a = np.random.default_rng(1).random(1000) < np.where(patients, 0.2, 0.8)
    values = cohort.values - 1.5 * patients[:, None]
    site = np.where(at_a, "A", "B")
    found = compare(with_values(cohort, values, site=site))
    assert not any(learner.coef_.any() for learner in found.learners.values())


def test_what_covariates_leave_nothing_of_is_named(cohort):
    values = cohort.values.copy()
    age = np.random.default_rng(0).uniform(20, 60, len(cohort))
    values[:, 3] = 5 - 0.1 * age
    with pytest.raises(InputError, match=f"nothing is left of '{cohort.regions[3]}'"):
        compare(with_values(cohort, values, covariates={"age": age}))


def test_another_comparison_in_the_same_folder_leaves_nothing_of_the_first(tmp_path):
    cohort = unequal((90, 60))
    three = np.where(np.arange(150) < 30, "third", cohort.group)
    first = Cohort(cohort.values, cohort.regions, cohort.ids, group=three)
    write_comparison(compare(first), tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    write_comparison(compare(first.subset(groups=["control", "patient"])), tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert "notes.txt" in names
    assert not any("third" in name for name in names)


def test_an_effect_of_a_covariate_makes_no_edges(cohort):
    """Age moves two regions of independent noise; regressed out, they are unjoined again."""
    rng = np.random.default_rng(0)
    n = len(cohort)
    age = rng.uniform(20, 60, n) + 10 * (cohort.group == "patient")
    values = rng.normal(size=(n, len(cohort.regions)))
    values[:, :2] += age[:, None] / 5
    joined = compare(with_values(cohort, values))
    assert joined.learners["control"].coef_[:2, :2].any()
    adjusted = compare(with_values(cohort, values, covariates={"age": age}))
    assert not adjusted.learners["control"].coef_[:2, :2].any()
    assert not adjusted.learners["patient"].coef_[:2, :2].any()


def test_an_effect_of_sites_makes_no_edges(cohort):
    rng = np.random.default_rng(0)
    n = len(cohort)
    site = np.array(["A", "B", "C", "D"])[np.arange(n) % 4]
    values = rng.normal(size=(n, len(cohort.regions)))
    values[:, :3] += 4 * (np.arange(n) % 4)[:, None]
    assert compare(with_values(cohort, values)).learners["control"].coef_[:3, :3].any()
    harmonised = compare(with_values(cohort, values, site=site))
    assert not harmonised.learners["control"].coef_[:3, :3].any()


def test_gaps_are_filled_and_useless_regions_left_out(cohort):
    values = cohort.values.copy()
    values[5, 3] = np.nan
    values[:, 7] = 0
    found = compare(with_values(cohort, values))
    assert cohort.regions[7] not in found.cohort.regions
    assert np.isfinite(found.regions.to_numpy()).all()


def test_without_groups_it_stops(cohort):
    with pytest.raises(InputError, match="no group column"):
        compare(Cohort(cohort.values, cohort.regions, cohort.ids))


def test_files_are_named_by_groups_without_what_a_path_would_read(cohort, tmp_path):
    assert file_names(["a b", "a_b", "A B", "../..", "é"]) == {
        "a b": "a_b",
        "a_b": "a_b_2",
        "A B": "A_B_3",
        "../..": "group",
        "é": "group_2",
    }
    written = write_comparison(compare(cohort), tmp_path)
    assert all(path.parent == tmp_path and path.stat().st_size for path in written)
