import numpy as np
import pytest

from sgbn import Cohort, InputError
from sgbn.atlases import load_atlas
from sgbn.quality import review, robust_z

N, REGIONS = 60, ("lh_insula", "rh_insula", "lh_cuneus", "rh_cuneus", "lh_lingual")


def make(change=None, n=N, **given):
    """A cohort without any oddity, but for what `change` does to its values."""
    values = np.random.default_rng(0).normal(2.5, 0.1, (n, len(REGIONS)))
    if change:
        change(values)
    ids = [f"sub-{k:02}" for k in range(n)]
    group = np.array(["CTR", "SCZ"])[np.arange(n) % 2]
    given = {"group": group, "atlas": load_atlas("desikan_killiany")} | given
    return Cohort(values, REGIONS, ids, **given)


def found(cohort):
    return [str(finding) for finding in review(cohort).findings]


def only(cohort):
    (finding,) = review(cohort).findings
    return finding


def test_a_clean_cohort_has_no_findings_and_is_kept_whole():
    cohort = make(covariates={"age": np.linspace(20, 60, N)})
    assert found(cohort) == []
    assert review(cohort).cohort is cohort
    assert review(cohort).require() is cohort


def test_subjects_and_regions_with_too_many_gaps_are_left_out_and_others_imputed():
    def change(values):
        values[3, :3] = np.nan  # 60 % of the regions
        values[10:30, 1] = np.nan  # a third of the subjects
        values[40, 4] = np.nan

    reviewed = review(make(change))
    assert "sub-03" not in reviewed.cohort.ids
    assert reviewed.cohort.regions == ("lh_insula", "lh_cuneus", "rh_cuneus", "lh_lingual")
    texts = [str(finding) for finding in reviewed.findings]
    assert any("1 subjects lack more than 50%" in text and "'sub-03'" in text for text in texts)
    assert any("1 regions lack more than 20%" in text and "'rh_insula'" in text for text in texts)
    assert any("1 cells (0.4%) of 1 subjects are missing" in text for text in texts)
    assert np.isnan(reviewed.cohort.values).sum() == 1


@pytest.mark.parametrize("rows", [slice(None), slice(0, None, 2)])
def test_regions_that_never_vary_in_a_group_are_left_out(rows):
    def change(values):
        values[rows, 2] = 0

    reviewed = review(make(change))
    assert "lh_cuneus" not in reviewed.cohort.regions
    assert "same value in all subjects of a group: 'lh_cuneus'" in str(reviewed.findings[0])


def test_a_cohort_that_is_mostly_gaps_stops_with_what_is_left():
    def change(values):
        values[::5, :] = np.nan
        values[1::5, :2] = np.nan
        values[2::5, 2:4] = np.nan
        values[3::5, 3:] = np.nan

    with pytest.raises(InputError, match="48 subjects and 0 regions are left"):
        review(make(change)).require()


def test_groups_must_be_two_or_more_of_two_or_more():
    assert "no group column" in only(make(group=None)).what
    assert "only the group 'CTR'" in only(make(group=["CTR"] * N)).what
    alone = only(make(group=["AD"] + ["CTR", "SCZ"] * 29 + ["CTR"]))
    assert (alone.level, "'AD' has one subject (sub-00)" in alone.what) == ("stop", True)
    few = only(make(group=["AD"] * 9 + ["CTR"] * 51))
    assert (few.level, "'AD' has 9 subjects only" in few.what) == ("warning", True)


def test_many_regions_for_few_subjects_are_said():
    cohort = make(n=44)
    wide = Cohort(
        np.random.default_rng(1).normal(size=(44, 12)),
        [f"r{k}" for k in range(12)],
        cohort.ids,
        group=cohort.group,
    )
    assert any("12 regions are many for 22 subjects" in text for text in found(wide))


def test_a_covariate_that_is_the_group_stops():
    group = make().group
    finding = only(make(covariates={"dx": (group == "SCZ").astype(float)}))
    assert finding.level == "stop"
    assert "'dx' is the group under another name" in finding.what


def test_groups_that_differ_in_a_covariate_are_said_with_numbers():
    age = np.where(make().group == "CTR", 30.0, 50.0) + np.random.default_rng(0).normal(size=N)
    finding = only(make(covariates={"age": age}))
    assert finding.level == "warning"
    assert "the groups differ in 'age' (CTR 29.88, SCZ 50.27; p = " in finding.what
    sex = np.where(np.arange(N) < 55, np.where(make().group == "CTR", "F", "M"), "F")
    assert "(CTR 100% F, SCZ 10% F; p = " in only(make(covariates={"sex": sex})).what


