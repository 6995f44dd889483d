import numpy as np
import pandas as pd
import pytest
from tests.codes import refused

from sgbn import Cohort
from sgbn.cohort.atlas import load_atlas
from sgbn.core.graph import random_dag
from sgbn.core.problems import Finding, speaking
from sgbn.prepare.review import ACTIONS, check_measures, regions_by_measure, review, review_prepared
from sgbn.read.table import read_table

N = 60


def test_a_clean_cohort_has_no_findings_and_is_kept_whole(make, found):
    cohort = make(covariates={"age": np.linspace(20, 60, N)})
    assert found(cohort) == {}
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
    named = {one.problem.code: one.problem.values for one in reviewed.findings}
    assert named["subjects.gaps"]["subjects"] == ["sub-03"]
    assert [one.left_out for one in reviewed.findings if one.left_out] == [("sub-03",)]
    assert named["regions.gaps"]["regions"] == ["rh_insula"]
    assert named["cells.missing"]["n"] == 1
    assert np.isnan(reviewed.cohort.values).sum() == 1


@pytest.mark.parametrize(
    ("rows", "cell", "code"),
    [
        (slice(None), 0, "regions.constant"),
        (slice(0, None, 2), 0, "regions.constant"),
        (slice(1, 21, 2), np.nan, "regions.gaps"),  # a third of the patients, a sixth of all
    ],
)
def test_regions_that_never_vary_in_a_group_or_that_it_lacks_are_left_out(rows, cell, code, make):
    def change(values):
        values[rows, 2] = cell

    reviewed = review(make(change))
    assert "lh_cuneus" not in reviewed.cohort.regions
    assert reviewed.findings[0].problem.code == code


def test_a_cohort_that_is_mostly_gaps_stops_with_what_is_left(make):
    def change(values):
        values[::5, :] = np.nan
        values[1::5, :2] = np.nan
        values[2::5, 2:4] = np.nan
        values[3::5, 3:] = np.nan

    with refused("cohort.empty"):
        review(make(change)).require()


def test_stops_come_first_and_the_error_lists_them_all(make):
    site = np.where(make().group == "CTR", "A", "B")
    cohort = make(site=site, covariates={"dx": make().group, "scanner": ["A"] * N})
    reviewed = review(cohort)
    assert [finding.level for finding in reviewed.findings] == ["stop", "stop", "warning"]
    with refused("review.stops"):
        reviewed.require()


def test_who_is_left_out_takes_the_partner_along(make):
    def change(values):
        values[3, :3] = np.nan

    person = np.repeat([f"p{k:02}" for k in range(30)], 2)
    reviewed = review(make(change, pair=person))
    assert {"sub-02", "sub-03"} == {f"sub-{k:02}" for k in range(60)} - {*reviewed.cohort.ids}
    assert reviewed.cohort.design.complete.all()
    (pairs,) = [one for one in reviewed.findings if one.problem.code == "pairs.incomplete"]
    assert pairs.left_out == ("p01",)


def test_more_findings_come_in_their_place(make):
    reviewed = review(make(atlas=None))  # a note
    more = [Finding("stop", "a"), Finding("warning", "c")]
    assert [one.level for one in reviewed.with_findings(more).findings] == [
        *("stop", "warning", "note")
    ]


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


@pytest.mark.parametrize("outliers", ["trim", "tests", "keep"])
def test_subjects_far_from_their_group_are_named_with_what_is_done(outliers):
    values = related(200)
    values[100:] += 30  # the other group is not an outlier
    values[[3, 150]] += 12 * np.resize([1, -1], 10)
    found = review_prepared(cohort_of(values, GROUP), outliers)
    assert [one.level for one in found] == ["warning", "warning"]
    for finding, subject in zip(found, ("sub-003", "sub-150"), strict=True):
        assert finding.problem.values["subjects"] == [subject]
        assert finding.problem.parts[1] == ACTIONS[outliers]


def test_many_far_subjects_are_another_group():
    values = related(100)
    values[:22] += 40 * np.resize([1, -1], 10)
    (found,) = review_prepared(cohort_of(values))
    assert len(found.problem.values["subjects"]) == 22
    assert found.problem.parts[1] == ACTIONS["many"]


