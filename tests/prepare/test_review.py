from dataclasses import replace

import numpy as np
import pytest

from sgbn import Cohort
from sgbn.cohort.atlas import load_atlas
from sgbn.core.graph import random_dag
from sgbn.core.problems import InputError
from sgbn.prepare.findings import Finding
from sgbn.prepare.review import check_measures, regions_by_measure, review, review_prepared

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


def cohort_of(values, group=None):
    regions = [f"r{k}" for k in range(values.shape[1])]
    return Cohort(values, regions, [f"sub-{k:03}" for k in range(len(values))], group=group)


def related(n, seed=0, m=10):
    rng = np.random.default_rng(seed)
    weights = random_dag(m, 3.0, rng) * rng.uniform(0.5, 1, (m, m))
    return rng.standard_normal((n, m)) @ np.linalg.inv(np.eye(m) - weights)


GROUP, TWICE = np.repeat(["CTR", "SCZ"], 100), np.repeat(["CTR", "SCZ"], 200)


def test_clean_regions_have_nothing_to_tell():
    assert review_prepared(cohort_of(related(200), GROUP)) == []
    assert review_prepared(cohort_of(related(8))) == []


@pytest.mark.parametrize(
    ("outliers", "action"),
    [("trim", "Such subjects are left out of net"), ("keep", "Such subjects are kept")],
)
def test_subjects_far_from_their_group_are_named_with_what_is_done(outliers, action):
    values = related(200)
    values[100:] += 30  # the other group is not an outlier
    values[[3, 150]] += 12 * np.resize([1, -1], 10)
    found = review_prepared(cohort_of(values, GROUP), outliers)
    assert [one.level for one in found] == ["warning", "warning"]
    assert "1 of 100 subjects of the group 'CTR' is far from the others" in found[0].what
    assert found[0].what.endswith(": 'sub-003'")
    assert found[1].what.endswith(": 'sub-150'")
    assert all(one.action.startswith(action) for one in found)


def test_many_far_subjects_are_another_group():
    values = related(100)
    values[:22] += 40 * np.resize([1, -1], 10)
    (found,) = review_prepared(cohort_of(values))
    assert "22 of 100 subjects are far" in found.what
    assert "outliers, and are kept" in found.action


def test_normal_scores_are_recommended_where_relations_are_curved():
    values = related(400, 1)
    curved = np.exp(0.8 * values / values.std(axis=0))
    found = [one for one in review_prepared(cohort_of(curved, TWICE)) if one.level == "note"]
    assert len(found) == 2
    assert "the ranks of the regions of the group 'CTR' depend on each other" in found[0].what
    assert "--transform normal-scores" in found[0].action
    assert not any(
        "ranks" in one.what
        for one in review_prepared(cohort_of(curved, TWICE), transform="normal-scores")
    )


def test_normal_scores_are_warned_of_where_they_hide_linear_relations():
    rng = np.random.default_rng(1)
    weights = random_dag(15, 3.0, rng) * rng.uniform(0.5, 1, (15, 15))
    linear = rng.exponential(size=(400, 15)) @ np.linalg.inv(np.eye(15) - weights)
    found = review_prepared(cohort_of(linear), transform="normal-scores")
    assert "less than their values do" in found[-1].what
    assert "--transform none" in found[-1].action
    assert not any("ranks" in one.what for one in review_prepared(cohort_of(linear)))


THICKNESS = ("lh_insula_thickness", "rh_insula_thickness", "lh_cuneus_thickness")
ASEG = ("Left-Lateral-Ventricle", "Left-Accumbens-area")


def measures_cohort_of(regions, scales=None, atlas="desikan_killiany"):
    rng = np.random.default_rng(0)
    values = rng.normal(2.5, 0.1, (40, len(regions)))
    if scales is not None:
        values *= scales
    ids = [f"s{k}" for k in range(40)]
    known = None if atlas is None else load_atlas(atlas)
    return Cohort(values, regions, ids, group=np.array([*"ab" * 20]), atlas=known)


def test_thickness_and_volumes_are_a_warning_with_a_remedy():
    cohort = measures_cohort_of((*THICKNESS, *ASEG))
    (finding,) = check_measures(cohort)
    assert finding.level == "warning"
    assert "thickness (3: " in finding.what
    assert "volume (2: " in finding.what
    assert "--measure thickness" in finding.action
    assert "eTIV" in finding.action
    assert finding in review(cohort).findings
    known = replace(cohort, covariates={"eTIV": np.arange(40.0)})
    (finding,) = check_measures(known)
    assert "eTIV" not in finding.action


def test_one_measure_is_fine_and_an_area_of_the_accumbens_is_its_name():
    assert not list(check_measures(measures_cohort_of(THICKNESS)))
    assert not list(check_measures(measures_cohort_of(ASEG)))
    assert not list(check_measures(measures_cohort_of(("lh_insula", "rh_insula"))))


def test_names_alone_tell_measures_where_no_atlas_is_known():
    cohort = measures_cohort_of(("one_thickness", "two_thickness", "three_area"), atlas=None)
    assert list(regions_by_measure(cohort)) == ["thickness", "area"]
    (finding,) = check_measures(cohort)
    assert "eTIV" not in finding.action


def test_names_that_say_nothing_count_by_their_scale():
    regions = ("lh_insula", "rh_insula", "Left-Lateral-Ventricle", "Left-Hippocampus")
    assert not list(check_measures(measures_cohort_of(regions)))
    (finding,) = check_measures(measures_cohort_of(regions, scales=[1, 1, 2000, 2000]))
    assert "an unknown measure (2: " in finding.what