def test_constant_and_missing_covariates_are_said():
    finding = only(make(covariates={"scanner": ["A"] * N}))
    assert "'scanner' never varies" in finding.what
    age = np.random.default_rng(0).normal(40, 5, N)
    age[7] = np.nan
    finding = only(make(covariates={"age": age}))
    assert "missing in 1 of 60 subjects, first 'sub-07'" in finding.what


def test_a_covariate_that_a_whole_group_lacks_stops():
    for score in (np.arange(N, dtype=float), np.resize(["a", "b", "c"], N)):
        empty = np.nan if score.dtype.kind == "f" else ""
        column = np.where(make().group == "CTR", empty, score)
        finding = only(make(covariates={"updrs": column}))
        assert finding.level == "stop"
        assert "'updrs' is missing in all subjects of a group, first 'sub-00'" in finding.what
    assert only(make(covariates={"iq": np.full(N, np.nan)})).level == "stop"


def test_a_region_that_one_group_lacks_is_left_out():
    def change(values):
        values[1:21:2, 2] = np.nan  # a third of the patients, a sixth of all

    reviewed = review(make(change))
    assert "lh_cuneus" not in reviewed.cohort.regions


def test_the_level_that_differs_most_is_shown():
    group = make().group
    level = np.where(group == "CTR", np.resize(["A", "A", "Z"], N), np.resize(["B", "B", "Z"], N))
    assert "(CTR 67% A, SCZ 0% A; p = " in only(make(covariates={"h": level})).what


def test_a_missing_cell_is_not_the_same_as_zero():
    def change(values):
        values[4] = values[9]
        values[4, 0], values[9, 0] = 0.0, np.nan

    assert not any("same values" in text for text in found(make(change)))


def test_sites_that_hold_one_group_or_one_subject_are_said():
    group = make().group
    assert only(make(site=np.where(group == "CTR", "A", "B"))).level == "stop"
    assert "all subjects are of the site A" in only(make(site=["A"] * N)).what
    site = np.where(np.arange(N) < 40, "A", np.where(group == "CTR", "B", "A"))
    pure, unequal = found(make(site=site))
    assert "1 sites have subjects of one group only: 'B'" in pure
    assert "the sites have other shares of the groups (CTR 67% A, SCZ 100% A; p = " in unequal
    site = np.where(np.arange(N) % 4 < 2, "A", "B").astype(object)
    site[5] = "C"
    texts = found(make(site=site.astype(str)))
    assert any("1 sites have one subject: 'C'" in text for text in texts)


def test_copies_of_regions_and_of_subjects_and_totals_are_said():
    def copy(values):
        values[:, 1] = 2 * values[:, 0] + 1

    assert "'lh_insula' and 'rh_insula' are copies" in only(make(copy)).what

    def total(values):
        values[:, 4] = values[:, :4].sum(axis=1)

    assert "is a linear combination of other regions" in only(make(total)).what

    def twin(values):
        values[9] = values[4]

    assert "'sub-04' and 'sub-09' have the same values" in only(make(twin)).what


def test_outlying_cells_and_subjects_are_said_and_kept():
    def change(values):
        values[8, 3] = 25.0
        values[8, 4] = -20.0

    reviewed = review(make(change))
    texts = [str(finding) for finding in reviewed.findings]
    assert "2 cells lie more than 6" in texts[0]
    assert "'rh_cuneus' of subject 'sub-08'" in texts[0] or "'lh_lingual'" in texts[0]
    assert "1 subjects are outlying in more than 10% of the regions: 'sub-08'" in texts[1]
    assert len(reviewed.cohort) == N


def test_regions_that_the_atlas_does_not_know_are_listed():
    assert "no atlas knows the regions" in only(make(atlas=None)).what
    finding = only(make(atlas=load_atlas("destrieux")))
    assert "5 regions are not in the atlas" in finding.what


def test_stops_come_first_and_the_error_lists_them_all():
    site = np.where(make().group == "CTR", "A", "B")
    cohort = make(site=site, covariates={"dx": make().group, "scanner": ["A"] * N})
    reviewed = review(cohort)
    assert [finding.level for finding in reviewed.findings] == ["stop", "stop", "warning"]
    with pytest.raises(InputError, match=r"every site(.|\n)*'dx' is the group"):
        reviewed.require()


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