def score_codes(values, group=None, **more):
    found = [one.problem.code for one in review_prepared(cohort_of(values, group), **more)]
    return [code for code in found if code.startswith("scores")]


def test_normal_scores_are_recommended_where_relations_are_curved():
    values = related(400, 1)
    curved = np.exp(0.8 * values / values.std(axis=0))
    assert score_codes(curved, TWICE) == ["scores.help"] * 2
    assert score_codes(curved, TWICE, transform="normal-scores") == []


def test_normal_scores_are_warned_of_where_they_hide_linear_relations():
    rng = np.random.default_rng(1)
    weights = random_dag(15, 3.0, rng) * rng.uniform(0.5, 1, (15, 15))
    linear = rng.exponential(size=(400, 15)) @ np.linalg.inv(np.eye(15) - weights)
    assert score_codes(linear, transform="normal-scores") == ["scores.harm"]
    assert score_codes(linear) == []


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


def test_thickness_and_volumes_are_a_warning():
    cohort = measures_cohort_of((*THICKNESS, *ASEG))
    (finding,) = check_measures(cohort)
    assert finding.problem.values == {"measures": ["thickness", "volume"], "regions": [*ASEG]}
    assert "measures.mixed" in [one.problem.code for one in review(cohort).findings]


@pytest.mark.parametrize("regions", [THICKNESS, ASEG, ("lh_insula", "rh_insula")])
def test_one_measure_is_fine_and_an_area_of_the_accumbens_is_its_name(regions):
    assert not list(check_measures(measures_cohort_of(regions)))


def test_names_alone_tell_measures_where_no_atlas_is_known():
    cohort = measures_cohort_of(("one_thickness", "two_thickness", "three_area"), atlas=None)
    assert list(regions_by_measure(cohort)) == ["thickness", "area"]


def test_names_that_say_nothing_count_by_their_scale():
    regions = ("lh_insula", "rh_insula", "Left-Lateral-Ventricle", "Left-Hippocampus")
    assert not list(check_measures(measures_cohort_of(regions)))
    (finding,) = check_measures(measures_cohort_of(regions, scales=[1, 1, 2000, 2000]))
    assert finding.problem.values["measures"] == ["unknown", "volume"]


