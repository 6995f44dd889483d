import numpy as np
import pytest

from sgbn.core.exceptions import InputError
from sgbn.prepare.findings import Finding
from sgbn.prepare.review import review

N = 60


def test_a_clean_cohort_has_no_findings_and_is_kept_whole(make, found):
    cohort = make(covariates={"age": np.linspace(20, 60, N)})
    assert found(cohort) == []
    assert review(cohort).cohort is cohort
    assert review(cohort).require() is cohort


def test_subjects_and_regions_with_too_many_gaps_are_left_out_and_others_imputed(make):
    def change(values):
        values[3, :3] = np.nan  # 60 % of the regions
        values[10:30, 1] = np.nan  # a third of the subjects
        values[40, 4] = np.nan

    reviewed = review(make(change))
    assert "sub-03" not in reviewed.cohort.ids
    assert reviewed.cohort.regions == ("lh_insula", "lh_cuneus", "rh_cuneus", "lh_lingual")
    texts = [str(finding) for finding in reviewed.findings]
    assert any("1 subject lacks more than 50%" in text and "'sub-03'" in text for text in texts)
    region = "1 region is missing in more than 20%"
    assert any(region in text and "'rh_insula'" in text for text in texts)
    assert any("1 cell (0.4%) of 1 subject is missing" in text for text in texts)
    assert np.isnan(reviewed.cohort.values).sum() == 1


@pytest.mark.parametrize("rows", [slice(None), slice(0, None, 2)])
def test_regions_that_never_vary_in_a_group_are_left_out(rows, make):
    def change(values):
        values[rows, 2] = 0

    reviewed = review(make(change))
    assert "lh_cuneus" not in reviewed.cohort.regions
    assert "same value in all subjects of a group: 'lh_cuneus'" in str(reviewed.findings[0])


def test_a_region_that_one_group_lacks_is_left_out(make):
    def change(values):
        values[1:21:2, 2] = np.nan  # a third of the patients, a sixth of all

    reviewed = review(make(change))
    assert "lh_cuneus" not in reviewed.cohort.regions


def test_a_cohort_that_is_mostly_gaps_stops_with_what_is_left(make):
    def change(values):
        values[::5, :] = np.nan
        values[1::5, :2] = np.nan
        values[2::5, 2:4] = np.nan
        values[3::5, 3:] = np.nan

    with pytest.raises(InputError, match="48 subjects and 0 regions are left"):
        review(make(change)).require()


def test_stops_come_first_and_the_error_lists_them_all(make):
    site = np.where(make().group == "CTR", "A", "B")
    cohort = make(site=site, covariates={"dx": make().group, "scanner": ["A"] * N})
    reviewed = review(cohort)
    assert [finding.level for finding in reviewed.findings] == ["stop", "stop", "warning"]
    with pytest.raises(InputError, match=r"every site(.|\n)*'dx' is the group"):
        reviewed.require()


def test_who_is_left_out_takes_the_partner_along(make):
    def change(values):
        values[3, :3] = np.nan

    person = np.repeat([f"p{k:02}" for k in range(30)], 2)
    reviewed = review(make(change, pair=person))
    assert {"sub-02", "sub-03"} == {f"sub-{k:02}" for k in range(60)} - {*reviewed.cohort.ids}
    assert reviewed.cohort.complete.all()
    texts = [str(finding) for finding in reviewed.findings]
    assert any(
        "1 person does not have exactly one row in each group: 'p01'" in text for text in texts
    )


def test_more_findings_come_in_their_place(make):
    reviewed = review(make(atlas=None))  # a note
    more = [Finding("stop", "a", "b"), Finding("warning", "c", "d")]
    assert [one.level for one in reviewed.with_findings(more).findings] == [
        *("stop", "warning", "note")
    ]


def test_who_is_left_out_is_kept_by_name(make):
    def change(values):
        values[3, :3] = np.nan

    (finding,) = [one for one in review(make(change)).findings if one.left_out]
    assert finding.left_out == ("sub-03",)
