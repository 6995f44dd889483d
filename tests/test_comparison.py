import numpy as np
import pytest

from sgbn import ORSGBN, Cohort, InputError, compare, simulate_cohort
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