def plain(**columns):
    """40 subjects with six regions, changed as given."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 6)), columns=list("abcdef"))
    X["id"], X["dx"] = [f"sub-{k:03}" for k in range(40)], np.resize(["AD", "HC"], 40)
    return X.assign(**columns)


def review_of(X, **roles):
    roles = {"id": "id", "group": "dx", "regions": list("abcdef")} | roles
    return {one.problem.code: one for one in review(read_table(X, **roles)).findings}


@pytest.mark.parametrize("unit", [1e-310, 1e-300, 1e-200])
def test_values_too_small_to_compute_with_are_not_called_constant(unit):
    found = review_of(plain(b=np.random.default_rng(1).uniform(1, 9, 40) * unit))
    assert found["regions.tiny"].problem.values["regions"] == ["b"]
    assert "regions.constant" not in found
    assert "regions.tiny" not in review_of(
        plain(b=np.random.default_rng(1).normal(size=40) * 1e-90)
    )


@pytest.mark.parametrize(
    ("names", "codes"),
    [
        (("mean", "Total:", "SD", "Group mean", "Mean (n=40)", "Mittelwert"), {"ids.summary"}),
        (("SUB-000", "sub-0", "sub_000", "sub-0000"), {"ids.spelling"}),
        (("meanwhile", "Max", "sub-0100", "summer", "A-total-1", "Smith mean"), set()),
    ],
)
def test_ids_of_summary_rows_and_of_two_spellings_stop_unless_overruled(names, codes):
    for name in names:
        X = plain(id=[*plain()["id"][:-1], name])
        cohort = read_table(X, id="id", group="dx", regions=list("abcdef"))
        for overruled, level in ((False, "stop"), (True, "warning")):
            found = review(cohort, rows_are_subjects=overruled).findings
            said = {one.problem.code: one.level for one in found if one.problem.code[:4] == "ids."}
            assert said == dict.fromkeys(codes, level), name


def test_initials_are_no_summary_and_its_label_is_shown():
    assert "ids.summary" not in review_of(plain(id=["SD", "AVG", *plain()["id"][2:]]))
    found = review_of(plain(id=["mean", *plain()["id"][1:]]))
    with speaking(people=False):
        assert "'mean'" in str(found["ids.summary"])


def test_labels_and_scores_among_the_regions_are_warned_of():
    score = np.repeat(np.arange(5.0), 8)
    found = review_of(
        plain(b=np.repeat([0.0, 0.0, 1.0, 1.0], 10), c=score, d=score + np.arange(40))
    )
    assert found["cells.few-values"].problem.values["regions"] == ["b", "c"]
    few = plain(c=score).iloc[::3]
    assert "cells.few-values" not in review_of(few)
    gaps = plain(c=np.where(np.arange(40) % 9 == 0, np.nan, score))
    assert found["cells.few-values"].level == "warning"
    assert "cells.few-values" in review_of(gaps)


def visits(**columns):
    """Two visits of 40 persons."""
    twice = pd.concat([plain(), plain()], ignore_index=True)
    twice.iloc[40:, :6] += np.random.default_rng(2).normal(size=(40, 6))
    twice["who"], twice["id"] = twice["id"], [f"row{k}" for k in range(80)]
    return twice.assign(**columns)


NAMES = np.repeat(["baseline", "followup"], 40)


@pytest.mark.parametrize(
    "column",
    [
        {"session": NAMES},
        {"visit_number": np.repeat([1, 2], 40)},
        {"MRI wave": np.repeat(["A", "B"], 40)},
        {"when": NAMES},
        {"x": np.repeat(["ses-01", "ses-02"], 40)},
        {"x": np.repeat(["T1", "T2"], 40)},
        {"x": np.repeat(["pre", "post"], 40)},
        {"VISCODE": np.repeat(["bl", "m12"], 40)},
    ],
)
def test_visits_of_a_person_are_not_pooled_unasked(column):
    (name,) = column
    found = review_of(visits(**column), subject="who")
    assert found["visits.pooled"].level == "stop"
    assert found["visits.pooled"].problem.values == {"columns": [name]}
    excluded = review_of(visits(**column), subject="who", exclude=name)
    assert excluded["visits.pooled"].level == "note"


def test_columns_that_tell_no_visits_are_not_asked_about():
    columns = {
        "session": np.tile(np.repeat(["A", "B"], 20), 2),
        "scan_side": np.repeat(["L", "R"], 40),
    }
    assert "visits.pooled" not in review_of(visits(**columns), subject="who")
    dates = dict.fromkeys(["visit_date", "session_quality", "ageAtVisit", "visit_site"], NAMES)
    assert "visits.pooled" not in review_of(visits(**dates), subject="who")
    once = plain(session=np.resize(["pre", "post"], 40), who=plain()["id"])
    assert "visits.pooled" not in review_of(once, subject="who")


def test_visits_that_a_covariate_tells_are_not_pooled():
    columns = visits(session=NAMES, wave=NAMES, run=NAMES, motion=np.arange(80.0))
    pooled = review_of(columns, subject="who", covariates="motion")["visits.pooled"]
    assert pooled.problem.values == {"columns": ["session", "wave", "run"]}
    told = review_of(columns, subject="who", covariates=["motion", "session"])
    assert "visits.pooled" not in told


def test_groups_that_hold_the_visit_end_in_no_circle():
    crossed = visits(dx=np.char.add(np.resize(["patient_", "control_"], 80), NAMES))
    with refused("visits.crossed"):
        review_of(crossed, subject="who")
    assert review_of(crossed, pair="who")["visits.crossed"].level == "stop"
    mistaken = visits(dx=np.where(np.arange(80) == 3, "HC", np.resize(["AD", "MCI"], 80)))
    with refused("persons.groups"):
        review_of(mistaken, subject="who")
    assert "visits.crossed" not in review_of(visits(dx=NAMES), pair="who")
